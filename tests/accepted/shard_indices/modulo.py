import torch


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False):
    if not (0 <= rank and rank < world):
        raise ValueError(f"{rank=} {world=}")
    gen = torch.Generator()
    gen.manual_seed(hash((seed, epoch)) % 2**63)
    perm = torch.randperm(n, generator=gen)
    length = n // world
    if not drop_last and n % world:
        length += 1
    return [int(perm[(k * world + rank) % n]) for k in range(length)]
