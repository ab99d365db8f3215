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


# %% tags=["exercise:train_gpt"]
def train_gpt(
    model,
    train_loader,
    val_loader,
    optimizer,
    *,
    device="cpu",
    n_epochs,
    eval_freq,
    eval_iter,
    warmup_steps,
    initial_lr=3e-5,
    min_lr=1e-6,
    max_norm=1.0,
    clip_after_warmup=False,
    on_epoch_end=None,
) -> dict:
    """GPT를 n_epochs 에폭 동안 학습하고 기록을 dict로 돌려줍니다.

    loader는 (입력, 정답) 토큰 번호를 주고, 정답은 이미 한 칸 밀려 있습니다. model(입력)은 (배치, 시간, 어휘) 로짓입니다.
    학습률: s번째 업데이트(0부터) 앞에서 그룹마다 lr_at(s, ...)으로 정합니다. 정점은 그룹이 들고 온 학습률입니다.
    클리핑: 스텝마다 max_norm으로 자릅니다. clip_after_warmup이면 s == warmup_steps부터 자릅니다.
    평가: s가 eval_freq의 배수인 업데이트 뒤마다, 두 loader에서 앞의 eval_iter 배치씩 평가 모드로 잰 손실의 평균입니다.
    에폭이 끝날 때마다 on_epoch_end(model)을 부릅니다. 학습 모드로 끝납니다.

    기록: train_losses, val_losses, tokens_seen(평가마다 하나), lrs(첫 그룹의 학습률, 스텝마다 하나)
    """

    # BEGIN SOLUTION
    def batch_loss(inputs, targets):
        logits = model(inputs.to(device))
        # 모든 위치가 다음 토큰을 맞히는 문제 하나씩입니다
        return F.cross_entropy(logits.flatten(0, 1), targets.to(device).flatten())

    def mean_loss(loader):
        losses = [batch_loss(inputs, targets).item() for inputs, targets in islice(loader, eval_iter)]
        return sum(losses) / len(losses)

    history = {"train_losses": [], "val_losses": [], "tokens_seen": [], "lrs": []}
    total_steps = len(train_loader) * n_epochs
    # 정점은 지금 읽습니다. 학습이 시작되면 group["lr"]은 더 이상 정점이 아닙니다
    peak_lrs = [group["lr"] for group in optimizer.param_groups]
    tokens_seen = 0
    step = 0
    model.train()
    for epoch in range(n_epochs):
        for inputs, targets in train_loader:
            # 1. 이번 업데이트의 학습률을 그룹마다 정합니다
            for group, peak_lr in zip(optimizer.param_groups, peak_lrs, strict=True):
                group["lr"] = lr_at(
                    step,
                    warmup_steps=warmup_steps,
                    total_steps=total_steps,
                    initial_lr=initial_lr,
                    peak_lr=peak_lr,
                    min_lr=min_lr,
                )
            history["lrs"].append(optimizer.param_groups[0]["lr"])

            # 2. 한 스텝
            optimizer.zero_grad()
            loss = batch_loss(inputs, targets)
            loss.backward()
            if not clip_after_warmup or step >= warmup_steps:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            tokens_seen += inputs.numel()

            # 3. 첫 업데이트 뒤부터 eval_freq 스텝마다 평가합니다
            if step % eval_freq == 0:
                model.eval()
                with torch.no_grad():
                    history["train_losses"].append(mean_loss(train_loader))
                    history["val_losses"].append(mean_loss(val_loader))
                model.train()
                history["tokens_seen"].append(tokens_seen)
            step += 1

        # 4. 에폭이 끝났음을 알립니다. 그동안 바뀌었을 모드를 되돌립니다
        if on_epoch_end is not None:
            on_epoch_end(model)
            model.train()
    return history
    # END SOLUTION


# %% tags=["check"]
check(train_gpt)


# %% tags=["exercise:token_mean_accumulate"]
def token_mean_accumulate(model, opt, micro_batches, *, ignore_index=-100) -> float:
    """유효한 토큰의 수가 서로 다른 마이크로 배치를 모아 한 번 업데이트하고, 업데이트하기 전의 평균 손실을 float로 돌려줍니다.

    micro_batches: (x, y)를 주는 이터러블입니다. 제너레이터일 수 있습니다. 정답이 ignore_index인 위치는 세지 않습니다.
    model(x): (배치, 시간, 어휘) 로짓입니다.

    구간의 모든 유효한 토큰을 한 배치에 담았을 때와 같아야 합니다. 유효한 토큰이 하나도 없으면 아무것도 바꾸지 않고 ValueError를 냅니다.
    """
    # BEGIN SOLUTION
    # 두 번 돌아야 하므로 리스트로 모읍니다
    batches = list(micro_batches)
    # 1. 구간 전체에서 유효한 토큰을 먼저 셉니다
    num_valid = sum((y != ignore_index).sum().item() for _, y in batches)
    if num_valid == 0:
        raise ValueError("구간에 유효한 토큰이 하나도 없습니다")
    # 2. 마이크로 배치마다 손실의 합을 구해, 구간 전체의 개수로 나눕니다
    opt.zero_grad()
    window_loss = 0.0
    for x, y in batches:
        logits = model(x)
        loss_sum = F.cross_entropy(
            logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum"
        )
        loss = loss_sum / num_valid
        loss.backward()
        window_loss += loss.item()
    # 3. 구간에 한 번 업데이트합니다
    opt.step()
    return window_loss
    # END SOLUTION


# %% tags=["check"]
check(token_mean_accumulate)
