# mistakes: stops-at-none
# lines: 17
# hidden:
import torch


def sgd_update(params, lr) -> None:
    def move(p):
        p.sub_(lr * p.grad)

    queue = list(params)
    with torch.no_grad():
        while queue:
            p = queue.pop(0)
            if p.grad is None:
                # 건드리지 않는다
                break
            move(p)
