"""Driver of `train_step`, which makes one update on a mini-batch and returns the loss before it.

Scenarios isolate updates under SGD and AdamW, modes, the random state and the returned loss. Batches have uneven sizes,
which shows a loss that is divided by the batch size; learning rates change between calls, which shows an update that
comes a call late.
"""

from typing import Any

import torch

from grader.exercises.five_line_step._step_problem import step_problem
from grader.exercises.fixtures.classifiers import (
    Net,
    adamw,
    batches,
    buffers,
    loss_function,
    mlp,
    norm_dropout_mlp,
    scale_rates,
    set_modes,
    sgd,
)
from grader.exercises.fixtures.given_modes import EVERY_MODE, record_modes
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import FLOAT32_ATOL
from grader.observe.play import Driver, Stage

driver = Driver("train_step")


def _train_steps(stage: Stage, make_optimizer: Any) -> None:
    """Make one call for each batch, with falling learning rates."""
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = make_optimizer(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for xb, yb in problem.batches:
        recorder.call(stage.student("train_step"), problem.model, opt, problem.loss_fn, xb, yb)
        scale_rates(opt, 0.8)


@driver.scenario("sgd", "SGD", problem=step_problem)
def _sgd(stage: Stage) -> None:
    _train_steps(stage, sgd)


@driver.scenario("float32", "float32 모델", check="sgd")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    problem, recorder = step_problem(stage.env), stage.recorder
    model, (xb, yb) = problem.model.float(), problem.batches[0]
    recorder.watch(model, states=False)
    recorder.call(stage.student("train_step"), model, sgd(model), problem.loss_fn, xb.float(), yb)
    record_precision(recorder, model)


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    _train_steps(stage, adamw)


@driver.scenario("modes", "배치 정규화와 드롭아웃이 있는 모델", check="adamw")
def _norm_and_dropout(stage: Stage) -> None:
    """A fresh model in train mode, one in eval mode, and one with a frozen BatchNorm; one call each."""
    env, recorder = stage.env, stage.recorder
    loss_fn = loss_function(env)
    (batch,) = batches(env, (6,))
    for mode in ("train", "eval", "frozen"):
        model = norm_dropout_mlp(env, mode)
        set_modes(model, mode)
        opt = sgd(model)
        recorder.watch(model, opt)
        env.set_random_state("dropout")
        recorder.call(stage.student("train_step"), model, opt, loss_fn, *batch)
        recorder.array(f"buffers/{mode}", buffers(model))


@driver.scenario("random-state", "난수의 상태", check="adamw")
def _random_state(stage: Stage) -> None:
    """A step must not set a seed: after two different random states, it would leave the same one."""
    problem, left = step_problem(stage.env), []
    for number in range(2):
        model = mlp(stage.env)
        stage.env.set_random_state(f"state {number}")
        stage.recorder.call(
            stage.student("train_step"), model, sgd(model), problem.loss_fn, *problem.batches[number]
        )
        left.append(torch.get_rng_state())
    stage.recorder.fact("시드를 다시 정함", "예" if torch.equal(*left) else "아니요")


@driver.scenario("given-modes", "받은 모드", check="modes")
def _given_modes(stage: Stage) -> None:
    """A model in each mode; two calls each."""
    loss_fn, data = loss_function(stage.env), batches(stage.env, (4, 3))

    def use(model: Net) -> None:
        opt = sgd(model, momentum=0.9)
        stage.recorder.watch(model, opt, states=False)
        for batch in data:
            stage.recorder.call(stage.student("train_step"), model, opt, loss_fn, *batch)

    record_modes(stage, lambda: mlp(stage.env), use, EVERY_MODE)


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """The losses of fresh models, which a wrong update cannot change."""
    problem, recorder = step_problem(stage.env), stage.recorder
    for number, batch in enumerate(problem.batches[:2]):
        model = mlp(stage.env, f"model {number}")
        value = recorder.call(stage.student("train_step"), model, sgd(model), problem.loss_fn, *batch)
        recorder.returned(value)


@driver.scenario("quiet", "화면 출력", check="returns")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = sgd(problem.model)
    recorder.call(stage.student("train_step"), problem.model, opt, problem.loss_fn, *problem.batches[0])
    recorder.fact("print를 부름", "예" if recorder.prints else "아니요")
