"""The model, data, scalers and bodies of scenarios that the drivers of `amp_step` and `amp_accumulate` share."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from grader.exercises.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Batch,
    LossFn,
    batches,
    gradient_norm,
    initialize,
    last_layer_to_eval,
    loss_function,
    scale_rates,
    sgd,
)
from grader.exercises.loop_anatomy._autocast import AutocastNet, noting_loss
from grader.observe.play import Env, Problem, Stage
from grader.observe.wording import with_particle

AMP_ATOL = 2e-6
"""Absolute tolerance for arrays; right programs differ by less. Adding in another order in float32 makes a difference
of 1e-7, and a scale that is a power of two makes none. In float64, a hand-written clip without torch's 1e-6 makes up to
about 2e-6.
"""

NEVER_CLIPS = 1e6
"""A `max_norm` above any ordinary gradient's norm: clipping is asked for, and changes nothing."""


def make_layers() -> list[nn.Module]:
    """Return the layers of every model in the two exercises."""
    return [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]


def autocast_net(env: Env) -> AutocastNet:
    """Return a model that notes what autocast asks for and computes in float64."""
    net = AutocastNet(make_layers(), env)
    initialize(net, env, "model")
    return net


def exactly_representable_batches(env: Env, sizes: tuple[int, ...]) -> list[Batch]:
    """Return batches of these sizes, with inputs clamped to ±4 and rounded to multiples of 1/8.

    Every precision holds such inputs exactly, so casting them early is no mistake.
    """
    return [((xb.clamp(-4, 4) * 8).round() / 8, yb) for xb, yb in batches(env, sizes)]


def grad_scaler(env: Env, **settings: Any) -> torch.amp.GradScaler:
    """Return a GradScaler for the scenario's device with these settings, such as `init_scale`."""
    return torch.amp.GradScaler(env.device.type, **settings)


def initial_gradient_norm(env: Env, batch: Batch) -> float:
    """Return the L2 norm of the batch's gradient at the initial weights of `autocast_net`, measured on a second net."""
    return gradient_norm(autocast_net(env), loss_function(env), batch)


def update_with_limits(
    stage: Stage,
    name: str,
    problem: Problem,
    opt: Optimizer,
    calls: Iterable[Sequence[Any]],
    limits: Iterable[float | None],
    *,
    dtype: torch.dtype,
    scaler: torch.amp.GradScaler | None,
) -> None:
    """Call the learner's function once for each `max_norm`; the learning rates fall from call to call.

    The model is in train and eval mode in turn. It has neither BatchNorm nor dropout, so a right update is the same in
    both. With a scaler, its scale after each call is recorded.

    Args:
        stage: the scenario's stage.
        name: name of the exercise.
        problem: the model and the loss function.
        opt: the optimizer of the problem's model.
        calls: for each call, the positional arguments after the loss function.
        limits: for each call, `max_norm`.
        dtype: the precision to ask for.
        scaler: the scaler to give, or None.
    """
    scales = []
    for number, (arguments, limit) in enumerate(zip(calls, limits, strict=True)):
        problem.model.train(number % 2 == 0)
        stage.recorder.call(
            stage.student(name),
            *(problem.model, opt, problem.loss_fn, *arguments),
            dtype=dtype,
            scaler=scaler,
            max_norm=limit,
        )
        scale_rates(opt, 0.8)
        if scaler is not None:
            scales.append(scaler.get_scale())
    if scaler is not None:
        stage.recorder.array("배율", scales)


def update_with_limit_zero(
    stage: Stage, name: str, problem: Problem, arguments: Sequence[Any], *, with_scaler: bool
) -> None:
    """Call the learner's function with `max_norm=0.0`, which must leave all parameters where they are.

    A program that asks `if max_norm:` does not clip at zero, and moves them.
    """
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt)
    scaler = grad_scaler(stage.env, init_scale=2.0**8) if with_scaler else None
    dtype = torch.float16 if with_scaler else torch.bfloat16
    update_with_limits(stage, name, problem, opt, [arguments], [0.0], dtype=dtype, scaler=scaler)


