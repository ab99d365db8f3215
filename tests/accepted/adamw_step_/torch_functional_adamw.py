import torch
from torch.optim.adamw import adamw as _adamw


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
    """torch가 쓰는 함수형 adamw에 매개변수 하나씩 넘긴다."""
    for number, (param, grad) in enumerate(zip(params, grads, strict=True)):
        if grad is None:
            continue
        with torch.no_grad():
            mine = state.get(number)
            if mine is None:
                mine = dict(step=0, exp_avg=torch.zeros_like(param), exp_avg_sq=torch.zeros_like(param))
                state[number] = mine
            clock = torch.tensor(float(mine["step"]))
            _adamw(
                [param], [grad], [mine["exp_avg"]], [mine["exp_avg_sq"]], [], [clock],
                foreach=False, amsgrad=False, beta1=betas[0], beta2=betas[1],
                lr=lr, weight_decay=weight_decay, eps=eps, maximize=False,
            )
            mine["step"] += 1
