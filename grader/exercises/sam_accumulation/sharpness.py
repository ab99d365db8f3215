"""Driver of `sharpness`, which returns L(w + rho * g / ||g||) - L(w) and leaves everything else as it was.

The value is measured on a fresh model each time, so that a function that leaves a model changed still returns the right
value. What it leaves behind does not depend on the value. So each scenario judges either
the value or what is left behind.
"""

import contextlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import (
    FLOAT32_UPDATES_ATOL,
    Batch,
    LossFn,
    Modes,
    Net,
    batches,
    distance_moved,
    flat_weights,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL, record_numbers
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.exercises.sam_accumulation._untouched import (
    RANDOM_STATE,
    add_state_scenarios,
    add_weight_scenarios,
    record_type,
)
from grader.observe.play import Driver, Stage

driver = Driver("sharpness")

_STEEP_ATOL = 1e-5
"""A loss of about 40 that passes through float32 on its way out is off by 2e-6."""


def _measure(stage: Stage, model: Net, batch: Batch, rho: float, loss_fn: LossFn | None = None) -> Any:
    """Call the student's function once.

    Parameters are not recorded as states: a solution may restore w by subtracting e again, which is right but off in
    the last bit, and would count as one more state.
    """
    model.observer = stage.recorder
    stage.env.set_random_state(RANDOM_STATE)
    return stage.recorder.call(
        stage.student("sharpness"), model, loss_fn or loss_function(stage.env), *batch, rho=rho
    )


def _measure_batch(stage: Stage, model: Net, batch: Batch) -> Any:
    return _measure(stage, model, batch, 0.3)


def _measure_new_batch(stage: Stage, model: Net) -> Any:
    (batch,) = batches(stage.env, (6,))
    return _measure_batch(stage, model, batch)


def _values(stage: Stage, make: Callable[[str], Net]) -> None:
    """Record the values of two models, each with a batch and a radius of its own."""
    data = zip(batches(stage.env, (6, 5)), (0.4, 0.05), strict=True)
    values = [_measure(stage, make(f"model {n}"), batch, rho) for n, (batch, rho) in enumerate(data)]
    record_numbers(stage.recorder, values)


@driver.scenario("value", "평가 모드의 모델", atol=FLOAT32_ATOL)
def _value(stage: Stage) -> None:
    _values(stage, lambda salt: mlp(stage.env, salt).eval())


@driver.scenario("hill", "손실이 높아졌다가 낮아지는 곳", check="value", atol=FLOAT32_ATOL)
def _hill(stage: Stage) -> None:
    """A loss that peaks a little uphill: far past the peak, sharpness is negative."""
    smooth = loss_function(stage.env)
    (batch,) = batches(stage.env, (5,))
    with torch.no_grad():
        top = smooth(mlp(stage.env)(batch[0]), batch[1]) + 0.02

    def hill(output: Tensor, target: Tensor) -> Tensor:
        return -((smooth(output, target) - top) ** 2)

    values = [_measure(stage, mlp(stage.env).eval(), batch, rho, hill) for rho in (0.3, 0.8)]
    record_numbers(stage.recorder, values)


@driver.scenario("steep", "그레이디언트가 큰 손실", check="value", atol=_STEEP_ATOL)
def _steep(stage: Stage) -> None:
    """Steep gradients: a function that gets the norm from a clipping function must not clip."""
    smooth = loss_function(stage.env)
    (batch,) = batches(stage.env, (5,))
    value = _measure(stage, mlp(stage.env).eval(), batch, 0.1, lambda out, target: 40.0 * smooth(out, target))
    record_numbers(stage.recorder, [value])


@driver.scenario("float32", "float32 모델", check="value", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    (batch,) = batches(stage.env, (6,))
    value = _measure(stage, mlp(stage.env).float().eval(), (batch[0].float(), batch[1]), 0.3)
    record_numbers(stage.recorder, [value])


@driver.scenario("train-mode", "드롭아웃과 배치 정규화가 있는 모델", atol=FLOAT32_ATOL)
def _train_mode(stage: Stage) -> None:
    """Dropout and BatchNorm in train mode: both losses must come from the same random state."""
    _values(stage, lambda salt: norm_dropout_mlp(stage.env, salt).train())


@driver.scenario(
    "values-by-mode", "평가 모드의 모델과 배치 정규화를 얼린 모델의 값", check="train-mode", atol=FLOAT32_ATOL
)
def _values_by_mode(stage: Stage) -> None:
    """A model in eval mode, then one in train mode with a frozen BatchNorm.

    `model.training` alone does not tell every layer's mode.
    """
    values = []
    for mode, batch in zip((Modes.ALL_EVAL, Modes.NORM_EVAL), batches(stage.env, (6, 4)), strict=True):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        values.append(_measure(stage, model, batch, 0.3))
    record_numbers(stage.recorder, values)


add_weight_scenarios(driver, "weights", _measure_batch)


@driver.scenario("frozen", "얼린 매개변수가 있는 모델", check="weights")
def _frozen(stage: Stage) -> None:
    """A frozen parameter must keep its value and stay frozen.

    Nobody has said whether frozen parameters belong to w, so a function may refuse them, or move and restore them.
    """
    model = mlp(stage.env)
    first, *_, last = model.parameters()
    for parameter in (first, last):
        parameter.requires_grad_(False)
    before = flat_weights(model)
    (batch,) = batches(stage.env, (6,))

    def attempt(*args: Any, **kwargs: Any) -> None:
        with contextlib.suppress(RuntimeError):
            stage.student("sharpness")(*args, **kwargs)

    stage.recorder.call(attempt, model, loss_function(stage.env), *batch, rho=0.3)
    names = [name for name, p in model.named_parameters() if not p.requires_grad]
    stage.recorder.fact("requires_grad=False인 매개변수", ", ".join(names))
    stage.recorder.array("가중치가 옮겨진 거리", distance_moved(model, before))


add_state_scenarios(driver, "statistics", _measure_batch)
add_mode_scenarios(driver, _measure_new_batch, check="statistics")


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    record_type(stage, _measure_new_batch, mlp(stage.env))
