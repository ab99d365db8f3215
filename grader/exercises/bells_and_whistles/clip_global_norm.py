"""Driver of `clip_global_norm`, which scales all gradients in place if their joint norm exceeds a limit.

Scenarios isolate norms above, below and at zero, gradients that are None, frozen, infinite or NaN, generators, changes
in place, and the returned norm (the one before clipping).
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import CLIP_ATOL
from grader.exercises.fixtures.usual import record_alike
from grader.observe.play import Driver, Env, Stage
from grader.observe.wording import yes_or_no

driver = Driver("clip_global_norm")

_SHAPES = ((3, 4), (4,), (2, 3), (5,))


def _parameters(env: Env, salt: str = "grads") -> list[nn.Parameter]:
    """Return four parameters, each with larger gradients than the one before.

    One component is -6, so that the largest component by absolute value is negative.
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


def _gradients(parameters: Sequence[nn.Parameter]) -> Tensor:
    """Return all gradients as one vector; NaN in place of a missing one."""
    parts = [
        torch.full_like(p, torch.nan) if p.grad is None or p.grad.shape != p.shape else p.grad
        for p in parameters
    ]
    return torch.cat([part.detach().double().ravel() for part in parts])


def _norm(parameters: Sequence[nn.Parameter]) -> float:
    return float(torch.linalg.vector_norm(torch.nan_to_num(_gradients(parameters), nan=0.0)))


def _clipped(stage: Stage, parameters: Any, max_norm: float) -> Any:
    return stage.recorder.call(stage.student("clip_global_norm"), parameters, max_norm)


@driver.scenario("clips", "노름이 max_norm보다 클 때", atol=CLIP_ATOL)
def _clips(stage: Stage) -> None:
    """Two limits: one below the largest component, where clipping by value acts too, and one close to the norm."""
    for number, share in enumerate((0.15, 0.9)):
        parameters = _parameters(stage.env, str(number))
        _clipped(stage, parameters, share * _norm(parameters))
        stage.recorder.array(f"{number + 1}번째로 줄인 그레이디언트", _gradients(parameters))


@driver.scenario("small", "노름이 max_norm보다 작을 때", atol=CLIP_ATOL)
def _small(stage: Stage) -> None:
    """Limits of 1.5, 4 and 1.02 times the norm: far enough that an epsilon added to the norm changes nothing.

    The last of these limits lies less than 1 above the norm. Then comes a limit below the norm, at which any change
    counts as right: a function that never changes anything must fail here.
    """
    for number, factor in enumerate((1.5, 4.0, 1.02)):
        parameters = _parameters(stage.env, str(number))
        _clipped(stage, parameters, factor * _norm(parameters))
        stage.recorder.array(f"{number + 1}번째로 건넨 그레이디언트", _gradients(parameters))
    parameters = _parameters(stage.env, "beyond")
    before = _gradients(parameters)
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    changed = bool((before - _gradients(parameters)).ne(0).any())
    stage.recorder.array("노름이 max_norm을 넘는 그레이디언트가 바뀜", before * changed)


@driver.scenario("zero", "모두 0인 그레이디언트", check="small", atol=CLIP_ATOL)
def _zero(stage: Stage) -> None:
    """A norm of zero, by which nothing can be divided. Then a norm above the limit, whose gradient must change somehow.

    The second part is there so that a function that never changes anything fails.
    """
    zeros, beyond = _parameters(stage.env, "zeros"), _parameters(stage.env, "beyond")
    for parameter in zeros:
        assert parameter.grad is not None
        parameter.grad.zero_()
    before = _gradients(beyond)
    _clipped(stage, zeros, 1.0)
    _clipped(stage, beyond, 0.4 * _norm(beyond))
    changed = bool((before - _gradients(beyond)).ne(0).any())
    stage.recorder.array("0이던 그레이디언트", _gradients(zeros) + before * changed)


