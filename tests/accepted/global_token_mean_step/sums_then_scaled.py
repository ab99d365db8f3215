import torch
import torch.nn.functional as F


def global_token_mean_step(ddp, opt, micro_batches, dist, *, ignore_index=-100):
    batches = list(micro_batches)
    tokens = torch.zeros(1, dtype=torch.int64)
    for _, y in batches:
        tokens += y.ne(ignore_index).sum()
    dist.all_reduce(tokens)
    if tokens.item() == 0:
        raise ValueError("no tokens")
    opt.zero_grad()
    total = torch.zeros(1, dtype=torch.float64)

    def add(x, y):
        loss = F.cross_entropy(ddp(x).transpose(1, 2), y, ignore_index=ignore_index, reduction="sum")
        loss.backward()
        total.add_(loss.detach())

    with ddp.no_sync():
        for x, y in batches[:-1]:
            add(x, y)
    add(*batches[-1])
    for p in ddp.parameters():
        p.grad *= dist.get_world_size() / tokens.item()
    opt.step()
    dist.all_reduce(total)
    return total.item() / tokens.item()
