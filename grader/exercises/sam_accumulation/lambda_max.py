"""Driver of `lambda_max`, which finds by power iteration the Hessian's eigenvalue that is largest by absolute value.

A *product* is that of the Hessian and a vector; power iteration makes one in each iteration.

Promises of the exercise, and the scenarios that check them:
    the value, with its sign: `value`, `negative`, `minimum`, `float32`; zero where every product is zero: `flat`
    as many products as `iterations` says: `slow`, `iterations`
    the Hessian is that of all trained parameters, also of those that the loss does not use: `unused`, `frozen-value`
    in the mode and from the random state found: `train-mode`
    weights, gradients and `requires_grad` stay as they are: `weights`, `gradients`, `held-gradients`, `frozen`
    BatchNorm's statistics, the random state and the modes stay as they are: `statistics`, `counter`, `random-state`,
        `modes-train`, `modes-eval`, `modes-frozen`
    the return value is a float: `types`

Each program starts from a random vector of its own. So values are compared only where power iteration has converged,
whatever the start. For that, one direction must be by far the steepest, which needs samples that are much
alike, targets that are nearly met (`_batch_near_targets`), and outputs of unequal weight (`_loss`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
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
    Net,
    batches,
    initialize,
    loss_function,
    mlp,
)
from grader.exercises.fixtures.returned import record_numbers
from grader.exercises.fixtures.witnesses import seeded_number
from grader.exercises.sam_accumulation._mode_scenarios import add_mode_scenarios
from grader.exercises.sam_accumulation._side_effect_scenarios import (
    RANDOM_STATE_SALT,
    add_state_scenarios,
    add_weight_scenarios,
    record_frozen,
    record_type,
)
from grader.observe.play import Driver, Env, Stage
from grader.observe.values import as_number

driver = Driver("lambda_max", cost=8)  # a call makes 100 products by default, each of which costs two passes

_VALUE_ATOL = 1e-5
"""Absolute tolerance of values. Programs that take differences of gradients instead of a second derivative are right,
and so are programs whose value passes through float32.
"""

_CONVERGED_EARLY_ATOL = 1e-4
"""Distance at which an eigenvalue of 4 counts as reached, if all others are below 1.

After one product, the value (read off by another one) is more than 0.45 off for half of the start vectors, and within
this distance for one in a million. After four products, it is within this distance for four in five. (Measured with
two million start vectors.)
"""

_FLOAT32_VALUE_ATOL = 1e-3
"""Absolute tolerance of a value (1.6 to 7.3 for 120 seeds) that is computed from a second derivative in float32."""


def _measure(
    stage: Stage, model: Net, batch: Batch, loss_fn: LossFn | None = None, iterations: int | None = None
) -> Any:
    """Call the learner's function once, from a random state that follows from the scenario, and return its result.

    Args:
        stage: the scenario's stage.
        model: the model whose Hessian is asked for.
        batch: inputs and targets of the loss.
        loss_fn: the loss function; None: `loss_function`.
        iterations: the number of products; None: the argument is left out.
    """
    model.observer = stage.recorder
    stage.env.set_random_state(RANDOM_STATE_SALT)
    optional = {} if iterations is None else {"iterations": iterations}
    return stage.recorder.call(
        stage.student("lambda_max"), model, loss_fn or loss_function(stage.env), *batch, **optional
    )


def _measure_batch(stage: Stage, model: Net, batch: Batch) -> Any:
    """Call the learner's function once with few iterations, for scenarios that do not compare the value."""
    return _measure(stage, model, batch, iterations=3)


def _measure_new_batch(stage: Stage, model: Net) -> Any:
    """Call the learner's function once with few iterations and with a batch that follows from the scenario."""
    (batch,) = batches(stage.env, (6,))
    return _measure_batch(stage, model, batch)


