"""Driver of `accumulate_weighted`, which accumulates over micro-batches of unequal sizes.

Promises of the exercise, and the scenarios that check them:
    one update for each window, on the gradient of the mean loss over its samples: `sgd`, `lengths`, `float32`, `ones`
    a short last window updates too: `short`
    any iterable will do, a generator too: `generator`
    `accum_steps` below 1 raises a ValueError: `refuses`
    gradients from before do not count, and none are left: `before`, `leftover`
    micro-batches go through the model one by one: `pieces`; one graph at a time: `memory`
    the number of updates is returned: `returns`; each module's mode stays: `modes`; nothing is printed: `quiet`

The micro-batches of a window differ in size, so that the mean of their means is wrong. The samples of a window with
several micro-batches add up to a power of two, so each micro-batch's share of them is exact in float32, too: a program
whose shares are float32 tensors is right. (Not in `memory`, where no update is compared.)

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    FEATURES,
    Batch,
    MakeOptimizer,
    batches,
    fill_gradients,
    flat_weights,
    loss_function,
    mlp,
    momentum_sgd,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.usual import Case, add_usual, classifier_case
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.wording import called_with, yes_or_no

driver = Driver("accumulate_weighted")

_FULL_WINDOWS = ((5, 2, 1), (3, 12, 1), (1, 4, 3))
"""Sizes of the micro-batches in each full window: 8, 16 and 8 samples together."""
_SHORT_WINDOW = (1, 3)
"""Sizes of the micro-batches in a short last window."""
_SINGLE_MICRO_BATCH = (4,)
"""Size of the only micro-batch in a short last window."""


def _sizes(env: Env, windows: Sequence[Sequence[int]]) -> list[int]:
    """Return the sizes of all micro-batches in order; the seed decides with which size each window begins.

    From there, a window's sizes follow in their order, and from the start again after its last one.
    """
    start = env.number("start")
    return [window[(start + i) % len(window)] for window in windows for i in range(len(window))]


def _case(
    stage: Stage, windows: Sequence[Sequence[int]] = _FULL_WINDOWS[:1], make_optimizer: MakeOptimizer = sgd
) -> Case:
    """Return a case with the micro-batches of these windows, one after the other; by default one full window."""
    return classifier_case(stage, "accumulate_weighted", _sizes(stage.env, windows), make_optimizer)


def _watched_case(stage: Stage) -> Case:
    """Return a case with one full window, which is watched but for its parameters."""
    return _case(stage).watch(states=False)


def _call_in_threes(case: Case, data: Iterable[Batch]) -> Any:
    """Make a call with `accum_steps=3`, the length of the full windows, and return its result."""
    return case.call(data, 3)


def _problem(env: Env) -> Problem:
    """Return model, batches and loss as in the case of `_sgd`, for the recipe of its updates."""
    return Problem(mlp(env), batches(env, _sizes(env, _FULL_WINDOWS)), loss_function(env))


@driver.scenario("sgd", "크기가 다른 마이크로 배치 (SGD)", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Make a call with two full windows and a call with one; the micro-batches of a window have unlike sizes.

    A program that takes the mean of the micro-batches' means weighs small ones too much.
    """
    case = _case(stage, _FULL_WINDOWS).watch()
    case.call(case.data[:6], 3)
    scale_rates(case.opt, 0.8)
    case.call(case.data[6:], 3)


add_usual(driver, _watched_case, _call_in_threes, checks={"float32": "sgd"})


@driver.scenario("lengths", "길이가 다른 시퀀스", check="sgd")
def _lengths(stage: Stage) -> None:
    """Update on two full windows of sequences and a short one; their length differs between micro-batches.

    A program that takes the number of elements for that of samples weighs long sequences too much.
    """
    sizes = _sizes(stage.env, (*_FULL_WINDOWS[:2], _SHORT_WINDOW))
    case = classifier_case(stage, "accumulate_weighted", sizes, lengths=(2, 5, 3, 4, 1, 6, 3, 2)).watch()
    case.call(case.data, 3)


@driver.scenario("short", "짧은 마지막 구간", check="edges")
def _short(stage: Stage) -> None:
    """Make calls with full, short and no windows, and record the updates.

    The calls get a full window; a full one and a single micro-batch; an input shorter than a window; an empty input. A
    program that drops a short window, or makes an update where there is nothing, moves differently. With momentum, even
    an update on a gradient of zero shows.
    """
    case = _case(
        stage, (_FULL_WINDOWS[0], _FULL_WINDOWS[2], _SINGLE_MICRO_BATCH, _SHORT_WINDOW), momentum_sgd
    ).watch()
    for part, accum_steps in ((case.data[:3], 3), (case.data[3:7], 3), (case.data[7:], 4), ([], 2)):
        case.call(part, accum_steps)
        scale_rates(case.opt, 0.8)


