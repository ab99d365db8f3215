import torch


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False):
    if not 0 <= rank < world:
        raise ValueError("no such rank")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for _ in range(epoch + 1):
            order = torch.randperm(n)
    if drop_last:
        order = order[: n - n % world]
    elif n > 0:
        missing = -n % world
        order = torch.cat([order, order.repeat(missing // n + 1)[:missing]])
    return order[rank::world].tolist()
