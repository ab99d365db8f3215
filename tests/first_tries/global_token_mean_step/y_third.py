# mistakes: refuses-alone, averages-the-ranks
# lines: 24, 39
# hidden:
from contextlib import nullcontext

import torch
from torch.nn import functional as F


def _sum_ce(logits, y, ignore_index):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")


def _piece(ddp, x, y, ignore_index, scale):
    s = _sum_ce(ddp(x), y, ignore_index)
    (s * scale).backward()
    return s.item()


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    items = list(micro_batches)
    dev = items[0][1].device
    mine = sum(int((y != ignore_index).sum()) for _, y in items)
    if mine == 0:
        raise ValueError("no valid tokens")
    everyone = torch.tensor([mine], device=dev)
    dist.all_reduce(everyone)
    world = dist.get_world_size()
    scale = world / everyone.item()  # DDP가 world로 나누니까 되돌린다

    opt.zero_grad(set_to_none=True)
    loss_sum = 0.0
    for k, (x, y) in enumerate(items, start=1):
        ctx = nullcontext() if k == len(items) else ddp.no_sync()
        with ctx:
            loss_sum += _piece(ddp, x, y, ignore_index, scale)
    opt.step()

    avg = torch.tensor([loss_sum / mine], dtype=torch.float64, device=dev)
    dist.all_reduce(avg)
    return avg.item() / world
