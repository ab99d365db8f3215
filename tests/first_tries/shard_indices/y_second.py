# mistakes: pads-once, global-state
# lines: 23, 15
# hidden:
import math

import torch


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank < 0 or rank >= world:
        raise ValueError(f"rank {rank}는 0 이상 {world} 미만이어야 합니다")
    if n == 0:
        return []

    torch.manual_seed(seed * 100003 + epoch)
    order = torch.randperm(n).tolist()

    if drop_last:
        size = n // world * world
        order = order[:size]
    else:
        size = math.ceil(n / world) * world
        order = order + order[: size - n]  # 모자라는 만큼 앞에서 가져온다
    return order[rank::world]
