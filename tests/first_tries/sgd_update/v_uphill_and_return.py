# mistakes: climbs, stops-at-none
# lines: 12, 11
# hidden:
import torch


def sgd_update(params, lr) -> None:
    with torch.no_grad():
        for w in params:
            if w.grad is None:
                return
            w += lr * w.grad
