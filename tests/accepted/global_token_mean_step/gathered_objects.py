import torch
from torch.nn import functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100):
    opt.zero_grad()
    loss_sum, tokens = 0.0, 0
    with ddp.no_sync():
        for x, y in micro_batches:
            loss = F.cross_entropy(ddp(x).flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
            loss.backward()
            loss_sum += loss.item()
            tokens += int((y != ignore_index).sum())
    gradients = [p.grad for p in ddp.parameters()]
    told = [None] * dist.get_world_size()
    dist.all_gather_object(told, (loss_sum, tokens, gradients))
    tokens = sum(count for _, count, _ in told)
    if tokens == 0:
        raise ValueError("no valid token")
    for p, *theirs in zip(ddp.parameters(), *(of_rank for _, _, of_rank in told)):
        p.grad = sum(theirs) / tokens
    opt.step()
    return sum(loss for loss, _, _ in told) / tokens
