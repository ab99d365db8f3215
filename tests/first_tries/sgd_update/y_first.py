# mistakes: stops-at-none
# lines: 12
# hidden:
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for w in params:
        g = w.grad
        if g is None:  # 그레이디언트가 없으면 할 일이 없다
            return
        w -= lr * g
