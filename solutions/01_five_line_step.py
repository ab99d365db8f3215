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
"""
# 한 train step
"""

# %%
import torch
from torch import nn

from grader import check, hint

# %% tags=["exercise:train_step"]
def train_step(model, opt, loss_fn, xb, yb) -> float:
    """미니 배치 하나로 매개변수를 한 번 업데이트하고, 업데이트하기 전의 손실을 float로 돌려줍니다."""
    # BEGIN SOLUTION
    # 1. 지난 스텝의 그레이디언트를 지웁니다
    opt.zero_grad()
    # 2. 순전파: 예측합니다
    logits = model(xb)
    # 3. 손실: 얼마나 틀렸는지 숫자 하나로 줄입니다
    loss = loss_fn(logits, yb)
    # 4. 역전파: 매개변수마다 .grad를 채웁니다
    loss.backward()
    # 5. 업데이트: .grad를 읽어 매개변수를 옮깁니다
    opt.step()
    return loss.item()
    # END SOLUTION

# %% tags=["check"]
check(train_step)

# %% tags=["exercise:train_step_extras"]
def train_step_extras(model, opt, loss_fn, xb, yb, *, max_norm=None, scheduler=None) -> float:
    """한 스텝에 두 가지를 끼웁니다. 업데이트하기 전의 손실을 float로 돌려줍니다.

    max_norm: 값이 있으면 모든 그레이디언트를 합친 노름이 max_norm을 넘지 않게 자릅니다.
    scheduler: 있으면 업데이트한 다음 학습률을 한 칸 옮깁니다.
    """
    # BEGIN SOLUTION
    opt.zero_grad()
    logits = model(xb)
    loss = loss_fn(logits, yb)
    loss.backward()
    # 그레이디언트가 다 나온 뒤, 쓰이기 전에 자릅니다
    if max_norm is not None:
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    opt.step()
    # 이번 학습률을 쓰고 나서 다음 학습률로 옮깁니다
    if scheduler is not None:
        scheduler.step()
    return loss.item()
    # END SOLUTION

# %% tags=["check"]
check(train_step_extras)

# %% tags=["exercise:accumulate"]
def accumulate(model, opt, loss_fn, micro_batches, accum_steps, *, max_norm=None) -> int:
    """마이크로 배치 accum_steps개(한 구간)마다 한 번 업데이트하고, 업데이트한 횟수를 돌려줍니다.

    micro_batches: (xb, yb)를 차례로 내는 이터러블입니다. 제너레이터일 수도 있습니다(len()이 없습니다).
    accum_steps: 한 구간의 마이크로 배치 수입니다. 1보다 작으면 ValueError를 냅니다.
    max_norm: 값이 있으면 구간마다 한 번 자릅니다.

    마지막 구간이 짧으면 그 구간에 실제로 있는 마이크로 배치 수로 평균을 냅니다.
    끝나면 그레이디언트를 남기지 않습니다.
    """
    # BEGIN SOLUTION
    from itertools import islice

    if accum_steps < 1:
        raise ValueError(f"accum_steps는 1 이상이어야 합니다: {accum_steps}")

    stream = iter(micro_batches)
    num_steps = 0
    opt.zero_grad()
    # 한 구간씩 꺼냅니다. 마지막 구간은 짧을 수 있습니다
    while window := list(islice(stream, accum_steps)):
        for xb, yb in window:
            logits = model(xb)
            # 실제 개수로 나누어, 더한 그레이디언트가 구간 평균이 되게 합니다
            loss = loss_fn(logits, yb) / len(window)
            loss.backward()
        # 구간이 다 쌓인 뒤 한 번만 자르고, 한 번만 업데이트합니다
        if max_norm is not None:
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        opt.step()
        opt.zero_grad()
        num_steps += 1
    return num_steps
    # END SOLUTION

# %% tags=["check"]
check(accumulate)

