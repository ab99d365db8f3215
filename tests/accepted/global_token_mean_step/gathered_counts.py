from contextlib import nullcontext

import torch
from torch import nn


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100) -> float:
    micro_batches = list(micro_batches)
    counts = [None] * dist.get_world_size()
    dist.all_gather_object(counts, sum(int((y != ignore_index).sum()) for _, y in micro_batches))
    total = sum(counts)
    if not total:
        raise ValueError("토큰이 없어요")
    criterion = nn.CrossEntropyLoss(ignore_index=ignore_index, reduction="none")
    opt.zero_grad()
    own = 0.0
    for i, (x, y) in enumerate(micro_batches):
        last = i + 1 == len(micro_batches)
        with nullcontext() if last else ddp.no_sync():
            share = criterion(ddp(x).flatten(0, 1), y.flatten()).sum() / total
            (share * len(counts)).backward()
        own += share.item()
    opt.step()
    shares = [None] * len(counts)
    dist.all_gather_object(shares, own)
    return sum(shares)
