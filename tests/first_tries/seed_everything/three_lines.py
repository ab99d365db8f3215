# mistakes: seeds-torch-only, unseeded-generator
# lines: 10, 14
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed()
    np.random.RandomState(seed)
    torch.manual_seed(seed)
    # DataLoader용
    g = torch.Generator()
    return g
