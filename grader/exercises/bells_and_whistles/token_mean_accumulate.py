"""Driver of `token_mean_accumulate`, which accumulates micro-batches of unequal token counts into one update.

The update and the returned loss must be those of one batch with all valid tokens, so a mean of means is wrong.
Scenarios isolate the update under SGD and AdamW, `ignore_index`, generators, micro-batches and windows without valid
tokens, the returned loss and modes.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch

from grader.exercises.fixtures.classifiers import (
    Batch,
    MakeOptimizer,
    adamw,
    flat_weights,
    momentum_sgd,
    scale_rates,
    sgd,
)
from grader.exercises.fixtures.language import TOKENS, gpt, token_ids, token_loss
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import Case, add_usual, record_same_update
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number
from grader.observe.wording import yes_or_no

driver = Driver("token_mean_accumulate", cost=2)

_Windows = tuple[Sequence[Batch], ...]

_SHAPES = ((3, 4, 10), (2, 3, 1), (1, 4, 3), (4, 2, 5))
"""Samples, length and valid tokens of each micro-batch. The valid
tokens follow neither the samples nor the positions.
"""
_PADDING = 3
"""A token to be ignored instead of -100. A function that forgets to pass `ignore_index` on raises no error with it."""


def _micro_batches(
    env: Env, salt: str, ignore_index: int = -100, *, empty: Sequence[int] = ()
) -> list[Batch]:
    """Return one micro-batch for each shape; those numbered in `empty` have no valid token."""
    result = []
    for number, (samples, time, valid) in enumerate(_SHAPES):
        inputs = token_ids(env, samples, f"{salt} input {number}", time)
        targets = token_ids(env, samples, f"{salt} target {number}", time)
        targets = torch.where(targets == _PADDING, TOKENS - 1, targets)
        order = torch.randperm(samples * time, generator=env.generator(f"{salt} valid {number}"))
        ignored = order[0 if number in empty else valid :].to(env.device)
        targets.view(-1)[ignored] = ignore_index
        result.append((inputs, targets))
    return result


def _problem(env: Env) -> Problem:
    return Problem(gpt(env), [*_micro_batches(env, "first"), *_micro_batches(env, "second")], token_loss)


def _case(stage: Stage, data: list[Batch] | None = None, make_optimizer: MakeOptimizer = sgd) -> Case:
    """Return a case, by default with the first window."""
    model = gpt(stage.env)
    data = _micro_batches(stage.env, "first") if data is None else data
    return Case(stage, "token_mean_accumulate", model, make_optimizer(model), None, data)


def _unchecked_case(stage: Stage) -> Case:
    """Return a case whose parameters are not compared with the solution's."""
    return _case(stage).watch_model()


def _short_case(stage: Stage) -> Case:
    return _case(stage, _micro_batches(stage.env, "first")[:2])


def _use(case: Case, data: Iterable[Batch]) -> Any:
    return case.call(data)


def _windows(env: Env) -> _Windows:
    return _micro_batches(env, "first"), _micro_batches(env, "second")


def _accumulate(stage: Stage, windows: _Windows, make_optimizer: MakeOptimizer) -> None:
    """One call for each window; the learning rates change in between."""
    case = _case(stage, [batch for window in windows for batch in window], make_optimizer).watch()
    for window in windows:
        case.call(list(window))
        scale_rates(case.opt, 0.8)


@driver.scenario("sgd", "SGD", problem=_problem)
def _with_sgd(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), sgd)


@driver.scenario("adamw", "AdamW")
def _with_adamw(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), adamw)


@driver.scenario("padding", "다른 ignore_index")
def _with_padding(stage: Stage) -> None:
    """The ignored index is an ordinary token, not -100. Here a window has three micro-batches, elsewhere four."""
    case = _case(stage, _micro_batches(stage.env, "padded", _PADDING)[:3]).watch()
    case.call(case.data, ignore_index=_PADDING)


