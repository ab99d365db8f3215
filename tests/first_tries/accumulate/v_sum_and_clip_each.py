# mistakes: no-division, clip-every-micro-batch, returns-micro-count, leaves-gradients
# lines: 16, 19, 28, 27
# hidden:
import torch


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상이어야 합니다")

    seen = 0
    pending = 0
    for xb, yb in micro_batches:
        if pending == 0:
            opt.zero_grad()  # 새 구간을 시작할 때 지운다
        loss = loss_fn(model(xb), yb)
        loss.backward()
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        seen += 1
        pending += 1
        if pending == accum_steps:
            opt.step()
            pending = 0

    if pending > 0:
        opt.step()
    return seen
