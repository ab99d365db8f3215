# mistakes: accepts-any-rank, keeps-the-rest, pads-once
# lines: 16, 22, 26
# hidden:
import math

import torch


def _섞인_번호(n, seed, epoch):
    g = torch.Generator()
    g.manual_seed(seed * 1_000_003 + epoch)
    return torch.randperm(n, generator=g).tolist()


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank >= world:
        raise ValueError(f"rank {rank}는 {world}보다 작아야 합니다")

    order = _섞인_번호(n, seed, epoch)
    if drop_last:
        # 나머지는 버린다
        return order[rank::world]
    else:
        per_rank = math.ceil(n / world)
        missing = per_rank * world - n
        order = order + order[:missing]
        return order[rank::world]
