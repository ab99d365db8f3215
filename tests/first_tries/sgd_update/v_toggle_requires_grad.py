# mistakes: fills-none-gradients, unfreezes, changes-gradients
# lines: 10, 14, 12
# hidden:
import torch


def sgd_update(params, lr) -> None:
    for param in params:
        if param.grad is None:
            param.grad = torch.zeros_like(param)  # 없으면 0으로
        param.requires_grad_(False)  # 그래프를 잠시 끈다
        step = param.grad.mul_(lr)
        param.sub_(step)
        param.requires_grad_(True)
