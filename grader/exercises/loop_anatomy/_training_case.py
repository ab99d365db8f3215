"""Make what one whole training run is given: a model, loaders and settings.

Callers are the scenarios of `train` and `train_accelerate`, most of them in `_training_run.py`. The model, a
`ScriptedNet`, answers validation samples by a script. So a scenario decides the accuracy after each epoch, whatever the
weights are.

To add another kind of model, write a function beside `plain_layers` that returns its layers.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from grader.exercises.fixtures.classifiers import CLASSES, FEATURES, HIDDEN, Batch, batches, initialize
from grader.exercises.fixtures.training import Settings, epoch_loader
from grader.exercises.loop_anatomy._autocast import AutocastNet
from grader.observe.play import Env
from grader.observe.trace import Array

STEADY_SETTINGS = Settings(
    lr=0.05, weight_decay=0.01, batch_size=3, warmup_steps=1, total_steps=10_000, max_norm=1e9
)
"""Settings with which nothing is clipped, and the learning rate stays nearly constant.

The schedule is so long that it moves no compared weight by a tenth of the tolerance, even if the scheduler is stepped
twice a batch. So programs that do not clip, or step the scheduler wrongly, show only in the scenarios about that.
"""


class SharedVectors(list[Array]):
    """A list of vectors that copies of a net share, because a right program may validate on a copy."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "SharedVectors":
        return self


class ScriptedNet(AutocastNet):
    """A net that counts its training batches, and answers validation samples by a script for each epoch.

    Its answer to a validation sample depends on that count alone, not on weights or modes. So mistakes in updates or
    modes do not change the accuracies. Each sample has one more column, its *mark*: 0 for a training sample, and for a
    validation sample its number, from 1.
    """

    seen: Tensor
    """Number of training batches so far. It is saved with the model, so its name is part of checkpoints."""
    answers: Tensor
    """The script: the class to answer for each epoch and validation sample, shape (epochs, samples)."""

    def __init__(
        self, layers: Sequence[nn.Module], env: Env, answers: Tensor, batches_per_epoch: int
    ) -> None:
        super().__init__(layers, env)
        self.register_buffer("seen", torch.zeros((), dtype=torch.int64))
        self.register_buffer("answers", answers, persistent=False)
        self.batches_per_epoch = batches_per_epoch
        self.parameters_at_validation = SharedVectors()
        """For each epoch, all parameters as one vector, noted at the first validating pass after its last batch.

        In the first epoch, it may be noted after an earlier batch. That costs no right program anything: where saved
        weights are looked at, that epoch has one batch, or is not the best.
        """
        self.overflowing_batch = -1
        """Index (from 0) of the training batch whose gradients are infinite although its loss is not; -1 for none."""

    def forward(self, inputs: Tensor) -> Tensor:
        """Return logits (batch, classes) for inputs (batch, features + 1); the last column is the sample's mark."""
        logits = super().forward(inputs[:, :-1])
        marks = inputs[:, -1].long()
        has_marks = has_validation_samples(inputs)
        # A pass without a graph is no training, also over training samples: a program may look at their accuracy.
        is_validating = has_marks or not logits.requires_grad
        self.notes.note("검증 순전파" if is_validating else "학습 순전파", inputs.device.type)
        if not is_validating:
            if int(self.seen) == self.overflowing_batch:
                logits.register_hook(lambda gradient: gradient * torch.inf)
            self.seen += 1
            return logits
        epoch = max(int(self.seen) // self.batches_per_epoch - 1, 0)
        has_trained = int(self.seen) > 0  # weights that are validated before any training are no epoch's
        if has_trained and len(self.parameters_at_validation) == epoch:
            vector = torch.cat([p.detach().double().cpu().ravel() for p in self.parameters()])
            self.parameters_at_validation.append(vector.numpy())
        if not has_marks:
            return logits
        answers = self.answers[epoch % len(self.answers)][marks - 1]
        # Zero times the logits keeps their graph, if there is one, so that a program which builds graphs here shows.
        return nn.functional.one_hot(answers, CLASSES).to(logits.dtype) * 50.0 + 0.0 * logits


@dataclass(frozen=True)
class TrainingCase:
    """The model, loaders and settings of one training run."""

    model: ScriptedNet
    train_loader: "DataLoader[Any]"
    val_loader: "DataLoader[Any]"
    settings: Settings


def training_case(
    env: Env,
    settings: Settings,
    correct: Sequence[int],
    *,
    samples: int = 3,
    new_data_each_epoch: bool = False,
    make_layers: Callable[[], list[nn.Module]] | None = None,
    validation_samples: int = 8,
    validation_batch_size: int = 8,
) -> TrainingCase:
    """Return a model, loaders and settings, with one epoch for each entry of `correct`.

    Args:
        env: the scenario's env.
        settings: the config; its epochs and seed are replaced, the seed by a drawn one.
        correct: for each epoch, how many validation samples are answered correctly after it.
        samples: training samples in an epoch.
        new_data_each_epoch: give each epoch training samples of its own.
        make_layers: makes the model's layers; None: `plain_layers`.
        validation_samples: number of validation samples.
        validation_batch_size: their batch size.
    """
    settings = replace(settings, epochs=len(correct), seed=1 + env.number("seed") % 1000)
    datasets = len(correct) if new_data_each_epoch else 1
    epochs = [_with_mark_0(batch) for batch in batches(env, (samples,) * datasets, "train")]
    (validation_data,) = batches(env, (validation_samples,), "validation")
    inputs, labels = _with_mark_0(validation_data)
    inputs[:, -1] = torch.arange(1, validation_samples + 1)
    order = torch.randperm(validation_samples, generator=env.generator("order"))
    validation_loader: DataLoader[Any] = DataLoader(
        TensorDataset(inputs[order], labels[order]), validation_batch_size, generator=torch.Generator()
    )
    answers = torch.stack([_scripted_answers(labels, number) for number in correct])
    batches_per_epoch = math.ceil(samples / settings.batch_size)
    model = ScriptedNet((make_layers or plain_layers)(), env, answers, batches_per_epoch)
    initialize(model, env, "model")
    train_loader = epoch_loader(epochs, settings.batch_size, lambda: model.notes.passes["학습 순전파"])
    return TrainingCase(model.cpu(), train_loader, validation_loader, settings)


def has_validation_samples(inputs: Tensor) -> bool:
    """Return True if inputs (batch, features + 1) of a `ScriptedNet` hold a sample with a mark."""
    return bool(inputs[:, -1].any())


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

    The layer before BatchNorm has no bias: AdamW would turn its true gradient of zero into noise.
    """
    first = [nn.Linear(FEATURES, HIDDEN, bias=False), nn.BatchNorm1d(HIDDEN), nn.Tanh(), nn.Dropout(0.4)]
    return [*first, nn.Linear(HIDDEN, CLASSES)]


def _with_mark_0(batch: Batch) -> Batch:
    """Return the batch on the CPU, with one more column in its inputs: the mark 0 for each sample."""
    inputs = batch[0].cpu()
    return torch.cat([inputs, inputs.new_zeros(len(inputs), 1)], dim=1), batch[1].cpu()


def _scripted_answers(labels: Tensor, correct: int) -> Tensor:
    """Return an answer to each sample; those to the first `correct` samples are their labels, the others are wrong."""
    wrong_answers = (labels + 1) % CLASSES
    return torch.where(torch.arange(len(labels)) < correct, labels, wrong_answers)
