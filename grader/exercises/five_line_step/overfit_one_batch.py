"""Driver of `overfit_one_batch`, which updates on one batch until the loss reaches `target`, and returns the losses.

Promises of the exercise, and the scenarios that check them:
    repeated updates on the same batch: `sgd`, `float32`
    it ends at the first loss at or below `target`: `stops`, `equal`, `at-once`; a NaN loss does not end it: `never`
    at most `max_steps` updates, and no loss is measured after them: `never`, `no-steps`
    a list of floats: `types`; nothing is printed: `quiet`
    train mode while it measures: `train-mode`; each module's mode restored: `modes`, also if `loss_fn` raises: `fails`
    gradients from before do not count, and none are left: `before`, `leftover`

In scenarios about stopping, the loss function returns the numbers of a list one after the other, whatever the model
computes (`_ScriptedLoss`). So a wrong update changes no loss, and an extra measurement shifts the returned list. These
numbers are exact in float32.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from grader.exercises.fixtures.classifiers import (
    Batch,
    LossFn,
    Modes,
    Net,
    batches,
    fill_gradients,
    loss_function,
    mlp,
    norm_dropout_mlp,
    scale_rates,
    set_modes,
    sgd,
)
from grader.exercises.fixtures.returned import record_types
from grader.exercises.fixtures.usual import Case, add_usual
from grader.exercises.fixtures.witnesses import ForwardWitness
from grader.observe.forward_notes import mode_words
from grader.observe.play import Driver, Stage
from grader.observe.values import as_number, items_of
from grader.observe.wording import fact_of_modes_left

driver = Driver("overfit_one_batch")

_UNREACHABLE_TARGET = -1.0
"""A target below every loss: all `max_steps` updates are made."""
_SCRIPTED_LOSSES = (2.0, 1.5, 1.75, 1.0, 0.5, 0.75, 0.25, 0.125)
"""Losses that a `_ScriptedLoss` returns by default, one for each call. They rise twice, so that a program which stops
at a rise shows."""


class _ScriptedLoss:
    """A loss function that returns the next number of a list at each call, with the gradient of the true loss."""

    def __init__(self, loss_fn: LossFn, numbers: Sequence[float] = _SCRIPTED_LOSSES) -> None:
        """Create it from the true loss function and the numbers; calls after the last number return that one again."""
        self._loss_fn = loss_fn
        self._numbers = numbers
        self._calls = 0

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        true_loss = self._loss_fn(output, target)
        number = self._numbers[min(self._calls, len(self._numbers) - 1)]
        self._calls += 1
        return true_loss - true_loss.detach() + number  # zero with a gradient, plus the number


def _case(stage: Stage, model: Net | None = None, sizes: Sequence[int] = (6,)) -> Case:
    """Return a case with a batch of each size, by default one batch; the model is an `mlp` unless one is given."""
    model = model or mlp(stage.env)
    data = batches(stage.env, sizes)
    return Case(stage, "overfit_one_batch", model, sgd(model), loss_function(stage.env), data)


def _overfit(
    case: Case, data: Sequence[Batch], *, target: float = _UNREACHABLE_TARGET, max_steps: int = 3
) -> object:
    """Make a call with the first batch of `data`, and return its result.

    `data` is a list because `add_usual` hands over lists of batches.
    """
    return case.call(*data[0], target=target, max_steps=max_steps)


# ---- updates -------------------------------------------------------------------------------------


@driver.scenario("sgd", "같은 배치로 여러 번 업데이트")
def _sgd(stage: Stage) -> None:
    """Make two calls, each with a batch of its own; how many updates the second is to make follows from the seed.

    The second gets the model in eval mode, which changes none of its numbers. A program that does not clear gradients,
    or makes one update too many or too few, perhaps in one of the modes only, leaves other parameters.
    """
    case = _case(stage, sizes=(6, 9)).watch()
    for number, max_steps in enumerate((4, 2 + stage.env.number("steps") % 2)):
        case.model.train(number == 0)
        _overfit(case, case.data[number:], max_steps=max_steps)
        scale_rates(case.opt, 0.8)


add_usual(driver, _case, partial(_overfit, max_steps=2), checks={"float32": "sgd"})


# ---- stopping, and the returned losses -----------------------------------------------------------


def _call_with_scripted_losses(
    stage: Stage, *, target: float, max_steps: int = 7, numbers: Sequence[float] = _SCRIPTED_LOSSES
) -> object:
    """Call the learner's function with losses from a list, and return its result.

    Record the returned losses and the numbers of updates and forward passes. The listed losses and the target are
    scaled by a power of two that follows from the seed, so that no loss can be known beforehand.

    Args:
        stage: the scenario's stage.
        target: the function's `target`, before scaling.
        max_steps: the function's `max_steps`.
        numbers: the losses, before scaling.
    """
    scale = 2.0 ** -(stage.env.number("scale") % 7)
    case, recorder = _case(stage), stage.recorder
    recorder.watch(case.model, case.opt, states=False)
    updates: list[None] = []  # one entry for each update so far
    case.opt.register_step_post_hook(lambda *_: updates.append(None))
    case.loss_fn = _ScriptedLoss(case.loss_fn, [scale * number for number in numbers])
    losses = _overfit(case, case.data, target=scale * target, max_steps=max_steps)
    # A wrong program may return a very long list; a right one returns at most seven losses.
    measured = [as_number(item) for item in items_of(losses)[:50]]
    recorder.array("잰 손실", torch.tensor(measured, dtype=torch.float64))
    recorder.fact("업데이트 횟수", len(updates))
    recorder.fact("순전파 횟수", len(recorder.training_at_forward))
    return losses


@driver.scenario("stops", "중간에 target에 이를 때")
def _stops(stage: Stage) -> None:
    """Reach the target in the middle. The second loss is barely above it, so a program that rounds stops too early."""
    _call_with_scripted_losses(stage, target=1.5, numbers=(2.0, 1.5 + 2.0**-20, *_SCRIPTED_LOSSES[2:]))


@driver.scenario("equal", "손실이 target과 똑같을 때", check="stops")
def _equal(stage: Stage) -> None:
    """Return exactly the target as the second loss. A program that tests `<` instead of `<=` goes on."""
    _call_with_scripted_losses(stage, target=1.5)


@driver.scenario("at-once", "처음부터 target보다 낮을 때", check="stops")
def _at_once(stage: Stage) -> None:
    """Return a first loss below the target. A program that updates before it looks at the loss makes an update."""
    _call_with_scripted_losses(stage, target=3.0)


@driver.scenario("never", "target에 이르지 못할 때(세 번째 손실은 NaN)", check="losses")
def _never(stage: Stage) -> None:
    """Never reach the target, and return NaN as the third loss. A program that loops `while loss > target` ends there.

    NaN is not at or below the target, so a right program goes on. `max_steps` follows from the seed, so that the counts
    cannot be written down beforehand.
    """
    numbers = (*_SCRIPTED_LOSSES[:2], float("nan"), *_SCRIPTED_LOSSES[3:])
    max_steps = 4 + stage.env.number("steps") % 2
    _call_with_scripted_losses(stage, target=_UNREACHABLE_TARGET, max_steps=max_steps, numbers=numbers)


@driver.scenario("no-steps", "max_steps가 0일 때", check="losses")
def _no_steps(stage: Stage) -> None:
    """Allow no update. A program that measures before it looks at `max_steps` returns one loss instead of none."""
    record_types(stage.recorder, _call_with_scripted_losses(stage, target=_UNREACHABLE_TARGET, max_steps=0))


# Not beside `float32`, because scenarios are listed in the order in which they are added.
add_usual(driver, _case, _overfit, checks={"types": "losses", "quiet": "losses"})


# ---- modes ---------------------------------------------------------------------------------------


@driver.scenario("train-mode", "학습 모드에서 재고 업데이트하기", check="modes")
def _train_mode(stage: Stage) -> None:
    """Hand over models in several modes, and record the modes at each forward pass.

    A program that does not call `model.train()` measures a model in the mode in which it was handed over. How often
    the loss is measured is judged elsewhere.
    """
    recorder, witness_numbers = stage.recorder, list[float]()
    for mode in (Modes.ALL_EVAL, Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        witness = ForwardWitness(stage.env, model)
        case = _case(stage, model).watch_model()
        _overfit(case, case.data)
        witness_numbers += witness.modes()
    recorder.claim("순전파할 때의 모드", [*recorder.forward_notes.modes], witness_numbers)


@driver.scenario("modes", "끝난 뒤의 모드")
def _modes(stage: Stage) -> None:
    """Hand over models in several modes, and record the modes after the call.

    A program that ends with `model.train()` or `model.eval()`, or restores only `model.training`, leaves other modes.
    """
    for mode in (Modes.ALL_TRAIN, Modes.ALL_EVAL, Modes.NORM_EVAL, Modes.TOP_EVAL):
        model = set_modes(norm_dropout_mlp(stage.env, mode), mode)
        fact = fact_of_modes_left(mode_words(model))
        witness = ForwardWitness(stage.env, model)
        case = _case(stage, model).watch_model()
        _overfit(case, case.data, max_steps=2)
        stage.recorder.claim(fact, mode_words(model), witness.modes_left(model))


class BrokenLoss(Exception):
    """An exception of a loss function: a class of our own, which an `except (OSError, ValueError)` does not catch.

    Learners read its name, because the type of the exception that comes out is recorded.
    """


class _FailingLoss:
    """A loss function that raises at its second call, and only there."""

    def __init__(self, loss_fn: LossFn, exception: type[BaseException]) -> None:
        self._loss_fn = loss_fn
        self._exception = exception
        self._calls = 0

    def __call__(self, output: Tensor, target: Tensor) -> Tensor:
        self._calls += 1
        if self._calls == 2:
            raise self._exception("손실을 계산하지 못했습니다")
        return self._loss_fn(output, target)


@driver.scenario("fails", "loss_fn이 오류를 낼 때", check="modes")
def _fails(stage: Stage) -> None:
    """Let the loss function raise at its second call, and record which exception comes out and the modes afterwards.

    A program without `finally` leaves the model in train mode; another may swallow the exception. Ctrl+C arrives as a
    `KeyboardInterrupt`, which `except Exception` does not catch.
    """
    failures: tuple[tuple[type[BaseException], str], ...] = (
        (BrokenLoss, "오류가 난"),
        (KeyboardInterrupt, "Ctrl+C로 멈춘"),
    )
    for exception, when in failures:
        model = set_modes(norm_dropout_mlp(stage.env), Modes.TOP_EVAL)
        given = mode_words(model)
        case = _case(stage, model).watch_model()
        case.loss_fn = _FailingLoss(case.loss_fn, exception)
        case.record_raised(
            exception, f"{when} 함수에서 나온 예외", *case.data[0], target=_UNREACHABLE_TARGET, max_steps=4
        )
        stage.recorder.fact(f"{given}인 모델을 주었을 때, {when} 뒤의 모드", mode_words(model))


# ---- gradients -----------------------------------------------------------------------------------


@driver.scenario("leftover", "끝난 뒤의 그레이디언트")
def _leftover(stage: Stage) -> None:
    """Let the function end in each of four ways, with gradients from before, and record whether gradients are left.

    A program that does not clear at each exit leaves gradients, its own or those from before the call.
    """
    recorder = stage.recorder
    for target, max_steps, when in (
        (_UNREACHABLE_TARGET, 4, "max_steps번 업데이트한"),
        (1.25, 4, "target에 이른"),
        (3.0, 4, "업데이트 없이 끝난"),
        (_UNREACHABLE_TARGET, 0, "max_steps가 0으로 끝난"),
    ):
        case = _case(stage).watch_model()
        fill_gradients(stage.env, case.model)
        case.loss_fn = _ScriptedLoss(case.loss_fn)
        _overfit(case, case.data, target=target, max_steps=max_steps)
        recorder.fact(f"{when} 뒤의 그레이디언트", "남음" if recorder.gradients_left() else "없음")


add_usual(
    driver,
    lambda stage: _case(stage).watch_model(),
    partial(_overfit, max_steps=1),
    checks={"before": "leftover"},
)
