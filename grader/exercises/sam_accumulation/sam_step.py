"""Driver of `sam_step`, which makes one SAM update on a mini-batch and returns the loss at w.

Scenarios isolate updates over several base optimizers, BatchNorm, the returned loss, and the modes of the model. The
SAM is the fixtures' own, so that a learner's mistake in `SAM` is not counted again here.
"""

from collections.abc import Sequence
from typing import Any

from torch import nn
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Batch,
    Net,
    adamw,
    batches,
    initialised,
    loss_function,
    mlp,
    scale_rates,
    set_modes,
    sgd,
)
from grader.exercises.fixtures.sam import FixtureSAM
from grader.exercises.fixtures.tolerances import FLOAT32_ATOL, FLOAT32_UPDATES_ATOL
from grader.exercises.sam_accumulation._base_optimizers import Make, momentum
from grader.exercises.sam_accumulation._returned import record_numbers
from grader.exercises.sam_accumulation._seen_modes import add_mode_scenarios
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import type_name

driver = Driver("sam_step")


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, (4, 3, 5, 2)), loss_function(env))


def _step(stage: Stage, model: Net, base: Optimizer, batch: Batch) -> Any:
    sam = FixtureSAM(base, stage.recorder)
    return stage.recorder.call(stage.student("sam_step"), model, sam, loss_function(stage.env), *batch)


def _sam_steps(stage: Stage, make: Make) -> None:
    """Make four calls, alternating train and eval mode, which makes no difference for this model."""
    problem, recorder = _problem(stage.env), stage.recorder
    base = make(problem.model)
    # Recorded states count updates. The weights w + e, which forward passes see between two updates, are no state.
    recorder.watch(problem.model, base, batches=[xb for xb, _ in problem.batches], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    for number, (xb, yb) in enumerate(problem.batches):
        problem.model.train(number % 2 == 0)
        recorder.call(stage.student("sam_step"), problem.model, sam, problem.loss_fn, xb, yb)
        scale_rates(base, 0.8)


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    _sam_steps(stage, sgd)


@driver.scenario("momentum", "모멘텀 위의 SAM")
def _momentum(stage: Stage) -> None:
    _sam_steps(stage, momentum)


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
    return initialised(Net(layers), env, salt)


@driver.scenario("batch-norm", "배치 정규화가 있는 모델", check="momentum")
def _batch_norm(stage: Stage) -> None:
    """A model in train mode, one in eval mode, and one with a frozen BatchNorm; one call each."""
    for mode, batch in zip(("train", "eval", "frozen"), batches(stage.env, (6, 4, 5)), strict=True):
        model = _with_batch_norm(stage.env, mode)
        set_modes(model, mode)
        base = sgd(model)
        stage.recorder.watch(model, base, at_forwards=False)
        _step(stage, model, base, batch)


@driver.scenario("float32", "float32 모델", check="momentum", atol=FLOAT32_UPDATES_ATOL)
def _single(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    model = mlp(stage.env).float()
    base = sgd(model)
    stage.recorder.watch(model, base, at_forwards=False)
    for xb, yb in batches(stage.env, (6, 4)):
        _step(stage, model, base, (xb.float(), yb))


def _step_in_mode(stage: Stage, model: Net) -> None:
    (batch,) = batches(stage.env, (6,))
    _step(stage, model, sgd(model), batch)


add_mode_scenarios(driver, "modes", _step_in_mode)


def _losses(stage: Stage) -> Sequence[Any]:
    """Return the losses of fresh models: no update shows in a later loss."""
    models = [mlp(stage.env, f"model {number}") for number in range(3)]
    return [
        _step(stage, model, sgd(model), batch)
        for model, batch in zip(models, batches(stage.env, (4, 3, 5)), strict=True)
    ]


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    record_numbers(stage.recorder, _losses(stage))


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    stage.recorder.fact("반환 타입", [type_name(value) for value in _losses(stage)])
