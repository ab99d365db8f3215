"""Driver of `sam_step`, which makes one SAM update on a mini-batch and returns the loss at w.

Promises of the exercise, and the scenarios that check them:
    one SAM update on the batch: `sgd`, `momentum`, `adamw`, `batch-norm`, `float32`
    the return value is the loss at w, before the climb, a float: `returns`, `return-types`
    the modes stay as they are: `modes-train`, `modes-eval`, `modes-frozen`

The SAM is the fixtures' own, so that a learner's mistake in `SAM` is not counted again here (`fixtures/sam.py`, which
also says what w, the climb to w + e and the base optimizer are).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    FLOAT32_UPDATES_ATOL,
    HIDDEN,
    MakeOptimizer,
    Modes,
    Net,
    adamw,
    batches,
    initialize,
    loss_function,
    mlp,
    momentum_sgd,
    scale_rates,
    set_modes,
    sgd,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL, record_numbers
from grader.exercises.fixtures.sam import sam_case
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import type_name

driver = Driver("sam_step")

_SIZES = (4, 3, 5, 2)
"""Samples in each batch."""

_case = partial(sam_case, name="sam_step")
"""Makes a case for the learner's `sam_step`; see `sam_case` for the other arguments."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `sgd`, for the recipe of its updates."""
    return Problem(mlp(env), batches(env, _SIZES), loss_function(env))


def _record_updates(stage: Stage, make_base: MakeOptimizer) -> None:
    """Make four calls with falling learning rates, in train mode and in eval mode by turns.

    The modes make no difference for this model.
    """
    case = _case(stage, _SIZES, make_base)
    for number, batch in enumerate(case.data):
        case.model.train(number % 2 == 0)
        case.call(*batch)
        scale_rates(case.opt, 0.8)


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Update over SGD, where the recipe of a wrong update can be told.

    A wrong program makes one pass only, keeps the first gradient, or runs backward again without a forward pass.
    """
    _record_updates(stage, sgd)


@driver.scenario("momentum", "모멘텀 위의 SAM")
def _momentum(stage: Stage) -> None:
    """Update over SGD with momentum.

    A wrong program makes a step of the base optimizer too many, which momentum remembers.
    """
    _record_updates(stage, momentum_sgd)


@driver.scenario("adamw", "AdamW 위의 SAM", check="momentum")
def _adamw(stage: Stage) -> None:
    """Update over AdamW, where the number of updates shows, but hardly a factor on the gradient.

    A wrong program clears no gradients between updates, or lets the base optimizer step from w + e.
    """
    _record_updates(stage, adamw)


def _with_batch_norm(env: Env, salt: str) -> Net:
    """Return a model with BatchNorm after a layer without bias.

    There is no dropout, because both passes may rightly use one mask, or one each.
    """
    layers = [
        nn.Linear(FEATURES, HIDDEN, bias=False),
        nn.BatchNorm1d(HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, CLASSES),
    ]
    return initialize(Net(layers), env, salt)


@driver.scenario("batch-norm", "배치 정규화가 있는 모델", check="momentum")
def _batch_norm(stage: Stage) -> None:
    """Make one call each with a model in train mode, in eval mode, and in train mode with a frozen BatchNorm.

    A wrong program sets a mode for its passes, which changes what BatchNorm computes.
    """
    for number, mode in enumerate((Modes.ALL_TRAIN, Modes.ALL_EVAL, Modes.NORM_EVAL)):
        model = set_modes(_with_batch_norm(stage.env, mode), mode)
        case = _case(stage, (6, 4, 5), model=model, watch=False)
        stage.recorder.watch(model, case.opt.base_optimizer, at_forwards=False)
        case.call(*case.data[number])


@driver.scenario("float32", "float32 모델", check="momentum", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """Make two calls with a float32 model, with a new SAM for each.

    A wrong program uses autocast, which leaves the float64 of the other scenarios alone.
    """
    model = mlp(stage.env).float()
    base = sgd(model)
    stage.recorder.watch(model, base, at_forwards=False)
    for number in range(2):
        case = _case(stage, (6, 4), lambda _: base, model=model, watch=False)
        case.call(*case.data[number])


def _call_with(stage: Stage, model: Net) -> None:
    """Make one call with a model whose modes are set already."""
    case = _case(stage, (6,), model=model, watch=False)
    case.call(*case.data[0])


add_mode_scenarios(driver, _call_with, check="modes")


def _losses(stage: Stage) -> Sequence[Any]:
    """Return the losses of three calls, each with a fresh model and a batch of its own.

    The models are fresh so that no update shows in a later loss.
    """
    cases = [
        _case(stage, (4, 3, 5), model=mlp(stage.env, f"model {number}"), watch=False) for number in range(3)
    ]
    return [case.call(*case.data[number]) for number, case in enumerate(cases)]


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record the returned losses.

    A wrong program returns the loss at w + e, the mean of both, the loss after the update, or nothing.
    """
    record_numbers(stage.recorder, _losses(stage))


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    """Record the types of the returned losses.

    A wrong program returns a tensor, or nothing.
    """
    stage.recorder.fact("반환 타입", [type_name(value) for value in _losses(stage)])
