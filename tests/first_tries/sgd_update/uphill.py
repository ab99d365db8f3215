# mistakes: stops-at-none, climbs, changes-gradients
# lines: 11, 12, 13
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        g = p.grad
        if g is None:
            return
        p.add_(g, alpha=lr)
        g.zero_()
