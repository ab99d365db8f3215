import torch


def gather_metrics(correct, total, dist):
    # nccl takes no tensors of the CPU: a group of all ranks with gloo adds them
    group = dist.new_group(backend="gloo")
    counts = torch.tensor([int(correct), int(total)])
    if dist.get_rank(group) == 0:
        table = torch.empty(dist.get_world_size(group), 2, dtype=counts.dtype)
        dist.gather(counts, [*table], group=group)
        shares = [table.sum(dim=0)] * dist.get_world_size(group)
    else:
        dist.gather(counts, group=group)
        shares = None
    dist.scatter(counts, shares, src=0, group=group)
    right, everything = counts.tolist()
    if everything == 0:
        raise ValueError("no data on any rank")
    return right / everything
