# mistakes: forgets-numpy, unseeded-generator
# lines: 13, 19
import os
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.benchmark = False
    generator = torch.Generator()
    return generator
