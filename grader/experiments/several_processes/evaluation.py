"""Measures over ranks: what padded shards count twice, and what a mean of the ranks' perplexities is."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.several_processes.digits import Batch, x_val, y_val


def right_answers(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    """Return for each image whether the model's answer is right."""
    with torch.no_grad():
        right: Tensor = model(images).argmax(dim=1) == labels
    return right.long()


def val_loss(model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
    """Return the mean loss, without a graph."""
    with torch.no_grad():
        return F.cross_entropy(model(images), labels)


def few_val_digits(count: int) -> Batch:
    """Return the first `count` validation digits."""
    return x_val[:count], y_val[:count]


def val_digits_by_label() -> Batch:
    """Return the validation digits in the order of their labels: all zeros first."""
    order = y_val.argsort(stable=True)
    return x_val[order], y_val[order]


def perplexities(model: nn.Module, data: Batch, world: int) -> tuple[float, float]:
    """Return the perplexity of all data, and the mean of the perplexities of `world` equal shares in a row.

    The data's length must be a multiple of `world`.
    """
    images, labels = data
    size = len(images) // world
    shares = zip(images.split(size), labels.split(size), strict=True)
    parts = torch.stack([val_loss(model, *share).exp() for share in shares])
    return val_loss(model, images, labels).exp().item(), parts.mean().item()
