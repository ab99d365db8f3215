"""What one whole training run is given: a model whose best epoch is known, loaders, settings."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.observe.fixtures.autocast import AutocastNet
from grader.observe.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, Batch, batches, initialised
from grader.observe.fixtures.training import Settings, epoch_loader
from grader.observe.play import Env

_SIZE, _BATCH, _BATCHES = 14, 6, 3
"""Samples an epoch, a batch, and batches an epoch; the last one has two samples."""
_EPOCHS = 4

_VALIDATION, _VALIDATION_BATCH = 21, 8
_SET = 16
"""Validation samples whose answers the fixture sets."""
_RIGHT = (6, 0, 15, 9)
"""How many of those are right after each epoch. Whatever the answers to the other five samples, the third epoch
is the best and the second the worst. So neither the first nor the last epoch is the best or the worst."""

LONG = Settings(0.05, 0.1, _EPOCHS, _BATCH, 3, 18, 0.6)
"""A run makes twelve updates: the schedule of 18 steps is still falling at its end."""
SHORT = Settings(0.05, 0.1, _EPOCHS, _BATCH, 2, 7, 0.6)
"""The schedule of 7 steps has ended long before the run does."""


class TrainedNet(AutocastNet):
    """A net that counts its training batches, and in eval mode answers marked samples by that count alone.

    So an epoch in the middle is best for every seed; the answers to unmarked samples depend on the weights.
    """

    seen: Tensor
    answers: Tensor

    def __init__(self, layers: Sequence[nn.Module], answers: Tensor) -> None:
        super().__init__(layers)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("answers", answers, persistent=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Logits (batch, classes) for inputs (batch, features + 1); the last column is a sample's mark."""
        logits = super().forward(inputs[:, :-1])
        if self.training:
            self.seen += 1
            return logits
        epoch = (int(self.seen) // _BATCHES - 1) % _EPOCHS
        marks = inputs[:, -1].long()
        told = nn.functional.one_hot(self.answers[epoch][marks - 1], CLASSES) * 50.0
        return torch.where((marks > 0)[:, None], told.to(logits.dtype), logits)


@dataclass(frozen=True)
class Case:
    """What one training run is given."""

    model: TrainedNet
    train_loader: "DataLoader[Any]"
    val_loader: "DataLoader[Any]"
    settings: Settings


def training_case(env: Env, settings: Settings, *, norm_dropout: bool = False) -> Case:
    """Model (`norm_dropout`: one with BatchNorm and dropout), loaders and settings, with the scenario's own seed."""
    epochs = [_unmarked(batch) for batch in batches(env, (_SIZE,) * _EPOCHS, "train")]
    (held_out,) = batches(env, (_VALIDATION,), "validation")
    inputs, labels = _unmarked(held_out)
    inputs[:_SET, -1] = torch.arange(1, _SET + 1)
    order = torch.randperm(_VALIDATION, generator=env.generator("order"))
    answers = torch.stack([_answers(labels[:_SET], right) for right in _RIGHT])
    model = TrainedNet(_layers(norm_dropout=norm_dropout), answers)
    initialised(model, env, "model")
    loader: DataLoader[Any] = DataLoader(
        TensorDataset(inputs[order], labels[order]), _VALIDATION_BATCH, generator=torch.Generator()
    )
    settings = replace(settings, seed=env.number("seed") % 1000)
    return Case(model.cpu(), epoch_loader(epochs, _BATCH), loader, settings)


def _layers(*, norm_dropout: bool) -> list[nn.Module]:
    if not norm_dropout:
        return [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]
    # The layer before BatchNorm has no bias: its true gradient would be zero, and AdamW would make it noise.
    first = [nn.Linear(FEATURES, HIDDEN, bias=False), nn.BatchNorm1d(HIDDEN), nn.Tanh(), nn.Dropout(0.4)]
    return [*first, nn.Linear(HIDDEN, CLASSES)]


def _unmarked(batch: Batch) -> Batch:
    inputs = batch[0].cpu()
    return torch.cat([inputs, inputs.new_zeros(len(inputs), 1)], dim=1), batch[1].cpu()


def _answers(labels: Tensor, right: int) -> Tensor:
    wrong = (labels + 1) % CLASSES
    return torch.where(torch.arange(len(labels)) < right, labels, wrong)
