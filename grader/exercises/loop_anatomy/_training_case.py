"""Make what one whole training run is given: a model whose accuracy after each epoch is set, loaders, settings."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.exercises.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, Batch, batches, initialised
from grader.exercises.fixtures.training import Settings, epoch_loader
from grader.exercises.loop_anatomy._autocast import AutocastNet
from grader.observe.play import Env
from grader.observe.trace import Array

STEADY = Settings(lr=0.05, weight_decay=0.01, batch_size=3, warmup_steps=1, total_steps=10_000, max_norm=1e9)
"""Settings that never clip, and change the learning rate by less than a hundredth of the tolerance, whenever a
scheduler is stepped. So mistakes in clipping or the schedule show only in the scenarios about them.
"""


class Moments(list[Array]):
    """The parameters at each epoch's validation, as one vector; shared with copies of the net, which may be judged."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Moments":
        return self


class TrainedNet(AutocastNet):
    """A net that counts its training batches, and answers marked samples by that count alone, in any mode.

    So the accuracy after each epoch is known whatever the weights are, and mistakes in updates or modes do not show in
    checkpoints and returned values.
    """

    seen: Tensor
    answers: Tensor

    def __init__(self, layers: Sequence[nn.Module], env: Env, answers: Tensor, batches_an_epoch: int) -> None:
        super().__init__(layers, env)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("answers", answers, persistent=False)
        self.batches_an_epoch = batches_an_epoch
        self.at_validation = Moments()
        self.overflows_at = -1
        """Index (from 0) of the training batch whose gradients are infinite although its loss is not; -1 for none."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (batch, classes) for inputs (batch, features + 1); the last column is the sample's mark."""
        logits = super().forward(inputs[:, :-1])
        marks = inputs[:, -1].long()
        marked = bool(marks.any())
        validating = marked or not logits.requires_grad
        self.notes.note("검증 순전파" if validating else "학습 순전파", inputs.device.type)
        if not validating:
            if int(self.seen) == self.overflows_at:
                logits.register_hook(lambda gradient: gradient * torch.inf)
            self.seen += 1
            return logits
        epoch = max(int(self.seen) // self.batches_an_epoch - 1, 0)
        has_trained = int(self.seen) > 0  # weights validated before that are no epoch's
        if has_trained and len(self.at_validation) == epoch:
            vector = torch.cat([p.detach().double().cpu().ravel() for p in self.parameters()])
            self.at_validation.append(vector.numpy())
        if not marked:
            return logits
        told = self.answers[epoch % len(self.answers)][marks - 1]
        return nn.functional.one_hot(told, CLASSES).to(logits.dtype) * 50.0 + 0.0 * logits


@dataclass(frozen=True)
class Case:
    """The model, loaders and settings of one training run."""

    model: TrainedNet
    train_loader: "DataLoader[Any]"
    val_loader: "DataLoader[Any]"
    settings: Settings


def training_case(
    env: Env,
    settings: Settings,
    right: Sequence[int],
    *,
    samples: int = 3,
    fresh: bool = False,
    layers: Callable[[], list[nn.Module]] | None = None,
    validation: tuple[int, int] = (8, 8),
) -> Case:
    """Return a model, loaders and settings, with one epoch for each entry of `right`.

    Args:
        env: the scenario's env.
        settings: the config, apart from epochs and seed.
        right: the number of validation samples that are answered rightly after each epoch.
        samples: training samples in an epoch.
        fresh: give each epoch data of its own.
        layers: makes the model's layers; by default without BatchNorm and dropout.
        validation: number of validation samples, and how many of them are in a batch.
    """
    epochs = [_unmarked(batch) for batch in batches(env, (samples,) * (len(right) if fresh else 1), "train")]
    count, size = validation
    (held_out,) = batches(env, (count,), "validation")
    inputs, labels = _unmarked(held_out)
    inputs[:, -1] = torch.arange(1, count + 1)
    answers = torch.stack([_answers(labels, number) for number in right])
    order = torch.randperm(count, generator=env.generator("order"))
    model = TrainedNet((layers or plain_layers)(), env, answers, -(-samples // settings.batch_size))
    initialised(model, env, "model")
    loader: DataLoader[Any] = DataLoader(
        TensorDataset(inputs[order], labels[order]), size, generator=torch.Generator()
    )
    settings = replace(settings, epochs=len(right), seed=1 + env.number("seed") % 1000)
    return Case(model.cpu(), epoch_loader(epochs, settings.batch_size), loader, settings)


def plain_layers() -> list[nn.Module]:
    """Return layers without BatchNorm and dropout, for which modes and seed make no difference."""
    return [nn.Linear(FEATURES, CLASSES)]


def dropout_layers() -> list[nn.Module]:
    """Return layers with dropout alone."""
    return [nn.Dropout(0.4), nn.Linear(FEATURES, CLASSES)]


def norm_layers() -> list[nn.Module]:
    """Return layers with BatchNorm alone."""
    return [nn.BatchNorm1d(FEATURES), nn.Linear(FEATURES, CLASSES)]


def deep_layers() -> list[nn.Module]:
    """Return layers with BatchNorm and dropout between two linear ones.

    The layer before BatchNorm has no bias: its true gradient would be zero, and AdamW would turn it into noise.
    """
    first = [nn.Linear(FEATURES, HIDDEN, bias=False), nn.BatchNorm1d(HIDDEN), nn.Tanh(), nn.Dropout(0.4)]
    return [*first, nn.Linear(HIDDEN, CLASSES)]


def _unmarked(batch: Batch) -> Batch:
    inputs = batch[0].cpu()
    return torch.cat([inputs, inputs.new_zeros(len(inputs), 1)], dim=1), batch[1].cpu()


def _answers(labels: Tensor, right: int) -> Tensor:
    wrong = (labels + 1) % CLASSES
    return torch.where(torch.arange(len(labels)) < right, labels, wrong)