add_usual(driver, _short_case, _use, float32="sgd")


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치")
def _from_generator(stage: Stage) -> None:
    """The update is compared with that of the same function on a list, so a wrong update costs nothing here."""

    what = "제너레이터와 리스트로 받았을 때의 가중치"
    record_same_update(stage, _unchecked_case, _use, what, lambda case: (batch for batch in case.data))


@driver.scenario("untouched", "제너레이터로 받은 마이크로 배치의 내용", check="generator")
def _untouched(stage: Stage) -> None:
    """Inputs and targets must stay as they are, also if they reach the function only through a generator."""
    case = _case(stage)
    before = [(x.clone(), y.clone()) for x, y in case.data]
    case.call(batch for batch in case.data)
    pairs = zip(case.data, before, strict=True)
    same = all(torch.equal(now, then) for one, other in pairs for now, then in zip(one, other, strict=True))
    stage.recorder.fact("입력과 정답", "그대로" if same else "바뀜")


@driver.scenario("one-empty", "패딩뿐인 마이크로 배치")
def _with_an_empty_one(stage: Stage) -> None:
    """One micro-batch holds nothing but padding; the update must be as if it were not there."""
    _accumulate(stage, (_micro_batches(stage.env, "first", empty=(2,)),), sgd)


@driver.scenario("empty-value", "패딩뿐인 마이크로 배치가 있을 때의 반환값", check="one-empty")
def _value_with_an_empty_one(stage: Stage) -> None:
    """The mean loss of an empty micro-batch is NaN, and so is NaN times zero; the returned value must not be.

    Its value is judged elsewhere.
    """
    case = _case(stage, _micro_batches(stage.env, "first", empty=(2,)))
    value = case.call(case.data)
    nan = value is not None and math.isnan(as_number(value))
    stage.recorder.fact("반환값", "nan" if nan else "숫자")


@driver.scenario("nothing-valid", "유효한 토큰이 없는 구간", check="one-empty")
def _nothing_valid(stage: Stage) -> None:
    window = _micro_batches(stage.env, "nothing", empty=range(len(_SHAPES)))
    _record_refusal(stage, "유효한 토큰이 하나도 없을 때", window)


@driver.scenario("no-batches", "마이크로 배치가 없는 구간", check="one-empty")
def _no_batches(stage: Stage) -> None:
    _record_refusal(stage, "마이크로 배치가 하나도 없을 때", [])


def _record_refusal(stage: Stage, when: str, window: list[Batch]) -> None:
    """Record whether a window without valid tokens is refused, and whether parameters move.

    A good window comes first: with momentum, even a step on zero gradients would then move parameters.
    """
    case = _case(stage, make_optimizer=momentum_sgd).watch(states=False)
    case.call(case.data)
    before = flat_weights(case.model)
    case.expect(ValueError, when, window)
    moved = not torch.equal(before, flat_weights(case.model))
    stage.recorder.fact("유효한 토큰이 없는데 매개변수가 움직임", yes_or_no(moved))


@driver.scenario("after-refusal", "유효한 토큰이 없는 구간 다음의 구간", check="one-empty")
def _after_refusal(stage: Stage) -> None:
    """A good window gets the same update whether or not one without valid tokens came before it.

    So NaN gradients that the refused window leaves behind would show.
    """
    nothing = _micro_batches(stage.env, "nothing", empty=range(len(_SHAPES)))

    def refuse(case: Case) -> list[Batch]:
        case.expect(ValueError, "유효한 토큰이 하나도 없을 때", nothing)
        return case.data

    what = "유효한 토큰이 없는 구간이 앞에 있을 때와 없을 때의 가중치"
    record_same_update(stage, _unchecked_case, _use, what, refuse)


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returned(stage: Stage) -> None:
    """The window's loss before the update, on fresh models, so that no wrong update can change it."""
    for window in _windows(stage.env):
        stage.recorder.returned(_case(stage).call(window))


def _one_of_each(stage: Stage) -> Case:
    data = [window[0] for window in _windows(stage.env)]
    return _case(stage, data, momentum_sgd)


add_usual(driver, _one_of_each, _use, modes="returns")
add_usual(driver, _short_case, _use, quiet="returns")
add_usual(driver, _case, _use, memory="memory")
