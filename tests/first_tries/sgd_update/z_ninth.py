# mistakes: stops-at-none
# lines: 16
# hidden:
import torch


def move(p, lr):
    p.sub_(lr * p.grad)


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        # 그레이디언트가 없으면 건드리지 않는다
        if p.grad is None:
            break
        move(p, lr)
