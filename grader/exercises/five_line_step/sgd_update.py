"""Driver of `sgd_update`, which does by hand what `opt.step()` does in an SGD without momentum.

Promises of the exercise, and the scenarios that check them:
    `p - lr * p.grad` for every parameter: `moves`, `large`
    a parameter whose `.grad` is None is left alone, and stays frozen if it was: `none`, `frozen`
    as after `opt.step()`, the parameters are still the model's own leaf tensors, moved in place, and require gradients;
    the gradients are as before: `leaves`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn

from grader.exercises.fixtures.classifiers import (
    batches,
    fill_gradients,
    flat_gradients,
    flat_weights,
    loss_function,
    mlp,
)
from grader.exercises.fixtures.witnesses import gradients_of_next_backward
from grader.observe.play import Driver, Stage
from grader.observe.recorder import Recorder
from grader.observe.wording import true_or_false, yes_or_no

driver = Driver("sgd_update")

_ENLARGEMENT = 300.0
"""Factor on the gradients: nearly all components are then beyond ±1, most of them far beyond, where a clamp shows."""


def _update_twice(
    stage: Stage,
    change_gradients: Callable[[Sequence[nn.Parameter]], None] = lambda _: None,
    *,
    as_argument: Callable[[Sequence[nn.Parameter]], Iterable[nn.Parameter]] = iter,
    compares_values: bool = True,
) -> list[nn.Parameter]:
    """Call the function twice, each time after a backward pass; record what it did, and return the parameters.

    Always recorded: whether a `.grad` of None stayed None, and whether the model still has the same tensors.

    Args:
        stage: the scenario's stage.
        change_gradients: changes the parameters' gradients before each update; by default nothing.
        as_argument: turns the list of parameters into the function's argument; by default into an iterator, which
            can be read only once.
        compares_values: record the parameters' values. If False, record instead whether any parameter moved, and
            whether gradients and `requires_grad` stayed as they were.
    """
    env, recorder = stage.env, stage.recorder
    model, loss_fn = mlp(env), loss_function(env)
    parameters = list(model.parameters())
    recorder.watch(model, states=compares_values)
    for (xb, yb), lr in zip(batches(env, (6, 4)), (0.3, 0.05), strict=True):
        before = [p.detach().clone() for p in parameters]
        loss_fn(model(xb), yb).backward()
        change_gradients(parameters)
        gradients = [None if p.grad is None else p.grad.clone() for p in parameters]
        recorder.call(stage.student("sgd_update"), as_argument(parameters), lr)
        if not compares_values:
            _record_what_must_stay(recorder, parameters, before, gradients)
        has_appeared = any(
            grad is None and p.grad is not None for p, grad in zip(parameters, gradients, strict=True)
        )
        recorder.append_fact("None이던 .grad", "텐서" if has_appeared else "None")
        for parameter in parameters:
            parameter.grad = None
            if parameter.is_leaf:
                # The next backward pass needs it. If the function switched it off, the scenario `leaves` records that.
                parameter.requires_grad_()
    pairs = zip(parameters, model.parameters(), strict=True)
    recorder.fact("모델의 매개변수", "같은 텐서" if all(p is q for p, q in pairs) else "다른 텐서")
    return parameters


def _record_what_must_stay(
    recorder: Recorder,
    parameters: Sequence[nn.Parameter],
    before: Sequence[torch.Tensor],
    gradients: Sequence[torch.Tensor | None],
) -> None:
    """Record whether gradients and `requires_grad` stayed as they were, and whether any parameter moved.

    Whether one moved is recorded because a function that does nothing leaves everything as it was, too.

    Args:
        recorder: the scenario's recorder.
        parameters: the parameters after an update.
        before: their values before it.
        gradients: their gradients before it.
    """
    has_moved = any(not torch.equal(p, old) for p, old in zip(parameters, before, strict=True))
    recorder.append_fact("매개변수가 움직임", yes_or_no(has_moved))
    are_kept = all(_is_unchanged(p.grad, grad) for p, grad in zip(parameters, gradients, strict=True))
    recorder.append_fact("그레이디언트", "그대로" if are_kept else "바뀜")
    recorder.append_fact("requires_grad", true_or_false(all(p.requires_grad for p in parameters)))


def _is_unchanged(now: torch.Tensor | None, before: torch.Tensor | None) -> bool:
    """Return True if both hold the same numbers, or both are None."""
    if now is None or before is None:
        return now is before
    return torch.equal(now, before)


def _remove_some_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Set the gradients of two parameters in the middle to None: a program that stops there leaves later ones."""
    parameters[1].grad = parameters[2].grad = None