@driver.scenario("none", ".grad가 None인 매개변수", atol=CLIP_ATOL)
def _missing(stage: Stage) -> None:
    """Two parameters without a gradient: the first one, and a frozen one.

    The gradients of the others are compared with those that the same function makes without these two, so that a wrong
    norm costs nothing here.
    """
    parameters = _parameters(stage.env)
    for number in (0, 3):
        parameters[number].grad = None
    parameters[3].requires_grad_(False)
    others = _parameters(stage.env)[1:3]
    before = _gradients(others)
    for given in (parameters, others):
        _clipped(stage, given, 0.4 * _norm(given))
    what = "None인 매개변수가 있을 때와 없을 때의 그레이디언트"
    record_alike(stage.recorder, what, _gradients(parameters[1:3]), _gradients(others), before)
    stage.recorder.fact("None이던 .grad", ["None" if parameters[i].grad is None else "텐서" for i in (0, 3)])


@driver.scenario("frozen", "그레이디언트가 남아 있는 얼린 매개변수", check="none", atol=CLIP_ATOL)
def _frozen(stage: Stage) -> None:
    """A parameter was frozen after its backward pass. The optimizer would still read its gradient, so clip it too.

    The gradients are compared with those that the same function makes of parameters of which none is frozen.
    """
    parameters, others = _parameters(stage.env), _parameters(stage.env)
    before = _gradients(others)
    parameters[3].requires_grad_(False)
    for given in (parameters, others):
        _clipped(stage, given, 0.4 * _norm(given))
    what = "얼린 매개변수가 있을 때와 없을 때의 그레이디언트"
    record_alike(stage.recorder, what, _gradients(parameters), _gradients(others), before)


@driver.scenario("generator", "제너레이터로 받은 매개변수", atol=CLIP_ATOL)
def _from_generator(stage: Stage) -> None:
    """The parameters come from a generator, as from `model.parameters()`, which can be read only once."""
    parameters, others = _parameters(stage.env), _parameters(stage.env)
    before = _gradients(parameters)
    _clipped(stage, (p for p in parameters), 0.4 * _norm(parameters))
    _clipped(stage, others, 0.4 * _norm(others))
    what = "제너레이터와 리스트로 받았을 때의 그레이디언트"
    record_alike(stage.recorder, what, _gradients(parameters), _gradients(others), before)


@driver.scenario("in-place", "제자리에서 줄이기", check="generator", atol=CLIP_ATOL)
def _in_place(stage: Stage) -> None:
    """The gradient must shrink in its own tensor, so that other code that holds this tensor sees it."""
    parameters = _parameters(stage.env)
    held, before = [p.grad for p in parameters if p.grad is not None], _gradients(parameters)
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    seen = torch.cat([grad.detach().double().ravel() for grad in held])
    record_alike(stage.recorder, "들고 있던 텐서와 `.grad`", _gradients(parameters), seen, before)
    same = all(parameter.grad is grad for parameter, grad in zip(parameters, held, strict=True))
    stage.recorder.fact("부르기 전과 같은 텐서", yes_or_no(same))


@driver.scenario("returns", "반환값", atol=CLIP_ATOL)
def _norms(stage: Stage) -> None:
    """The norm before clipping is returned, with and without a clip."""
    for number, factor in enumerate((0.4, 2.0)):
        parameters = _parameters(stage.env, str(number))
        stage.recorder.returned(_clipped(stage, parameters, factor * _norm(parameters)))


@driver.scenario("not-finite", "무한대와 NaN", atol=CLIP_ATOL)
def _not_finite(stage: Stage) -> None:
    """A gradient that is infinite or NaN must be refused, and stay as it was.

    A finite gradient comes first: a function that always raises must fail here too. How the finite gradient is clipped
    is judged elsewhere.
    """
    parameters = _parameters(stage.env)
    _clipped(stage, parameters, 0.4 * _norm(parameters))
    for value in (math.inf, math.nan, -math.inf):
        parameters = _parameters(stage.env)
        assert parameters[2].grad is not None
        parameters[2].grad[1, 1] = value
        what = f"그레이디언트에 {value}가 있을 때"
        stage.recorder.record_raised(RuntimeError, what, stage.student("clip_global_norm"), parameters, 1.0)
        stage.recorder.array(f"{value}가 있던 그레이디언트", _gradients(parameters))
