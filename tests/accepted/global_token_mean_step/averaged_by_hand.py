import torch
from torch.nn.functional import cross_entropy


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100):
    opt.zero_grad()
    loss_sum, count = torch.tensor(0.0, dtype=torch.float64), torch.tensor(0.0, dtype=torch.float64)
    for x, y in micro_batches:
        loss = cross_entropy(
            ddp.module(x).flatten(0, 1), y.reshape(-1), ignore_index=ignore_index, reduction="sum"
        )
        loss.backward()
        loss_sum += loss.item()
        count += (y != ignore_index).sum()
    dist.all_reduce(count)
    if count == 0:
        opt.zero_grad()
        raise ValueError("no valid token")
    dist.all_reduce(loss_sum)
    grads = [p.grad for p in ddp.parameters()]
    bucket = torch.cat([g.flatten() for g in grads])
    dist.all_reduce(bucket)
    bucket /= count
    for g, part in zip(grads, bucket.split([g.numel() for g in grads])):
        g.copy_(part.view_as(g))
    opt.step()
    return (loss_sum / count).item()
