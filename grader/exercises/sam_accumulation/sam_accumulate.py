"""Driver of `sam_accumulate`, which makes one SAM update for each window of micro-batches and returns window losses.

Promises of the exercise, and the scenarios that check them:
    one SAM update for each window; both passes see all its micro-batches: `sgd`, `ones`, `adamw`, `float32`
    a short last window is averaged over its own micro-batches: `leftover`, `leftover-losses`
    the gradient of the update is clipped once, to a norm of zero too: `clip`, `zero-norm`, `zero-norm-leftover`
    micro-batches may come from a generator, and there may be none: `generator`, `empty`
    the modes stay as they are: `modes-train`, `modes-eval`, `modes-frozen`
    the return value lists each window's mean loss at w: `returns`, `return-types`
    the graph of one micro-batch at a time is alive: `memory`

In `together`, several of these act at once. The SAM is the fixtures' own, so that a learner's mistake in `SAM` is not
counted again here (`fixtures/sam.py`, which also says what w, the climb to w + e and the base optimizer are).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from functools import partial

from grader.exercises.fixtures.classifiers import (
    CLIP_ATOL,
    FLOAT32_UPDATES_ATOL,
    Net,
    adamw,
    batches,
    last_layer_to_eval,
    loss_function,
    mlp,
    momentum_sgd,
    scale_rates,
    zero_rate_sgd,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL, record_numbers
from grader.exercises.fixtures.sam import sam_case, window_norm
from grader.exercises.fixtures.usual import add_usual
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import items_of, type_name
from grader.observe.wording import RETURN_TYPES

driver = Driver("sam_accumulate", cost=1.5)  # `sgd` makes two passes over 14 micro-batches

_SIZE = 3
"""Samples in every micro-batch. All have equally many, so that the mean of their mean losses is the mean over the
samples of the window: both ways to average are right."""
_SGD_SIZES = [_SIZE] * 14
"""Samples in each micro-batch of the scenario `sgd`, and so of its `Problem`."""


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `sgd`, for the recipe of its updates."""
    return Problem(mlp(env), batches(env, _SGD_SIZES), loss_function(env))


