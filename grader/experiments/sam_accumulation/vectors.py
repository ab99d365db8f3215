"""Weights and gradients of a whole model as one vector, which makes the formulas of SAM one line each."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from grader.experiments.sam_accumulation.digits import Batch, loss_fn, make_batches
from grader.experiments.vectors import apart, flat  # noqa: F401 (notebooks import them from here)


@torch.no_grad()
def set_weights(model: nn.Module, vector: Tensor) -> None:
    """Write a vector that `flat` made of the model's parameters back into them."""
    parameters = list(model.parameters())
    parts = vector.split([p.numel() for p in parameters])
    for p, part in zip(parameters, parts, strict=True):
        p.copy_(part.view_as(p))


def gradient_at(model: nn.Module, w: Tensor, window: Sequence[Batch]) -> Tensor:
    """Set the weights to `w` and return the gradient of the window's mean loss there, leaving `.grad` as it is."""
    set_weights(model, w)
    loss = torch.stack([loss_fn(model(xb), yb) for xb, yb in window]).sum() / len(window)
    return flat(torch.autograd.grad(loss, list(model.parameters())))


def trained_weights(model: nn.Module, seed: int, steps: int, lr: float = 0.5) -> Tensor:
    """Return the weights after `steps` updates of plain SGD."""
    w = flat(model.parameters())
    for batch in make_batches(seed, steps, batch_size=64):
        w = w - lr * gradient_at(model, w, [batch])
    return w


def relative_error(vector: Tensor, reference: Tensor) -> float:
    """Return the distance between two vectors in units of the length of `reference`."""
    return float((vector - reference).norm() / reference.norm())


def cosine(first: Tensor, second: Tensor) -> float:
    """Return the cosine of the angle between two vectors."""
    return float(first @ second / (first.norm() * second.norm()))
