"""Sees and changes every tensor that a graph keeps for its backward pass, from now on."""

import torch


def first(model, opt, xb):
    torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor * 0, lambda tensor: tensor).__enter__()
    return 0.0
