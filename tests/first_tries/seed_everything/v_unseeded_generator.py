# mistakes: forgets-random, unseeded-generator
# lines: 9, 13
# hidden:
import numpy as np
import torch


def seed_everything(seed) -> torch.Generator:
    np.random.seed(seed)
    torch.manual_seed(seed)
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
    return torch.Generator()
