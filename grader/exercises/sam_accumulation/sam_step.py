"""Driver of `sam_step`: updates over several base optimizers, and calls on models in different modes.

The SAM is the fixtures' own, so that a learner's mistake in `SAM` is not counted again here.
"""

from typing import Any

from torch import nn

from grader.exercises.sam_accumulation._base_optimizers import Make, momentum
from grader.exercises.sam_accumulation._tolerances import FLOAT32_ATOL
from grader.observe.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Net,
    adamw,
    batches,
    initialised,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.observe.fixtures.sam import FixtureSAM
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("sam_step")


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, (4, 3, 5, 2)), loss_function(env))


def _sam_steps(stage: Stage, make: Make, *, record_returns: bool = False) -> None:
    problem, recorder = _problem(stage.env), stage.recorder
    base = make(problem.model)
    # States count updates. The weights w + e, which forward passes see between two updates, are no state.
    recorder.watch(problem.model, base, batches=[xb for xb, _ in problem.batches], at_forwards=False)
    sam = FixtureSAM(base, recorder)
    for xb, yb in problem.batches:
        value = recorder.call(stage.student("sam_step"), problem.model, sam, problem.loss_fn, xb, yb)
        if record_returns:
            recorder.returned(value)
        scale_rates(base, 0.8)


def _with_batch_norm(env: Env, salt: str) -> Net:
    """BatchNorm after a layer without bias. No dropout: both passes may rightly use one mask, or a mask each."""
    layers = [
        nn.Linear(FEATURES, HIDDEN, bias=False),
        nn.BatchNorm1d(HIDDEN),
        nn.Tanh(),
        nn.Linear(HIDDEN, CLASSES),
    ]
    return initialised(Net(layers), env, salt)


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    _sam_steps(stage, sgd)


@driver.scenario("momentum", "모멘텀 위의 SAM")
def _momentum(stage: Stage) -> None:
    _sam_steps(stage, momentum)


@driver.scenario("adamw", "AdamW 위의 SAM", check="momentum")
def _adamw(stage: Stage) -> None:
    _sam_steps(stage, adamw)


@driver.scenario("modes", "학습 모드·평가 모드·얼린 배치 정규화")
def _modes(stage: Stage) -> None:
    """A model in train mode, one in eval mode, and one with a frozen BatchNorm: one call each."""
    env, recorder = stage.env, stage.recorder
    (batch,) = batches(env, (6,))
    for mode in ("train", "eval", "frozen"):
        model = _with_batch_norm(env, mode)
        model.train(mode != "eval")
        if mode == "frozen":
            model.layers[1].eval()
        base = sgd(model)
        recorder.watch(model, base, at_forwards=False)
        recorder.call(
            stage.student("sam_step"), model, FixtureSAM(base, recorder), loss_function(env), *batch
        )
        recorder.modes()
        # Switching statistics off for the second pass is right, leaving them off is not.
        norm: Any = model.layers[1]
        recorder.append_fact("배치 정규화의 설정", [norm.momentum, norm.track_running_stats])


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    _sam_steps(stage, sgd, record_returns=True)
