# mistakes: forgets-numpy, unseeded-generator
# lines: 13, 19
# hidden:
import random

import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    """시드를 한꺼번에 정한다."""
    random.seed(seed)
    np.random.default_rng(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)

    # DataLoader에 넘길 것
    g = torch.Generator()
    return g
