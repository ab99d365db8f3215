# mistakes: returns-global-generator
# lines: 14
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    for plant in (random.seed, np.random.seed):
        plant(seed)
    generator = torch.manual_seed(seed)
    return generator
