# mistakes: forgets-numpy, unseeded-generator
# lines: 16, 11
# hidden:
import random

import numpy as np
import torch


def _새_생성기(seed):
    generator = torch.Generator()
    return generator


def seed_everything(seed) -> torch.Generator:
    시드_정하는_함수들 = (random.seed, np.random.default_rng, torch.manual_seed)
    for 정하기 in 시드_정하는_함수들:
        정하기(seed)
    return _새_생성기(seed)
