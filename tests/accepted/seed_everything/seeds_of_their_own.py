import random as rnd

import numpy
import torch


def seed_everything(seed: int) -> torch.Generator:
    rnd.seed(f"python-{seed}")
    numpy.random.seed((seed * 31 + 7) % 2**32)
    torch.random.manual_seed(seed + 1)
    generator = torch.Generator(device="cpu")
    generator.manual_seed(seed + 2)
    return generator
