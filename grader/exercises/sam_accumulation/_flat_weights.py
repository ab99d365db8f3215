"""All weights of a model as one vector: for `SAM` and `sharpness`, which compare them before and after."""

import torch
from torch import Tensor, nn


def flat_weights(model: nn.Module) -> Tensor:
    """A copy of all parameters, one after the other."""
    return torch.cat([p.detach().clone().ravel() for p in model.parameters()])
