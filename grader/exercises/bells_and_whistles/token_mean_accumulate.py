"""Driver of `token_mean_accumulate`: micro-batches of unequal token counts, where a mean of means is wrong."""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.optim import Optimizer

from grader.exercises.bells_and_whistles._tolerances import FLOAT32_ATOL
from grader.observe.fixtures.classifiers import Batch, adamw, scale_rates, two_groups
from grader.observe.fixtures.language import TOKENS, gpt, token_ids, token_loss
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.recorder import Recorder

driver = Driver("token_mean_accumulate")

_Windows = tuple[Sequence[Batch], ...]

_SHAPES = ((3, 4, 10), (2, 3, 1), (1, 4, 3), (4, 2, 5))
"""Samples, length and valid tokens of each micro-batch. Valid tokens follow neither samples nor positions."""
_PADDING = 3
"""A token to be ignored instead of -100. A function that forgets to pass `ignore_index` on raises no error."""


def _micro_batches(
    env: Env, salt: str, ignore_index: int = -100, *, empty: Sequence[int] = ()
) -> list[Batch]:
    """One micro-batch for each shape; those numbered in `empty` hold nothing valid."""
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


def _sgd(model: nn.Module, *, momentum: float = 0.0) -> Optimizer:
    return torch.optim.SGD(two_groups(model, (0.3, 0.2)), lr=0.3, momentum=momentum)


def _windows(env: Env) -> _Windows:
    return _micro_batches(env, "first"), _micro_batches(env, "second")


def _accumulate(
    stage: Stage, windows: _Windows, make_optimizer: Callable[[nn.Module], Optimizer], *, lazily: bool = False
) -> None:
    """One call for each window; the learning rates change in between."""
    recorder = stage.recorder
    model = gpt(stage.env)
    optimizer = make_optimizer(model)
    recorder.watch(model, optimizer, batches=[inputs for window in windows for inputs, _ in window])
    for window in windows:
        given = (batch for batch in window) if lazily else list(window)
        recorder.call(stage.student("token_mean_accumulate"), model, optimizer, given)
        scale_rates(optimizer, 0.8)


@driver.scenario("sgd", "SGD", problem=_problem)
def _with_sgd(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), _sgd)


@driver.scenario("adamw", "AdamW")
def _with_adamw(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), adamw)


@driver.scenario("padding", "다른 ignore_index")
def _with_padding(stage: Stage) -> None:
    """The ignored index is a token like any other, not -100."""
    env, recorder = stage.env, stage.recorder
    model = gpt(env)
    optimizer = _sgd(model)
    data = _micro_batches(env, "padded", _PADDING)
    recorder.watch(model, optimizer, batches=[inputs for inputs, _ in data])
    recorder.call(stage.student("token_mean_accumulate"), model, optimizer, data, ignore_index=_PADDING)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치")
def _from_generator(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), _sgd, lazily=True)


@driver.scenario("one-empty", "패딩뿐인 마이크로 배치")
def _with_an_empty_one(stage: Stage) -> None:
    """One of the micro-batches holds nothing but padding; the others count as if it were not there.

    The returned value is not compared here: a mean of nothing is NaN, and its gradient zero.
    """
    _accumulate(stage, (_micro_batches(stage.env, "first", empty=(2,)),), _sgd)


@driver.scenario("nothing-valid", "유효한 토큰이 없는 구간", check="one-empty")
def _nothing_valid(stage: Stage) -> None:
    """The window lies between two good ones: with momentum, a step on a gradient of zero would move the parameters."""
    env, recorder = stage.env, stage.recorder
    student = stage.student("token_mean_accumulate")
    model = gpt(env)
    optimizer = _sgd(model, momentum=0.9)
    recorder.watch(model, optimizer)
    first, second = _windows(env)
    recorder.call(student, model, optimizer, first)
    nothing = _micro_batches(env, "nothing", empty=range(len(_SHAPES)))
    _expect_refusal(recorder, student, model, optimizer, nothing)
    recorder.call(student, model, optimizer, second)


def _expect_refusal(
    recorder: Recorder,
    student: Callable[..., object],
    model: nn.Module,
    optimizer: Optimizer,
    data: list[Batch],
) -> None:
    before = [p.detach().clone() for p in model.parameters()]
    recorder.expect(ValueError, "유효한 토큰이 하나도 없을 때", student, model, optimizer, data)
    moved = any(not torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))
    recorder.fact("유효한 토큰이 없는데 매개변수가 움직임", moved)


@driver.scenario("returns", "반환값과 모드", atol=FLOAT32_ATOL)
def _returned(stage: Stage) -> None:
    """The window's loss before the update is returned, and the modes stay: all but the last layer in train mode."""
    env, recorder = stage.env, stage.recorder
    model = gpt(env)
    model.layers[-1].eval()
    optimizer = _sgd(model)
    recorder.watch(model, optimizer)
    for window in _windows(env):
        recorder.returned(recorder.call(stage.student("token_mean_accumulate"), model, optimizer, window))
    recorder.modes()
