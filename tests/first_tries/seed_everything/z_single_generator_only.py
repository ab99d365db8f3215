# mistakes: unseeded-calls
# lines: 7
import torch


def seed_everything(seed) -> torch.Generator:
    g = torch.Generator()
    g.manual_seed(seed)
    return g
