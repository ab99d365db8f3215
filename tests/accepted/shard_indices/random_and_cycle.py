import random
from itertools import cycle, islice


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if rank not in range(world):
        raise ValueError("rank")
    order = list(range(n))
    random.Random(f"{seed}/{epoch}").shuffle(order)
    count = n // world if drop_last else -(-n // world)
    return list(islice(cycle(order), rank, count * world, world)) if n else []
