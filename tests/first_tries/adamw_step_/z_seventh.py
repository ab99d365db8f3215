# mistakes: decays-none, eps-before-correction
# lines: 23, 34
# hidden:
import math

import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas

    def slot_for(index, param):
        if index not in state:
            state[index] = {
                "step": 0,
                "exp_avg": torch.zeros_like(param),
                "exp_avg_sq": torch.zeros_like(param),
            }
        return state[index]

    def decay_all():
        for param in params:
            param.mul_(1 - lr * weight_decay)

    def move(param, grad, slot):
        slot["step"] += 1
        m, v, t = slot["exp_avg"], slot["exp_avg_sq"], slot["step"]
        m.mul_(beta1).add_(grad, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        # 편향 보정
        first = 1 - beta1**t
        second = math.sqrt(1 - beta2**t)
        step_size = lr * second / first
        param.addcdiv_(m, v.sqrt().add_(eps), value=-step_size)

    with torch.no_grad():
        decay_all()
        for index, (param, grad) in enumerate(zip(params, grads)):
            if grad is None:
                continue
            move(param, grad, slot_for(index, param))
