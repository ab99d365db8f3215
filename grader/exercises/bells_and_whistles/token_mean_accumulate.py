"""Driver of `token_mean_accumulate`, which accumulates micro-batches of unequal token counts into one update.

The update and the returned loss must be those of one batch with all valid tokens, so a mean of means is wrong.
Scenarios isolate the update under SGD and AdamW, `ignore_index`, generators, micro-batches and windows without valid
tokens, the returned loss and modes.
"""

from collections.abc import Callable, Sequence

import torch
from torch import nn
from torch.optim import Optimizer

from grader.exercises.fixtures.alike import record_alike
from grader.exercises.fixtures.classifiers import Batch, Net, adamw, flat_weights, scale_rates, two_groups
from grader.exercises.fixtures.given_modes import EVERY_MODE, record_modes
from grader.exercises.fixtures.language import TOKENS, gpt, token_ids, token_loss
from grader.exercises.fixtures.memory import record_window_memory
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import FLOAT32_ATOL
from grader.observe.play import Driver, Env, Problem, Stage
from grader.observe.values import as_number

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


def _sgd(model: nn.Module, *, momentum: float = 0.0) -> Optimizer:
    return torch.optim.SGD(two_groups(model, (0.3, 0.2)), lr=0.3, momentum=momentum)


def _windows(env: Env) -> _Windows:
    return _micro_batches(env, "first"), _micro_batches(env, "second")


def _accumulate(stage: Stage, windows: _Windows, make_optimizer: Callable[[nn.Module], Optimizer]) -> None:
    """One call for each window; the learning rates change in between."""
    recorder = stage.recorder
    model = gpt(stage.env)
    optimizer = make_optimizer(model)
    recorder.watch(model, optimizer, batches=[inputs for window in windows for inputs, _ in window])
    for window in windows:
        recorder.call(stage.student("token_mean_accumulate"), model, optimizer, list(window))
        scale_rates(optimizer, 0.8)


@driver.scenario("sgd", "SGD", problem=_problem)
def _with_sgd(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), _sgd)


@driver.scenario("adamw", "AdamW")
def _with_adamw(stage: Stage) -> None:
    _accumulate(stage, _windows(stage.env), adamw)


@driver.scenario("padding", "다른 ignore_index")
def _with_padding(stage: Stage) -> None:
    """The ignored index is an ordinary token, not -100."""
    env, recorder = stage.env, stage.recorder
    model = gpt(env)
    optimizer = _sgd(model)
    data = _micro_batches(env, "padded", _PADDING)
    recorder.watch(model, optimizer, batches=[inputs for inputs, _ in data])
    recorder.call(stage.student("token_mean_accumulate"), model, optimizer, data, ignore_index=_PADDING)


@driver.scenario("float32", "float32 모델", check="sgd")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    recorder, model = stage.recorder, gpt(stage.env).float()
    optimizer = _sgd(model)
    recorder.watch(model, states=False)
    window = _micro_batches(stage.env, "first")[:2]
    recorder.call(stage.student("token_mean_accumulate"), model, optimizer, window)
    record_precision(recorder, model)


@driver.scenario("generator", "제너레이터로 받은 마이크로 배치")
def _from_generator(stage: Stage) -> None:
    """The update is compared with that of the same function on a list, so a wrong update costs nothing here."""
    moved, before = [], flat_weights(gpt(stage.env))
    for lazily in (False, True):
        model = gpt(stage.env)
        window = _micro_batches(stage.env, "first")
        stage.recorder.watch(model, states=False)
        given = (batch for batch in window) if lazily else window
        stage.recorder.call(stage.student("token_mean_accumulate"), model, _sgd(model), given)
        moved.append(flat_weights(model))
    what = "제너레이터와 리스트로 받았을 때의 가중치"
    record_alike(stage.recorder, what, moved[1], moved[0], before)


