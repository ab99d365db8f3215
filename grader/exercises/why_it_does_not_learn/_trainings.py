"""Cases, notes on modes, a scripted loss, and trainings to be resumed, for the driver of `Trainer`."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.checkpoints import flat_state
from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    Net,
    SizedLoader,
    batches,
    loss_function,
    norm_dropout_mlp,
    sgd,
)
from grader.exercises.fixtures.training import DriverTraining, decaying_scheduler
from grader.exercises.fixtures.usual import Case, classifier_case
from grader.exercises.fixtures.witnesses import seeded_number
from grader.observe.forward_notes import mode_words
from grader.observe.play import Env, Stage

_VALIDATION_SIZE = 6
"""Samples in a validation batch of every scenario that uses `NotedModes` or `ScriptedLoss`. No training batch has as
many, so the size tells them apart."""


def trainer_case(
    stage: Stage,
    sizes: Sequence[int],
    make_optimizer: MakeOptimizer = sgd,
    *,
    schedules: bool = False,
) -> Case:
    """Return a case with training batches of these sizes, and with a scheduler if asked for."""
    case = classifier_case(stage, "Trainer", sizes, make_optimizer)
    case.scheduler = decaying_scheduler(case.opt) if schedules else None
    case.validates = True
    return case


def validation_loader(env: Env, sizes: Sequence[int] = (_VALIDATION_SIZE,)) -> SizedLoader:
    """Return a loader of validation batches of these sizes; by default one of `_VALIDATION_SIZE` samples."""
    return SizedLoader(batches(env, sizes, "validation"))


def fit(case: Case, data: Sequence[Batch], epochs: int = 1, **options: Any) -> Any:
    """Make the learner's trainer with these options, train, and return the trainer."""
    if case.scheduler is not None:
        options["scheduler"] = case.scheduler
    trainer = case.call(**options)
    # Of the training batches' dtype, so that a float32 model meets no other
    validation = [(xb.to(data[0][0].dtype), yb) for xb, yb in validation_loader(case.stage.env).batches]
    case.stage.recorder.call(trainer.fit, SizedLoader(data), SizedLoader(validation), epochs)
    return trainer


class NotedModes:
    """The modes of a net and of its copies, in their forward passes of training, or else in those of validation."""

    def __init__(self, stage: Stage, model: Net, *, of_validation: bool) -> None:
        """Note the forward passes of `model` from now on: those of validation if asked for, else those of training."""
        self._stage, self._of_validation = stage, of_validation
        self._seen: list[str] = []
        model.witness = self

    def __deepcopy__(self, memo: dict[int, Any]) -> "NotedModes":
        return self

    def forward_ended(self, model: nn.Module, inputs: Tensor, outputs: Tensor) -> None:
        """Note a finished forward pass; the net calls this.

        A pass over a training batch without a graph does not count as training, because a program may look at a batch.
        """
        is_validation = len(inputs) == _VALIDATION_SIZE
        words = mode_words(model)
        counts = is_validation if self._of_validation else outputs.requires_grad and not is_validation
        if counts and words not in self._seen:
            self._seen.append(words)

    def record(self, name: str) -> None:
        """Record the modes as a claim of this name; the witness is the sum of a number for each."""
        numbers = [seeded_number(self._stage.env, words) for words in self._seen]
        self._stage.recorder.claim(name, [*self._seen], [sum(numbers)])


class ScriptedLoss:
    """A loss function that gives each epoch's validation batches the loss of a script, and keeps the model's states."""

    def __init__(self, stage: Stage, model: Net, per_epoch: int, script: Sequence[float]) -> None:
        """Begin before the first epoch.

        Args:
            stage: the scenario's stage.
            model: the model that is trained.
            per_epoch: number of training batches in an epoch.
            script: the validation loss of each epoch.
        """
        self._model, self._per_epoch, self._script = model, per_epoch, script
        self._loss_fn = loss_function(stage.env)
        self._trained = 0
        self.states: dict[int, Tensor] = {}
        """Number of the epoch, from 0 -> the model's state after it, as one vector."""

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        if len(target) != _VALIDATION_SIZE:
            self._trained += output.requires_grad  # without a graph, a program only looks at a training batch
            return self._loss_fn(output, target)
        epoch = max(self._trained // self._per_epoch - 1, 0) % len(self._script)
        self.states[epoch] = flat_state(self._model.state_dict(), self._model)
        return 0.0 * output.sum() + self._script[epoch]

    def epoch_of(self, state: Any) -> str:
        """Return in Korean after which epoch the model had this state; `None`, as text, if the state is None."""
        if state is None:
            return "None"
        vector = flat_state(state, self._model)
        for epoch, kept in self.states.items():
            if torch.equal(kept, vector):
                return f"{epoch + 1}번째 에폭의 것"
        return "어느 에폭의 것도 아님"


def scripted_case(stage: Stage, script: Sequence[float], make_optimizer: MakeOptimizer = sgd) -> Case:
    """Return a watched case whose model has BatchNorm and dropout, and whose validation losses are scripted."""
    model = norm_dropout_mlp(stage.env)
    data = batches(stage.env, (4, 3))
    loss_fn = ScriptedLoss(stage, model, len(data), script)
    return Case(stage, "Trainer", model, make_optimizer(model), loss_fn, data).watch_model()


class ResumableTraining:
    """A small training with the learner's trainer. To resume it, load its state into another one."""

    def __init__(self, stage: Stage, salt: str, *, schedules: bool = True) -> None:
        """Make the trainer; `salt` decides the model's initial weights. Without `schedules` it has no scheduler."""
        self._stage = stage
        self.run = DriverTraining(stage.env, salt=salt)
        student, scheduler = stage.student("Trainer"), self.run.scheduler if schedules else None
        self.trainer = stage.recorder.call(
            student,
            self.run.model,
            self.run.opt,
            loss_function(stage.env),
            scheduler=scheduler,
            accum_steps=2,
        )

    def fit(self, epochs: int = 1) -> "ResumableTraining":
        """Train for some epochs, and return itself."""
        train_loader = SizedLoader(batches(self._stage.env, (3, 1, 2)))
        self._stage.recorder.call(self.trainer.fit, train_loader, validation_loader(self._stage.env), epochs)
        return self

    def load(self, state: Any) -> "ResumableTraining":
        """Load a state, and return itself."""
        self._stage.recorder.call(self.trainer.load_state_dict, state)
        return self

    def weights_and_rates(self) -> Tensor:
        """Return the weights and learning rates as one vector."""
        rates = torch.tensor([group["lr"] for group in self.run.opt.param_groups], dtype=torch.float64)
        return torch.cat([self.run.state_vector(), rates])