def _batch_near_targets(env: Env, model: Net, size: int, salt: str = "data") -> Batch:
    """Return samples that are much alike, and targets close to what the model computes for them in eval mode.

    The targets are numbers, of the shape of the model's outputs. The model's modes stay as they are.
    """
    generator = env.generator(salt)
    middle = torch.randn(FEATURES, generator=generator, dtype=torch.float64)
    noise = torch.randn(size, FEATURES, generator=generator, dtype=torch.float64)
    inputs = (1.5 * middle / middle.norm() + 0.2 * noise).to(env.device)
    dtype = next(model.parameters()).dtype
    modes = [(module, module.training) for module in model.modules()]
    with torch.no_grad():
        outputs = model.eval()(inputs.to(dtype)).double()
    for module, training in modes:
        module.training = training
    distance = torch.randn(size, CLASSES, generator=generator, dtype=torch.float64).to(env.device)
    return inputs.to(dtype), (outputs + 0.3 * distance).to(dtype)


def _loss(env: Env, *, factor: float = 1.0) -> LossFn:
    """Return a weighted squared distance in which the first output counts most; by how much follows from the seed.

    All eigenvalues are multiplied by `factor`.
    """
    first_weight = 0.2 + 0.1 * float(torch.rand(1, generator=env.generator("loss")))
    weights = factor * torch.tensor([first_weight, 0.03, 0.015], dtype=torch.float64, device=env.device)

    def loss_fn(output: Tensor, target: Tensor) -> Tensor:
        return ((output - target).square() * weights.to(output.dtype)).sum(dim=1).mean()

    return loss_fn


def _dropout_mlp(env: Env, salt: str) -> Net:
    """Return a model with dropout and without BatchNorm."""
    layers = [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Dropout(0.4), nn.Linear(HIDDEN, CLASSES)]
    return initialize(Net(layers), env, salt)


def _record_values(
    stage: Stage, make_model: Callable[[str], Net], loss_fn: LossFn, sizes: Sequence[int]
) -> None:
    """Record a value for each batch size, each of a model and a batch of its own.

    Args:
        stage: the scenario's stage.
        make_model: makes a model from a salt.
        loss_fn: the loss function.
        sizes: samples in each batch.
    """
    values = []
    for number, size in enumerate(sizes):
        model = make_model(f"model {number}")
        batch = _batch_near_targets(stage.env, model, size, f"data {number}")
        values.append(_measure(stage, model, batch, loss_fn))
    record_numbers(stage.recorder, values)


def _measure_eigenvalues(stage: Stage, eigenvalues: Sequence[float], iterations: int) -> Any:
    """Call the learner's function where the Hessian has the given `FEATURES` eigenvalues, and return its result.

    The model is one linear layer of `FEATURES` weights without bias, and the loss is the mean of squares. If there are
    as many samples, the rows of X, the Hessian is 2/FEATURES · Xᵀ X. Here X is an orthogonal matrix Q whose row i is
    scaled by sqrt(FEATURES/2 · eigenvalue i), so the Hessian is Qᵀ · diag(eigenvalues) · Q.
    """
    generator = stage.env.generator("columns")
    noise = torch.randn(FEATURES, FEATURES, generator=generator, dtype=torch.float64)
    orthogonal = torch.linalg.qr(noise).Q
    row_scales = (0.5 * FEATURES * torch.tensor(eigenvalues, dtype=torch.float64)).sqrt()
    inputs = (row_scales[:, None] * orthogonal).to(stage.env.device)
    model = initialize(Net([nn.Linear(FEATURES, 1, bias=False)]), stage.env, "model")

    def squared(output: Tensor, target: Tensor) -> Tensor:
        return (output[:, 0] - target).square().mean()

    return _measure(stage, model, (inputs, inputs.sum(dim=1)), squared, iterations)


# ---- the value -----------------------------------------------------------------------------------


