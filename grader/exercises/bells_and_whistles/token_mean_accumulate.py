"""Driver of `token_mean_accumulate`, which accumulates micro-batches of unequal token counts into one update.

Promises of the exercise, and the scenarios that check them:
    one update, as with one batch of all valid tokens (so a mean of means is wrong): `sgd`, `adamw`, `float32`
    positions whose target is `ignore_index` do not count: `padding`, `padding-value`, `one-empty`
    the micro-batches may come from a generator: `generator`, `untouched`
    a window without valid tokens is refused and changes nothing: `nothing-valid`, `no-batches`, `after-refusal`
    the return value is the mean loss before the update, a float: `returns`, `empty-value`
    the graph of one micro-batch at a time is alive: `memory`

The contract of all exercises adds: modes stay as they are (`modes`), and nothing is printed (`quiet`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

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
from grader.exercises.fixtures.usual import Case, add_usual, record_update_difference
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number
from grader.observe.wording import yes_or_no

driver = Driver("token_mean_accumulate", cost=2)  # each micro-batch goes through a GPT


class _Shape(NamedTuple):
    """The size of a micro-batch."""

    samples: int
    length: int
    """Tokens of each sample, padding included."""
    valid_tokens: int
    """Positions of the whole micro-batch whose target counts."""


_SHAPES = (_Shape(3, 4, 10), _Shape(2, 3, 1), _Shape(1, 4, 3), _Shape(4, 2, 5))
"""The micro-batches of a window. Their valid tokens are proportional neither to their samples nor to all their tokens,
so that weighting by these shows."""
_PADDING_TOKEN = 3
"""An ordinary token that is used as `ignore_index` instead of -100. Where a program forgets to pass `ignore_index` on,
this token raises no error but changes the loss."""


def _window(env: Env, salt: str, ignore_index: int = -100, *, empty: Sequence[int] = ()) -> list[Batch]:
    """Return a window with one micro-batch for each of `_SHAPES`.

    Args:
        env: the scenario's env.
        salt: decides the tokens, together with the seed.
        ignore_index: the target at positions that do not count.
        empty: indices of the micro-batches that have no valid token.
    """
    window = []
    for number, (samples, length, valid_tokens) in enumerate(_SHAPES):
        inputs = token_ids(env, samples, f"{salt} input {number}", length)
        targets = token_ids(env, samples, f"{salt} target {number}", length)
        # Only ignored positions may hold it.
        targets = torch.where(targets == _PADDING_TOKEN, TOKENS - 1, targets)
        positions = torch.randperm(samples * length, generator=env.generator(f"{salt} valid {number}"))
        ignored = positions[0 if number in empty else valid_tokens :].to(env.device)
        targets.view(-1)[ignored] = ignore_index
        window.append((inputs, targets))
    return window


def _two_windows(env: Env) -> tuple[list[Batch], list[Batch]]:
    """Return two windows with different tokens; their micro-batches have the same shapes."""
    return _window(env, "first"), _window(env, "second")


def _problem(env: Env) -> Problem:
    """Return model, batches and loss of the scenario `sgd`, for the recipe of its updates."""
    return Problem(gpt(env), [batch for window in _two_windows(env) for batch in window], token_loss)


def _case(stage: Stage, data: list[Batch] | None = None, make_optimizer: MakeOptimizer = sgd) -> Case:
    """Return a case with a GPT and micro-batches; without `data`, those of the first window."""
    model = gpt(stage.env)
    data = _window(stage.env, "first") if data is None else data
    return Case(stage, "token_mean_accumulate", model, make_optimizer(model), None, data)


def _case_without_states(stage: Stage) -> Case:
    """Return a case whose parameters are not compared with the solution's, so that a wrong update costs nothing."""
    return _case(stage).watch_model()


def _case_of_two_batches(stage: Stage) -> Case:
    """Return a case with two micro-batches, which is quicker and enough where the update is not judged."""
    return _case(stage, _window(stage.env, "first")[:2])


def _call(case: Case, data: Iterable[Batch]) -> Any:
    """Call the learner's function once, with `data` as one window."""
    return case.call(data)


