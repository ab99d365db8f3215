# mistakes: fixed-shares, accepts-any-rank, pads-with-one
# lines: 18, 8, 17
# hidden:
import random


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank < 0 or rank > world:
        raise ValueError("rank")
    if not n:
        return []
    ids = list(range(n))
    if drop_last:
        ids = ids[: n // world * world]
    else:
        short = -n % world
        ids += [ids[-1]] * short
    part = ids[rank::world]
    rng = random.Random(f"{seed}/{epoch}")  # 전역 난수는 건드리지 않음
    rng.shuffle(part)
    return part
