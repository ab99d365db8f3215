"""The digits that lesson 02 trains on, its small model, and how two trainings are compared."""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.base.folders_in_use import lock_folder
from grader.base.package import TEMPORARY_PREFIX
from grader.experiments.digits import read_digits
from grader.experiments.vectors import apart, flat  # noqa: F401 (notebooks import them from here)

Batch = tuple[Tensor, Tensor]
LossFn = Callable[[Tensor, Tensor], Tensor]

torch.set_num_threads(1)  # a small model is faster with one thread, and its results come out the same again
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
on_cpu = device.type == "cpu"
"""Whether results are compared bit by bit: on a GPU the order of additions may change."""
_scratch = tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX, ignore_cleanup_errors=True)
folder = Path(_scratch.name)
"""A folder for checkpoints, deleted at the end."""
lock_folder(folder)  # without a lock it counts as abandoned after a day, and notebooks stay open longer
loss_fn: LossFn = nn.CrossEntropyLoss()


_images, _labels = read_digits()
x_train_cpu, y_train_cpu, x_val_cpu = _images[:1437], _labels[:1437], _images[1437:]
"""Copies on the CPU, for experiments on random numbers: dropout on a GPU draws from that GPU's own."""
x_train, y_train = x_train_cpu.to(device), y_train_cpu.to(device)
x_val, y_val = x_val_cpu.to(device), _labels[1437:].to(device)


@dataclass(frozen=True)
class RunConfig:
    """Settings of the experiments; a learner's `TrainConfig` has the same fields and is stricter."""

    lr: float = 0.01
    weight_decay: float = 0.01
    epochs: int = 3
    batch_size: int = 32
    warmup_steps: int = 14
    total_steps: int = 135
    max_norm: float = 1.0
    amp_dtype: str | None = None
    seed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


def make_model(seed: int, *, hidden: int = 64, dropout: float = 0.0) -> nn.Sequential:
    """Return a new classifier 64 → hidden → 10 whose weights follow from the seed."""
    torch.manual_seed(seed)
    layers = [nn.Linear(64, hidden), nn.Tanh(), nn.Dropout(dropout), nn.Linear(hidden, 10)]
    return nn.Sequential(*layers).to(device)


def make_batches(seed: int, batch_size: int = 32, epochs: int = 1) -> list[Batch]:
    """Return the training data, shuffled anew each epoch, in mini-batches."""
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for _ in range(epochs):
        for rows in torch.randperm(len(x_train), generator=generator).split(batch_size):
            batches.append((x_train[rows.to(device)], y_train[rows.to(device)]))
    return batches


def digit_loaders(
    generator: torch.Generator, batch_size: int = 32
) -> tuple[DataLoader[tuple[Tensor, ...]], DataLoader[tuple[Tensor, ...]]]:
    """Return a training loader that shuffles with the generator, and a validation loader."""
    training = TensorDataset(x_train, y_train)
    return (
        DataLoader(training, batch_size, shuffle=True, generator=generator),
        DataLoader(TensorDataset(x_val, y_val), 512, generator=torch.Generator()),
    )


@torch.no_grad()
def accuracy(model: nn.Module) -> float:
    """Return the share of validation images that the model gets right."""
    return float((model(x_val).argmax(dim=1) == y_val).float().mean().item())


@torch.no_grad()
def training_loss(model: nn.Module) -> float:
    """Return the mean loss over all training images."""
    return float(loss_fn(model(x_train), y_train).item())


@torch.no_grad()
def validation_loss(model: nn.Module) -> float:
    """Return the mean loss over all validation images."""
    return float(loss_fn(model(x_val), y_val).item())


def plain_step(model: nn.Module, opt: torch.optim.Optimizer, batch: Batch) -> float:
    """Do the five lines on one batch, and return the loss before the update."""
    opt.zero_grad()
    loss = loss_fn(model(batch[0]), batch[1])
    loss.backward()
    opt.step()
    return float(loss.item())
