import math

import torch


def adamw_step_(params, grads, state, *, lr, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01) -> None:
    beta1, beta2 = betas
    for number, (param, grad) in enumerate(zip(params, grads)):
        if grad is None:
            continue
        p, g = param.detach(), grad.detach()
        entry = state.setdefault(number, {})
        if len(entry) == 0:
            entry["step"] = 0
            entry["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
            entry["exp_avg_sq"] = torch.zeros_like(p, memory_format=torch.preserve_format)
        entry["step"] += 1
        entry["exp_avg"].mul_(beta1).add_(g, alpha=1 - beta1)
        entry["exp_avg_sq"].mul_(beta2).addcmul_(g, g, value=1 - beta2)
        correction1 = 1 - beta1 ** entry["step"]
        correction2 = math.sqrt(1 - beta2 ** entry["step"])
        p.mul_(1 - lr * weight_decay)
        denominator = (entry["exp_avg_sq"].sqrt() / correction2).add_(eps)
        p.addcdiv_(entry["exp_avg"], denominator, value=-lr / correction1)
