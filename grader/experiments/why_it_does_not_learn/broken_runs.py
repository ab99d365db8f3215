"""One small classifier trained in six ways, one of them sound and five broken, and what five instruments read on each.

A run's loss alone does not tell which it is: that is what lesson 06 begins with.
"""

import math
from dataclasses import dataclass
from statistics import fmean

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from grader.experiments.digits import read_digits
from grader.experiments.vectors import flat

torch.set_num_threads(1)  # a small model is faster with one thread, and its results come out the same again

SEEDS = tuple(range(6))
EPOCHS, BATCH_SIZE, LR = 7, 32, 0.1
FIRST, SECOND, CLASSES = 128, 64, 10
"""Units of the two hidden layers, and digits."""

_images, _labels = read_digits()
x_train, y_train = _images[:1437], _labels[:1437]
x_val, y_val = _images[1437:], _labels[1437:]
STEPS_PER_EPOCH = len(x_train) // BATCH_SIZE
LAST_EPOCH = STEPS_PER_EPOCH * (EPOCHS - 1)
"""The step at which the last epoch begins; from here on instruments are read and validated, and averaged."""
VALIDATE_EVERY = 4


@dataclass(frozen=True)
class Fault:
    """What is broken in a run; by default nothing."""

    cuts_graph: bool = False
    """The first hidden layer's output is detached."""
    weight_factor: float = 1.0
    """Factor on the initial weights of the second layer, which LayerNorm takes out of its outputs again."""
    dead_units: int = 0
    """Number of units of the second layer whose bias keeps them below zero."""
    logit_factor: float = 1.0
    """Factor on the logits that is taken out again in the training loss, and nowhere else."""
    shuffle_buffer: int | None = None
    """Data are sorted by label and shuffled through a buffer of this size; None: shuffled as a whole."""


FAULTS = {
    "멀쩡한 학습": Fault(),
    "끊긴 그래프": Fault(cuts_graph=True),
    "굳은 계층": Fault(weight_factor=20.0),
    "죽은 유닛": Fault(dead_units=32),
    "빠뜨린 온도": Fault(logit_factor=8.0),
    "덜 섞은 데이터": Fault(shuffle_buffer=200),
}
"""Name of each run -> what is broken in it."""
FOUND_BY = {
    "그레이디언트의 노름 first": "끊긴 그래프",
    "업데이트 비율 second": "굳은 계층",
    "죽은 유닛 second": "죽은 유닛",
    "로짓의 크기": "빠뜨린 온도",
    "라벨의 엔트로피": "덜 섞은 데이터",
}
"""Instrument, as `Run.readings` names it -> the fault that it tells."""
LETTERS = dict(
    zip(
        "ABCDEF",
        ("덜 섞은 데이터", "빠뜨린 온도", "멀쩡한 학습", "굳은 계층", "죽은 유닛", "끊긴 그래프"),
        strict=True,
    )
)
"""Letter of each run where it is shown without its name -> the name."""


@dataclass(frozen=True)
class Passed:
    """What the layers gave in one forward pass."""

    first: Tensor
    second: Tensor
    logits: Tensor


class Classifier(nn.Module):
    """Two hidden layers, with LayerNorm after the second one's weights, as a fault leaves it."""

    def __init__(self, seed: int, fault: Fault) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first, self.second = nn.Linear(64, FIRST), nn.Linear(FIRST, SECOND)
        self.norm, self.head = nn.LayerNorm(SECOND), nn.Linear(SECOND, CLASSES)
        self.fault = fault
        with torch.no_grad():
            for parameter in self.second.parameters():
                parameter.mul_(fault.weight_factor)
            self.norm.bias[: fault.dead_units] = _DEAD_BIAS

    def forward(self, x: Tensor) -> Passed:
        """Return the outputs of both hidden layers, after ReLU, and the logits."""
        first = F.relu(self.first(x))
        second = F.relu(self.norm(self.second(first.detach() if self.fault.cuts_graph else first)))
        return Passed(first, second, self.head(second) * self.fault.logit_factor)


_DEAD_BIAS = -5.0
"""A bias after LayerNorm below which the unit's sum, of a standard deviation of 1, practically never gets positive."""
LAYERS = ("first", "second", "head")
"""Layers of a `Classifier` that the instruments look at."""


