# %% [markdown]
r"""
# AdamW를 손으로

AdamW의 `step()`을 직접 씁니다. 편향 보정(bias correction)을 빼면 처음 스텝들은 짧아질까요, 길어질까요?

### 연습. `adamw_step_`

약 25분 · ★★☆
"""

# %% tags=["folded"]
# 준비: 라이브러리
import torch

from grader import check, hint


# %% tags=["exercise:adamw_step_"]
def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    """AdamW의 업데이트 한 번을 매개변수에 제자리로 적용합니다. `torch.optim.AdamW`의 `step()`과 같습니다.

    params: 매개변수의 리스트입니다.
    grads: 매개변수와 같은 순서의 그레이디언트입니다. None인 매개변수는 이번에 움직이지도 감쇠하지도 않고, 그 상태도 그대로입니다.
    state: 매개변수의 번호(리스트에서의 자리, 정수)를 키로 하는 dict입니다. 처음에는 비어 있고, 매개변수가 처음 움직일 때
        그 번호에 {"step": 0, "exp_avg": 0인 텐서, "exp_avg_sq": 0인 텐서}를 넣습니다. 텐서의 모양과 dtype은 매개변수와 같습니다.
        "step"은 그 매개변수가 움직인 횟수입니다. 늦게 들어온 매개변수는 자기의 횟수로 보정합니다.
    lr, eps, weight_decay: 수입니다. betas: 수 두 개입니다.

    감쇠는 그레이디언트에 섞지 않습니다. 업데이트 앞에서 매개변수에 1 - lr × weight_decay를 곱합니다.
    eps는 보정한 exp_avg_sq의 제곱근에 더합니다.
    grads의 값은 바뀌지 않고, 계산 그래프를 만들지 않습니다.
    """
    # BEGIN SOLUTION
    beta1, beta2 = betas
    with torch.no_grad():
        for number, (param, grad) in enumerate(zip(params, grads, strict=True)):
            if grad is None:
                continue
            if number not in state:
                zeros = torch.zeros_like(param)
                state[number] = {"step": 0, "exp_avg": zeros, "exp_avg_sq": zeros.clone()}
            kept = state[number]
            kept["step"] += 1
            param.mul_(1 - lr * weight_decay)
            kept["exp_avg"].lerp_(grad, 1 - beta1)
            kept["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
            mean = kept["exp_avg"] / (1 - beta1 ** kept["step"])
            square = kept["exp_avg_sq"] / (1 - beta2 ** kept["step"])
            param.sub_(lr * mean / (square.sqrt() + eps))
    # END SOLUTION


# %% tags=["check"]
check(adamw_step_)
