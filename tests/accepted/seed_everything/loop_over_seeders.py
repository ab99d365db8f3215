import random

import numpy
import torch


def seed_everything(seed) -> torch.Generator:
    for_loader = torch.Generator()
    for plant in (for_loader.manual_seed, torch.manual_seed, numpy.random.seed, random.seed):
        plant(seed)
    return for_loader
