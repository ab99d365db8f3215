"""Driver of `add_gradient`, which adds a weighted gradient to `.grad` and returns the unweighted loss.

Scenarios isolate the weight, gradients that are already there, parameters that get none, modes, a single forward pass,
and the returned loss. Weights are eighths, which float32 holds exactly: a weight that passes through a float32 tensor
is right too.
"""

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    Net,
    add_gradients,
    batches,
    buffers,
    loss_function,
    mlp,
    norm_dropout_mlp,
)
from grader.exercises.fixtures.given_modes import EVERY_MODE, record_modes
from grader.exercises.fixtures.precision import record_precision
from grader.exercises.fixtures.tolerances import FLOAT32_ATOL
from grader.observe.play import Driver, Env, Stage

driver = Driver("add_gradient")

SIZES = (4, 3, 9)


def _weights(env: Env) -> list[float]:
    """Return three different weights below 1."""
    return [(1 + (env.number("weight") + 2 * place) % 7) / 8 for place in range(len(SIZES))]


def _gradients(model: nn.Module) -> Tensor:
    """Return all gradients in one vector; zeros for a parameter without one."""
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return torch.cat([grad.detach().ravel() for grad in grads])


def _added(stage: Stage, model: Net, number: int = 0) -> object:
    """Call the student's function once, with the batch and the weight of this number."""
    env = stage.env
    batch, weight = batches(env, SIZES)[number], _weights(env)[number]
    return stage.recorder.call(stage.student("add_gradient"), model, loss_function(env), *batch, weight)


@driver.scenario("weight", "그레이디언트가 없던 모델에 한 번")
def _weight(stage: Stage) -> None:
    """One call on each of several fresh models."""
    for number in range(len(SIZES)):
        model = mlp(stage.env, f"model {number}")
        stage.recorder.watch(model)
        _added(stage, model, number)
        stage.recorder.array(f"{number + 1}번째 모델의 그레이디언트", _gradients(model))


@driver.scenario("float32", "float32 모델", check="weight")
def _float32(stage: Stage) -> None:
    """The dtypes of a float32 model after a call, because autocast leaves float64 alone."""
    model, (xb, yb) = mlp(stage.env).float(), batches(stage.env, SIZES)[0]
    stage.recorder.watch(model, states=False)
    stage.recorder.call(stage.student("add_gradient"), model, loss_function(stage.env), xb.float(), yb, 0.25)
    record_precision(stage.recorder, model)


@driver.scenario("none", "그레이디언트를 받지 않는 매개변수", check="weight")
def _none(stage: Stage) -> None:
    """A frozen parameter, and one that the loss does not reach: no gradient may appear, and no exception be raised."""
    model = mlp(stage.env)
    frozen = next(model.parameters()).requires_grad_(False)
    unused = nn.Parameter(torch.ones_like(frozen))
    model.register_parameter("unused", unused)
    stage.recorder.watch(model, states=False)
    _added(stage, model)
    for name, parameter in (("고정한", frozen), ("손실이 닿지 않는", unused)):
        stage.recorder.fact(f"{name} 매개변수의 .grad", "None" if parameter.grad is None else "텐서")


@driver.scenario("keeps", "이미 그레이디언트가 있는 모델")
def _keeps(stage: Stage) -> None:
    """The gradient that a fresh model gets is subtracted again, so a wrong weight costs nothing here."""
    fresh, model = mlp(stage.env), mlp(stage.env)
    stage.recorder.watch(fresh, states=False)
    _added(stage, fresh)
    add_gradients(stage.env, model)
    stage.recorder.watch(model, states=False)
    _added(stage, model)
    stage.recorder.array("이미 있던 그레이디언트", _gradients(model) - _gradients(fresh))
    stage.recorder.fact("그레이디언트를 더함", "예" if bool(_gradients(fresh).ne(0).any()) else "아니요")


@driver.scenario("modes", "받은 모드")
def _modes(stage: Stage) -> None:
    """A model in each mode; two calls each."""

    def use(model: Net) -> None:
        stage.recorder.watch(model, states=False)
        for number, batch in enumerate(batches(stage.env, SIZES)[:2]):
            weight = _weights(stage.env)[number]
            given = (model, loss_function(stage.env), *batch, weight)
            stage.recorder.call(stage.student("add_gradient"), *given)

    record_modes(stage, lambda: mlp(stage.env), use, EVERY_MODE)


@driver.scenario("once", "배치 정규화가 있는 모델", check="modes")
def _once(stage: Stage) -> None:
    """BatchNorm's running statistics tell how many forward passes there were: only one is allowed."""
    model = norm_dropout_mlp(stage.env)
    stage.recorder.watch(model, states=False)
    _added(stage, model)
    stage.recorder.array("이동 통계량", buffers(model))


@driver.scenario("returns", "반환값", atol=FLOAT32_ATOL)
def _returns(stage: Stage) -> None:
    """The losses of fresh models, before the weight is applied."""
    for number in range(len(SIZES)):
        model = mlp(stage.env, f"model {number}")
        stage.recorder.returned(_added(stage, model, number))


@driver.scenario("quiet", "화면 출력", check="returns")
def _quiet(stage: Stage) -> None:
    """Nothing may be printed."""
    _added(stage, mlp(stage.env))
    stage.recorder.fact("print를 부름", "예" if stage.recorder.prints else "아니요")
