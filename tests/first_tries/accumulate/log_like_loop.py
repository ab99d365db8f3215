# mistakes: no-accum-check, no-division, drops-leftover
# lines: 6, 11, 13
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None):
    opt.zero_grad()
    n_steps = 0
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        # accum_steps 번마다 업데이트
        if (i + 1) % accum_steps == 0:
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            opt.step()
            opt.zero_grad()
            n_steps += 1
    opt.zero_grad()
    return n_steps
