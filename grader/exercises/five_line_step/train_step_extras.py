"""Driver of `train_step_extras`, which is `train_step` with optional clipping and an optional scheduler.

Promises of the exercise, and the scenarios that check them:
    `max_norm` clips the joint norm of the gradients, 0.0 too: `clip`, `zero-norm`, `both`
    the scheduler is stepped once, after the update: `schedule`, `both`
    without `max_norm` and `scheduler`, a plain step: `plain`
    the loss before the update, as a float: `returns`, `both`
    with clipping, float32 and each module's mode stay: `float32`, `modes`; nothing is printed: `quiet`

In `clip` and `both`, clipping is active at some batches only; in `zero-norm`, `schedule` and `both`, the scheduler's
factor follows from the seed. So a clip or scheduler that always or never acts, or acts at the wrong time, gives other
numbers.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.optim.lr_scheduler import ExponentialLR, LRScheduler

from grader.exercises.five_line_step._step_case import step_case, step_problem
from grader.exercises.fixtures.classifiers import (
    CLIP_ATOL,
    Batch,
    MakeOptimizer,
    adamw,
    gradient_norm,
    momentum_sgd,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import Case, add_usual
from grader.observe.noted_calls import note_before
from grader.observe.play import Driver, Env, Stage

driver = Driver("train_step_extras")

_BELOW_LARGEST_COMPONENT = 0.08
"""A `max_norm`, as a share of the gradient's norm, that is below the gradient's largest component: with 66 parameters,
that component is at least 1/√66 = 0.12 of the norm. So a program that clips by value instead of by norm changes the
gradient too, but otherwise, and shows, whatever the seed.
"""


def _case(
    stage: Stage, make_optimizer: MakeOptimizer = sgd, gamma: float | None = None, *, salt: str = "model"
) -> Case:
    """Return a `step_case`; with `gamma`, it has a scheduler that multiplies the learning rates by it after each step.

    Without `gamma`, it has no scheduler.
    """
    case = step_case(stage, "train_step_extras", make_optimizer, salt=salt)
    case.scheduler = None if gamma is None else ExponentialLR(case.opt, gamma)
    return case


def _step(case: Case, data: Sequence[Batch]) -> Any:
    """Make one call with the first batch, clipping and the case's scheduler, and return its result."""
    return case.call(*data[0], max_norm=0.1, scheduler=case.scheduler)


def _max_norms(case: Case) -> tuple[float | None, ...]:
    """Return a `max_norm` for each of the five batches: it clips, is too high to clip, clips, is None, clips.

    They are shares of the norm of the first batch's gradient before any update. The last one is too high as well for
    about 3 seeds of 100.
    """
    norm = gradient_norm(case.model, case.loss_fn, case.data[0])
    return _BELOW_LARGEST_COMPONENT * norm, 50.0 * norm, 0.3 * norm, None, 0.4 * norm


class _StepCount:
    """The number of calls of a scheduler's `step` from now on."""

    def __init__(self, scheduler: LRScheduler) -> None:
        self.value = 0
        note_before(scheduler, "step", self._add)

    def _add(self) -> None:
        self.value += 1


def _gamma(env: Env) -> float:
    """Return the scheduler's factor, between 0.5 and 0.9 by the seed."""
    return 0.5 + 0.4 * float(torch.rand(1, generator=env.generator("gamma")))


@driver.scenario("clip", "SGD와 클리핑", atol=CLIP_ATOL, problem=step_problem)
def _clip(stage: Stage) -> None:
    """Make one call for each batch, with the values of `_max_norms`.

    A program that clips by value, each parameter alone, after the update or never makes other updates.
    """
    case = _case(stage).watch()
    for batch, max_norm in zip(case.data, _max_norms(case), strict=True):
        case.call(*batch, max_norm=max_norm)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Make calls with `max_norm=0.0`, without a scheduler and with one, in which no parameter may move.

    A program that tests `if max_norm:` does not clip at zero, and moves the parameters. A program with a branch for
    each may do so in one of them only.
    """
    case = _case(stage, gamma=_gamma(stage.env)).watch()
    case.call(*case.data[0], max_norm=0.0)
    case.call(*case.data[1], max_norm=0.0, scheduler=case.scheduler)


@driver.scenario("schedule", "스케줄러와 학습률")
def _schedule(stage: Stage) -> None:
    """Make calls with a scheduler, and record the learning rates at each update and after each call.

    A program that steps the scheduler before the update, twice or never uses other rates. Weights are not compared, so
    wrong gradients cost nothing here.
    """
    case = _case(stage, gamma=_gamma(stage.env)).watch(states=False)
    opt, scheduler, recorder = case.opt, case.scheduler, stage.recorder
    steps = _StepCount(scheduler)
    rates_used: list[list[float]] = []
    opt.register_step_pre_hook(lambda *_: rates_used.append([group["lr"] for group in opt.param_groups]))
    rates_left = []
    for batch in case.data[:4]:
        case.call(*batch, scheduler=scheduler)
        rates_left.append([group["lr"] for group in opt.param_groups])
        recorder.append_fact("scheduler.step()의 횟수", steps.value)
    recorder.array("업데이트에 쓴 학습률", torch.tensor(rates_used[:100], dtype=torch.float64).reshape(-1, 2))
    recorder.array("부른 다음의 학습률", torch.tensor(rates_left, dtype=torch.float64))


@driver.scenario("both", "모멘텀에 클리핑과 스케줄러를 함께", atol=CLIP_ATOL)
def _both(stage: Stage) -> None:
    """Make one call for each batch with a scheduler and the values of `_max_norms`, of which one is None.

    Record what the calls return, too, and how often the scheduler was stepped. A program in which clipping and
    scheduler exclude each other (`elif`) differs only where both are given.
    """
    case = _case(stage, momentum_sgd, _gamma(stage.env)).watch()
    steps = _StepCount(case.scheduler)
    for batch, max_norm in zip(case.data, _max_norms(case), strict=True):
        stage.recorder.returned(case.call(*batch, max_norm=max_norm, scheduler=case.scheduler))
    stage.recorder.fact("scheduler.step()의 횟수", steps.value)


@driver.scenario("plain", "AdamW만 (max_norm과 scheduler 없이)")
def _plain(stage: Stage) -> None:
    """Make calls with neither `max_norm` nor a scheduler.

    A program that needs `max_norm` or `scheduler` raises when neither is given.
    """
    case = _case(stage, adamw).watch()
    for batch in case.data[:4]:
        case.call(*batch)
        scale_rates(case.opt, 0.8)


add_usual(driver, _case, _step, checks={"float32": "plain"})
# With a scheduler (gamma 0.5), because a program may step it in train mode only.
add_usual(driver, lambda stage: _case(stage, momentum_sgd, 0.5), _step, checks={"modes": "plain"})


@driver.scenario("returns", "반환값", check="plain", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what is returned without `max_norm` and scheduler, with `max_norm`, with a scheduler, and at a norm of 0.

    A program that returns from inside `if max_norm is not None:` or `if scheduler is not None:` returns None in other
    calls. Each call gets a fresh model.
    """
    for number, (max_norm, gamma) in enumerate([(None, None), (0.1, None), (None, 0.5), (0.0, None)]):
        case = _case(stage, gamma=gamma, salt=f"model {number}")
        stage.recorder.returned(case.call(*case.data[0], max_norm=max_norm, scheduler=case.scheduler))


add_usual(driver, lambda stage: _case(stage, gamma=0.5), _step, checks={"quiet": "plain"})
