"""Driver of `lambda_max`, which finds by power iteration the Hessian's eigenvalue that is largest by absolute value.

Scenarios isolate the value (also a negative one), the number of iterations, unused and frozen parameters, dropout, and
everything that must be left as it was. Start vectors differ from program to program, so values are compared only where
power iteration has long converged: samples that are much alike, targets that are nearly met and outputs of unequal
weight leave one direction that is by far the steepest.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Batch,
    LossFn,
    Modes,
    Net,
    batches,
    initialize,
    loss_function,
    mlp,
    set_modes,
)
from grader.exercises.fixtures.returned import record_numbers
from grader.exercises.fixtures.witnesses import seeded_number
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.exercises.sam_accumulation._untouched import (
    RANDOM_STATE,
    add_state_scenarios,
    add_weight_scenarios,
    record_type,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number

driver = Driver("lambda_max", cost=8)  # most calls make 100 products, each a pass forward and back

_VALUE_ATOL = 1e-5
"""Absolute tolerance of values. Programs that take differences of gradients instead of a second derivative are right,
and so are programs whose value passes through float32.
"""

_CONVERGED = 1e-4
"""Distance at which an eigenvalue of 4 counts as reached, if all others are below 1. After four products, the value is
within this distance. After one product it is mostly off by some tenths, and for one start vector in a million within
this distance.
"""

_FLOAT32_VALUE_ATOL = 1e-3
"""Absolute tolerance of a value of about 5 that is computed from a second derivative in float32."""


def _measure(
    stage: Stage, model: Net, batch: Batch, loss_fn: LossFn | None = None, iterations: int | None = None
) -> Any:
    """Call the student's function once, from a random state that follows from the scenario."""
    model.observer = stage.recorder
    stage.env.set_random_state(RANDOM_STATE)
    asked = {} if iterations is None else {"iterations": iterations}
    return stage.recorder.call(
        stage.student("lambda_max"), model, loss_fn or loss_function(stage.env), *batch, **asked
    )


def _measure_batch(stage: Stage, model: Net, batch: Batch) -> Any:
    return _measure(stage, model, batch, iterations=3)


def _measure_new_batch(stage: Stage, model: Net) -> Any:
    (batch,) = batches(stage.env, (6,))
    return _measure_batch(stage, model, batch)


def _near_its_targets(env: Env, model: Net, size: int, salt: str = "data") -> Batch:
    """Return samples that are much alike, and targets close to what the model computes for them without dropout."""
    generator = env.generator(salt)
    middle = torch.randn(FEATURES, generator=generator, dtype=torch.float64)
    noise = torch.randn(size, FEATURES, generator=generator, dtype=torch.float64)
    inputs = (1.5 * middle / middle.norm() + 0.2 * noise).to(env.device)
    parameter = next(model.parameters())
    modes = [(module, module.training) for module in model.modules()]
    with torch.no_grad():
        outputs = model.eval()(inputs.to(parameter.dtype)).double()
    for module, training in modes:
        module.training = training
    off = torch.randn(size, CLASSES, generator=generator, dtype=torch.float64).to(env.device)
    return inputs.to(parameter.dtype), (outputs + 0.3 * off).to(parameter.dtype)


def _loss(env: Env, *, sign: float = 1.0) -> LossFn:
    """Return a weighted squared distance in which the first output counts most; by how much follows from the seed."""
    first = 0.2 + 0.1 * float(torch.rand(1, generator=env.generator("loss")))
    weights = sign * torch.tensor([first, 0.03, 0.015], dtype=torch.float64, device=env.device)

    def loss_fn(output: Tensor, target: Tensor) -> Tensor:
        return ((output - target).square() * weights.to(output.dtype)).sum(dim=1).mean()

    return loss_fn


def _dropout_mlp(env: Env, salt: str) -> Net:
    layers = [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Dropout(0.4), nn.Linear(HIDDEN, CLASSES)]
    return initialize(Net(layers), env, salt)


def _values(stage: Stage, make: Callable[[str], Net], loss_fn: LossFn, sizes: Sequence[int]) -> None:
    """Record the value of one model for each batch size."""
    values = []
    for n, size in enumerate(sizes):
        model = make(f"model {n}")
        batch = _near_its_targets(stage.env, model, size, f"data {n}")
        values.append(_measure(stage, model, batch, loss_fn))
    record_numbers(stage.recorder, values)


def _measure_given(stage: Stage, eigenvalues: Sequence[float], iterations: int) -> Any:
    """Call the student's function on one linear layer and a squared loss, whose Hessian has the given eigenvalues."""
    generator = stage.env.generator("columns")
    noise = torch.randn(FEATURES, FEATURES, generator=generator, dtype=torch.float64)
    turned = torch.linalg.qr(noise).Q
    scale = (0.5 * FEATURES * torch.tensor(eigenvalues, dtype=torch.float64)).sqrt()
    inputs = (scale[:, None] * turned).to(stage.env.device)
    model = initialize(Net([nn.Linear(FEATURES, 1, bias=False)]), stage.env, "model")

    def squared(output: Tensor, target: Tensor) -> Tensor:
        return (output[:, 0] - target).square().mean()

    return _measure(stage, model, (inputs, inputs.sum(dim=1)), squared, iterations)


@driver.scenario("value", "평가 모드의 모델", atol=_VALUE_ATOL)
def _value(stage: Stage) -> None:
    _values(stage, lambda salt: mlp(stage.env, salt).eval(), _loss(stage.env), sizes=(6, 5))


@driver.scenario("negative", "손실이 위로 볼록한 곳", check="value", atol=_VALUE_ATOL)
def _negative(stage: Stage) -> None:
    """The eigenvalue that is largest by absolute value is negative here."""
    _values(stage, lambda salt: mlp(stage.env, salt).eval(), _loss(stage.env, sign=-1.0), sizes=(6,))


