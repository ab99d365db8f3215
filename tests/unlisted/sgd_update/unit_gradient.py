# mistakes: 그레이디언트를 길이 1로 맞추어 뺌
# lines: 11
import torch


@torch.no_grad()
def sgd_update(params, lr):
    for p in params:
        if p.grad is None:
            continue
        direction = p.grad / (p.grad.norm() + 1e-12)
        p.sub_(lr * direction)
