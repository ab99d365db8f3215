# mistakes: no-division, steps-on-first, leaves-gradients
# lines: 18, 21, 29
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    def clip():
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

    num_updates = 0
    pending = 0
    opt.zero_grad()
    for i, (xb, yb) in enumerate(micro_batches):
        loss = loss_fn(model(xb), yb)
        loss.backward()
        pending += 1
        if i % accum_steps == 0:
            clip()
            opt.step()
            opt.zero_grad()
            num_updates += 1
            pending = 0
    if pending > 0:
        clip()
        opt.step()
        num_updates += 1
    return num_updates
