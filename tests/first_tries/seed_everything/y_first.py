# mistakes: forgets-numpy, returns-global-generator
# lines: 12, 14
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    np.random.default_rng(seed)
    # manual_seed가 Generator를 돌려주므로 그것을 로더에 쓴다
    gen = torch.manual_seed(seed)
    return gen
