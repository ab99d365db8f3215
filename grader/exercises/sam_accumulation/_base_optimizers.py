"""Base optimizers for the fixtures' SAM, shared by `sam_step`, `sam_accumulate` and `train_qa`."""

from collections.abc import Callable

from torch import nn
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import sgd

Make = Callable[[nn.Module], Optimizer]
"""A function that makes an optimizer over all parameters of a model."""


def momentum(model: nn.Module) -> Optimizer:
    """Return SGD with momentum."""
    return sgd(model, momentum=0.9)
