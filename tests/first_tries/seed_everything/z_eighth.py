# mistakes: forgets-numpy, unseeded-generator
# lines: 12, 13
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    np.random.default_rng(seed)
    generator = torch.Generator()
    torch.manual_seed(seed)
    return generator
