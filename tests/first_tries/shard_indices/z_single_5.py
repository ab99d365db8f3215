# mistakes: rank-in-seed
# lines: 13
# hidden:
import numpy as np


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False) -> list[int]:
    if not 0 <= rank < world:
        raise ValueError(f"rank={rank}, world={world}")
    if n == 0:
        return []
    # rank마다 다른 순서로 섞는다
    rng = np.random.default_rng([seed, epoch, rank])
    perm = rng.permutation(n)
    size = n // world if drop_last else -(-n // world)
    padded = np.resize(perm, size * world)
    return padded[rank::world].tolist()
