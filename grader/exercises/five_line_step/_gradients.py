"""The next gradients of a model, which `accumulate` and `zero_gradients` must leave undisturbed."""

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import Batch, LossFn


def next_gradients(model: nn.Module, loss_fn: LossFn, batch: Batch) -> Tensor:
    """What the next backward pass leaves in `.grad` (then cleared): numbers nobody can know beforehand."""
    loss_fn(model(batch[0]), batch[1]).backward()
    flat = flat_gradients(model)
    for parameter in model.parameters():
        parameter.grad = None
    return flat


def flat_gradients(model: nn.Module) -> Tensor:
    """A copy of all gradients, one after the other; zeros where there is none."""
    return torch.cat(
        [(torch.zeros_like(p) if p.grad is None else p.grad).detach().ravel() for p in model.parameters()]
    )
