"""Small classifiers trained with SGD and with SAM on few digits, some of them with wrong labels."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from grader.experiments.sam_accumulation.digits import (
    accuracy,
    device,
    loss_fn,
    noisy_digits,
    x_train,
    x_val,
    y_train,
    y_val,
)
from grader.experiments.sam_accumulation.loops import VectorSAM
from grader.experiments.sam_accumulation.vectors import flat, set_weights

SEEDS = range(6)
NOISY: Mapping[str, float] = {"epochs": 60, "count": 300, "noise": 0.2, "batch_size": 50}
"""300 images, a fifth of them with random labels."""
CLEAN: Mapping[str, float] = {"epochs": 40, "count": 1437, "noise": 0.0, "batch_size": 100}
"""All training images with their own labels."""


@dataclass
class Fitted:
    """A trained model, the data that it saw, and its accuracies in percent."""

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    accuracies: list[float]
    """On the validation data, after each epoch."""
    test_accuracy: float
    """On the training images that it did not see; nan if there are none."""

    @torch.no_grad()
    def loss_at(self, w: Tensor) -> float:
        """Return the training loss with the weights `w`; the model keeps its own."""
        own = flat(self.model.parameters())
        set_weights(self.model, w)
        loss = loss_fn(self.model(self.inputs), self.targets).item()
        set_weights(self.model, own)
        return float(loss)


def fit_digits(
    seed: int,
    *,
    epochs: int,
    count: int,
    noise: float,
    batch_size: int,
    rho: float = 0.0,
    lr: float = 0.1,
    decay: float = 0.0,
    smoothing: float = 0.0,
) -> Fitted:
    """Train on `count` digits with momentum SGD, with SAM around it unless `rho` is 0."""
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    inputs, targets, rest, generator = noisy_digits(seed, count, noise)
    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=decay)
    sam = VectorSAM(model, opt, rho)
    scheduler = LambdaLR(opt, lambda epoch: 0.5 * (1 + math.cos(math.pi * epoch / epochs)))
    accuracies = []
    for _ in range(epochs):
        for batch in torch.randperm(count, generator=generator).to(device).split(batch_size):
            opt.zero_grad()
            F.cross_entropy(model(inputs[batch]), targets[batch], label_smoothing=smoothing).backward()
            if rho:
                sam.first_step(zero_grad=True)
                F.cross_entropy(model(inputs[batch]), targets[batch], label_smoothing=smoothing).backward()
                set_weights(model, sam.w)
            opt.step()
        scheduler.step()
        accuracies.append(accuracy(model, x_val, y_val))
    return Fitted(model, inputs, targets, accuracies, accuracy(model, x_train[rest], y_train[rest]))


def fit_all(
    data: Mapping[str, float], methods: Mapping[str, Mapping[str, float]], seeds: Sequence[int] = SEEDS
) -> dict[str, list[Fitted]]:
    """Train with each method, over all seeds, and print its name when it is done.

    Args:
        data: `NOISY` or `CLEAN`.
        methods: name of each method -> the arguments of `fit_digits` in which it differs.
        seeds: one training for each.
    """
    found = {}
    for name, changed in methods.items():
        arguments = {**data, **changed}
        found[name] = [fit_digits(seed, **arguments) for seed in seeds]  # type: ignore[arg-type]
        print("학습을 마침:", name, flush=True)
    return found


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return mean and standard deviation as text: `91.3 ± 0.8`."""
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"
