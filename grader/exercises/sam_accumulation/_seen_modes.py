"""A model that notes the mode in which its layers are used, and the scenarios that drivers add with it.

The scenarios record facts, and numbers that depend on these facts alone. A function that computes wrong numbers but
leaves the modes alone passes; one that computes the right numbers in the wrong mode does not.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Net,
    batches,
    initialised,
    set_modes,
)
from grader.exercises.fixtures.marks import drawn
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact

_TITLES = {
    "train": "학습 모드로 받은 모델",
    "eval": "평가 모드로 받은 모델",
    "frozen": "배치 정규화만 평가 모드로 얼려 둔 모델",
}


class _ModeLog:
    """The modes in which one layer has been used. A copy of the model writes to the same object."""

    def __init__(self, env: Env, layer: str) -> None:
        self._env, self._layer = env, layer
        self._modes: dict[bool, float] = {}

    def __deepcopy__(self, memo: dict[int, Any]) -> "_ModeLog":
        return self

    def note(self, training: bool) -> None:
        self._modes[training] = drawn(self._env, self._layer, training)

    def clear(self) -> None:
        self._modes.clear()

    def as_fact(self) -> list[Fact]:
        return [*sorted(self._modes, reverse=True)]

    def as_number(self) -> float:
        return sum(self._modes[training] for training in sorted(self._modes))


class _BatchNorm(nn.BatchNorm1d):
    """A BatchNorm layer that notes its mode in each forward pass."""

    def __init__(self, features: int, env: Env) -> None:
        super().__init__(features)
        self.seen = _ModeLog(env, "norm")

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen.note(self.training)
        return super().forward(inputs)


class _Dropout(nn.Dropout):
    """A dropout layer that drops nothing, so that masks make no difference."""

    def __init__(self, env: Env) -> None:
        super().__init__(0.0)
        self.seen = _ModeLog(env, "dropout")

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen.note(self.training)
        return super().forward(inputs)


def _observed_model(env: Env) -> Net:
    """Return a model whose BatchNorm and dropout layers note their modes."""
    layers = [
        nn.Linear(FEATURES, HIDDEN, bias=False),
        _BatchNorm(HIDDEN, env),
        nn.Tanh(),
        _Dropout(env),
        nn.Linear(HIDDEN, CLASSES),
    ]
    return initialised(Net(layers), env, "model")


def _modes_left(env: Env, model: Any) -> list[float]:
    """Return a number for each layer that depends on its mode in one more forward pass, made now."""
    layers = model.layers[1], model.layers[3]
    for layer in layers:
        layer.seen.clear()
    with torch.no_grad():
        model(batches(env, (2,), "left")[0][0])
    return [layer.seen.as_number() for layer in layers]


def add_mode_scenarios(driver: Driver, use: Callable[[Stage, Net], None], *, check: str) -> None:
    """Add one scenario for each mode in which a model is handed over.

    Args:
        driver: the exercise's driver.
        use: calls the student's function with the model.
        check: id of the check that the scenarios decide.
    """
    for mode, title in _TITLES.items():

        def scenario(stage: Stage, mode: str = mode) -> None:
            model: Any = set_modes(_observed_model(stage.env), mode)
            norm, dropout = model.layers[1], model.layers[3]
            use(stage, model)
            recorder = stage.recorder
            for name, layer in (("배치 정규화가", norm), ("드롭아웃이", dropout)):
                recorder.claim(f"{name} 순전파에서 쓴 모드", layer.seen.as_fact(), [layer.seen.as_number()])
            left: list[Fact] = [m.training for m in model.modules()]
            recorder.claim("끝난 뒤의 모드", left, _modes_left(stage.env, model))
            # Switching statistics off for a pass is right, leaving them off is not.
            recorder.fact("끝난 뒤 배치 정규화의 momentum", norm.momentum)
            recorder.fact("끝난 뒤 배치 정규화의 track_running_stats", norm.track_running_stats)

        driver.scenario(f"modes-{mode}", title, check=check)(scenario)
