# mistakes: fixed-shares, pads-once, accepts-any-rank
# lines: 25, 22, 10
# hidden:
import math

import torch


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if n == 0:
        return []
    if rank < 0 or rank >= world:
        raise ValueError("rank는 0 이상 world 미만이어야 합니다")

    numbers = list(range(n))
    if drop_last:
        per_rank = n // world
        numbers = numbers[: per_rank * world]
    else:
        per_rank = math.ceil(n / world)
        missing = per_rank * world - n
        numbers = numbers + numbers[:missing]

    # 이 rank의 몫을 섞는다
    mine = numbers[rank::world]
    generator = torch.Generator()
    generator.manual_seed(seed + epoch)
    order = torch.randperm(len(mine), generator=generator).tolist()
    return [mine[i] for i in order]
