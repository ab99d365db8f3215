"""Driver of `add_gradient`, which adds a weighted gradient to `.grad` and returns the unweighted loss.

Promises of the exercise, and the scenarios that check them:
    `.grad` gets the gradient of the mean loss times the weight: `weight`, `float32`, `modes`
    a gradient that is already there stays: `keeps`
    parameters that are frozen or not reached by the loss are left alone: `none`, `held`
    no parameter is updated: `weight`; each module's mode stays: `modes`; a single forward pass: `once`
    the loss before weighting, as a float: `returns`, `float32`, `modes`; nothing is printed: `quiet`

Weights are eighths or 0, which float32 holds exactly: a program that makes the weight a float32 tensor is right too.

A scenario decides the check that `check=` names (`checks=` of `add_usual`), or that of its name. How to add one, or a
promise: grader/ADDING.md.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    Net,
    batches,
    fill_gradients,
    flat_buffers,
    flat_gradients,
    loss_function,
    mlp,
    norm_dropout_mlp,
)
from grader.exercises.fixtures.returned import FLOAT32_ATOL
from grader.exercises.fixtures.usual import ADDED_GRADIENTS, Case, add_usual
from grader.exercises.fixtures.witnesses import seeded_number
from grader.observe.play import Driver, Stage
from grader.observe.wording import yes_or_no

driver = Driver("add_gradient")

_SIZES = (4, 3, 9)
"""Samples in each micro-batch of a case."""


def _case(stage: Stage, model: Net | None = None) -> Case:
    """Return a case whose batches are (inputs, targets, weight), without optimizer; the model is an `mlp` by default.

    The weights are three eighths, which follow from the seed: two different ones below 1, and one above.
    """
    number = stage.env.number("weight")
    weights = [(1 + (number + 2 * i) % 7) / 8 for i in range(len(_SIZES))]
    weights[-1] += 1.0
    data = [(*batch, weight) for batch, weight in zip(batches(stage.env, _SIZES), weights, strict=True)]
    model = model or mlp(stage.env)
    return Case(stage, "add_gradient", model, None, loss_function(stage.env), data, effect=ADDED_GRADIENTS)


def _call_once(case: Case, data: Sequence[tuple[Any, ...]]) -> Any:
    """Make one call, with the first micro-batch of a list, and return its result."""
    return case.call(*data[0])


@driver.scenario("weight", "그레이디언트가 없던 모델에 한 번")
def _weight(stage: Stage) -> None:
    """Record the gradient that one call leaves on each of three fresh models; its states show whether it moved.

    A program that ignores the weight, or divides by it, leaves another gradient on each of them; one that takes it as
    1 at most, on the last.
    """
    for number in range(len(_SIZES)):
        case = _case(stage, mlp(stage.env, f"model {number}")).watch()
        case.call(*case.data[number])
        stage.recorder.array(f"{number + 1}번째 모델의 그레이디언트", flat_gradients(case.model))


add_usual(driver, _case, _call_once, checks={"float32": "weight"})


def _case_with_untouched(stage: Stage) -> tuple[Case, dict[str, nn.Parameter]]:
    """Return a case whose model has two parameters that get no gradient, and these two by their Korean descriptions.

    One is frozen, and the loss does not reach the other.
    """
    model = mlp(stage.env)
    frozen = next(model.parameters())
    frozen.requires_grad_(False)
    unreached = nn.Parameter(torch.ones_like(frozen))
    model.register_parameter("unused", unreached)
    case = _case(stage, model).watch_model()
    return case, {"고정한": frozen, "손실이 닿지 않는": unreached}


@driver.scenario("none", "그레이디언트를 받지 않는 매개변수", check="weight")
def _none(stage: Stage) -> None:
    """Record what a call leaves on parameters to which no gradient flows.

    A program that calls `torch.autograd.grad` without `allow_unused` raises, and one that fills in what is None then
    leaves zeros.
    """
    case, untouched = _case_with_untouched(stage)
    case.call(*case.data[0])
    for name, parameter in untouched.items():
        stage.recorder.fact(f"{name} 매개변수의 .grad", "None" if parameter.grad is None else "텐서")


@driver.scenario("keeps", "이미 그레이디언트가 있는 모델")
def _keeps(stage: Stage) -> None:
    """Call with and without gradients from before, and record the difference of the gradients afterwards.

    A program that assigns to `.grad`, or clears it first, loses the gradient that was there. The gradient that the same
    call gives a fresh model is subtracted, so a wrong weight costs nothing here; a fact says whether that model got any
    gradient, because a program that adds none leaves the old ones alone, too.
    """
    gradients = []
    for has_gradients in (False, True):
        case = _case(stage).watch_model()
        if has_gradients:
            fill_gradients(stage.env, case.model)
        case.call(*case.data[0])
        gradients.append(flat_gradients(case.model))
    on_fresh_model, on_filled_model = gradients
    stage.recorder.array("이미 있던 그레이디언트", on_filled_model - on_fresh_model)
    stage.recorder.fact("그레이디언트를 더함", yes_or_no(bool(on_fresh_model.ne(0).any())))


@driver.scenario("held", "그레이디언트를 받지 않지만 이미 가진 매개변수", check="keeps")
def _held(stage: Stage) -> None:
    """Fill all gradients, and record what becomes of those of parameters to which no new one flows.

    A program that clears first loses the gradients of these parameters, and one that scales what it finds changes them.
    """
    case, untouched = _case_with_untouched(stage)
    fill_gradients(stage.env, case.model)
    before = {
        name: parameter.grad.clone() for name, parameter in untouched.items() if parameter.grad is not None
    }
    case.call(*case.data[0])
    for name, parameter in untouched.items():
        outcome = _change_of_gradient(parameter.grad, before[name])
        witness = [seeded_number(stage.env, name) if outcome == "남음" else 0.0]
        stage.recorder.claim(f"{name} 매개변수의 그레이디언트", outcome, witness)


def _change_of_gradient(gradient: Tensor | None, before: Tensor) -> str:
    """Say in Korean what became of a gradient: it is left as it was before, cleared, or changed."""
    if gradient is None or not gradient.any():
        return "지워짐"
    return "남음" if torch.equal(gradient, before) else "바뀜"


add_usual(driver, _case, _call_once, checks={"modes": "modes"})


@driver.scenario("once", "배치 정규화가 있는 모델", check="modes")
def _once(stage: Stage) -> None:
    """Record BatchNorm's running statistics after one call in train mode, and the number of forward passes.

    A program that makes a second forward pass, for the loss, moves BatchNorm's running statistics twice, unless it puts
    them back.
    """
    case = _case(stage, norm_dropout_mlp(stage.env)).watch_model()
    case.call(*case.data[0])
    stage.recorder.array("이동 통계량", flat_buffers(case.model))
    stage.recorder.fact("순전파 횟수", len(stage.recorder.training_at_forward))


# A learner may sum or average the loss in float32, so the returned number need not be exact to float64.
@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """Record what each call returns; the last one has the weight 0.

    A program that returns the weighted loss, or a tensor, differs, and so does one that measures nothing where nothing
    is to be added. Each call gets a fresh model.
    """
    for number in range(len(_SIZES)):
        case = _case(stage, mlp(stage.env, f"model {number}")).watch_model()
        xb, yb, weight = case.data[number]
        is_last = number == len(_SIZES) - 1
        stage.recorder.returned(case.call(xb, yb, 0.0 if is_last else weight))


add_usual(driver, _case, _call_once, checks={"quiet": "returns"})