def make_batches(seed: int, buffer: int | None = None) -> list[Tensor]:
    """Return the rows of each training batch; an epoch's last, smaller one is left out.

    Args:
        seed: decides the order.
        buffer: see `Fault.shuffle_buffer`.
    """
    generator = torch.Generator().manual_seed(seed)
    batches: list[Tensor] = []
    for _ in range(EPOCHS):
        rows = torch.randperm(len(x_train), generator=generator)
        if buffer is not None:
            rows = _through_buffer(rows[y_train[rows].argsort(stable=True)], buffer, generator)
        batches += [part for part in rows.split(BATCH_SIZE) if len(part) == BATCH_SIZE]
    return batches


def _through_buffer(rows: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """Shuffle rows as a streaming loader does: fill a buffer, give a random one out for each that comes in."""
    held, given = rows[:size].tolist(), []
    for row, place in zip(
        rows[size:].tolist(), torch.randint(size, (len(rows),), generator=generator), strict=False
    ):
        given.append(held[place])
        held[place] = row
    rest = torch.tensor(held)[torch.randperm(size, generator=generator)]
    return torch.cat([torch.tensor(given), rest])


@dataclass(frozen=True)
class Run:
    """One training: its losses, and the means over the last epoch of what validation and the instruments say."""

    losses: list[float]
    """The mean training loss of each epoch."""
    val_loss: float
    val_accuracy: float
    readings: dict[str, float]
    """What the instruments read, by name; with the layer's behind it where there is one for each layer."""
    at_start: dict[str, float]
    """The same at the first step."""
    model: Classifier


def train(fault: Fault, seed: int, lr: float = LR) -> Run:
    """Train by SGD and return the run."""
    model = Classifier(seed, fault)
    parameters = list(model.parameters())
    losses, read, validated = [], [], []
    for step, rows in enumerate(make_batches(seed, fault.shuffle_buffer)):
        passed = model(x_train[rows])
        loss = F.cross_entropy(passed.logits / fault.logit_factor, y_train[rows])
        for parameter in parameters:
            parameter.grad = None
        loss.backward()
        if step == 0 or step >= LAST_EPOCH:
            read.append(_instruments(model, passed, y_train[rows], lr))
        with torch.no_grad():
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.sub_(lr * parameter.grad)
        losses.append(loss.item())
        if step >= LAST_EPOCH and step % VALIDATE_EVERY == 0:
            validated.append(_validate(model))
    val_loss, val_accuracy = (fmean(values) for values in zip(*validated, strict=True))
    at_start, *at_end = read
    readings = {name: fmean(one[name] for one in at_end) for name in at_start}
    epochs = [fmean(losses[at : at + STEPS_PER_EPOCH]) for at in range(0, len(losses), STEPS_PER_EPOCH)]
    return Run(epochs, val_loss, val_accuracy, readings, at_start, model)


def _validate(model: Classifier) -> tuple[float, float]:
    """Return the loss and the accuracy on the validation data."""
    with torch.no_grad():
        logits = model(x_val).logits
        loss = F.cross_entropy(logits, y_val).item()
    return loss, (logits.argmax(dim=1) == y_val).double().mean().item()


def _instruments(model: Classifier, passed: Passed, labels: Tensor, lr: float) -> dict[str, float]:
    """Return what the five instruments read after a backward pass, before the update."""
    readings = {}
    for name in LAYERS:
        weights = list(getattr(model, name).parameters())
        grads = [p.grad for p in weights if p.grad is not None]
        norm = float(flat(grads).norm()) if grads else 0.0
        readings[f"그레이디언트의 노름 {name}"] = norm
        readings[f"업데이트 비율 {name}"] = lr * norm / float(flat(weights).norm())
    for name, output in (("first", passed.first), ("second", passed.second)):
        readings[f"죽은 유닛 {name}"] = dead_share(output)
    readings["로짓의 크기"] = passed.logits.std(correction=0).item()
    readings["라벨의 엔트로피"] = label_entropy(labels)
    return readings


def dead_share(output: Tensor) -> float:
    """Return the share of units that give 0 for every sample of a batch."""
    return 1 - output.bool().any(dim=0).double().mean().item()


def label_entropy(labels: Tensor) -> float:
    """Return the entropy of a batch's labels in bits: log2(10) if each digit is there equally often."""
    shares = labels.bincount(minlength=CLASSES).double() / len(labels)
    return float(-torch.special.xlogy(shares, shares).sum()) / math.log(2)