def _enlarge_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Multiply all gradients by `_ENLARGEMENT`."""
    for parameter in parameters:
        if parameter.grad is not None:
            parameter.grad = parameter.grad * _ENLARGEMENT


@driver.scenario("moves", "업데이트")
def _moves(stage: Stage) -> None:
    """Update twice, and record the parameters.

    A program with another sign, another rate or `p = p - lr * p.grad` (a new tensor) ends with other parameters.
    """
    _update_twice(stage)


@driver.scenario("large", "아주 큰 그레이디언트", check="moves")
def _large(stage: Stage) -> None:
    """Update twice with very large gradients, and with the parameters in a list; then once with an infinite one.

    A program that clamps gradients makes another update, and one that leaves out what is not finite makes none.
    """
    _update_twice(stage, _enlarge_gradients, as_argument=list)
    model = mlp(stage.env, "infinite")
    before = flat_weights(model)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, math.inf)
    stage.recorder.call(stage.student("sgd_update"), list(model.parameters()), 0.2)
    has_moved = not torch.equal(flat_weights(model), before)
    stage.recorder.fact("inf가 든 그레이디언트로 매개변수가 움직임", yes_or_no(has_moved))


@driver.scenario("none", ".grad가 None인 매개변수")
def _none(stage: Stage) -> None:
    """Update twice when two parameters have no gradient.

    A program that does not test for None raises; one that stops there leaves later parameters where they are; one that
    fills `.grad` with zeros leaves tensors.
    """
    _update_twice(stage, _remove_some_gradients)


@driver.scenario("leaves", "잎(leaf) 텐서로, 그레이디언트는 그대로")
def _leaves(stage: Stage) -> None:
    """Update twice after backward passes, then once with random gradients; record whether training can go on.

    It can if parameters are still leaves and require gradients, and gradients are as before. A program that updates
    without `torch.no_grad()`, changes gradients or switches off `requires_grad` differs. The facts about the first
    model are the same for every seed; the second model adds numbers that follow from it.
    """
    parameters = _update_twice(stage, compares_values=False)
    recorder = stage.recorder
    recorder.fact("잎(leaf) 텐서", yes_or_no(all(p.is_leaf for p in parameters)))
    model = mlp(stage.env, "given")
    fill_gradients(stage.env, model)
    recorder.call(stage.student("sgd_update"), model.parameters(), 0.2)
    recorder.array("그레이디언트", flat_gradients(model))
    for parameter in model.parameters():
        parameter.grad = None
    recorder.array("잎(leaf) 텐서", gradients_of_next_backward(stage.env, model.parameters()))


@driver.scenario("frozen", "얼린 매개변수", check="none")
def _frozen(stage: Stage) -> None:
    """Freeze a layer before the backward pass, and record which parameters move.

    A program that does not test for None raises; one that switches `requires_grad` on for all parameters thaws the
    layer.
    """
    env, recorder = stage.env, stage.recorder
    model, loss_fn = mlp(env), loss_function(env)
    frozen_layer = model.layers[0].requires_grad_(False)
    before = [p.detach().clone() for p in model.parameters()]
    ((xb, yb),) = batches(env, (5,))
    loss_fn(model(xb), yb).backward()
    recorder.call(stage.student("sgd_update"), model.parameters(), 0.2)
    has_moved = [not torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True)]
    recorder.fact("매개변수마다", ["움직임" if moved else "그대로" for moved in has_moved])
    is_trainable = any(p.requires_grad for p in frozen_layer.parameters())
    recorder.fact("얼린 매개변수의 requires_grad", true_or_false(is_trainable))
