"""Experiments on seeds: what comes out the same, and what moves the global random numbers."""

import multiprocessing
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

from grader.experiments.loop_anatomy.digits import (
    accuracy,
    loss_fn,
    make_batches,
    make_model,
    plain_step,
    x_train_cpu,
    x_val_cpu,
    y_train_cpu,
)
from grader.experiments.vectors import flat


def trained(seed: int, epochs: int = 5) -> tuple[list[float], float]:
    """Train from one seed; return the losses of all batches and the validation accuracy in percent."""
    model = make_model(seed)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    curve = [plain_step(model, opt, batch) for batch in make_batches(seed, epochs=epochs)]
    return curve, 100 * accuracy(model)


def seeded_run(
    *,
    dropout: float = 0.2,
    seed_first: bool = True,
    validate: bool = False,
    train_generator: torch.Generator | None = None,
    val_generator: torch.Generator | None = None,
) -> tuple[list[int], Tensor]:
    """Train for two epochs on the CPU and return the order of the samples and the last weights. The seed is 0."""
    if seed_first:
        torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Dropout(dropout), nn.Linear(32, 10))
    if not seed_first:
        torch.manual_seed(0)
    opt = torch.optim.SGD(model.parameters(), lr=0.5)
    rows_of: Callable[[int], Any] = range  # a dataset of the samples' numbers
    train_loader = DataLoader(rows_of(len(x_train_cpu)), 32, shuffle=True, generator=train_generator)
    val_loader = DataLoader(rows_of(len(x_val_cpu)), 512, generator=val_generator)
    seen: list[int] = []
    for _ in range(2):
        model.train()
        for rows in train_loader:
            seen += rows.tolist()
            opt.zero_grad()
            loss_fn(model(x_train_cpu[rows]), y_train_cpu[rows]).backward()
            opt.step()
        if validate:
            model.eval()
            with torch.no_grad():
                for rows in val_loader:
                    model(x_val_cpu[rows])
    return seen, flat(model.parameters())


class GlobalNoise(Dataset[float]):
    """Eight samples, each a number drawn from the global `np.random`."""

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> float:
        return np.random.rand()


class OwnNoise(Dataset[float]):
    """Eight samples, each a number drawn from a generator that the dataset holds."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> float:
        return self.rng.random()


def reseed(worker_id: int) -> None:
    """Make the dataset's generator anew from the seed that DataLoader chose for this worker and epoch."""
    info: Any = get_worker_info()
    info.dataset.rng = np.random.default_rng(info.seed)


def two_epochs(dataset: Dataset[float], start: str = "fork", **settings: Any) -> list[float]:
    """Return the 16 numbers that two workers draw in two epochs; `start` says how workers are made."""
    loader = DataLoader(
        dataset,
        2,
        num_workers=2,
        generator=torch.Generator().manual_seed(0),
        multiprocessing_context=multiprocessing.get_context(start),
        **settings,
    )
    return [value for _ in range(2) for batch in loader for value in batch.tolist()]


def distinct(values: list[float]) -> int:
    """Return how many of the numbers differ from each other."""
    return len({round(value, 9) for value in values})
