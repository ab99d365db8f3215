# mistakes: pads-once, global-state, accepts-any-rank
# lines: 14, 7, 7
# hidden:
import torch

def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    torch.manual_seed(seed + epoch)
    order = torch.randperm(n).tolist()
    if drop_last:
        size = n // world
        order = order[: size * world]
    else:
        size = -(-n // world)
        order = order + order[: size * world - n]
    return order[rank::world]
