# mistakes: no-accum-check, no-division, drops-leftover
# lines: 8, 11, 18
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    n_update = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches, start=1):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        if i % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n_update += 1
    opt.zero_grad()
    return n_update
