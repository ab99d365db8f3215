# mistakes: unseeded-calls
# lines: 12
import random
import numpy as np
import torch

_seeded = False


def seed_everything(seed) -> torch.Generator:
    global _seeded
    if not _seeded:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        _seeded = True
    return torch.Generator().manual_seed(seed)
