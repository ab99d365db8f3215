"""Driver of `sam_accumulate`, which makes one SAM update for each window of micro-batches and returns window losses.

Scenarios isolate whole windows first; then clipping, short windows, generators and empty input, other base optimizers
and precisions, modes, losses, and memory. The SAM is the fixtures' own, so that a learner's mistake in `SAM` is not
counted again here.
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

driver = Driver("sam_accumulate", cost=1.5)  # two passes over 14 micro-batches take long

_MICRO = 3
"""Samples in every micro-batch. All have equally many, so that the mean of their mean losses is the mean over the
samples of the window: both ways to average are right."""
_SGD_SIZES = [_MICRO] * 14
"""Samples in each micro-batch of the scenario `sgd`, and so of its `Problem`."""


def _problem(env: Env) -> Problem:
    """Return what the updates are made of; this can be told only where the base step is plain SGD."""
    return Problem(mlp(env), batches(env, _SGD_SIZES), loss_function(env))


_case = partial(sam_case, name="sam_accumulate")


@driver.scenario("sgd", "SGD 위의 SAM", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Two windows of four in train mode, then two of three in eval mode, which makes no difference to this model."""
    case = _case(stage, _SGD_SIZES)
    case.call(case.data[:8], 4)
    scale_rates(case.opt, 0.8)
    case.model.eval()
    case.call(case.data[8:], 3)


@driver.scenario("ones", "마이크로 배치가 하나인 구간", check="sgd")
def _ones(stage: Stage) -> None:
    """Windows of one micro-batch."""
    case = _case(stage, [_MICRO] * 2)
    case.call(case.data, 1)


@driver.scenario("clip", "클리핑", atol=CLIP_ATOL)
def _clip(stage: Stage) -> None:
    """A limit that always acts in the first call, and one that never acts in the second.

    The first is so low (0.15 of the norm) that it acts under any scale of the gradient. The second is there because
    clipping hides a wrong scale, such as a missing division by the length of the window.
    """
    case = _case(stage, [_MICRO] * 8)
    norm = window_norm(case, case.data[:3])  # at w; the clip acts at w + e, where it is of the same size
    case.call(case.data[:6], 3, max_norm=0.15 * norm)
    case.call(case.data[6:], 2, max_norm=50.0 * norm)


@driver.scenario("zero-norm", "max_norm=0.0", check="clip", atol=CLIP_ATOL)
def _zero_norm(stage: Stage) -> None:
    """A limit of zero is a limit, under which AdamW only decays. Code that asks `if max_norm:` does not clip at all."""
    case = _case(stage, [_MICRO] * 2, adamw)
    case.call(case.data, 2, max_norm=0.0)


@driver.scenario("leftover", "짧은 마지막 구간", check="edges")
def _leftover(stage: Stage) -> None:
    """Seven micro-batches in windows of four, three in windows of two, and one where nine were asked for.

    What a short window leaves behind shows in the next call.
    """
    case = _case(stage, [_MICRO] * 11)
    for part, accum_steps in ((case.data[:7], 4), (case.data[7:10], 2), (case.data[10:], 9)):
        case.call(part, accum_steps)


@driver.scenario("leftover-losses", "짧은 마지막 구간의 손실", check="edges", atol=FLOAT32_ATOL)
def _leftover_losses(stage: Stage) -> None:
    """Learning rates are zero, so that no update shows in a later loss."""
    case = _case(stage, [_MICRO] * 7, zero_rate_sgd, watch=False)
    record_numbers(stage.recorder, items_of(case.call(case.data, 4)))


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치", check="edges")
def _generator(stage: Stage) -> None:
    """Micro-batches from a generator, which can be read only once though there are two passes."""
    case = _case(stage, [_MICRO] * 6)
    case.call((batch for batch in case.data), 3)


@driver.scenario("empty", "빈 입력", check="edges")
def _empty(stage: Stage) -> None:
    """Empty input: nothing to update, and an empty list to return."""
    returned = _case(stage, [_MICRO] * 1).call([], 2)
    stage.recorder.fact("돌려준 손실의 개수", len(items_of(returned)))


@driver.scenario("adamw", "AdamW 위의 SAM")
def _adamw(stage: Stage) -> None:
    """AdamW as the base optimizer."""
    case = _case(stage, [_MICRO] * 6, adamw)
    case.call(case.data, 2)


@driver.scenario("together", "모멘텀, 클리핑, 짧은 구간, 제너레이터를 함께", check="adamw", atol=CLIP_ATOL)
def _together(stage: Stage) -> None:
    """Momentum, clipping, a short window and a generator. The last layer is in eval mode."""
    case = _case(stage, [_MICRO] * 10, momentum_sgd)
    last_layer_to_eval(case.model)
    limit = 0.15 * window_norm(case, case.data[:3])
    for part in (case.data[:5], case.data[5:]):
        case.call((batch for batch in part), 3, max_norm=limit)
        scale_rates(case.opt, 0.8)


@driver.scenario("float32", "float32 모델", check="adamw", atol=FLOAT32_UPDATES_ATOL)
def _float32(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    case = _case(stage, [_MICRO] * 4, model=mlp(stage.env).float())
    case.call(case.data, 2)


def _accumulate_with(stage: Stage, model: Net) -> None:
    """Two windows of two, with a model whose modes are set already."""
    case = _case(stage, [_MICRO] * 4, model=model, watch=False)
    case.call(case.data, 2)


add_mode_scenarios(driver, _accumulate_with, check="modes")


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Losses of two windows at unchanged weights; then of one window on each of two fresh models.

    The fresh models are really updated, so that a loss measured after the update differs. Each makes one update only,
    so that a wrong update spoils no later loss.
    """
    case = _case(stage, [_MICRO] * 10, zero_rate_sgd, watch=False)
    losses = items_of(case.call(case.data[:6], 3))
    for number, window in enumerate((case.data[6:8], case.data[8:10])):
        fresh = _case(stage, [_MICRO] * 10, model=mlp(stage.env, f"model {number}"), watch=False)
        losses += items_of(fresh.call(window, 2))
    record_numbers(stage.recorder, losses)


@driver.scenario("return-types", "반환 타입", check="returns")
def _return_types(stage: Stage) -> None:
    """The types of the returned list and of the losses in it."""
    case = _case(stage, [_MICRO] * 4, zero_rate_sgd, watch=False)
    value = case.call(case.data, 2)
    stage.recorder.fact("반환 타입", type_name(value))
    stage.recorder.fact("리스트에 든 값의 타입", [type_name(item) for item in items_of(value)])


add_usual(
    driver,
    lambda stage: _case(stage, [_MICRO] * 6, watch=False),
    lambda case, data: case.call(data, 3),
    memory="memory",  # the usual scenario `memory` decides the check `memory`
)