def _update_on_windows(stage: Stage, windows: Sequence[list[Batch]], make_optimizer: MakeOptimizer) -> None:
    """Make one call for each window, and record the updates; the learning rates change in between."""
    case = _case(stage, [batch for window in windows for batch in window], make_optimizer).watch()
    for window in windows:
        case.call(list(window))
        scale_rates(case.opt, 0.8)


@driver.scenario("sgd", "SGD", problem=_problem)
def _sgd(stage: Stage) -> None:
    """Update on two windows with SGD, where a wrong factor on the gradient shows.

    A wrong program takes the mean of the micro-batches' means, or divides the sum by all tokens, samples or batches.
    """
    _update_on_windows(stage, _two_windows(stage.env), sgd)


@driver.scenario("adamw", "AdamW")
def _adamw(stage: Stage) -> None:
    """Update on two windows with AdamW, where a wrong factor hardly shows, but the number of updates does.

    A wrong program updates after each micro-batch, or keeps the gradients of the window before.
    """
    _update_on_windows(stage, _two_windows(stage.env), adamw)


@driver.scenario("padding", "다른 ignore_index")
def _other_ignore_index(stage: Stage) -> None:
    """Update with an ordinary token as `ignore_index`, in a window of three micro-batches.

    A wrong program counts with -100, or does not pass `ignore_index` on to the loss.
    """
    case = _case(stage, _window(stage.env, "padded", _PADDING_TOKEN)[:3]).watch()
    case.call(case.data, ignore_index=_PADDING_TOKEN)


@driver.scenario("padding-value", "다른 ignore_index일 때의 반환값", check="padding", atol=FLOAT32_ATOL)
def _value_with_other_ignore_index(stage: Stage) -> None:
    """Record the difference of the losses returned for two equal windows whose padding is marked in different ways.

    A wrong program reads the argument for the update only, and counts with -100 for what it returns.
    """
    data = _window(stage.env, "padded", _PADDING_TOKEN)[:3]
    usual = [(xb, torch.where(yb == _PADDING_TOKEN, -100, yb)) for xb, yb in data]
    value = _case(stage).call(data, ignore_index=_PADDING_TOKEN)
    difference = _finite_difference(value, _case(stage).call(usual))
    stage.recorder.array("같은 구간의 두 반환값의 차이", [difference])


def _finite_difference(value: Any, other: Any) -> float:
    """Return the difference of two returned values; 0 if one is no finite number, which is judged in `returns`."""
    difference = as_number(value) - as_number(other)
    return difference if math.isfinite(difference) else 0.0


add_usual(driver, _case_of_two_batches, _call, checks={"float32": "sgd"})


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치")
def _generator(stage: Stage) -> None:
    """Record whether the update from a generator is that of the same function from a list.

    A wrong program uses the generator up when it counts the tokens, and then has nothing to train on.
    """
    title = "제너레이터로 줄 때와 리스트로 줄 때의 가중치 값"
    record_update_difference(
        stage, _case_without_states, _call, title, lambda case: (batch for batch in case.data)
    )


@driver.scenario("untouched", "제너레이터로 받은 마이크로 배치의 내용", check="generator")
def _untouched(stage: Stage) -> None:
    """Record whether inputs and targets that came from a generator stay as they were.

    A wrong program writes into a batch, such as another index in place of `ignore_index`. (The recorder notices this
    itself where the function is given a list.)
    """
    case = _case(stage)
    before = [(x.clone(), y.clone()) for x, y in case.data]
    case.call(batch for batch in case.data)
    are_same = all(
        torch.equal(x, x_before) and torch.equal(y, y_before)
        for (x, y), (x_before, y_before) in zip(case.data, before, strict=True)
    )
    stage.recorder.fact("입력과 정답", "그대로" if are_same else "바뀜")


@driver.scenario("one-empty", "패딩뿐인 마이크로 배치")
def _one_empty(stage: Stage) -> None:
    """Update on a window in which one micro-batch holds nothing but padding; the others decide the update.

    A wrong program refuses it, or adds its mean loss, which is NaN.
    """
    _update_on_windows(stage, [_window(stage.env, "first", empty=(2,))], sgd)


