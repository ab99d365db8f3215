# mistakes: unseeded-generator
# lines: 15
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    # 시드를 정하는 함수들을 차례로 부른다
    for set_seed in (random.seed, np.random.seed, torch.manual_seed):
        set_seed(seed)

    loader_generator = torch.Generator()
    return loader_generator
