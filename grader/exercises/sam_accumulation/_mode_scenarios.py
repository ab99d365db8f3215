"""Scenarios on the modes that a function uses and leaves, which drivers add with `add_mode_scenarios`.

They are for functions that must make their passes in the modes in which the model came, and leave these as they were:
`sam_step`, `sam_accumulate`, `sam_accumulate_weighted`, `sharpness` and `lambda_max`. To add a mode, add it to
`_TITLES` and to the docstrings of these drivers; a new one also to `Modes` and `set_modes` in `classifiers.py`.

Their model logs the modes in which its BatchNorm and its dropout make forward passes. A function that computes wrong
numbers in the right modes passes; one that computes the right numbers in a wrong mode does not.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Modes,
    Net,
    batches,
    initialize,
    set_modes,
)
from grader.exercises.fixtures.witnesses import seeded_number
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact

_TITLES = {
    Modes.ALL_TRAIN: "학습 모드로 받은 모델",
    Modes.ALL_EVAL: "평가 모드로 받은 모델",
    Modes.NORM_EVAL: "배치 정규화만 평가 모드로 얼려 둔 모델",
}
"""Modes in which a model is handed over -> title of the scenario."""


def add_mode_scenarios(driver: Driver, call: Callable[[Stage, Net], object], *, check: str) -> None:
    """Add one scenario for each mode in which a model is handed over: `modes-train`, `modes-eval`, `modes-frozen`.

    A wrong program sets the whole model to one mode, for its passes or at the end.

    Args:
        driver: the exercise's driver.
        call: calls the learner's function with the model.
        check: id of the check that the scenarios decide.
    """
    for mode, title in _TITLES.items():
        driver.scenario(f"modes-{mode}", title, check=check)(partial(_record_modes, mode=mode, call=call))


def _record_modes(stage: Stage, mode: Modes, call: Callable[[Stage, Net], object]) -> None:
    """Hand over a model in a mode, and record the modes during and after the call."""
    model, norm, dropout = _make_logging_model(stage.env)
    set_modes(model, mode)
    call(stage, model)
    recorder = stage.recorder
    for name, log in (("배치 정규화가", norm.log), ("드롭아웃이", dropout.log)):
        recorder.claim(f"{name} 순전파에서 쓴 모드", log.as_fact(), [log.as_witness()])
    modes_left: list[Fact] = [module.training for module in model.modules()]
    # This clears the logs, so it comes after they were recorded.
    witness = _witness_of_modes_left(stage.env, model, (norm.log, dropout.log))
    recorder.claim("끝난 뒤의 모드", modes_left, witness)
    # A function may turn the running statistics off for a pass, but must turn them on again.
    recorder.fact("끝난 뒤 배치 정규화의 momentum", norm.momentum)
    recorder.fact("끝난 뒤 배치 정규화의 track_running_stats", norm.track_running_stats)


class _ModeLog:
    """The modes in which one layer has made forward passes, each with a witness number that follows from the seed.

    A copy of the layer writes to the same log, so that passes of a copied model count, too.
    """

    def __init__(self, env: Env, layer_name: str) -> None:
        self._env, self._layer_name = env, layer_name
        self._witness_of_mode: dict[bool, float] = {}
        """`training` of the layer -> witness number."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "_ModeLog":
        return self

    def note(self, training: bool) -> None:
        """Add the mode of a forward pass: True for train mode."""
        self._witness_of_mode[training] = seeded_number(self._env, self._layer_name, training)

    def clear(self) -> None:
        """Forget all modes."""
        self._witness_of_mode.clear()

    def as_fact(self) -> list[Fact]:
        """Return each mode once, True (train mode) first, whichever came first."""
        return [*sorted(self._witness_of_mode, reverse=True)]

    def as_witness(self) -> float:
        """Return the sum of the witness numbers; 0 if the layer has made no forward pass."""
        return sum(self._witness_of_mode.values())


class _BatchNorm(nn.BatchNorm1d):
    """A BatchNorm layer that logs its mode in each forward pass."""

    def __init__(self, features: int, env: Env) -> None:
        super().__init__(features)
        self.log = _ModeLog(env, "norm")

    def forward(self, inputs: Tensor) -> Tensor:
        self.log.note(self.training)
        return super().forward(inputs)


class _Dropout(nn.Dropout):
    """A dropout layer that logs its mode in each forward pass. It drops nothing, so that masks make no difference."""

    def __init__(self, env: Env) -> None:
        super().__init__(0.0)
        self.log = _ModeLog(env, "dropout")

    def forward(self, inputs: Tensor) -> Tensor:
        self.log.note(self.training)
        return super().forward(inputs)


class _LoggingModel(NamedTuple):
    """A model, and its two layers that log their modes."""

    model: Net
    norm: _BatchNorm
    dropout: _Dropout


def _make_logging_model(env: Env) -> _LoggingModel:
    """Make a model whose BatchNorm and dropout log their modes."""
    norm, dropout = _BatchNorm(HIDDEN, env), _Dropout(env)
    layers = [
        nn.Linear(FEATURES, HIDDEN, bias=False),
        norm,
        nn.Tanh(),
        dropout,
        nn.Linear(HIDDEN, CLASSES),
    ]
    return _LoggingModel(initialize(Net(layers), env, "model"), norm, dropout)


def _witness_of_modes_left(env: Env, model: Net, logs: Sequence[_ModeLog]) -> list[float]:
    """Clear the logs, make one more forward pass, and return the number that each log then holds."""
    for log in logs:
        log.clear()
    with torch.no_grad():
        model(batches(env, (2,), "left")[0][0])
    return [log.as_witness() for log in logs]
