# mistakes: uses-params-up, divides-by-holders
# lines: 10, 29
# hidden:
import torch


def fill_missing(params):
    # 그레이디언트가 없는 자리를 0으로 채우고, 원래 있었는지를 적어 둔다
    flags = []
    for p in params:
        if not p.requires_grad:
            continue
        flags.append(0.0 if p.grad is None else 1.0)
        if p.grad is None:
            p.grad = torch.zeros_like(p)
    return flags


def all_reduce_mean_(params, dist) -> None:
    flags = fill_missing(params)
    trainable = [p for p in params if p.requires_grad]
    if not trainable:
        return

    owners = torch.tensor(flags, device=trainable[0].device)
    dist.all_reduce(owners)
    for p, k in zip(trainable, owners.tolist()):
        dist.all_reduce(p.grad)
        p.grad.div_(max(k, 1.0))