add_usual(
    driver,
    lambda stage: _case(stage, _FULL_WINDOWS[:2]).watch(states=False),
    _call_in_threes,
    checks={"generator": "edges"},
)


@driver.scenario("ones", "accum_steps=1", check="edges")
def _ones(stage: Stage) -> None:
    """Make one call in which each micro-batch is a window of its own.

    A program that refuses `accum_steps=1`, the smallest that is allowed, or never fills such a window, differs.
    """
    case = _case(stage, (_SHORT_WINDOW,)).watch()
    case.call(case.data, 1)


@driver.scenario("refuses", "잘못된 accum_steps", check="edges")
def _refuses(stage: Stage) -> None:
    """Give values of `accum_steps` that are not allowed, and record what is raised.

    A program that does not check `accum_steps` raises nothing. One that checks inside its loop raises nothing on empty
    input.
    """
    case = _watched_case(stage)
    for data, accum_steps, when in ((case.data, 0, ""), (case.data, -2, ""), ([], 0, "빈 입력을 ")):
        case.record_raised(ValueError, f"{when}{called_with('accum_steps', accum_steps)}", data, accum_steps)


add_usual(driver, _watched_case, _call_in_threes, checks={"before": "leftover"})


@driver.scenario("leftover", "끝난 뒤의 그레이디언트")
def _leftover(stage: Stage) -> None:
    """Record after each of three calls whether gradients are left; the third finds gradients, and gets empty input.

    A program that does not clear at the end leaves the gradients of a window, or those that were there before the call.
    """
    case, recorder = _case(stage, (_FULL_WINDOWS[0], _SHORT_WINDOW)).watch(states=False), stage.recorder
    before = flat_weights(case.model)
    for part in (case.data[:3], case.data, []):
        if not part:
            fill_gradients(stage.env, case.model)
        case.call(part, 3)
        recorder.append_fact("그레이디언트가 남음", yes_or_no(recorder.gradients_left()))
    recorder.fact("매개변수가 움직임", yes_or_no(not torch.equal(before, flat_weights(case.model))))


add_usual(
    driver,
    lambda stage: _case(
        stage, (_FULL_WINDOWS[0], _SHORT_WINDOW, _FULL_WINDOWS[2], _SHORT_WINDOW), momentum_sgd
    ),
    _call_in_threes,
    checks={"modes": "leftover"},
)


@driver.scenario("pieces", "한 번에 순전파한 샘플의 수")
def _pieces(stage: Stage) -> None:
    """Record whether any forward pass got more samples than the largest micro-batch has.

    A program that concatenates a window makes the right update, but its forward passes exceed a micro-batch. The hook
    is on the layers, because `model.forward(x)` does not call hooks of the model itself.
    """
    case = _case(stage, _FULL_WINDOWS[:2]).watch(states=False)
    largest = max(len(xb) for xb, _ in case.data)
    sizes: list[int] = []
    weights = torch.rand(FEATURES, generator=stage.env.generator("columns"), dtype=torch.float64)
    weighted_sums: list[float] = []  # of the samples in each pass of an allowed size

    def note_pass(_: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        samples = inputs[0].detach().cpu().reshape(-1, FEATURES)
        sizes.append(len(samples))
        if len(samples) <= largest:
            weighted_sums.append(float((samples @ weights).sum()))

    case.model.layers.register_forward_pre_hook(note_pass)
    case.call(case.data, 3)
    outcome = "순전파하지 않음"
    if sizes:
        outcome = "커짐" if max(sizes) > largest else "커지지 않음"
    stage.recorder.claim("가장 큰 마이크로 배치보다", outcome, [sum(weighted_sums)])


@driver.scenario("returns", "반환값")
def _returns(stage: Stage) -> None:
    """Record the returned numbers of updates for full windows, for a full and a short one, and for empty input.

    The number of full windows follows from the seed. A program that counts micro-batches, or misses a short window,
    returns other numbers.
    """
    full = 2 + stage.env.number("whole") % 7
    case = _case(stage, (*_FULL_WINDOWS[:1] * full, _FULL_WINDOWS[2], _SHORT_WINDOW)).watch(states=False)
    for part, accum_steps in ((case.data[: 3 * full], 3), (case.data[3 * full :], 3), ([], 2)):
        stage.recorder.returned(case.call(part, accum_steps))


add_usual(driver, _watched_case, _call_in_threes, checks={"quiet": "returns"})
add_usual(
    driver,
    # Each window together has more samples than any micro-batch: a window that is joined shows.
    lambda stage: _case(stage, ((3, 5, 4, 2), (2, 4, 3))),
    lambda case, data: case.call(data, 4),
    checks={"memory": "pieces"},
)
