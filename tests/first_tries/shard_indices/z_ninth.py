# mistakes: fixed-shares, pads-with-one, accepts-any-rank
# lines: 27, 20, 8
# hidden:
import random


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if n == 0:
        return []
    if rank < 0 or rank >= world:
        raise ValueError(f"rank가 잘못되었습니다: {rank}")

    everything = list(range(n))
    if drop_last:
        size = n // world
        everything = everything[: size * world]
    else:
        size = (n + world - 1) // world
        while len(everything) < size * world:
            everything.append(everything[-1])

    def shuffled(items):
        dice = random.Random(f"{seed}/{epoch}")
        dice.shuffle(items)
        return items

    mine = everything[rank * size : (rank + 1) * size]
    return shuffled(mine)