@driver.scenario("slow", "수렴이 느린 모델", check="value", atol=_VALUE_ATOL)
def _slow(stage: Stage) -> None:
    """First a Hessian for which 300 iterations are plenty and 100 are not.

    Then a Hessian for which four iterations are plenty and one is not: a function that makes a few iterations more than
    it was asked for has converged by then.

    A value that has not converged depends on the start vector. So only whether it has converged is recorded.
    """
    value = as_number(_measure_given(stage, (4.0, 3.87, 3.86, 3.84, 0.5), iterations=300))
    converged = abs(value - 4.0) < _VALUE_ATOL
    stage.recorder.fact("`iterations=300`으로 수렴함", converged)
    early = as_number(_measure_given(stage, (4.0, 0.8, 0.6, 0.5, 0.4), iterations=1))
    stage.recorder.fact("`iterations=1`인데 벌써 수렴함", abs(early - 4.0) < _CONVERGED)


@driver.scenario("iterations", "받은 횟수만큼의 곱", check="value", atol=_VALUE_ATOL)
def _iterations(stage: Stage) -> None:
    """The number of products that five iterations make more than two, whatever vector they start from.

    All eigenvalues but two are zero, so that v lies in the plane of two eigenvectors after one product. With squared
    components a and b in these directions, the value is (large * a + small * b) / (a + b), which tells b / a; and each
    further product multiplies b / a by (small / large)**2.
    """
    large = 3.0 + seeded_number(stage.env, "large")
    small = 0.8 * large
    values = [
        as_number(_measure_given(stage, (large, small, 0.0, 0.0, 0.0), iterations)) for iterations in (2, 5)
    ]
    more = None
    if math.isclose(*values, rel_tol=1e-9):
        more = 0  # after many products, which may give `large` to the bit: no b / a to divide by
    elif all(small < value < large for value in values):
        before, after = ((large - value) / (value - small) for value in values)
        more = round(math.log(after / before) / math.log((small / large) ** 2))
    stage.recorder.claim(
        "`iterations`를 2에서 5로 늘릴 때 늘어난 곱의 수", more, [large * (more is not None)]
    )


@driver.scenario("flat", "평평한 손실", check="value", atol=_VALUE_ATOL)
def _flat(stage: Stage) -> None:
    """A loss that is zero everywhere: every product is zero, and has no length to divide by.

    Then a loss that is nearly zero, whose value counts like any other.
    """
    model = mlp(stage.env).eval()
    batch = _near_its_targets(stage.env, model, 6)
    zero = _measure(stage, model, batch, _loss(stage.env, sign=0.0), iterations=3)
    small = _measure(stage, model, batch, _loss(stage.env, sign=1e-5), iterations=30)
    record_numbers(stage.recorder, [zero, 1e5 * as_number(small)])


@driver.scenario("unused", "손실에 쓰이지 않는 매개변수가 있는 모델", check="value", atol=_VALUE_ATOL)
def _unused(stage: Stage) -> None:
    """An unused parameter adds rows and columns of zeros to the Hessian, which change no eigenvalue other than zero."""
    model = mlp(stage.env).eval()
    batch = _near_its_targets(stage.env, model, 6)
    unused = torch.ones(2, dtype=torch.float64, device=stage.env.device)
    model.register_parameter("unused", nn.Parameter(unused))
    record_numbers(stage.recorder, [_measure(stage, model, batch, _loss(stage.env))])


@driver.scenario("float32", "float32 모델", check="value", atol=_FLOAT32_VALUE_ATOL)
def _float32(stage: Stage) -> None:
    """A float32 model, because autocast leaves float64 alone and would not show there."""
    model = mlp(stage.env).float().eval()
    batch = _near_its_targets(stage.env, model, 6)
    record_numbers(stage.recorder, [_measure(stage, model, batch, _loss(stage.env))])


@driver.scenario("train-mode", "드롭아웃이 있는 모델", atol=_VALUE_ATOL)
def _train_mode(stage: Stage) -> None:
    """All iterations must use one dropout mask: that of the random state in which the function was called."""
    _values(stage, lambda salt: _dropout_mlp(stage.env, salt).train(), _loss(stage.env), sizes=(6,))


@driver.scenario("frozen-value", "얼린 매개변수가 있는 모델의 값", check="frozen", atol=_VALUE_ATOL)
def _frozen_value(stage: Stage) -> None:
    """The Hessian is that of the trained parameters, without the frozen ones."""
    model = mlp(stage.env).eval()
    first, *_ = model.parameters()
    first.requires_grad_(False)
    batch = _near_its_targets(stage.env, model, 6)
    record_numbers(stage.recorder, [_measure(stage, model, batch, _loss(stage.env))])


@driver.scenario("frozen", "얼린 매개변수가 있는 모델")
def _frozen(stage: Stage) -> None:
    """Frozen parameters must stay frozen."""
    model = mlp(stage.env)
    first, *_, last = model.parameters()
    for parameter in (first, last):
        parameter.requires_grad_(False)
    _measure_new_batch(stage, model)
    names = [name for name, p in model.named_parameters() if not p.requires_grad]
    stage.recorder.fact("requires_grad=False인 매개변수", ", ".join(names))


add_weight_scenarios(driver, "weights", _measure_batch)
add_state_scenarios(driver, "statistics", _measure_batch)
add_mode_scenarios(driver, _measure_new_batch, check="statistics")


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """The type of the returned value."""
    model = set_modes(mlp(stage.env), Modes.ALL_EVAL)
    record_type(stage, _measure_new_batch, model)
