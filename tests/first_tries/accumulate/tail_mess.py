# mistakes: leftover-divided-by-full, clip-every-micro-batch, leftover-not-counted, leaves-gradients
# lines: 13, 16, 25, 25
from torch import nn


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError("accum_steps는 1 이상")
    opt.zero_grad()
    cnt = 0
    steps = 0
    for x, y in micro_batches:
        loss = loss_fn(model(x), y) / accum_steps
        loss.backward()
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        cnt += 1
        if cnt == accum_steps:
            opt.step()
            opt.zero_grad()
            steps += 1
            cnt = 0
    # 남은 것
    if cnt > 0:
        opt.step()
    return steps
