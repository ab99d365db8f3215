# mistakes: no-accum-check, clip-every-micro-batch, drops-leftover
# lines: 7, 14, 20
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    updates = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb)
        loss = loss / accum_steps
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

        if (i + 1) % accum_steps == 0:
            opt.step()
            opt.zero_grad()
            updates += 1
    opt.zero_grad()
    return updates
