# mistakes: forgets-epoch, pads-with-one, accepts-any-rank
# lines: 11, 16, 9
# hidden:
import math
import random


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False):
    if rank < 0 or rank > world:
        raise ValueError(f"rank는 0 이상 {world} 미만이어야 합니다: {rank}")
    rng = random.Random(seed)
    idx = list(range(n))
    rng.shuffle(idx)
    per = n // world if drop_last else math.ceil(n / world)
    while len(idx) < per * world:
        idx.append(idx[-1])
    return idx[rank * per : (rank + 1) * per]