def record_autocast_precisions(
    stage: Stage, call: Callable[[nn.Module, LossFn, torch.dtype, Any], None]
) -> None:
    """Record which precision autocast asks for during forward pass, loss and backward pass.

    There are four calls: bfloat16 without a scaler, float16 with one, bfloat16 with one that is disabled, bfloat16 with
    one that is enabled. A program that concludes from a scaler that float16 is wanted differs in the last ones.

    Args:
        stage: the scenario's stage.
        call: calls the learner's function with a model, a loss function, a precision, and a scaler or None.
    """
    env, recorder = stage.env, stage.recorder
    disabled, enabled = grad_scaler(env, enabled=False), grad_scaler(env, init_scale=2.0**8)
    cases = (
        (torch.bfloat16, None, ""),
        (torch.float16, grad_scaler(env, init_scale=2.0**8), ""),
        (torch.bfloat16, disabled, "(꺼 둔 스케일러)"),
        (torch.bfloat16, enabled, "(켜 둔 스케일러)"),
    )
    for dtype, scaler, remark in cases:
        model = autocast_net(env)
        call(model, noting_loss(loss_function(env), model.notes), dtype, scaler)
        for part in ("순전파", "손실", "역전파"):
            name = f"{str(dtype).removeprefix('torch.')}{remark}"
            asked = f"{with_particle(name, '을/를')} 청한 {part}의 autocast"
            recorder.claim(asked, model.notes.fact(part), model.notes.witness(part))


_OVERFLOW_MARK = 100
"""Number that is added to the labels of samples whose loss is to be infinite; real labels are smaller."""


def with_infinite_loss(batch: Batch) -> Batch:
    """Return the batch with marked labels, for which `record_updates_and_scales` makes the loss infinite."""
    return batch[0], batch[1] + _OVERFLOW_MARK


def record_updates_and_scales(
    stage: Stage, name: str, calls: Sequence[Sequence[Any]], *, max_norm: float | None = None
) -> None:
    """Call the learner's function in float16, with each of these arguments; record updates and scales.

    Args:
        stage: the scenario's stage.
        name: name of the exercise.
        calls: for each call, the positional arguments after the loss function. The loss is infinite for batches that
            `with_infinite_loss` has marked.
        max_norm: given to each call.
    """
    loss_fn = loss_function(stage.env)

    def loss(output: Tensor, target: Tensor) -> Tensor:
        infinite = bool((target >= _OVERFLOW_MARK).any())
        return loss_fn(output, target % _OVERFLOW_MARK) * (torch.inf if infinite else 1.0)

    model = autocast_net(stage.env)
    opt = sgd(model)
    scaler = grad_scaler(stage.env, init_scale=2.0**8)
    stage.recorder.watch(model, opt)
    scales = []
    for arguments in calls:
        stage.recorder.call(
            stage.student(name),
            *(model, opt, loss, *arguments),
            dtype=torch.float16,
            scaler=scaler,
            max_norm=max_norm,
        )
        scales.append(scaler.get_scale())
    stage.recorder.array("배율", scales)


def record_returned(stage: Stage, name: str, calls: Sequence[Sequence[Any]], *, with_scaler: bool) -> None:
    """Record what calls return: in float16 with a scaler, or in bfloat16 without one.

    Each call gets a model of its own, so that wrong updates do not show. `calls` holds the positional arguments of each
    after the loss function.
    """
    for arguments in calls:
        model = autocast_net(stage.env)
        value = stage.recorder.call(
            stage.student(name),
            *(model, sgd(model), loss_function(stage.env), *arguments),
            dtype=torch.float16 if with_scaler else torch.bfloat16,
            scaler=grad_scaler(stage.env, init_scale=2.0**6) if with_scaler else None,
        )
        stage.recorder.returned(value)


def record_modes_left(stage: Stage, name: str, arguments: Sequence[Any]) -> None:
    """Call the learner's function twice, and record the modes that it leaves.

    Only the last layer of the first model is in eval mode, and all of the second model.
    """
    for training in (True, False):
        model = autocast_net(stage.env)
        last_layer_to_eval(model)
        if not training:
            model.eval()
        stage.recorder.call(
            stage.student(name),
            *(model, sgd(model), loss_function(stage.env), *arguments),
            dtype=torch.bfloat16,
        )
        stage.recorder.fact(
            f"{'학습' if training else '평가'} 모드로 준 모델의 모드", [m.training for m in model.modules()]
        )
