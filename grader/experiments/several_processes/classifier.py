"""Batches of each rank's own, runs on them, and weights as one vector, for parts 5 to 8 of lesson 05."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.several_processes.digits import Batch, make_model, x_train, y_train
from grader.experiments.vectors import flat


def draw_batches(seed: int, count: int, size: int = 32) -> list[Batch]:
    """Return `count` batches of `size` training digits each."""
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randint(len(x_train), (size,), generator=generator) for _ in range(count)]
    return [(x_train[rows], y_train[rows]) for rows in drawn]


def train(model: nn.Module, opt: torch.optim.Optimizer, batches: Sequence[Batch]) -> None:
    """Update once with each batch; the model may be wrapped."""
    for xb, yb in batches:
        opt.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        opt.step()


def trained_classifier(seed: int, steps: int) -> nn.Sequential:
    """Return a classifier after `steps` updates of SGD on batches of 32."""
    model = make_model(seed)
    train(model, torch.optim.SGD(model.parameters(), lr=0.5), draw_batches(seed, steps))
    return model


def weights_of(model: nn.Module) -> Tensor:
    """Return a copy of all parameters, joined into one vector."""
    return flat(model.parameters())


def farthest(vectors: Sequence[Tensor], reference: Tensor) -> float:
    """Return the largest absolute difference between a number of any vector and that of `reference`."""
    return max((vector - reference).abs().max().item() for vector in vectors)
