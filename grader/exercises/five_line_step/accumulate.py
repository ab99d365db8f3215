"""Driver of `accumulate`: two calls with a short last window each, and windows at the edges of what is allowed.

The short windows and the second call (other window size, a generator) show a wrong divisor and what a call
leaves behind for the next one.
"""

from typing import Any

import torch

from grader.exercises.five_line_step._gradients import next_gradients
from grader.exercises.five_line_step._tolerances import CLIP_ATOL
from grader.observe.fixtures.classifiers import (
    adamw,
    batches,
    freeze_last,
    gradient_norm,
    loss_function,
    mlp,
    scale_rates,
    sgd,
)
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("accumulate")

MICRO = 3
"""Samples in every micro-batch: equal, so that concatenating a window is as right as looping over it."""


def _problem(env: Env) -> Problem:
    return Problem(mlp(env), batches(env, [MICRO] * 18), loss_function(env))


def _accumulate(
    stage: Stage,
    make_optimizer: Any,
    *,
    clips: bool = False,
    record_returns: bool = False,
    record_leftover: bool = False,
) -> None:
    """Two calls: 11 micro-batches by 4 (tail of 3), then 7 by 3 from a generator (tail of 1)."""
    problem, recorder = _problem(stage.env), stage.recorder
    model, loss_fn, data = problem.model, problem.loss_fn, problem.batches
    first_window = (torch.cat([xb for xb, _ in data[:4]]), torch.cat([yb for _, yb in data[:4]]))
    norm = gradient_norm(model, loss_fn, first_window)
    opt = make_optimizer(model)
    if record_leftover:
        freeze_last(model)
    recorder.watch(model, opt, batches=[xb for xb, _ in data])
    # The clip acts in the first call (it would even at four times the limit) and never in the second: a clip that
    # always acts hides a wrong scale.
    parts = ((data[:11], 4, 0.15 * norm), (data[11:], 3, 50.0 * norm))
    for number, (part, accum_steps, limit) in enumerate(parts):
        micro_batches = part if number == 0 else (batch for batch in part)
        extra = {"max_norm": limit} if clips else {}
        value = recorder.call(
            stage.student("accumulate"), model, opt, loss_fn, micro_batches, accum_steps, **extra
        )
        if record_returns:
            recorder.returned(value)
        if record_leftover:
            recorder.append_fact("그레이디언트가 남음", recorder.gradients_left())
            # Every number that is left becomes 1, because a wrong divisor is not judged here.
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad = parameter.grad.ne(0).to(parameter.dtype)
            recorder.array(f"gradients/{number}", next_gradients(model, loss_fn, data[number]))
            recorder.modes()
            recorder.fact("모든 순전파가 받은 모드에서", all(recorder.forward_modes))
        scale_rates(opt, 0.8)


@driver.scenario("sgd", "SGD", problem=_problem)
def _sgd(stage: Stage) -> None:
    _accumulate(stage, sgd)


@driver.scenario("clip", "모멘텀과 클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    _accumulate(stage, lambda model: sgd(model, momentum=0.9), clips=True)


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    _accumulate(stage, adamw)


@driver.scenario("leftover", "뒷정리")
def _leftover(stage: Stage) -> None:
    _accumulate(stage, sgd, record_leftover=True)


@driver.scenario("returns", "반환값")
def _returns(stage: Stage) -> None:
    _accumulate(stage, sgd, record_returns=True)


@driver.scenario("edges", "한 개짜리 구간, 짧은 구간, 빈 입력, 잘못된 accum_steps")
def _edges(stage: Stage) -> None:
    """Windows of one micro-batch, fewer micro-batches than a window, none at all, and impossible windows."""
    problem, recorder = _problem(stage.env), stage.recorder
    student, model, loss_fn = stage.student("accumulate"), problem.model, problem.loss_fn
    opt = sgd(model)
    recorder.watch(model, opt)
    for part, accum_steps in ((problem.batches[:3], 1), (problem.batches[3:5], 9), ([], 2)):
        recorder.returned(recorder.call(student, model, opt, loss_fn, iter(part), accum_steps))
    for accum_steps in (0, -2):
        recorder.expect(
            ValueError,
            f"accum_steps={accum_steps}",
            student,
            model,
            opt,
            loss_fn,
            problem.batches,
            accum_steps,
        )
