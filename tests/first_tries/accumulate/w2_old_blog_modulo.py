# mistakes: no-accum-check, clip-every-micro-batch, steps-on-first, drops-leftover|leaves-gradients
# lines: 8, 15, 16, 20
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    n_updates = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb)
        loss = loss / accum_steps
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        if i % accum_steps == 0:
            opt.step()
            opt.zero_grad()
            n_updates += 1
    return n_updates
