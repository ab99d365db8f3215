# mistakes: climbs, touches-none
# lines: 12, 11
# hidden:
import torch


def sgd_update(params, lr) -> None:
    # no_grad 안에서 제자리로 바꿔야 오류가 안 난다
    with torch.no_grad():
        for param in params:
            step = lr * param.grad
            param.add_(step)