@driver.scenario("value", "평가 모드의 모델", atol=_VALUE_ATOL)
def _value(stage: Stage) -> None:
    """Record values in eval mode.

    A wrong program does not normalize its vector, normalizes each tensor by itself, or leaves the biases out.
    """
    _record_values(stage, lambda salt: mlp(stage.env, salt).eval(), _loss(stage.env), sizes=(6, 5))


@driver.scenario("minimum", "손실이 가장 작은 곳", check="value", atol=_VALUE_ATOL)
def _minimum(stage: Stage) -> None:
    """Record the value where every target is met exactly, so that the gradient is zero and the Hessian is not.

    A wrong program starts from the gradient instead of a random vector.
    """
    model = mlp(stage.env).eval()
    inputs, _ = _batch_near_targets(stage.env, model, 6)
    with torch.no_grad():
        targets = model(inputs)
    record_numbers(stage.recorder, [_measure(stage, model, (inputs, targets), _loss(stage.env))])


@driver.scenario("negative", "손실이 위로 볼록한 곳", check="value", atol=_VALUE_ATOL)
def _negative(stage: Stage) -> None:
    """Record the value where the loss is concave: the eigenvalue that is largest by absolute value is negative.

    A wrong program returns the length of the product, which has no sign.
    """
    _record_values(stage, lambda salt: mlp(stage.env, salt).eval(), _loss(stage.env, factor=-1.0), sizes=(6,))


@driver.scenario("slow", "수렴이 느린 모델", check="value", atol=_VALUE_ATOL)
def _slow(stage: Stage) -> None:
    """Record whether 300 iterations converge where 100 do not, and whether 1 converges where a few more do.

    A wrong program ignores `iterations`, stops when the value seems steady, or makes a few products too many. Only
    whether the value has converged is recorded, because one that has not depends on the start vector.
    """
    late = as_number(_measure_eigenvalues(stage, (4.0, 3.87, 3.86, 3.84, 0.5), iterations=300))
    stage.recorder.fact("`iterations=300`으로 수렴함", abs(late - 4.0) < _VALUE_ATOL)
    early = as_number(_measure_eigenvalues(stage, (4.0, 0.8, 0.6, 0.5, 0.4), iterations=1))
    stage.recorder.fact("`iterations=1`인데 벌써 수렴함", abs(early - 4.0) < _CONVERGED_EARLY_ATOL)


@driver.scenario("iterations", "받은 횟수만큼의 곱", check="value", atol=_VALUE_ATOL)
def _iterations(stage: Stage) -> None:
    """Record how many more products five iterations make than two, whatever vector they start from.

    A wrong program makes another number of products than it was asked for. If the values do not tell the number, None
    is recorded. The witness is the larger eigenvalue, or zero if the values do not tell.
    """
    large = 3.0 + seeded_number(stage.env, "large")
    small = 0.8 * large
    eigenvalues = (large, small, 0.0, 0.0, 0.0)
    values = [as_number(_measure_eigenvalues(stage, eigenvalues, iterations)) for iterations in (2, 5)]
    more_products = _products_between(*values, large=large, small=small)
    witness = [large * (more_products is not None)]
    stage.recorder.claim("`iterations`를 2에서 5로 늘릴 때 늘어난 곱의 수", more_products, witness)


def _products_between(before: float, after: float, *, large: float, small: float) -> int | None:
    """Return how many products lie between two values of one power iteration; None if they do not tell.

    The Hessian's eigenvalues are `large`, `small` and zeros, so that the vector lies in the plane of two eigenvectors
    after one product. With squared components a and b in these directions, the value is
    (large · a + small · b) / (a + b), and so b / a = (large - value) / (value - small). Each product multiplies b / a
    by (small / large)².
    """
    if math.isclose(before, after, rel_tol=1e-9):
        return 0  # not computed below, because both values may be `large` to the bit, where b / a is 0
    if not (small < before < large and small < after < large):
        return None
    ratio_before, ratio_after = ((large - value) / (value - small) for value in (before, after))
    return round(math.log(ratio_after / ratio_before) / math.log((small / large) ** 2))


