"""Weights or gradients of a whole model as one vector, to compare two models at once.

The lessons' modules pass `flat` and `apart` on: notebooks that were handed out import them from there.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


def flat(tensors: Iterable[Tensor | None]) -> Tensor:
    """Return copies of the tensors joined into one float64 vector, without those that are None."""
    return torch.cat([tensor.detach().flatten() for tensor in tensors if tensor is not None]).double()


def apart(first: Tensor, second: Tensor) -> float:
    """Return the largest absolute difference between two vectors."""
    return (first - second).abs().max().item()
