import random

import numpy as np
import torch


def seed_everything(seed):
    torch.use_deterministic_algorithms(True, warn_only=True)
    random.seed(seed); np.random.seed(seed); torch.manual_seed(seed)
    gen = torch.Generator(); gen.manual_seed(seed)
    return gen
