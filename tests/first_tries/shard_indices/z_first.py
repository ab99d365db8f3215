# mistakes: accepts-any-rank, zero-seed-hides-epoch, pads-once
# lines: 9, 13, 21
# hidden:
import math
import random


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank < 0 or rank > world:
        raise ValueError(f"rank {rank}는 0 이상 {world} 미만이어야 합니다")

    order = list(range(n))
    random.Random(str(seed * (epoch + 1))).shuffle(order)

    if drop_last:
        per_rank = n // world
        order = order[: per_rank * world]
    else:
        per_rank = math.ceil(n / world)
        lacking = per_rank * world - n
        order = order + order[:lacking]

    # 한 장씩 돌아가며 나누어 준다
    return order[rank::world]
