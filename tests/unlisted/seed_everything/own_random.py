# mistakes: 전역 random의 시드를 정하지 않고 쓰지 않을 Random 객체를 새로 만듦
# lines: 10
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.Random(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    generator = torch.Generator()
    generator.manual_seed(seed)
    return generator