@driver.scenario(
    "empty-value", "패딩뿐인 마이크로 배치가 있을 때의 반환값", check="one-empty", atol=FLOAT32_ATOL
)
def _empty_value(stage: Stage) -> None:
    """Record whether the loss returned for a window with a micro-batch of padding only is NaN, or changes by it.

    A wrong program returns NaN: the mean loss of such a micro-batch is NaN, and so is NaN times zero. Another one adds
    something for it: without this micro-batch, it returns another number. Which number is right is judged in `returns`.
    """
    data = _window(stage.env, "first", empty=(2,))
    value = _case(stage).call(data)
    is_nan = isinstance(value, int | float | torch.Tensor) and math.isnan(as_number(value))
    stage.recorder.fact("반환값", "nan" if is_nan else "숫자")
    without = _case(stage).call([batch for number, batch in enumerate(data) if number != 2])
    stage.recorder.array("패딩뿐인 것을 빼고 부를 때와의 차이", [_finite_difference(value, without)])


@driver.scenario("nothing-valid", "유효한 토큰이 없는 구간", check="one-empty")
def _nothing_valid(stage: Stage) -> None:
    """Call with a window of nothing but padding.

    A wrong program passes over it silently, or updates, or raises another exception than ValueError.
    """
    _record_refusal(stage, "유효한 토큰이 하나도 없을 때", _window_of_padding(stage.env))


@driver.scenario("no-batches", "마이크로 배치가 없는 구간", check="one-empty")
def _no_batches(stage: Stage) -> None:
    """Call with a window without micro-batches.

    A wrong program checks for valid tokens only inside its loop, which never runs here.
    """
    _record_refusal(stage, "마이크로 배치가 하나도 없을 때", [])


def _window_of_padding(env: Env) -> list[Batch]:
    """Return a window without one valid token."""
    return _window(env, "nothing", empty=range(len(_SHAPES)))


def _record_refusal(stage: Stage, fact: str, window: list[Batch]) -> None:
    """Record, under the name `fact`, whether a window without valid tokens is refused, and whether parameters move.

    A good window comes first: with momentum, even a step on zero gradients would then move parameters.
    """
    case = _case(stage, make_optimizer=momentum_sgd).watch(states=False)
    case.call(case.data)
    before = flat_weights(case.model)
    case.record_raised(ValueError, fact, window)
    has_moved = not torch.equal(before, flat_weights(case.model))
    stage.recorder.fact("유효한 토큰이 없는데 매개변수가 움직임", yes_or_no(has_moved))


@driver.scenario("after-refusal", "유효한 토큰이 없는 구간 다음의 구간", check="one-empty")
def _after_refusal(stage: Stage) -> None:
    """Record whether a good window gets the same update if one without valid tokens came before it.

    A wrong program notices too late that nothing is valid, and leaves NaN gradients behind.
    """
    padding = _window_of_padding(stage.env)

    def call_with_padding_first(case: Case) -> list[Batch]:
        case.record_raised(ValueError, "유효한 토큰이 하나도 없을 때", padding)
        return case.data

    title = "유효한 토큰이 없는 구간이 앞에 있을 때와 없을 때의 가중치"
    record_update_difference(stage, _case_without_states, _call, title, call_with_padding_first)


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record the returned loss of two windows, each on a fresh model, so that no wrong update can change it.

    A wrong program returns the sum, the last micro-batch's loss, the mean of means, a tensor, or nothing.
    """
    for window in _two_windows(stage.env):
        stage.recorder.returned(_case(stage).call(window))


def _case_for_modes(stage: Stage) -> Case:
    """Return a case with the first two micro-batches of each of two windows.

    The usual scenario `modes` makes a call with each of the two pairs.
    """
    return _case(stage, [batch for window in _two_windows(stage.env) for batch in window[:2]], momentum_sgd)


add_usual(driver, _case_for_modes, _call, checks={"modes": "returns"})
add_usual(driver, _case_of_two_batches, _call, checks={"quiet": "returns"})
add_usual(driver, _case, _call, checks={"memory": "memory"})
