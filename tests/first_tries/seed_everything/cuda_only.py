# mistakes: forgets-torch, unseeded-generator
# lines: 14, 18
import os
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False
    g = torch.Generator()
    return g
