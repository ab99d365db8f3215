"""Driver of `train_step_extras`, which is `train_step` with optional clipping and an optional scheduler.

Scenarios isolate clipping, the scheduler, both and neither. The clip is active at some batches only, and the
scheduler's factor follows from the seed. So a clip or scheduler that always or never acts, or acts at the wrong time,
gives other numbers.
"""

from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import ExponentialLR

from grader.exercises.five_line_step._step_problem import step_problem
from grader.exercises.fixtures.classifiers import Net, adamw, gradient_norm, mlp, scale_rates, sgd
from grader.exercises.fixtures.given_modes import EVERY_MODE, record_modes
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import CLIP_ATOL, FLOAT32_ATOL
from grader.observe.play import Driver, Env, Problem, Stage

driver = Driver("train_step_extras")

BELOW_LARGEST = 0.08
"""Limit, as a share of the gradient's norm, that lies below the gradient's largest component: with 66 parameters, that
component is at least 1/√66 = 0.12 of the norm. At such a limit, clipping by value acts too, whatever the seed.
"""


def _limits(problem: Problem) -> tuple[float | None, ...]:
    """Return five limits: active, idle, active, None, active. A clip that always or never acts would hide mistakes."""
    norm = gradient_norm(problem.model, problem.loss_fn, problem.batches[0])
    return BELOW_LARGEST * norm, 50.0 * norm, 0.3 * norm, None, 0.4 * norm


def _scheduler(env: Env, opt: Optimizer) -> ExponentialLR:
    return ExponentialLR(opt, 0.5 + 0.4 * float(torch.rand(1, generator=env.generator("gamma"))))


def _step(
    stage: Stage, problem: Problem, model: nn.Module, opt: Optimizer, number: int = 0, **extra: Any
) -> Any:
    """Call the student's function once, with the problem's batch of this number."""
    student = stage.student("train_step_extras")
    return stage.recorder.call(student, model, opt, problem.loss_fn, *problem.batches[number], **extra)


@driver.scenario("clip", "SGD와 클리핑", atol=CLIP_ATOL, problem=step_problem)
def _clip(stage: Stage) -> None:
    """One call for each limit, without a scheduler."""
    problem = step_problem(stage.env)
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for number, limit in enumerate(_limits(problem)):
        _step(stage, problem, problem.model, opt, number, max_norm=limit)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """A limit of zero is a limit: nothing moves. Code that asks `if max_norm:` does not clip at all."""
    problem = step_problem(stage.env)
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt)
    _step(stage, problem, problem.model, opt, max_norm=0.0)


@driver.scenario("schedule", "스케줄러와 학습률")
def _schedule(stage: Stage) -> None:
    """The rates that updates use, and those left afterwards; weights are
    not compared, so a wrong update costs nothing here.
    """
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = sgd(problem.model)
    scheduler = _scheduler(stage.env, opt)
    recorder.watch(problem.model, opt, scheduler, batches=[xb for xb, _ in problem.batches], states=False)
    used: list[list[float]] = []
    opt.register_step_pre_hook(lambda *_: used.append([group["lr"] for group in opt.param_groups]))
    left = []
    for number in range(4):
        _step(stage, problem, problem.model, opt, number, scheduler=scheduler)
        left.append([group["lr"] for group in opt.param_groups])
        recorder.append_fact("scheduler.step()의 횟수", scheduler.last_epoch)
    recorder.array("업데이트에 쓴 학습률", torch.tensor(used[:100], dtype=torch.float64).reshape(-1, 2))
    recorder.array("부른 다음의 학습률", torch.tensor(left, dtype=torch.float64))


@driver.scenario("both", "모멘텀에 클리핑과 스케줄러를 함께", atol=CLIP_ATOL)
def _both(stage: Stage) -> None:
    """Momentum, clipping and a scheduler combined, and the returned loss."""
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = sgd(problem.model, momentum=0.9)
    scheduler = _scheduler(stage.env, opt)
    recorder.watch(problem.model, opt, scheduler, batches=[xb for xb, _ in problem.batches])
    for number, limit in enumerate(_limits(problem)):
        recorder.returned(
            _step(stage, problem, problem.model, opt, number, max_norm=limit, scheduler=scheduler)
        )
    recorder.fact("scheduler.step()의 횟수", scheduler.last_epoch)


@driver.scenario("plain", "AdamW만 (max_norm과 scheduler 없이)")
def _plain(stage: Stage) -> None:
    """Neither clipping nor a scheduler."""
    problem, recorder = step_problem(stage.env), stage.recorder
    opt = adamw(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    for number in range(4):
        _step(stage, problem, problem.model, opt, number)
        scale_rates(opt, 0.8)


@driver.scenario("float32", "float32 모델", check="plain")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    problem, recorder = step_problem(stage.env), stage.recorder
    model, (xb, yb) = problem.model.float(), problem.batches[0]
    recorder.watch(model, states=False)
    student = stage.student("train_step_extras")
    recorder.call(student, model, sgd(model), problem.loss_fn, xb.float(), yb, max_norm=1.0)
    record_precision(recorder, model)


@driver.scenario("modes", "받은 모드", check="plain")
def _modes(stage: Stage) -> None:
    """A model in each mode; two calls with a scheduler, which shows a scheduler that is not stepped in some mode."""

    problem = step_problem(stage.env)

    def use(model: Net) -> None:
        opt = sgd(model, momentum=0.9)
        scheduler = ExponentialLR(opt, 0.5)
        stage.recorder.watch(model, opt, scheduler, states=False)
        for number in (0, 2):
            _step(stage, problem, model, opt, number, max_norm=0.1, scheduler=scheduler)

    record_modes(stage, lambda: mlp(stage.env), use, EVERY_MODE)


@driver.scenario("returns", "반환값", check="plain", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """The loss is returned with and without the extras. One call on each fresh model, so no update can change it."""
    problem = step_problem(stage.env)
    for number in range(3):
        model = mlp(stage.env, f"model {number}")
        opt = sgd(model)
        limit = 0.1 if number == 1 else None
        scheduler = ExponentialLR(opt, 0.5) if number == 2 else None
        value = _step(stage, problem, model, opt, max_norm=limit, scheduler=scheduler)
        stage.recorder.returned(value)


@driver.scenario("quiet", "화면 출력", check="plain")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    problem = step_problem(stage.env)
    opt = sgd(problem.model)
    _step(stage, problem, problem.model, opt, max_norm=0.1, scheduler=ExponentialLR(opt, 0.5))
    stage.recorder.fact("print를 부름", "예" if stage.recorder.prints else "아니요")
