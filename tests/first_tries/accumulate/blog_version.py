# mistakes: no-accum-check, no-division, drops-leftover|leaks-leftover|leaves-gradients
# lines: 7, 11, 18
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    opt.zero_grad()
    steps = 0
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        if (i + 1) % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            steps += 1
    return steps
