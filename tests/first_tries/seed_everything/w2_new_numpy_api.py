# mistakes: forgets-numpy, unseeded-generator
# lines: 12, 16
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    return torch.Generator()
