"""Driver of `accumulate`, which makes one update for each window of `accum_steps` micro-batches.

Promises of the exercise, and the scenarios that check them:
    one update for each window, on the window's mean gradient: `sgd`, `float32`, `adamw`
    a shorter last window is averaged over the micro-batches that it has: `short`, `edges`
    any iterable will do, a generator too: `generator`
    `max_norm` clips once for each window, 0.0 too: `clip`, `zero-norm`
    `accum_steps` below 1 raises a ValueError: `refuses`, `refuses-empty`
    no gradients are left at the end: `leftover`; each module's mode stays: `modes`; nothing is printed: `quiet`
    the number of updates is returned: `returns`
    one micro-batch's graph at a time: `memory`

`adamw` combines many of these. Scenarios that are not about updates do not compare parameters, so that a wrong update
costs the points of checks about updates only.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Iterable
from typing import Any

import torch

from grader.exercises.fixtures.classifiers import (
    CLIP_ATOL,
    Batch,
    MakeOptimizer,
    adamw,
    batches,
    concatenated,
    flat_gradients,
    flat_weights,
    gradient_norm,
    loss_function,
    mlp,
    momentum_sgd,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.usual import Case, add_usual, classifier_case
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.wording import called_with, yes_or_no

# `cost`: a play takes some 15 % longer than its number of events says, by which plays are limited.
driver = Driver("accumulate", cost=1.15)

_MICRO_BATCH_SIZE = 5
"""Samples in every micro-batch. All micro-batches have the same size, so that the mean of their means is the mean of
all samples. No window has _MICRO_BATCH_SIZE micro-batches, so that dividing by the batch size is never the same as
dividing by the window's size.
"""

_CLIPPING_SHARE, _IDLE_SHARE = 0.15, 50.0
"""A `max_norm` as a multiple of the first window's gradient norm: at the first, every window is clipped; at the second,
none."""


def _case(stage: Stage, micro_batches: int, make_optimizer: MakeOptimizer = sgd) -> Case:
    """Return a case with this number of micro-batches, all of the same size."""
    return classifier_case(stage, "accumulate", [_MICRO_BATCH_SIZE] * micro_batches, make_optimizer)


def _call_in_twos(case: Case, data: Iterable[Batch]) -> Any:
    """Make a call with `accum_steps=2`, and return its result."""
    return case.call(data, 2)


def _norm_of_first_window(case: Case) -> float:
    """Return the norm of the gradient of the first three micro-batches together."""
    return gradient_norm(case.model, case.loss_fn, concatenated(case.data[:3]))


def _problem(env: Env) -> Problem:
    """Return model, batches and loss as in a case of `_sgd` or `_short`, for the recipe of its updates."""
    return Problem(mlp(env), batches(env, [_MICRO_BATCH_SIZE] * 9), loss_function(env))


@driver.scenario("sgd", "꽉 찬 구간 (SGD)", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Make one call with two full windows of four.

    A program that does not divide, or divides by another number than the window's size, makes other updates.
    """
    case = _case(stage, 9).watch()
    case.call(case.data[:8], 4)


add_usual(driver, lambda stage: _case(stage, 2).watch(states=False), _call_in_twos, checks={"float32": "sgd"})


