"""Driver of `sam_accumulate_weighted`, which is `sam_accumulate` for micro-batches that differ in size.

Promises of the exercise, and the scenarios that check them:
    one SAM update for each window, as on its concatenated batch: `sizes`, `lengths`, `momentum`, `float32`
    a short last window is averaged over its own samples: `leftover`
    the gradient of the update is clipped once, in a short window and to a norm of zero too: `clip`, `clip-leftover`,
        `zero-norm`, `zero-norm-leftover`
    micro-batches may come from a generator, and there may be none: `generator`, `empty`
    gradients from before the call are not used: `stale`
    the modes stay as they are: `modes-train`, `modes-eval`, `modes-frozen`
    the return value lists each window's mean loss over samples, at w: `returns`, `return-types`
    the graph of one micro-batch at a time is alive: `memory`

The SAM is the fixtures' own, so that a learner's mistake in `SAM` is not counted again here (`fixtures/sam.py`, which
also says what w, the climb to w + e and the base optimizer are).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from functools import partial

from grader.exercises.fixtures.classifiers import (
    CLIP_ATOL,
    FLOAT32_UPDATES_ATOL,
    Net,
    adamw,
    batches,
    fill_gradients,
    loss_function,
    mlp,
    momentum_sgd,
    scale_rates,
    sequence_mlp,
    zero_rate_sgd,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL, record_numbers
from grader.exercises.fixtures.sam import sam_case, window_norm
from grader.exercises.fixtures.usual import add_usual
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import items_of, type_name
from grader.observe.wording import RETURN_TYPES

driver = Driver("sam_accumulate_weighted")

_SIZES = (6, 2, 3, 1, 5, 2, 4, 1, 7, 3)
"""Samples in each micro-batch. No window made of these has two micro-batches of the same size."""

_case = partial(sam_case, name="sam_accumulate_weighted")
"""Makes a case for the learner's `sam_accumulate_weighted`; see `sam_case` for the other arguments."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `sizes`, for the recipe of its updates."""
    return Problem(mlp(env), batches(env, _SIZES[:9]), loss_function(env))


@driver.scenario("sizes", "크기가 다른 마이크로 배치", problem=_problem)
def _sizes(stage: Stage) -> None:
    """Update on three whole windows in one call and on one in another; the rates fall in between.

    A wrong program takes the mean of means in one or both passes, or divides by something else than the samples.
    """
    case = _case(stage, _SIZES[:9])
    case.call(case.data[:6], 2)
    scale_rates(case.opt, 0.8)
    case.call(case.data[6:], 3)


@driver.scenario("lengths", "길이가 다른 시퀀스", check="sizes")
def _lengths(stage: Stage) -> None:
    """Update on two windows of sequences and a short one; their length differs between micro-batches.

    A wrong program takes the number of elements for that of samples.
    """
    case = _case(stage, _SIZES[:8], model=sequence_mlp(stage.env), lengths=(2, 5, 3, 4, 1, 6, 3, 2))
    case.call(case.data, 3)


@driver.scenario("momentum", "모멘텀이 있는 base 옵티마이저", check="sizes")
def _momentum(stage: Stage) -> None:
    """Update over SGD with momentum.

    A wrong program makes a step of the base optimizer too many, which momentum remembers.
    """
    case = _case(stage, (3, 8, 2, 4), momentum_sgd)
    case.call(case.data, 2)


