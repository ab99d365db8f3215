"""Driver of `zero_gradients`, which does by hand what `opt.zero_grad()` does.

Promises of the exercise, and the scenarios that check them:
    the gradients of all parameters are cleared: `clears`, `balanced`
    infinite and NaN gradients too: `not-finite`
    those of frozen parameters too: `frozen`
    a parameter without a gradient is no obstacle (as for `opt.zero_grad()`): `none`

A gradient counts as cleared if it is None or all zeros.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import nn

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Net,
    batches,
    flat_gradients,
    initialize,
    loss_function,
    mlp,
)
from grader.exercises.fixtures.witnesses import gradients_of_next_backward
from grader.observe.play import Driver, Env, Stage
from grader.observe.trace import Fact
from grader.observe.wording import true_or_false

driver = Driver("zero_gradients")


def _three_layers(env: Env) -> Net:
    """Return a model of three linear layers, of which two biases have the same shape."""
    layers = [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, HIDDEN), nn.Tanh()]
    return initialize(Net([*layers, nn.Linear(HIDDEN, CLASSES)]), env, "three layers")


def _model_after_backward(env: Env, make_model: Callable[[Env], Net] = mlp) -> Net:
    """Return a model whose parameters all hold a gradient."""
    model = make_model(env)
    (batch,) = batches(env, (6,))
    logits = model(batch[0])
    # With cross-entropy alone, the gradients of the last bias sum to zero, up to rounding: a function that asks for the
    # sign of their sum would behave differently from machine to machine.
    (loss_function(env)(logits, batch[1]) + logits.square().mean()).backward()
    return model


def _call(stage: Stage, parameters: Sequence[nn.Parameter]) -> None:
    """Call the learner's function with a list of parameters."""
    stage.recorder.call(stage.student("zero_gradients"), list(parameters))


def _cleared_in_words(parameters: Iterable[nn.Parameter]) -> list[Fact]:
    """Return for each parameter, in Korean, whether its gradient is cleared (NaN is not zero)."""
    return ["남음" if p.grad is not None and bool(p.grad.ne(0).any()) else "비어 있음" for p in parameters]


def _clear_and_record(stage: Stage, model: Net) -> None:
    """Call the learner's function with a model's parameters; record for each whether its gradient is cleared."""
    stage.recorder.watch(model, states=False)
    _call(stage, list(model.parameters()))
    stage.recorder.fact("매개변수마다의 그레이디언트", _cleared_in_words(model.parameters()))


@driver.scenario("clears", "그레이디언트 비우기")
def _clears(stage: Stage) -> None:
    """Clear after a backward pass, and record what is left and the gradients after the next backward pass.

    A program that clears nothing, or only some parameters, lets the next backward pass add to old gradients. One that
    gives parameters of one shape the same zeros lets it add the gradients of these parameters together. Only here
    do the parameters come from a generator, which can be read once, so that a program that reads them twice fails in no
    other scenario.
    """
    recorder = stage.recorder
    model = _model_after_backward(stage.env, _three_layers)
    recorder.watch(model)
    recorder.call(stage.student("zero_gradients"), model.parameters())
    recorder.fact("매개변수마다의 그레이디언트", _cleared_in_words(model.parameters()))
    recorder.fact("requires_grad", true_or_false(all(p.requires_grad for p in model.parameters())))
    ((xb, yb),) = batches(stage.env, (4,), "next")
    loss_function(stage.env)(model(xb), yb).backward()
    recorder.array("다음 역전파 뒤의 그레이디언트", flat_gradients(model))


@driver.scenario("not-finite", "무한대와 NaN이 든 그레이디언트", check="clears")
def _not_finite(stage: Stage) -> None:
    """Clear gradients that hold infinity and NaN.

    A program that clears by multiplication (`p.grad *= 0`) leaves NaN: zero times infinity is NaN.
    """
    model = _model_after_backward(stage.env)
    for parameter, value in zip(model.parameters(), (math.inf, math.nan, -math.inf, 1e300), strict=True):
        if parameter.grad is not None:
            parameter.grad.view(-1)[1] = value
    _clear_and_record(stage, model)


@driver.scenario("balanced", "합이 0인 그레이디언트", check="clears")
def _balanced(stage: Stage) -> None:
    """Clear gradients whose numbers sum to zero.

    A program that clears only if `p.grad.sum()` is not zero clears none: each gradient here sums to exactly zero.
    """
    model = _model_after_backward(stage.env)
    for parameter in model.parameters():
        grad = torch.zeros_like(parameter).view(-1)
        half = len(grad) // 2
        grad[:half] = torch.arange(1, half + 1)  # whole numbers, of which every sum is exact
        grad[half : 2 * half] = -grad[:half]
        parameter.grad = grad.reshape(parameter.shape).clone()  # no view: a program may detach it in place
    _clear_and_record(stage, model)


@driver.scenario("frozen", "그레이디언트가 남은 채로 얼린 매개변수", check="clears")
def _frozen(stage: Stage) -> None:
    """Freeze a layer that has gradients, clear, and record what is left and which parameters are frozen.

    A program that skips parameters with `requires_grad=False` leaves their gradients; another may unfreeze them.
    """
    model = _model_after_backward(stage.env)
    model.layers[0].requires_grad_(False)
    _clear_and_record(stage, model)
    flags: list[Fact] = [true_or_false(p.requires_grad) for p in model.parameters()]
    stage.recorder.fact("매개변수마다의 requires_grad", flags)


@driver.scenario("none", ".grad가 None인 매개변수")
def _none(stage: Stage) -> None:
    """Clear when one parameter, which follows from the seed, has no gradient.

    A program that calls `p.grad.zero_()` raises at this parameter, and one that returns there leaves the gradients of
    those after it. It is never the last parameter, because none comes after that.
    """
    model = _model_after_backward(stage.env)
    parameters = list(model.parameters())
    without_gradient = parameters[stage.env.number("without") % (len(parameters) - 1)]
    without_gradient.grad = None
    stage.recorder.watch(model, states=False)
    _call(stage, parameters)
    cleared, is_still_none = _cleared_in_words(parameters), without_gradient.grad is None
    witness = gradients_of_next_backward(stage.env, parameters)
    stage.recorder.claim("매개변수마다의 그레이디언트", cleared, witness)
    stage.recorder.fact("None이던 .grad", "None" if is_still_none else "텐서")
