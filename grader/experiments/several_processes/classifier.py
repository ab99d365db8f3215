"""A small classifier of digits and its data, in float64 on the CPU, so that forked processes can use them."""

from collections.abc import Sequence
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.digits import read_digits

Batch = tuple[Tensor, Tensor]
"""Images and their labels."""

NUM_TRAIN = 1437
"""The digits after these are for validation."""


@cache
def train_digits() -> Batch:
    """Return the images and labels to train on."""
    images, labels = read_digits()
    return images[:NUM_TRAIN].double(), labels[:NUM_TRAIN]


@cache
def val_digits() -> Batch:
    """Return the 360 images and labels to validate on."""
    images, labels = read_digits()
    return images[NUM_TRAIN:].double(), labels[NUM_TRAIN:]


def make_classifier(seed: int, *middle: nn.Module) -> nn.Sequential:
    """Return a 64-64-10 classifier with `middle` after its first layer."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 64), *middle, nn.Tanh(), nn.Linear(64, 10)).double()


def draw_batches(seed: int, count: int, size: int = 32) -> list[Batch]:
    """Return `count` batches of `size` training digits each."""
    images, labels = train_digits()
    generator = torch.Generator().manual_seed(seed)
    drawn = [torch.randint(len(images), (size,), generator=generator) for _ in range(count)]
    return [(images[rows], labels[rows]) for rows in drawn]


def train(model: nn.Module, opt: torch.optim.Optimizer, batches: Sequence[Batch]) -> None:
    """Update once with each batch; the model may be wrapped."""
    for xb, yb in batches:
        opt.zero_grad()
        F.cross_entropy(model(xb), yb).backward()
        opt.step()


def trained_classifier(seed: int, steps: int) -> nn.Sequential:
    """Return a classifier after `steps` updates of SGD on batches of 32."""
    model = make_classifier(seed)
    train(model, torch.optim.SGD(model.parameters(), lr=0.5), draw_batches(seed, steps))
    return model


def weights_of(model: nn.Module) -> Tensor:
    """Return a copy of all parameters, joined into one vector."""
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def farthest(vectors: Sequence[Tensor], reference: Tensor) -> float:
    """Return the largest absolute difference between a number of any vector and that of `reference`."""
    return max((vector - reference).abs().max().item() for vector in vectors)
