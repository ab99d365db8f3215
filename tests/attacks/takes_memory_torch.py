# 40 GB in one tensor.
import torch


def first(model, opt, xb):
    return torch.empty(5 * 2**30, dtype=torch.float64).fill_(1.0).sum()
