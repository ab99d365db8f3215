# expect: 
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        g = p.grad
        if g is None:
            continue
        if not torch.isfinite(g).all():
            continue  # 망가진 그레이디언트는 쓰지 않는다
        p.add_(g, alpha=-lr)
