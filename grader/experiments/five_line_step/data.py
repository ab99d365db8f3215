"""The data and models of lesson 01's experiments: 8×8 handwritten digits and small classifiers."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from grader.experiments.digits import read_digits
from grader.experiments.vectors import flat

Batch = tuple[Tensor, Tensor]
"""Inputs and labels."""

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"
"""Only there are results claimed to be equal to the last bit."""
loss_fn = nn.CrossEntropyLoss()


class Digits(NamedTuple):
    """1,797 handwritten digits in a fixed random order, 64 pixels each from 0 to 1."""

    x_train: Tensor
    """Shape (1437, 64)."""
    y_train: Tensor
    x_val: Tensor
    """Shape (360, 64)."""
    y_val: Tensor


@cache
def digits() -> Digits:
    """Return the digits, on `device`."""
    images, labels = (tensor.to(device) for tensor in read_digits())
    return Digits(images[:1437], labels[:1437], images[1437:], labels[1437:])


def make_model(seed: int, *, hidden: int | None = 32) -> nn.Sequential:
    """Return a classifier 64 → hidden → 10 with weights of this seed; with `hidden=None` it has one layer."""
    torch.manual_seed(seed)
    if hidden is None:
        return nn.Sequential(nn.Linear(64, 10)).to(device)
    return nn.Sequential(nn.Linear(64, hidden), nn.Tanh(), nn.Linear(hidden, 10)).to(device)


def make_batches(seed: int, batch_size: int = 32, epochs: int = 1) -> list[Batch]:
    """Return mini-batches of the training data, shuffled anew for each epoch."""
    return [(xb[0], yb[0]) for xb, yb in make_batches_of_seeds([seed], batch_size, epochs)]


def make_batches_of_seeds(seeds: Sequence[int], batch_size: int = 32, epochs: int = 1) -> Iterator[Batch]:
    """Yield the mini-batches of each seed's `make_batches` side by side: shapes (seeds, batch, 64), (seeds, batch)."""
    x_train, y_train, _, _ = digits()
    generators = [torch.Generator().manual_seed(seed) for seed in seeds]
    for _ in range(epochs):
        orders = torch.stack([torch.randperm(len(x_train), generator=generator) for generator in generators])
        for rows in orders.to(device).split(batch_size, dim=1):
            yield x_train[rows], y_train[rows]


def cut(batch: Batch, sizes: int | list[int]) -> list[Batch]:
    """Split a batch into micro-batches of these sizes (one number: of that size each)."""
    xb, yb = batch
    return list(zip(xb.split(sizes), yb.split(sizes), strict=True))


def flat_gradients(model: nn.Module) -> Tensor:
    """Return all gradients of a model as one vector; every parameter must have one."""
    return flat(p.grad for p in model.parameters() if p.grad is not None)
