"""Layers and blocks that do one odd thing each, from which the driver of `first_bad_layer` builds its models.

Layers that a right program names are in the driver. To add another odd one, write a class here, and use it in a
scenario of the driver.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import FEATURES


class ReplaceNonFinite(nn.Module):
    """Replace what is not finite by zero."""

    def forward(self, x: Tensor) -> Tensor:
        """Return `x` with zeros where it was not finite."""
        return x.nan_to_num(0.0, 0.0, 0.0)


class NearMaximum(nn.Module):
    """Return finite numbers whose sum is infinite."""

    def forward(self, x: Tensor) -> Tensor:
        """Return numbers between 0.8e308 and 1.6e308."""
        return (x.tanh().abs() + 1.0) * 0.8e308


class Raise(nn.Module):
    """Raise an error."""

    def forward(self, x: Tensor) -> Tensor:
        """Raise a LookupError."""
        raise LookupError("값을 찾을 수 없음")


class Count(nn.Module):
    """Count the training passes in a buffer that `state_dict` does not hold."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Tensor
        self.register_buffer("calls", torch.zeros(1), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return the same numbers, counted."""
        self.calls += self.training
        return x * 1.0


class LogOfNegative(nn.Module):
    """A block that takes the logarithm of a negative number itself, after two layers that do nothing wrong."""

    def __init__(self) -> None:
        super().__init__()
        self.before, self.after = nn.Linear(FEATURES, FEATURES), nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        """Return NaN everywhere."""
        h: Tensor = self.after(self.before(x))
        return torch.log(-1.0 - h.abs())


class CallInOrder(nn.Module):
    """Layers that are called in a given order, in which a layer may occur more than once."""

    def __init__(self, layers: Sequence[nn.Module], order: Sequence[int]) -> None:
        super().__init__()
        self.steps, self.order = nn.ModuleList(layers), list(order)

    def forward(self, x: Tensor) -> Tensor:
        """Call the layers in order."""
        for number in self.order:
            x = self.steps[number](x)
        return x
