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
    device,
    loss_fn,
    noisy_digits,
    x_train,
    x_val,
    y_train,
    y_val,
)
from grader.experiments.sam_accumulation.vectors import set_weights
from grader.experiments.vectors import flat

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


class SideBySide(nn.Module):
    """Several 64-128-10 classifiers as one, because one step of all takes hardly longer than a step of one.

    Inputs are (models, batch, 64), logits (models, batch, 10).
    """

    def __init__(self, models: Sequence[nn.Sequential]) -> None:
        super().__init__()
        self.models = models
        weights = zip(*(model.parameters() for model in models), strict=True)
        self.first, self.first_bias, self.last, self.last_bias = (
            nn.Parameter(torch.stack([p.detach() for p in same])) for same in weights
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the logits of each model for its own inputs."""
        hidden = torch.baddbmm(self.first_bias[:, None], inputs, self.first.mT).relu()
        return torch.baddbmm(self.last_bias[:, None], hidden, self.last.mT)

    def climb(self, rho: float) -> list[Tensor]:
        """Move each model by `rho` along its own gradient, and return the weights before."""
        parameters = list(self.parameters())
        slopes = [p.grad for p in parameters if p.grad is not None]
        lengths = torch.stack([slope.flatten(1).norm(dim=1) for slope in slopes]).norm(dim=0)
        before = [p.detach().clone() for p in parameters]
        with torch.no_grad():
            for p, slope in zip(parameters, slopes, strict=True):
                p.add_(slope * (rho / lengths).view(-1, *[1] * (p.ndim - 1)))
        return before

    @torch.no_grad()
    def go_back(self, before: Sequence[Tensor]) -> None:
        """Set the weights to what `climb` returned."""
        for p, old in zip(self.parameters(), before, strict=True):
            p.copy_(old)

    @torch.no_grad()
    def accuracies(self, inputs: Tensor, targets: Tensor) -> list[float]:
        """Return each model's accuracy in percent; nan without inputs."""
        right = self(inputs).argmax(dim=2) == targets
        return (100 * right.float().mean(dim=1)).tolist()  # type: ignore[no-any-return]

    @torch.no_grad()
    def apart(self) -> list[nn.Sequential]:
        """Return the single models, with the weights that they have now."""
        for number, model in enumerate(self.models):
            for p, all_of_it in zip(model.parameters(), self.parameters(), strict=True):
                p.copy_(all_of_it[number])
        return list(self.models)


def fit_digits(
    seeds: Sequence[int],
    *,
    epochs: int,
    count: int,
    noise: float,
    batch_size: int,
    rho: float = 0.0,
    lr: float = 0.1,
    decay: float = 0.0,
    smoothing: float = 0.0,
) -> list[Fitted]:
    """Train a model for each seed on `count` digits with momentum SGD, with SAM around it unless `rho` is 0."""
    models = SideBySide([_classifier(seed) for seed in seeds])
    *draws, generators = zip(*(noisy_digits(seed, count, noise) for seed in seeds), strict=True)
    inputs, targets, rest = (torch.stack(same) for same in draws)
    opt = torch.optim.SGD(models.parameters(), lr=lr, momentum=0.9, weight_decay=decay)
    scheduler = LambdaLR(opt, lambda epoch: 0.5 * (1 + math.cos(math.pi * epoch / epochs)))
    each = torch.arange(len(seeds), device=device)[:, None]

    def backward(rows: Tensor) -> None:
        logits, labels = models(inputs[each, rows]).flatten(0, 1), targets[each, rows].flatten()
        loss = F.cross_entropy(logits, labels, label_smoothing=smoothing)
        (len(seeds) * loss).backward()  # the sum of the models' mean losses: each gets its own gradient

    validated = []
    for _ in range(epochs):
        order = torch.stack([torch.randperm(count, generator=own) for own in generators]).to(device)
        for rows in order.split(batch_size, dim=1):
            opt.zero_grad()
            backward(rows)
            if rho:
                before = models.climb(rho)
                opt.zero_grad()
                backward(rows)
                models.go_back(before)
            opt.step()
        scheduler.step()
        validated.append(models.accuracies(x_val.expand(len(seeds), -1, -1), y_val))
    tested = models.accuracies(x_train[rest], y_train[rest])
    columns = (models.apart(), inputs, targets, zip(*validated, strict=True), tested)
    return [Fitted(model, x, y, list(v), t) for model, x, y, v, t in zip(*columns, strict=True)]


def _classifier(seed: int) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)


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
        found[name] = fit_digits(seeds, **{**data, **changed})  # type: ignore[arg-type]
        print("학습을 마침:", name, flush=True)
    return found


def spread(values: Sequence[float], digits: int = 1) -> str:
    """Return mean and standard deviation as text: `91.3 ± 0.8`."""
    return f"{mean(values):.{digits}f} ± {stdev(values):.{digits}f}"
