# mistakes: forgets-numpy, unseeded-generator
# lines: 9, 12
import random

import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    g = torch.Generator()
    return g
