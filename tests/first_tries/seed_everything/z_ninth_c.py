# mistakes: forgets-numpy, returns-global-generator
# lines: 12, 18
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    # 시드를 받는 함수들을 차례로 부른다
    seeders = (random.seed, np.random.default_rng)
    for set_seed in seeders:
        set_seed(seed)

    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    generator = torch.manual_seed(seed)
    return generator
