"""Drivers of lesson 03, last part: micro-batches that hold different numbers of tokens."""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.optim import Optimizer

from grader.observe.fixtures.classifiers import Batch, adamw, scale_rates, two_groups
from grader.observe.fixtures.language import TOKENS, gpt, token_ids, token_loss
from grader.observe.play import Driver, Env, Problem, Scenario, Stage
from grader.observe.recorder import Recorder

FLOAT32_ATOL = 1e-6
"""A returned loss may have been added up in float32: right too, and rounded to about 1e-7."""

_SHAPES = ((3, 4, 10), (2, 3, 1), (1, 4, 3), (4, 2, 5))
"""Samples, length and valid tokens of each micro-batch: neither samples nor positions are in their proportion."""
_PADDING = 3
"""A token that is ignored where -100 is not: forgetting it raises no error."""


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


Windows = tuple[Sequence[Batch], ...]


def _accumulate(
    stage: Stage, windows: Windows, make_optimizer: Callable[[nn.Module], Optimizer], *, lazily: bool = False
) -> None:
    """One call a window, with rates that move in between."""
    recorder = stage.recorder
    model = gpt(stage.env)
    optimizer = make_optimizer(model)
    recorder.watch(model, optimizer, batches=[inputs for window in windows for inputs, _ in window])
    for window in windows:
        given = (batch for batch in window) if lazily else list(window)
        recorder.call(stage.student("token_mean_accumulate"), model, optimizer, given)
        scale_rates(optimizer, 0.8)


def _windows(env: Env) -> Windows:
    return _micro_batches(env, "first"), _micro_batches(env, "second")


def _with_sgd(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), _sgd)


def _with_adamw(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), adamw)


def _from_generator(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), _sgd, lazily=True)


def _with_padding(stage: Stage) -> None:
    """What is ignored is a token like any other."""
    env, recorder = stage.env, stage.recorder
    model = gpt(env)
    optimizer = _sgd(model)
    data = _micro_batches(env, "padded", _PADDING)
    recorder.watch(model, optimizer, batches=[inputs for inputs, _ in data])
    recorder.call(stage.student("token_mean_accumulate"), model, optimizer, data, ignore_index=_PADDING)


def _with_an_empty_one(stage: Stage) -> None:
    """One of the micro-batches is padding alone; the others count as they do without it.

    What comes back is not asked here: a mean of nothing is NaN, and its gradient zero.
    """
    _accumulate(stage, (_micro_batches(stage.env, "first", empty=(2,)),), _sgd)


def _returned(stage: Stage) -> None:
    """The window's loss before the update, and the modes as they were: all but the last layer in train mode."""
    env, recorder = stage.env, stage.recorder
    model = gpt(env)
    model.layers[-1].eval()
    optimizer = _sgd(model)
    recorder.watch(model, optimizer)
    for window in _windows(env):
        recorder.returned(recorder.call(stage.student("token_mean_accumulate"), model, optimizer, window))
    recorder.modes()


def _nothing_valid(stage: Stage) -> None:
    """Between two good windows: with momentum, a step on a gradient of zero would move the parameters."""
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


DRIVERS = (
    Driver(
        "token_mean_accumulate",
        (
            Scenario("sgd", "SGD", _with_sgd, problem=_problem),
            Scenario("adamw", "AdamW", _with_adamw),
            Scenario("padding", "다른 ignore_index", _with_padding),
            Scenario("generator", "제너레이터로 받은 마이크로 배치", _from_generator),
            Scenario("one-empty", "패딩뿐인 마이크로 배치", _with_an_empty_one),
            Scenario("nothing-valid", "유효한 토큰이 없는 구간", _nothing_valid),
            Scenario("returns", "반환값과 모드", _returned, FLOAT32_ATOL),
        ),
    ),
)
