# mistakes: forgets-numpy, unseeded-generator
# lines: 16, 18
# hidden:
import random

import numpy as np
import torch


def _make_generator():
    return torch.Generator()


def seed_everything(seed) -> torch.Generator:
    # 세 라이브러리의 시드를 차례로 정한다
    for set_seed in (random.seed, np.random.default_rng, torch.manual_seed):
        set_seed(seed)
    generator = _make_generator()
    return generator
