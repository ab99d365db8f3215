"""The handwritten digits of lesson 05: classifiers and batches in float64, and what one process alone makes of them."""

from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn

from grader.experiments.digits import read_digits
from grader.experiments.vectors import flat

Batch = tuple[Tensor, Tensor]
"""Images and their labels."""

loss_fn = nn.CrossEntropyLoss()

_images, _labels = read_digits()
x_train, y_train = _images[:1437].double(), _labels[:1437]
x_val, y_val = _images[1437:].double(), _labels[1437:]


def make_model(seed: int, *middle: nn.Module) -> nn.Sequential:
    """Return a 64-64-10 classifier in float64, with `middle` after its first layer."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 64), *middle, nn.Tanh(), nn.Linear(64, 10)).double()


def make_batches(seed: int, count: int, size: int = 64) -> list[Batch]:
    """Return `count` batches of `size` training images, shuffled anew in each epoch; the same ones on every rank."""
    generator = torch.Generator().manual_seed(seed)
    batches: list[Batch] = []
    while len(batches) < count:
        rows = torch.randperm(len(x_train), generator=generator)
        batches += [(x_train[r], y_train[r]) for r in rows.split(size) if len(r) == size]
    return batches[:count]


def sgd(params: Iterable[Tensor]) -> torch.optim.Optimizer:
    """Return SGD with the lesson's learning rate."""
    return torch.optim.SGD(params, lr=0.1)


def adamw(params: Iterable[Tensor]) -> torch.optim.Optimizer:
    """Return AdamW with the lesson's learning rate."""
    return torch.optim.AdamW(params, lr=1e-3)


def train_alone(
    model: nn.Module,
    make_opt: Callable[[Iterable[Tensor]], torch.optim.Optimizer],
    batches: Iterable[Batch],
) -> Tensor:
    """Train in this one process with the whole of each batch, and return the weights."""
    opt = make_opt(model.parameters())
    for xb, yb in batches:
        opt.zero_grad()
        loss_fn(model(xb), yb).backward()
        opt.step()
    return flat(model.parameters())


def training_loss(weights: Tensor, model: nn.Module) -> float:
    """Return the loss of all training images under these weights, which are copied into the model."""
    nn.utils.vector_to_parameters(weights, model.parameters())
    with torch.no_grad():
        loss: Tensor = loss_fn(model(x_train), y_train)
    return loss.item()