@driver.scenario("float32", "float32 모델", check="sizes", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """Update a float32 model.

    A wrong program uses autocast, which leaves the float64 of the other scenarios alone.
    """
    case = _case(stage, (5, 2, 1, 4), model=mlp(stage.env).float())
    case.call(case.data, 2)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Clip with a `max_norm` that always acts in the first call, and with one that never acts in the second.

    A wrong program clips by value, by tensor, for each micro-batch, or the first pass only. The scenario `clip` of
    `sam_accumulate` says why there are two.
    """
    case = _case(stage, _SIZES)
    norm = window_norm(case, case.data[:3])
    case.call(case.data[:6], 3, max_norm=0.15 * norm)
    case.call(case.data[6:], 2, max_norm=50.0 * norm)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Clip with `max_norm=0.0`, under which AdamW only decays.

    A wrong program tests `if max_norm:` and does not clip, perhaps only in some of the windows.
    """
    case = _case(stage, _SIZES[:5], adamw)
    case.call(case.data, 2, max_norm=0.0)


@driver.scenario("zero-norm-leftover", "짧은 구간과 max_norm=0.0", check="edges", atol=CLIP_ATOL)
def _zero_norm_leftover(stage: Stage) -> None:
    """Do the same as in `zero-norm`, with a short window only.

    A program with a copy of the code for the short window may test `if max_norm:` in that copy.
    """
    case = _case(stage, _SIZES[:2], adamw)
    case.call(case.data, 3, max_norm=0.0)


@driver.scenario("leftover", "짧은 마지막 구간", check="edges")
def _leftover(stage: Stage) -> None:
    """Update on five micro-batches in windows of three, three in windows of two, and one where four were asked for.

    A wrong program drops the short window, or divides it by the samples of a whole one. What a short window leaves
    behind shows in the next call.
    """
    case = _case(stage, _SIZES[:9])
    for part, accum_steps in ((case.data[:5], 3), (case.data[5:8], 2), (case.data[8:], 4)):
        case.call(part, accum_steps)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """Call with a generator, which can be read only once, although each window needs two passes.

    A wrong program reads it twice, or asks for its length.
    """
    case = _case(stage, _SIZES[:6])
    case.call((batch for batch in case.data), 3)


@driver.scenario("empty", "빈 입력", check="edges")
def _empty(stage: Stage) -> None:
    """Call without micro-batches: there is nothing to update, and an empty list to return.

    A wrong program updates at the end although nothing is left, or returns a loss.
    """
    returned = _case(stage, (2,)).call([], 2)
    stage.recorder.fact("돌려준 손실의 개수", len(items_of(returned)))


@driver.scenario("clip-leftover", "짧은 마지막 구간의 클리핑", check="clip", atol=CLIP_ATOL)
def _clip_leftover(stage: Stage) -> None:
    """Clip with a `max_norm` that acts in the whole window and in the short one.

    A wrong program clips whole windows only.
    """
    case = _case(stage, _SIZES[:5])
    case.call(case.data, 3, max_norm=0.15 * window_norm(case, case.data[:3]))


@driver.scenario("stale", "그레이디언트가 남아 있는 모델", check="edges")
def _stale(stage: Stage) -> None:
    """Call with gradients in `.grad`.

    A wrong program adds the first window's gradients to them.
    """
    case = _case(stage, _SIZES[:4])
    fill_gradients(stage.env, case.model)
    case.call(case.data, 2)


def _call_with(stage: Stage, model: Net) -> None:
    """Make one call of two windows and a short one with a model whose modes are set already."""
    case = _case(stage, (4, 2, 3, 5, 6), model=model, watch=False)
    case.call(case.data, 2)


add_mode_scenarios(driver, _call_with, check="modes")


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record the losses of two whole windows and a short one, at unchanged weights.

    A wrong program returns the mean of means, a sum, the last loss, or the loss at w + e.
    """
    case = _case(stage, _SIZES[:8], zero_rate_sgd, watch=False)
    record_numbers(stage.recorder, items_of(case.call(case.data, 3)))


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    """Record the types of the returned list and of the losses in it.

    A wrong program returns one number, a tensor, or a list of tensors.
    """
    case = _case(stage, (3, 1, 2), zero_rate_sgd, watch=False)
    value = case.call(case.data, 2)
    stage.recorder.fact(RETURN_TYPES, type_name(value))
    stage.recorder.fact("리스트에 든 값의 타입", [type_name(item) for item in items_of(value)])


add_usual(
    driver,
    # Each window as a whole has more samples than any micro-batch, so that a window that is joined shows.
    lambda stage: _case(stage, (4, 2, 3, 2, 1, 4, 3), watch=False),
    lambda case, data: case.call(data, 4),
    checks={"memory": "memory"},
)
