# ---
# jupyter:
#   jupytext:
#     cell_markers: '"""'
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
r"""
# 학습을 안정시키는 장치
"""

# %%
import math
from itertools import islice

import torch
import torch.nn.functional as F

from grader import check, hint


# %% tags=["exercise:plan_steps"]
def plan_steps(n_batches, n_epochs, *, warmup_ratio, accum_steps=1) -> tuple[int, int]:
    """(전체 스텝 수, 워밍업 스텝 수)를 돌려줍니다. 스텝은 마이크로 배치가 아니라 opt.step() 한 번입니다.

    n_batches: 한 에폭의 (마이크로) 배치 수입니다.
    warmup_ratio: 전체에서 워밍업이 차지하는 비율입니다. 0.001 이상 0.2 이하가 아니면 ValueError를 냅니다.
    accum_steps: 배치를 이만큼 모아 한 번 업데이트합니다. 에폭 끝의 모자란 구간도 한 스텝입니다.

    워밍업은 반올림하고, 적어도 한 스텝입니다.
    """
    # BEGIN SOLUTION
    if not 0.001 <= warmup_ratio <= 0.2:
        raise ValueError(f"warmup_ratio는 0.001 이상 0.2 이하여야 합니다: {warmup_ratio}")
    # 구간은 에폭을 넘지 않습니다. 그래서 올림은 에폭마다 합니다
    steps_per_epoch = math.ceil(n_batches / accum_steps)
    total_steps = steps_per_epoch * n_epochs
    warmup_steps = max(1, round(total_steps * warmup_ratio))
    return total_steps, warmup_steps
    # END SOLUTION


# %% tags=["check"]
check(plan_steps)


# %% tags=["exercise:lr_at"]
def lr_at(step, *, warmup_steps, total_steps, initial_lr, peak_lr, min_lr, decay="cosine") -> float:
    """step번째 업데이트(0부터)에 쓸 학습률입니다.

    step < warmup_steps        initial_lr에서 peak_lr로 곧게 올라갑니다. step = warmup_steps에서 peak_lr입니다.
    그 뒤                      peak_lr에서 min_lr로 내려갑니다. decay는 "cosine"이나 "linear"입니다.
    step ≥ total_steps − 1     min_lr입니다. 단, 워밍업이 끝난 뒤의 이야기입니다.

    warmup_steps는 0일 수도, total_steps일 수도 있습니다. 모르는 decay에는 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    if decay not in ("cosine", "linear"):
        raise ValueError(f"decay는 'cosine'이나 'linear'입니다: {decay!r}")
    # 1. 워밍업: 곧은 오르막
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    # 2. 마지막 스텝부터는 바닥
    if step >= total_steps - 1:
        return min_lr
    # 3. 감쇠: 내리막을 얼마나 왔는지(0~1)로 남은 높이를 구합니다
    progress = (step - warmup_steps) / (total_steps - 1 - warmup_steps)
    height = 1 - progress
    if decay == "cosine":
        height = 0.5 * (1 + math.cos(math.pi * progress))
    return min_lr + (peak_lr - min_lr) * height
    # END SOLUTION


# %% tags=["check"]
check(lr_at)


# %% tags=["exercise:clip_global_norm"]
def clip_global_norm(params, max_norm) -> float:
    """모든 그레이디언트를 합친 L2 노름이 max_norm을 넘으면, 같은 수를 곱해 제자리에서 줄입니다.

    자르기 전의 노름을 float로 돌려줍니다. 넘지 않으면 그대로 둡니다. .grad가 None인 매개변수는 건너뜁니다.
    노름이 무한대나 NaN이면 그레이디언트를 건드리지 않고 RuntimeError를 냅니다.
    """
    # BEGIN SOLUTION
    # model.parameters()는 한 번밖에 돌 수 없으므로 모아 둡니다
    grads = [param.grad for param in params if param.grad is not None]
    # 1. 모두 한 벡터로 이어 붙였을 때의 노름
    total_norm = math.sqrt(sum(grad.square().sum().item() for grad in grads))
    # 2. 쓸 수 없는 값은 여기서 멈춥니다. 곱하기 전이라 그레이디언트는 그대로입니다
    if not math.isfinite(total_norm):
        raise RuntimeError(f"그레이디언트의 노름이 유한하지 않습니다: {total_norm}")
    # 3. 넘을 때만, 모두 같은 비율로 줄입니다
    if total_norm > max_norm:
        for grad in grads:
            grad.mul_(max_norm / total_norm)
    return total_norm
    # END SOLUTION


# %% tags=["check"]
check(clip_global_norm)