_case = partial(sam_case, name="sam_accumulate")
"""Makes a case for the learner's `sam_accumulate`; see `sam_case` for the other arguments."""


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Update on two windows of four, then on two of three in eval mode, which makes no difference to this model.

    A wrong program sees some micro-batches only in one of the passes, does not divide by the length of the window, or
    climbs for each micro-batch.
    """
    case = _case(stage, _SGD_SIZES)
    case.call(case.data[:8], 4)
    scale_rates(case.opt, 0.8)
    case.model.eval()
    case.call(case.data[8:], 3)


@driver.scenario("ones", "마이크로 배치가 하나인 구간", check="sgd")
def _ones(stage: Stage) -> None:
    """Update on windows of one micro-batch, where most mistakes of accumulation make no difference.

    A wrong program makes one pass only, or keeps the gradient of the first one.
    """
    case = _case(stage, [_SIZE] * 2)
    case.call(case.data, 1)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """Clip with a `max_norm` that always acts in the first call, and with one that never acts in the second.

    A wrong program clips by value, by tensor, for each micro-batch, or the first pass only. The first limit is so
    low (0.15 of the norm) that it acts even if the gradient is divided by the window's length twice. The second call is
    there because a clip that acts hides a wrong scale, such as a missing division.
    """
    case = _case(stage, [_SIZE] * 8)
    norm = window_norm(case, case.data[:3])  # at w; the clip acts at w + e, where it is of the same size
    case.call(case.data[:6], 3, max_norm=0.15 * norm)
    case.call(case.data[6:], 2, max_norm=50.0 * norm)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """Clip with `max_norm=0.0`, under which AdamW only decays.

    A wrong program tests `if max_norm:` and does not clip, perhaps only in some of the windows.
    """
    case = _case(stage, [_SIZE] * 5, adamw)
    case.call(case.data, 2, max_norm=0.0)


@driver.scenario("zero-norm-leftover", "짧은 구간과 max_norm=0.0", check="edges", atol=CLIP_ATOL)
def _zero_norm_leftover(stage: Stage) -> None:
    """Do the same as in `zero-norm`, with a short window only.

    A program with a copy of the code for the short window may test `if max_norm:` in that copy.
    """
    case = _case(stage, [_SIZE] * 2, adamw)
    case.call(case.data, 3, max_norm=0.0)


@driver.scenario("leftover", "짧은 마지막 구간", check="edges")
def _leftover(stage: Stage) -> None:
    """Update on seven micro-batches in windows of four, three in windows of two, and one where nine were asked for.

    A wrong program drops the short window, or divides it by `accum_steps`. What a short window leaves behind shows in
    the next call.
    """
    case = _case(stage, [_SIZE] * 11)
    for part, accum_steps in ((case.data[:7], 4), (case.data[7:10], 2), (case.data[10:], 9)):
        case.call(part, accum_steps)


@driver.scenario("leftover-losses", "짧은 마지막 구간의 손실", check="edges", atol=FLOAT32_ATOL)
def _leftover_losses(stage: Stage) -> None:
    """Record the losses of a whole window and a short one, with rates of zero, so that no update shows in a loss.

    A wrong program divides the short window's loss by `accum_steps`, or leaves it out.
    """
    case = _case(stage, [_SIZE] * 7, zero_rate_sgd, watch=False)
    record_numbers(stage.recorder, items_of(case.call(case.data, 4)))


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """Call with a generator, which can be read only once, although each window needs two passes.

    A wrong program reads it twice, or asks for its length.
    """
    case = _case(stage, [_SIZE] * 6)
    case.call((batch for batch in case.data), 3)


@driver.scenario("empty", "빈 입력", check="edges")
def _empty(stage: Stage) -> None:
    """Call without micro-batches: there is nothing to update, and an empty list to return.

    A wrong program updates at the end although nothing is left, or returns a loss.
    """
    returned = _case(stage, [_SIZE] * 1).call([], 2)
    stage.recorder.fact("돌려준 손실의 개수", len(items_of(returned)))


@driver.scenario("adamw", "AdamW 위의 SAM")
def _adamw(stage: Stage) -> None:
    """Update over AdamW, where the number of updates shows, but hardly a factor on the gradient.

    A wrong program updates for each micro-batch, or keeps gradients from one window to the next.
    """
    case = _case(stage, [_SIZE] * 6, adamw)
    case.call(case.data, 2)


@driver.scenario("together", "모멘텀, 클리핑, 짧은 구간, 제너레이터를 함께", check="adamw", atol=CLIP_ATOL)
def _together(stage: Stage) -> None:
    """Update over momentum with clipping, short windows and a generator; the last layer is in eval mode.

    A wrong program does not clip the short window, or has most of the mistakes above. Mistakes that only scale a
    gradient are hidden by the clip.
    """
    case = _case(stage, [_SIZE] * 10, momentum_sgd)
    last_layer_to_eval(case.model)
    max_norm = 0.15 * window_norm(case, case.data[:3])
    for part in (case.data[:5], case.data[5:]):
        case.call((batch for batch in part), 3, max_norm=max_norm)
        scale_rates(case.opt, 0.8)


@driver.scenario("float32", "float32 모델", check="adamw", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """Update a float32 model.

    A wrong program uses autocast, which leaves the float64 of the other scenarios alone.
    """
    case = _case(stage, [_SIZE] * 4, model=mlp(stage.env).float())
    case.call(case.data, 2)


def _call_with(stage: Stage, model: Net) -> None:
    """Make one call of two windows and a short one with a model whose modes are set already."""
    case = _case(stage, [_SIZE] * 5, model=model, watch=False)
    case.call(case.data, 2)


add_mode_scenarios(driver, _call_with, check="modes")


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record the losses of two windows at unchanged weights; then of one window on each of two fresh models.

    A wrong program returns the loss at w + e, a sum, the last loss, or one for each micro-batch. The fresh models are
    really updated, so that a loss measured after the update differs. Each makes one update only, so that a wrong update
    spoils no later loss.
    """
    case = _case(stage, [_SIZE] * 10, zero_rate_sgd, watch=False)
    losses = items_of(case.call(case.data[:6], 3))
    for number, window in enumerate((case.data[6:8], case.data[8:10])):
        fresh = _case(stage, [_SIZE] * 10, model=mlp(stage.env, f"model {number}"), watch=False)
        losses += items_of(fresh.call(window, 2))
    record_numbers(stage.recorder, losses)


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    """Record the types of the returned list and of the losses in it.

    A wrong program returns one number, a tensor, or a list of tensors.
    """
    case = _case(stage, [_SIZE] * 3, zero_rate_sgd, watch=False)
    value = case.call(case.data, 2)
    stage.recorder.fact(RETURN_TYPES, type_name(value))
    stage.recorder.fact("리스트에 든 값의 타입", [type_name(item) for item in items_of(value)])


add_usual(
    driver,
    lambda stage: _case(stage, [_SIZE] * 7, watch=False),
    lambda case, data: case.call(data, 4),
    checks={"memory": "memory"},
)
