# mistakes: own-count
# lines: 23
# hidden:
import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100):
    data = list(micro_batches)
    world = dist.get_world_size()
    n_local = 0
    for x, y in data:
        n_local += (y != ignore_index).sum()
    n = n_local.clone()
    dist.all_reduce(n)
    if n == 0:
        raise ValueError
    loss_sum = 0.0
    opt.zero_grad()
    with ddp.no_sync():
        for x, y in data[:-1]:
            l = F.cross_entropy(ddp(x).transpose(1, 2), y, ignore_index=ignore_index, reduction="sum")
            (l / n_local).backward()
            loss_sum += l.item()
    x, y = data[-1]
    l = F.cross_entropy(ddp(x).transpose(1, 2), y, ignore_index=ignore_index, reduction="sum")
    (l / n_local).backward()
    loss_sum += l.item()
    opt.step()
    t = torch.tensor(loss_sum)
    dist.all_reduce(t)
    return (t / n).item()