@driver.scenario("flat", "평평한 손실", check="value", atol=_VALUE_ATOL)
def _flat(stage: Stage) -> None:
    """Record the value for a loss that is zero everywhere, then for one that is nearly zero.

    A wrong program divides by the length of a product that is zero, or takes a small one for zero.
    """
    model = mlp(stage.env).eval()
    batch = _batch_near_targets(stage.env, model, 6)
    zero = _measure(stage, model, batch, _loss(stage.env, factor=0.0), iterations=3)
    small = _measure(stage, model, batch, _loss(stage.env, factor=1e-5), iterations=30)
    record_numbers(stage.recorder, [zero, 1e5 * as_number(small)])


@driver.scenario("unused", "손실에 쓰이지 않는 매개변수가 있는 모델", check="value", atol=_VALUE_ATOL)
def _unused(stage: Stage) -> None:
    """Record the value of a model with a parameter that the loss does not use, which adds zeros to the Hessian.

    A wrong program raises, because torch gives no gradient for it.
    """
    model = mlp(stage.env).eval()
    batch = _batch_near_targets(stage.env, model, 6)
    unused = torch.ones(2, dtype=torch.float64, device=stage.env.device)
    model.register_parameter("unused", nn.Parameter(unused))
    record_numbers(stage.recorder, [_measure(stage, model, batch, _loss(stage.env))])


@driver.scenario("float32", "float32 모델", check="value", atol=_FLOAT32_VALUE_ATOL)
def _float32(stage: Stage) -> None:
    """Record the value of a float32 model.

    A wrong program uses autocast, which leaves the float64 of the other scenarios alone.
    """
    model = mlp(stage.env).float().eval()
    batch = _batch_near_targets(stage.env, model, 6)
    record_numbers(stage.recorder, [_measure(stage, model, batch, _loss(stage.env))])


@driver.scenario("train-mode", "드롭아웃이 있는 모델", atol=_VALUE_ATOL)
def _train_mode(stage: Stage) -> None:
    """Record the value in train mode; the dropout mask follows from the random state in which the function was called.

    A wrong program draws a new mask in each iteration, draws its start vector first, or measures in eval mode.
    """
    _record_values(stage, lambda salt: _dropout_mlp(stage.env, salt).train(), _loss(stage.env), sizes=(6,))


@driver.scenario("frozen-value", "얼린 매개변수가 있는 모델의 값", check="frozen", atol=_VALUE_ATOL)
def _frozen_value(stage: Stage) -> None:
    """Record the value of a model with a frozen parameter.

    A wrong program includes frozen parameters in the Hessian.
    """
    model = mlp(stage.env).eval()
    first, *_ = model.parameters()
    first.requires_grad_(False)
    batch = _batch_near_targets(stage.env, model, 6)
    record_numbers(stage.recorder, [_measure(stage, model, batch, _loss(stage.env))])


# ---- what is left behind -------------------------------------------------------------------------


@driver.scenario("frozen", "얼린 매개변수가 있는 모델")
def _frozen(stage: Stage) -> None:
    """Record which parameters are frozen after the call, and whether they kept their gradients.

    A wrong program sets `requires_grad` to include them, and does not set it back; or it clears all gradients and puts
    back those of trainable parameters only.
    """
    record_frozen(stage, _measure_new_batch)


add_weight_scenarios(driver, _measure_batch, check="weights")
add_state_scenarios(driver, _measure_batch, check="statistics")
add_mode_scenarios(driver, _measure_new_batch, check="statistics")


@driver.scenario("types", "반환 타입")
def _types(stage: Stage) -> None:
    """Record the type of the returned value.

    A wrong program returns a tensor.
    """
    record_type(stage, _measure_new_batch, mlp(stage.env).eval())
