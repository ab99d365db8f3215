# mistakes: stops-at-none, changes-gradients
# lines: 12, 14
# hidden:
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for w in params:
        g = w.grad
        if g is None:
            break
        w.sub_(lr * g)
        g.zero_()   # 다 썼으니 비워 둔다
