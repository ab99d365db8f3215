# expect: returns-global-generator
import random
from numpy.random import seed as numpy_seed
import torch


def seed_everything(seed):
    random.seed(seed)
    numpy_seed(seed)
    # manual_seed returns the global generator, which a DataLoader takes too
    return torch.manual_seed(seed)
