# mistakes: returns-global-generator
# lines: 14
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    seeders = (random.seed, np.random.seed)
    for set_seed in seeders:
        set_seed(seed)
    generator = torch.manual_seed(seed)
    return generator
