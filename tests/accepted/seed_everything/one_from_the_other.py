import random

import numpy as np
import torch


def seed_everything(seed):
    torch.manual_seed(seed)
    for f in (random.seed, np.random.seed):
        f(int(torch.randint(2**31, ())))
    return torch.Generator().manual_seed(int(torch.randint(2**31, ())))
