# mistakes: forgets-numpy, returns-global-generator
# lines: 12, 15
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    np.random.default_rng(seed)
    # manual_seed가 Generator를 돌려준다
    gen = torch.manual_seed(seed)
    return gen
