# mistakes: clip-every-micro-batch, leftover-scaled-upside-down, leaves-gradients
# lines: 19, 33, 37
# hidden:
import torch
from torch import nn


def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    if accum_steps < 1:
        raise ValueError(f"accum_steps는 1 이상이어야 합니다: {accum_steps}")

    n_updates = 0
    filled = 0  # 지금 구간에 모인 개수

    for xb, yb in micro_batches:
        loss = loss_fn(model(xb), yb) / accum_steps
        loss.backward()
        filled += 1
        if max_norm is not None:
            nn.utils.clip_grad_norm_(model.parameters(), max_norm)

        if filled == accum_steps:
            opt.step()
            opt.zero_grad()
            n_updates += 1
            filled = 0

    # 덜 찬 마지막 구간: 나눈 수를 바로잡는다
    if filled > 0:
        fix = filled / accum_steps
        for p in model.parameters():
            if p.grad is not None:
                p.grad *= fix
        opt.step()
        n_updates += 1

    return n_updates
