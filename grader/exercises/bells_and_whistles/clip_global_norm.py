"""Driver of `clip_global_norm`, which scales all gradients in place if their joint norm exceeds a limit.

Promises of the exercise, and the scenarios that check them:
    one factor for all gradients, from their joint L2 norm, if that exceeds `max_norm`: `clips`
    otherwise no change: `small`, `zero`
    parameters without a gradient are skipped: `none`; those with one are not, even if frozen: `frozen`
    `params` may be a generator: `generator`; the tensors in `.grad` stay the same objects: `in-place`
    the return value is the norm before clipping, a float: `returns`
    a norm that is infinite or NaN is refused, and the gradients stay as they were: `not-finite`

`none`, `frozen`, `generator` and `in-place` compare the function with itself (`record_difference`), so that a wrong
factor costs nothing there, unless it is 1.

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import CLIP_ATOL
from grader.exercises.fixtures.usual import record_difference
from grader.observe.play import Driver, Env, Stage
from grader.observe.wording import yes_or_no

driver = Driver("clip_global_norm")

_SHAPES = ((3, 4), (4,), (2, 3), (5,))
"""Shapes of the parameters: two like a weight and two like a bias."""


def _parameters(env: Env, salt: str = "grads") -> list[nn.Parameter]:
    """Return a parameter for each shape, with gradients drawn with a larger standard deviation from one to the next.

    One component is -6, by absolute value the largest for about 99 seeds of 100.
    """
    generator = env.generator(salt)
    parameters = []
    for number, shape in enumerate(_SHAPES):
        parameter = nn.Parameter(torch.zeros(shape, dtype=torch.float64, device=env.device))
        grad = torch.randn(shape, generator=generator, dtype=torch.float64) * (0.4 + 0.5 * number)
        if number == 2:
            grad[0, 1] = -6.0
        parameter.grad = grad.to(env.device)
        parameters.append(parameter)
    return parameters


def _flat_gradients(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return all gradients as one vector; NaN in place of a missing one, or of one in a wrong shape."""
    parts = [
        torch.full_like(p, torch.nan) if p.grad is None or p.grad.shape != p.shape else p.grad
        for p in parameters
    ]
    return torch.cat([part.detach().double().ravel() for part in parts])


def _joint_norm(parameters: Sequence[nn.Parameter]) -> float:
    """Return the L2 norm of all gradients together; a missing one counts as zero."""
    return float(torch.linalg.vector_norm(torch.nan_to_num(_flat_gradients(parameters), nan=0.0)))


def _call(stage: Stage, parameters: Iterable[nn.Parameter], max_norm: float) -> Any:
    """Call the learner's function and return its result."""
    return stage.recorder.call(stage.student("clip_global_norm"), parameters, max_norm)


def _witness_of_clipping(stage: Stage) -> Tensor:
    """Make a call in which the norm exceeds the limit, and return the gradients from before it as one vector.

    Return zeros if the call changed no gradient. Any change counts as right, because `clips` judges how large it is.
    """
    parameters = _parameters(stage.env, "beyond")
    before = _flat_gradients(parameters)
    _call(stage, parameters, 0.4 * _joint_norm(parameters))
    has_changed = bool((before - _flat_gradients(parameters)).ne(0).any())
    return before * has_changed


@driver.scenario("clips", "노름이 max_norm보다 클 때", atol=CLIP_ATOL)
def _clips(stage: Stage) -> None:
    """Clip to a limit far below the norm, to one close to it, and to 0.

    A wrong program clips each tensor by its own norm, takes another norm, or clips by value. The first limit lies below
    the largest component, because clipping by value shows only there. A program that takes a limit of 0 for none leaves
    the last gradients as they were.
    """
    for number, share_of_norm in enumerate((0.15, 0.9, 0.0)):
        parameters = _parameters(stage.env, str(number))
        _call(stage, parameters, share_of_norm * _joint_norm(parameters))
        stage.recorder.array(f"{number + 1}번째로 줄인 그레이디언트", _flat_gradients(parameters))


@driver.scenario("small", "노름이 max_norm보다 작을 때", atol=CLIP_ATOL)
def _small(stage: Stage) -> None:
    """Call with limits above the norm, where the gradients must stay; then with one below it.

    A wrong program scales the gradients up to the limit, or measures a norm that exceeds it. The limits above are far
    enough from the norm that an epsilon added to the norm makes no difference. The last of them lies less than 1 above
    it, so that a limit that is off by one shows. The one below is there because a program that never changes anything
    must fail here.
    """
    for number, factor in enumerate((1.5, 4.0, 1.02)):
        parameters = _parameters(stage.env, str(number))
        _call(stage, parameters, factor * _joint_norm(parameters))
        stage.recorder.array(f"{number + 1}번째로 건넨 그레이디언트", _flat_gradients(parameters))
    stage.recorder.array("노름이 max_norm을 넘는 그레이디언트가 바뀜", _witness_of_clipping(stage))


