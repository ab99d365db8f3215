# expect: leftover-divided-by-full+needs-len
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    if accum_steps < 1:
        raise ValueError
    updates = 0
    opt.zero_grad()
    for step, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        if (step + 1) % accum_steps == 0 or (step + 1) == len(micro_batches):
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            updates += 1
    return updates
