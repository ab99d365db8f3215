# mistakes: touches-none, climbs, changes-gradients
# lines: 8, 9, 10
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        p += lr * p.grad
        p.grad = None  # 다 썼으니 지운다