@driver.scenario("zero", "모두 0인 그레이디언트", check="small", atol=CLIP_ATOL)
def _zero(stage: Stage) -> None:
    """Call with gradients that are all zero; then with a norm above the limit.

    A wrong program divides by the norm of zero, and leaves NaN. A program that never changes anything must fail here
    too, so the witness of the second call is added to the gradients, which should still be zeros.
    """
    parameters = _parameters(stage.env, "zeros")
    for parameter in parameters:
        assert parameter.grad is not None
        parameter.grad.zero_()
    _call(stage, parameters, 1.0)
    witness = _witness_of_clipping(stage)
    stage.recorder.array("0이던 그레이디언트", _flat_gradients(parameters) + witness)


@driver.scenario("none", ".grad가 None인 매개변수", atol=CLIP_ATOL)
def _without_gradient(stage: Stage) -> None:
    """Call with parameters of which two have no gradient (one of them frozen), and once more without these two.

    A wrong program raises on None, or puts a tensor there.
    """
    parameters = _parameters(stage.env)
    for number in (0, 3):
        parameters[number].grad = None
    parameters[3].requires_grad_(False)
    others = _parameters(stage.env)[1:3]
    before = _flat_gradients(others)
    for given in (parameters, others):
        _call(stage, given, 0.4 * _joint_norm(given))
    title = "None인 매개변수가 있을 때와 없을 때의 그레이디언트"
    record_difference(
        stage.recorder, title, _flat_gradients(parameters[1:3]), _flat_gradients(others), before
    )
    stage.recorder.fact("None이던 .grad", ["None" if parameters[i].grad is None else "텐서" for i in (0, 3)])


@driver.scenario("frozen", "그레이디언트가 남아 있는 얼린 매개변수", check="none", atol=CLIP_ATOL)
def _frozen(stage: Stage) -> None:
    """Call with a parameter that was frozen after its backward pass, and once more with none frozen.

    A wrong program skips the frozen parameter, although the optimizer would still read its gradient.
    """
    parameters, others = _parameters(stage.env), _parameters(stage.env)
    before = _flat_gradients(others)
    parameters[3].requires_grad_(False)
    for given in (parameters, others):
        _call(stage, given, 0.4 * _joint_norm(given))
    title = "얼린 매개변수가 있을 때와 없을 때의 그레이디언트"
    record_difference(stage.recorder, title, _flat_gradients(parameters), _flat_gradients(others), before)


@driver.scenario("generator", "제너레이터로 받은 매개변수", atol=CLIP_ATOL)
def _generator(stage: Stage) -> None:
    """Call with a generator, such as `model.parameters()` gives, and once more with a list.

    A wrong program reads the generator for the norm, and finds nothing left to scale.
    """
    parameters, others = _parameters(stage.env), _parameters(stage.env)
    before = _flat_gradients(parameters)
    _call(stage, (p for p in parameters), 0.4 * _joint_norm(parameters))
    _call(stage, others, 0.4 * _joint_norm(others))
    title = "제너레이터로 줄 때와 리스트로 줄 때의 그레이디언트 값"
    record_difference(stage.recorder, title, _flat_gradients(parameters), _flat_gradients(others), before)


@driver.scenario("in-place", "제자리에서 줄이기", check="generator", atol=CLIP_ATOL)
def _in_place(stage: Stage) -> None:
    """Hold the tensors in `.grad` from before the call, as other code may.

    A wrong program assigns new tensors to `.grad`, and the held ones stay as they were.
    """
    parameters = _parameters(stage.env)
    held, before = [p.grad for p in parameters if p.grad is not None], _flat_gradients(parameters)
    _call(stage, parameters, 0.4 * _joint_norm(parameters))
    flat_held = torch.cat([grad.detach().double().ravel() for grad in held])
    record_difference(
        stage.recorder, "들고 있던 텐서와 `.grad`", _flat_gradients(parameters), flat_held, before
    )
    are_same = all(parameter.grad is grad for parameter, grad in zip(parameters, held, strict=True))
    stage.recorder.fact("부르기 전과 같은 텐서", yes_or_no(are_same))


@driver.scenario("returns", "반환값", atol=CLIP_ATOL)
def _returns(stage: Stage) -> None:
    """Record the returned norm, with a limit below the norm, with one above it and with a limit of 0.

    A wrong program returns the norm after clipping, a tensor, or nothing.
    """
    for number, factor in enumerate((0.4, 2.0, 0.0)):
        parameters = _parameters(stage.env, str(number))
        stage.recorder.returned(_call(stage, parameters, factor * _joint_norm(parameters)))


@driver.scenario("not-finite", "무한대와 NaN", atol=CLIP_ATOL)
def _not_finite(stage: Stage) -> None:
    """Call with a finite gradient, then with one component infinite or NaN.

    A wrong program spreads NaN to all gradients, refuses only one of the two, or raises another exception. The finite
    gradient comes first because a program that always raises must fail here too.
    """
    parameters = _parameters(stage.env)
    _call(stage, parameters, 0.4 * _joint_norm(parameters))
    for value in (math.inf, math.nan, -math.inf):
        parameters = _parameters(stage.env)
        assert parameters[2].grad is not None
        parameters[2].grad[1, 1] = value
        fact = f"그레이디언트에 {value}가 있을 때"
        stage.recorder.record_raised(RuntimeError, fact, stage.student("clip_global_norm"), parameters, 1.0)
        stage.recorder.array(f"{value}가 있던 그레이디언트", _flat_gradients(parameters))
