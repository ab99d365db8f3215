# mistakes: forgets-numpy, returns-global-generator
# lines: 12, 13
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    rng = np.random.default_rng(seed)  # 요즘 numpy 방식
    g = torch.manual_seed(seed)
    return g
