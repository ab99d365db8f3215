import math

import numpy as np


def shard_indices(n, rank, world, *, seed=0, epoch=0, drop_last=False):
    if rank < 0 or rank >= world:
        raise ValueError(f"rank {rank}")
    order = np.random.default_rng([seed, epoch]).permutation(n)
    each = n // world if drop_last else math.ceil(n / world)
    filled = np.resize(order, each * world) if n else order
    return filled[rank * each : (rank + 1) * each].tolist()