@driver.scenario("untouched", "제너레이터로 받은 마이크로 배치의 내용", check="generator")
def _untouched(stage: Stage) -> None:
    """Inputs and targets must stay as they are, also if they reach the function only through a generator."""
    model, window = gpt(stage.env), _micro_batches(stage.env, "first")
    before = [(x.clone(), y.clone()) for x, y in window]
    given = (batch for batch in window)
    stage.recorder.call(stage.student("token_mean_accumulate"), model, _sgd(model), given)
    pairs = zip(window, before, strict=True)
    same = all(torch.equal(now, then) for one, other in pairs for now, then in zip(one, other, strict=True))
    stage.recorder.fact("입력과 정답", "그대로" if same else "바뀜")


@driver.scenario("one-empty", "패딩뿐인 마이크로 배치")
def _with_an_empty_one(stage: Stage) -> None:
    """One micro-batch holds nothing but padding; the update must be as if it were not there."""
    _accumulate(stage, (_micro_batches(stage.env, "first", empty=(2,)),), _sgd)


@driver.scenario("empty-value", "패딩뿐인 마이크로 배치가 있을 때의 반환값", check="one-empty")
def _value_with_an_empty_one(stage: Stage) -> None:
    """The mean loss of an empty micro-batch is NaN, and so is NaN times zero; the returned value must not be.

    Its value is judged elsewhere.
    """
    model, window = gpt(stage.env), _micro_batches(stage.env, "first", empty=(2,))
    value = stage.recorder.call(stage.student("token_mean_accumulate"), model, _sgd(model), window)
    stage.recorder.fact(
        "반환값", "nan" if as_number(value) != as_number(value) and value is not None else "숫자"
    )


@driver.scenario("nothing-valid", "유효한 토큰이 없는 구간", check="one-empty")
def _nothing_valid(stage: Stage) -> None:
    """A window without valid tokens follows a good one: with momentum, even
    a step on zero gradients would move parameters.
    """
    env, recorder = stage.env, stage.recorder
    student = stage.student("token_mean_accumulate")
    model = gpt(env)
    optimizer = _sgd(model, momentum=0.9)
    recorder.watch(model, optimizer, states=False)
    first, _ = _windows(env)
    recorder.call(student, model, optimizer, first)
    nothing = _micro_batches(env, "nothing", empty=range(len(_SHAPES)))
    before = [p.detach().clone() for p in model.parameters()]
    recorder.expect(ValueError, "유효한 토큰이 하나도 없을 때", student, model, optimizer, nothing)
    moved = any(not torch.equal(p, q) for p, q in zip(before, model.parameters(), strict=True))
    recorder.fact("유효한 토큰이 없는데 매개변수가 움직임", "예" if moved else "아니요")


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returned(stage: Stage) -> None:
    """The window's loss before the update, on fresh models, so that no wrong update can change it."""
    for window in _windows(stage.env):
        model = gpt(stage.env)
        stage.recorder.returned(
            stage.recorder.call(stage.student("token_mean_accumulate"), model, _sgd(model), window)
        )


@driver.scenario("modes", "받은 모드", check="returns")
def _modes(stage: Stage) -> None:
    """A model in each mode; two calls of one micro-batch each."""
    windows = [window[:1] for window in _windows(stage.env)]

    def use(model: Net) -> None:
        optimizer = _sgd(model, momentum=0.9)
        stage.recorder.watch(model, optimizer, states=False)
        for window in windows:
            stage.recorder.call(stage.student("token_mean_accumulate"), model, optimizer, window)

    record_modes(stage, lambda: gpt(stage.env), use, EVERY_MODE)


@driver.scenario("quiet", "화면 출력", check="returns")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    model, window = gpt(stage.env), _micro_batches(stage.env, "first")[:2]
    stage.recorder.call(stage.student("token_mean_accumulate"), model, _sgd(model), window)
    stage.recorder.fact("print를 부름", "예" if stage.recorder.prints else "아니요")


@driver.scenario("memory", "함께 살아 있는 계산 그래프")
def _memory(stage: Stage) -> None:
    """One window. If it is joined, or run backward once at its end, all of it is alive together."""
    model = gpt(stage.env)
    stage.recorder.watch(model, states=False)
    meter = stage.recorder.measure_memory(model)
    data = _micro_batches(stage.env, "first")
    stage.recorder.call(stage.student("token_mean_accumulate"), model, _sgd(model), data)
    record_window_memory(stage.recorder, meter)
