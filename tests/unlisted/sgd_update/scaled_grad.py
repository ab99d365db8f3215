# mistakes: 그레이디언트에 lr을 제자리에서 곱해 .grad가 바뀜
# lines: 11
import torch


@torch.no_grad()
def sgd_update(params, lr) -> None:
    for p in params:
        if p.grad is None:
            continue
        delta = p.grad.mul_(lr)
        p.sub_(delta)