# %% tags=["exercise:fit"]
def fit(model, opt, loss_fn, loader, epochs, *, zero_grad=True) -> list[float]:
    """loader를 epochs번 돌며 학습하고, 에폭마다 샘플 평균 학습 손실을 리스트로 돌려줍니다.

    에폭을 시작할 때마다 학습 모드로 바꿉니다.
    평균은 샘플 수로 가중합니다. 작은 마지막 배치는 담은 샘플 수만큼만 셉니다.
    zero_grad: False이면 그레이디언트를 한 번도 지우지 않습니다(발산 실험용).
    """
    # BEGIN SOLUTION
    history = []
    for epoch in range(epochs):
        model.train()
        total_loss = 0.0
        num_samples = 0
        for xb, yb in loader:
            if zero_grad:
                opt.zero_grad()
            logits = model(xb)
            loss = loss_fn(logits, yb)
            loss.backward()
            opt.step()
            # .item(): 계산 그래프는 버리고 숫자만 모읍니다
            total_loss += loss.item() * len(xb)
            num_samples += len(xb)
        history.append(total_loss / num_samples)
    return history
    # END SOLUTION

# %% tags=["check"]
check(fit)

# %% tags=["exercise:evaluate"]
def evaluate(model, loss_fn, loader) -> tuple[float, float]:
    """평가 모드로 loader 전체를 보고 (샘플 평균 손실, 정확도)를 돌려줍니다. 정확도는 0과 1 사이입니다.

    계산 그래프를 만들지 않습니다. 배치 정규화의 이동 통계량을 바꾸지 않습니다.
    끝나면 모듈마다 원래 모드로 되돌립니다. loader가 오류를 내도 되돌립니다.
    """
    # BEGIN SOLUTION
    # 모듈마다 지금 모드를 적어 둡니다
    modes = {module: module.training for module in model.modules()}
    total_loss = 0.0
    num_correct = 0
    num_samples = 0
    model.eval()
    try:
        with torch.no_grad():
            for xb, yb in loader:
                logits = model(xb)
                loss = loss_fn(logits, yb)
                total_loss += loss.item() * len(xb)
                num_correct += (logits.argmax(dim=1) == yb).sum().item()
                num_samples += len(xb)
    finally:
        # 무슨 일이 있어도 되돌립니다
        for module, mode in modes.items():
            module.training = mode
    return total_loss / num_samples, num_correct / num_samples
    # END SOLUTION

# %% tags=["check"]
check(evaluate)

# %% tags=["exercise:zero_gradients"]
def zero_gradients(params) -> None:
    """opt.zero_grad()가 하는 일을 손으로 합니다. 매개변수의 그레이디언트를 비웁니다."""
    # BEGIN SOLUTION
    for param in params:
        param.grad = None
    # END SOLUTION

# %% tags=["check"]
check(zero_gradients)

# %% tags=["exercise:sgd_update"]
def sgd_update(params, lr) -> None:
    """모멘텀 없는 SGD의 opt.step()을 손으로 합니다. .grad가 None인 매개변수는 건드리지 않습니다."""
    # BEGIN SOLUTION
    # 업데이트는 미분할 계산이 아닙니다
    with torch.no_grad():
        for param in params:
            if param.grad is None:
                continue
            # -=은 새 텐서를 만들지 않고 제자리에서 바꿉니다
            param -= lr * param.grad
    # END SOLUTION

# %% tags=["check"]
check(sgd_update)

# %% tags=["exercise:autograd_nodes"]
def autograd_nodes(loss) -> list[str]:
    """loss.grad_fn에서 next_functions를 따라 닿는 모든 노드의 클래스 이름을, 겹치지 않게 정렬해 돌려줍니다.

    그래프가 없는 loss이면 빈 리스트를 돌려줍니다.
    """
    # BEGIN SOLUTION
    names = set()
    seen = set()
    to_visit = [loss.grad_fn]
    while to_visit:
        node = to_visit.pop()
        # 그래프가 끝났거나 이미 들른 노드입니다
        if node is None or node in seen:
            continue
        seen.add(node)
        names.add(type(node).__name__)
        for next_node, _ in node.next_functions:
            to_visit.append(next_node)
    return sorted(names)
    # END SOLUTION

# %% tags=["check"]
check(autograd_nodes)
