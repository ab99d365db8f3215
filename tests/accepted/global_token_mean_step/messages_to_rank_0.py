import torch
from torch.nn import functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100):
    opt.zero_grad()
    sums = torch.zeros(2, dtype=torch.float64)
    for x, y in micro_batches:
        loss = F.cross_entropy(ddp.module(x).flatten(0, 1), y.flatten(), ignore_index=ignore_index, reduction="sum")
        loss.backward()
        sums += torch.tensor([loss.item(), float((y != ignore_index).sum())])
    params = list(ddp.parameters())
    whole = torch.cat([sums, *(p.grad.flatten().double() for p in params)])
    rank, others = dist.get_rank(), range(1, dist.get_world_size())
    if rank == 0:
        for other in others:
            theirs = torch.empty_like(whole)
            dist.recv(theirs, src=other)
            whole += theirs
        for work in [dist.isend(whole, other) for other in others]:
            work.wait()
    else:
        dist.send(whole, 0)
        dist.irecv(whole, 0).wait()
    loss_sum, tokens = whole[:2].tolist()
    if tokens == 0:
        raise ValueError("no valid token")
    for p, g in zip(params, whole[2:].split([p.numel() for p in params])):
        p.grad.copy_((g / tokens).view_as(p))
    opt.step()
    return loss_sum / tokens