@driver.scenario("clip", "max_norm", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Make two calls, one with a `max_norm` that clips each window, one with a `max_norm` that clips none.

    A program that clips each micro-batch, or clips before dividing, moves differently in the first call. A gradient of
    the wrong scale shows in the second call only, because clipping hides the scale.
    """
    case = _case(stage, 10).watch()
    norm = _norm_of_first_window(case)
    case.call(case.data[:6], 3, max_norm=_CLIPPING_SHARE * norm)
    scale_rates(case.opt, 0.8)
    case.call(case.data[6:], 2, max_norm=_IDLE_SHARE * norm)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Make one call with `max_norm=0.0`, at which no parameter may move, with a full and a short window.

    A program that tests `if max_norm:` does not clip at zero, and moves the parameters. One that repeats its code for
    the short window may make this mistake for one kind of window only.
    """
    case = _case(stage, 3).watch()
    case.call(case.data, 2, max_norm=0.0)


@driver.scenario("short", "짧은 마지막 구간", check="edges", problem=_problem)
def _short(stage: Stage) -> None:
    """Make a call with six micro-batches in windows of four, so that the last window is short; then a second call.

    A program that drops the short window, or divides it by `accum_steps`, updates less; one that deals the
    micro-batches evenly makes two windows of three. The update of the second call shows what the first one left behind.
    """
    case = _case(stage, 9).watch()
    case.call(case.data[:6], 4)
    scale_rates(case.opt, 0.8)
    case.call(case.data[6:8], 2)


@driver.scenario("edges", "구간보다 적은 입력과 빈 입력")
def _edges(stage: Stage) -> None:
    """Give fewer micro-batches than a window has, and then none.

    A program that updates only at full windows makes no update here, and one that needs a micro-batch fails.
    """
    case = _case(stage, 2).watch()
    case.call(case.data, 9)
    case.call([], 2)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """Make the same call with a list and with a generator, and compare the updates.

    A program that calls `len`, or reads its input twice, fails or updates differently on a generator. Only its own two
    updates are compared, so an update that is wrong in both costs nothing here.
    """
    weights = []
    for from_generator in (False, True):
        case = _case(stage, 4).watch(states=False)
        _call_in_twos(case, (batch for batch in case.data) if from_generator else case.data)
        weights.append(flat_weights(case.model))
    is_same = torch.allclose(weights[0], weights[1], rtol=0.0, atol=1e-9, equal_nan=True)
    stage.recorder.fact("리스트로 받았을 때와 업데이트가 같음", yes_or_no(is_same))


@driver.scenario("refuses", "잘못된 accum_steps", check="edges")
def _refuses(stage: Stage) -> None:
    """Give values of `accum_steps` that are not allowed, and record what is raised.

    A program that does not check `accum_steps`, or checks only for zero, raises nothing or another exception.
    """
    case = _case(stage, 4)
    for accum_steps in (0, -2):
        case.record_raised(ValueError, called_with("accum_steps", accum_steps), case.data, accum_steps)


@driver.scenario("refuses-empty", "빈 입력과 잘못된 accum_steps", check="edges")
def _refuses_empty(stage: Stage) -> None:
    """Give empty input and an `accum_steps` that is not allowed, and record what is raised.

    A program that checks `accum_steps` inside its loop never does so on empty input.
    """
    _case(stage, 0).record_raised(ValueError, f"빈 입력을 {called_with('accum_steps', 0)}", [], 0)


@driver.scenario("returns", "반환값")
def _returns(stage: Stage) -> None:
    """Record the returned numbers of updates for windows of two, for windows of one, and for empty input.

    A program that counts micro-batches, misses windows or returns nothing gives other counts.

    The numbers of windows follow from the seed. There are at least three windows of one, because a program with a wrong
    condition may get one or two updates right by chance. They stay few, because the repair search tries its attempts on
    the shortest failing scenario first.
    """
    windows_of_two, windows_of_one = 1 + stage.env.number("pairs") % 2, 3 + stage.env.number("ones") % 3
    case = _case(stage, 2 * windows_of_two + windows_of_one)
    in_twos, in_ones = case.data[: 2 * windows_of_two], case.data[2 * windows_of_two :]
    for data, accum_steps in ((in_twos, 2), (in_ones, 1), ([], 2)):
        stage.recorder.returned(case.call(data, accum_steps))


@driver.scenario("leftover", "끝난 뒤의 그레이디언트")
def _leftover(stage: Stage) -> None:
    """Make two calls with one full window each, and record the gradients that a backward pass after each call gives.

    A program that does not clear after its last update leaves gradients, to which the next backward pass adds. Both
    calls and both backward passes begin with the model's initial weights, so a wrong update costs nothing here.
    """
    case = _case(stage, 4).watch(states=False)
    recorder, model = stage.recorder, case.model
    start = flat_weights(model)
    initial = [p.detach().clone() for p in model.parameters()]
    for number, window in enumerate((case.data[:2], case.data[2:])):
        case.call(window, 2)
        recorder.append_fact("매개변수가 움직임", yes_or_no(not torch.equal(flat_weights(model), start)))
        recorder.append_fact("그레이디언트가 남음", recorder.gradients_left())
        with torch.no_grad():
            for parameter, before in zip(model.parameters(), initial, strict=True):
                parameter.copy_(before)
                if parameter.grad is not None:
                    # Every nonzero leftover becomes 1, because its size (a wrong divisor) is not judged here.
                    parameter.grad = parameter.grad.ne(0).to(parameter.dtype)
        xb, yb = case.data[number]
        case.loss_fn(model(xb), yb).backward()
        array_name = f"{number + 1}번째 호출 뒤의 backward()가 만든 그레이디언트"
        recorder.array(array_name, flat_gradients(model))
        for parameter in model.parameters():
            parameter.grad = None


add_usual(driver, lambda stage: _case(stage, 6, momentum_sgd), _call_in_twos, checks={"modes": "leftover"})
add_usual(driver, lambda stage: _case(stage, 3), _call_in_twos, checks={"quiet": "leftover"})


@driver.scenario("adamw", "AdamW에 모두 함께: 짧은 구간, 클리핑, 두 번 부르기", atol=CLIP_ATOL)
def _adamw(stage: Stage) -> None:
    """Combine AdamW, short windows, clipping, a generator and several calls.

    A program that fails only where two things meet, such as a short window that is not clipped, shows here.
    """
    case = _case(stage, 10, adamw).watch()
    norm = _norm_of_first_window(case)
    generator = (batch for batch in case.data[5:8])
    calls = (
        (case.data[:5], 3, _CLIPPING_SHARE * norm),
        (generator, 2, _IDLE_SHARE * norm),
        (case.data[8:], 1, None),
    )
    for data, accum_steps, max_norm in calls:
        stage.recorder.returned(case.call(data, accum_steps, max_norm=max_norm))
        stage.recorder.append_fact("그레이디언트가 남음", stage.recorder.gradients_left())
        scale_rates(case.opt, 0.8)


add_usual(
    driver, lambda stage: _case(stage, 7), lambda case, data: case.call(data, 4), checks={"memory": "memory"}
)
