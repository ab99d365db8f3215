"""Driver of `sharpness`, which returns L(w + rho * g / ||g||) - L(w) and leaves everything else as it was.

Promises of the exercise, and the scenarios that check them:
    the value, positive or negative: `value`, `hill`, `steep`, `float32`
    both losses in the mode found and from the same random state: `train-mode`, `values-by-mode`
    weights and gradients stay as they are: `weights`, `gradients`, `held-gradients`; frozen parameters: `frozen`
    BatchNorm's statistics, the random state and the modes stay as they are: `statistics`, `counter`, `random-state`,
        `modes-train`, `modes-eval`, `modes-frozen`
    the return value is a float: `types`

No scenario judges both the value and what is left behind. Each value is measured on a fresh model, so that a program
that leaves a model changed still returns the right value.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
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
    fill_gradients,
    flat_weights,
    loss_function,
    mlp,
    norm_dropout_mlp,
    set_modes,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL, record_numbers
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.exercises.sam_accumulation._side_effect_scenarios import (
    RANDOM_STATE_SALT,
    add_state_scenarios,
    add_weight_scenarios,
    record_frozen,
    record_type,
)
from grader.observe.play import Driver, Stage

driver = Driver("sharpness")

_STEEP_ATOL = 1e-5
"""Absolute tolerance of the scenario `steep`: a loss of about 40 that passes through float32 on its way out is off by
2e-6.
"""

_RHO = 0.3
"""Radius of the scenarios that are not about the radius."""


def _measure(stage: Stage, model: Net, batch: Batch, rho: float, loss_fn: LossFn | None = None) -> Any:
    """Call the learner's function once, from a random state that follows from the scenario, and return its result.

    The model reports its forward passes, but the recorder does not watch it: a solution may go back to w by subtracting
    e again, which is right but off in the last bit, and would count as one more state.

    Args:
        stage: the scenario's stage.
        model: the model whose sharpness is asked for.
        batch: inputs and targets of the loss.
        rho: length of the climb from w to w + e.
        loss_fn: the loss function; None: `loss_function`.
    """
    model.observer = stage.recorder
    stage.env.set_random_state(RANDOM_STATE_SALT)
    return stage.recorder.call(
        stage.student("sharpness"), model, loss_fn or loss_function(stage.env), *batch, rho=rho
    )


def _measure_batch(stage: Stage, model: Net, batch: Batch) -> Any:
    """Call the learner's function once, for scenarios that do not compare the value."""
    return _measure(stage, model, batch, _RHO)


def _measure_new_batch(stage: Stage, model: Net) -> Any:
    """Call the learner's function once with a batch that follows from the scenario; the value is not compared."""
    (batch,) = batches(stage.env, (6,))
    return _measure_batch(stage, model, batch)


def _record_values(stage: Stage, make_model: Callable[[str], Net]) -> None:
    """Record the values of two models, each with a batch and a radius of its own.

    Args:
        stage: the scenario's stage.
        make_model: makes a model from a salt.
    """
    batches_and_radii = zip(batches(stage.env, (6, 5)), (0.4, 0.05), strict=True)
    values = [
        _measure(stage, make_model(f"model {number}"), batch, rho)
        for number, (batch, rho) in enumerate(batches_and_radii)
    ]
    record_numbers(stage.recorder, values)


@driver.scenario("value", "평가 모드의 모델", atol=FLOAT32_ATOL)
def _value(stage: Stage) -> None:
    """Record values in eval mode, of models that hold gradients, as in the middle of a window.

    A wrong program does not divide by the norm, takes one for each tensor, goes downhill, returns L(w + e), or adds the
    gradients that were there to its own.
    """

    def holding_gradients(salt: str) -> Net:
        model = mlp(stage.env, salt).eval()
        fill_gradients(stage.env, model)
        return model

    _record_values(stage, holding_gradients)


@driver.scenario("hill", "손실이 높아졌다가 낮아지는 곳", check="value", atol=FLOAT32_ATOL)
def _hill(stage: Stage) -> None:
    """Record values for a loss that peaks a little uphill; w + e is far past the peak, so sharpness is negative.

    A wrong program returns the absolute value, or never less than 0.
    """
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
    """Record the value for a loss with steep gradients.

    A wrong program gets the norm from a clipping function, which clips.
    """
    smooth = loss_function(stage.env)
    (batch,) = batches(stage.env, (5,))
    value = _measure(stage, mlp(stage.env).eval(), batch, 0.1, lambda out, target: 40.0 * smooth(out, target))
    record_numbers(stage.recorder, [value])


@driver.scenario("float32", "float32 모델", check="value", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """Record the value of a float32 model.

    A wrong program uses autocast, which leaves the float64 of the other scenarios alone.
    """
    (batch,) = batches(stage.env, (6,))
    value = _measure(stage, mlp(stage.env).float().eval(), (batch[0].float(), batch[1]), _RHO)
    record_numbers(stage.recorder, [value])


@driver.scenario("train-mode", "드롭아웃과 배치 정규화가 있는 모델", atol=FLOAT32_ATOL)
def _train_mode(stage: Stage) -> None:
    """Record values in train mode, with dropout and BatchNorm.

    A wrong program lets the two losses use different dropout masks, or measures in eval mode.
    """
    _record_values(stage, lambda salt: norm_dropout_mlp(stage.env, salt).train())


@driver.scenario(
    "values-by-mode", "평가 모드의 모델과 배치 정규화를 얼린 모델의 값", check="train-mode", atol=FLOAT32_ATOL
)
def _values_by_mode(stage: Stage) -> None:
    """Record the values of a model in eval mode, then of one in train mode with a frozen BatchNorm.

    A wrong program measures in train mode, or goes by `model.training`, which does not tell every layer's mode.
    """
    values = []
    for mode, batch in zip((Modes.ALL_EVAL, Modes.NORM_EVAL), batches(stage.env, (6, 4)), strict=True):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        values.append(_measure(stage, model, batch, _RHO))
    record_numbers(stage.recorder, values)


add_weight_scenarios(driver, _measure_batch, check="weights")


@driver.scenario("frozen", "얼린 매개변수가 있는 모델", check="weights")
def _frozen(stage: Stage) -> None:
    """Record whether frozen parameters keep their values and gradients, and stay frozen.

    A wrong program makes all parameters trainable, or clears all gradients and puts back those of trainable parameters
    only. The contract does not say whether frozen parameters belong to w, so a function may refuse them with a
    RuntimeError, or move and restore them.
    """
    (batch,) = batches(stage.env, (6,))

    def call_and_catch(*args: Any, **kwargs: Any) -> None:
        with contextlib.suppress(RuntimeError):
            stage.student("sharpness")(*args, **kwargs)

    def measure(stage: Stage, model: Net) -> None:
        before = flat_weights(model)
        stage.recorder.call(call_and_catch, model, loss_function(stage.env), *batch, rho=_RHO)
        stage.recorder.array("가중치가 옮겨진 거리", distance_moved(model, before))

    record_frozen(stage, measure)


add_state_scenarios(driver, _measure_batch, check="statistics")
add_mode_scenarios(driver, _measure_new_batch, check="statistics")


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """Record the type of the returned value.

    A wrong program returns a tensor.
    """
    record_type(stage, _measure_new_batch, mlp(stage.env))
