"""Driver of `sam_step`, which makes one SAM update on a mini-batch and returns the loss at w.

Scenarios isolate updates over several base optimizers, BatchNorm, the returned loss, and the modes of the model. The
SAM is the fixtures' own, so that a learner's mistake in `SAM` is not counted again here.
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
_case = partial(sam_case, name="sam_step")


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, _SIZES), loss_function(env))


def _sam_steps(stage: Stage, make_base: MakeOptimizer) -> None:
    """Make four calls, alternating train and eval mode, which makes no difference for this model."""
    case = _case(stage, _SIZES, make_base)
    for number, batch in enumerate(case.data):
        case.model.train(number % 2 == 0)
        case.call(*batch)
        scale_rates(case.opt, 0.8)


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    _sam_steps(stage, sgd)


@driver.scenario("momentum", "모멘텀 위의 SAM")
def _momentum(stage: Stage) -> None:
    _sam_steps(stage, momentum_sgd)


@driver.scenario("adamw", "AdamW 위의 SAM", check="momentum")
def _adamw(stage: Stage) -> None:
    _sam_steps(stage, adamw)


def _with_batch_norm(env: Env, salt: str) -> Net:
    """Return a model with BatchNorm after a layer without bias.

    There is no dropout: both passes may rightly use one mask, or one each.
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
    """A model in train mode, one in eval mode, and one with a frozen BatchNorm; one call each."""
    for number, mode in enumerate((Modes.ALL_TRAIN, Modes.ALL_EVAL, Modes.NORM_EVAL)):
        model = set_modes(_with_batch_norm(stage.env, mode), mode)
        case = _case(stage, (6, 4, 5), model=model, watch=False)
        stage.recorder.watch(model, case.opt.base_optimizer, at_forwards=False)
        case.call(*case.data[number])


@driver.scenario("float32", "float32 모델", check="momentum", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there; a new SAM for each call."""
    model = mlp(stage.env).float()
    base = sgd(model)
    stage.recorder.watch(model, base, at_forwards=False)
    for number in range(2):
        case = _case(stage, (6, 4), lambda _: base, model=model, watch=False)
        case.call(*case.data[number])


def _step_in_mode(stage: Stage, model: Net) -> None:
    case = _case(stage, (6,), model=model, watch=False)
    case.call(*case.data[0])


add_mode_scenarios(driver, _step_in_mode, check="modes")


def _losses(stage: Stage) -> Sequence[Any]:
    """Return the loss of one call for each of three fresh models, so that no update shows in a later loss."""
    cases = [
        _case(stage, (4, 3, 5), model=mlp(stage.env, f"model {number}"), watch=False) for number in range(3)
    ]
    return [case.call(*case.data[number]) for number, case in enumerate(cases)]


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    record_numbers(stage.recorder, _losses(stage))


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    stage.recorder.fact("반환 타입", [type_name(value) for value in _losses(stage)])
