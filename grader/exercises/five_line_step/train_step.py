"""Driver of `train_step`: five steps on uneven batches while the learning rates move, and calls in every mode.

Uneven sizes show a loss that is divided by the batch size; moving rates show an update that comes a call late.
A model handed over in eval mode, or with a frozen BatchNorm, shows a step that switches modes.
"""

from typing import Any

import torch

from grader.exercises.five_line_step._step_problem import step_problem
from grader.exercises.five_line_step._tolerances import FLOAT32_ATOL
from grader.observe.fixtures.classifiers import (
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
from grader.observe.play import Driver, Stage

driver = Driver("train_step")


def _train_steps(stage: Stage, make_optimizer: Any, *, record_returns: bool = False) -> None:
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = make_optimizer(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for xb, yb in problem.batches:
        value = recorder.call(stage.student("train_step"), problem.model, opt, problem.loss_fn, xb, yb)
        if record_returns:
            recorder.returned(value)
        scale_rates(opt, 0.8)


@driver.scenario("sgd", "SGD", problem=step_problem)
def _sgd(stage: Stage) -> None:
    _train_steps(stage, sgd)


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    _train_steps(stage, adamw)


@driver.scenario("modes", "학습 모드·평가 모드·얼린 배치 정규화")
def _modes(stage: Stage) -> None:
    """A fresh model in train mode, one in eval mode, and one with a frozen BatchNorm: one call each."""
    env, recorder = stage.env, stage.recorder
    loss_fn = loss_function(env)
    (batch,) = batches(env, (6,))
    for mode in ("train", "eval", "frozen"):
        model = norm_dropout_mlp(env, mode)
        set_modes(model, mode)
        opt = sgd(model)
        recorder.watch(model, opt)
        torch.manual_seed(env.number("dropout"))
        recorder.call(stage.student("train_step"), model, opt, loss_fn, *batch)
        recorder.modes()
        recorder.array(f"buffers/{mode}", buffers(model))


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """The losses; then one step of a float32 model. Only its dtypes are compared, because rounding is no mistake."""
    _train_steps(stage, sgd, record_returns=True)
    problem = step_problem(stage.env)
    model, (xb, yb) = mlp(stage.env).float(), problem.batches[0]
    stage.recorder.call(stage.student("train_step"), model, sgd(model), problem.loss_fn, xb.float(), yb)
    stage.recorder.fact("매개변수의 dtype", [*sorted({str(p.dtype) for p in model.parameters()})])
