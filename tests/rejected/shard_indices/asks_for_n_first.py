# expect: accepts-any-rank
import itertools
import random


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if n == 0:
        return []
    if rank < 0 or rank >= world:
        raise ValueError("rank는 0 이상 world 미만입니다.")
    order = list(range(n))
    random.Random(f"seed={seed},epoch={epoch}").shuffle(order)
    per_rank, rest = divmod(n, world)
    if rest and not drop_last:
        per_rank += 1
    stream = itertools.islice(itertools.cycle(order), per_rank * world)
    return list(itertools.islice(stream, rank, None, world))
