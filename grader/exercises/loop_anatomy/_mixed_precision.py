"""The model, data, scalers and scenarios' work that the drivers `amp_step.py` and `amp_accumulate.py` share.

Each driver has scenarios of its own, whose work the `record_…` and `call_…` functions here do. These take the
exercise's name and, for each call, the positional arguments after the loss function: a batch, or a window of
micro-batches. To test something new in both exercises, write such a function, and a scenario with `atol=AMP_ATOL` in
both drivers.
"""

from collections.abc import Iterable, Sequence
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
    Modes,
    batches,
    flat_weights,
    gradient_norm,
    initialize,
    loss_function,
    scale_rates,
    set_modes,
    sgd,
)
from grader.exercises.loop_anatomy._autocast import AutocastNet, noting_loss
from grader.observe.play import Env, Problem, Stage
from grader.observe.wording import with_particle, yes_or_no

AMP_ATOL = 2e-6
"""Absolute tolerance for arrays. Clipping by hand without torch's 1e-6 is right too (measured: 7e-8 apart), and so are
sums in another order (1e-7 in float32). A scale that is a power of two makes no difference.

`CLIP_ATOL` of `fixtures.classifiers` is wider, for norms that are summed in float32; those here are summed in float64.
"""

HIGH_MAX_NORM = 1e6
"""A `max_norm` above any ordinary gradient's norm: to clip at it changes nothing."""

OVERFLOWING_SCALE = 2.0**40
"""A scaler's first scale, so large that scaled gradients overflow: in float16 those of ordinary losses, in float64 only
those of losses that are large themselves."""
OVERFLOW_BACKOFF = 2.0**-32
"""A scaler's `backoff_factor`, so small that one overflow makes `OVERFLOWING_SCALE` an ordinary scale."""

_ORDINARY_SCALE = 2.0**8
"""A scaler's first scale where nothing is to overflow."""


def make_layers() -> list[nn.Module]:
    """Return new layers for one model; all models of the two exercises have such layers."""
    return [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]


def autocast_net(env: Env) -> AutocastNet:
    """Return an `AutocastNet`, which notes the precision to which autocast is set, and computes in float64."""
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
    """Return the L2 norm of the batch's gradient at the initial weights of every `autocast_net` of this env."""
    return gradient_norm(autocast_net(env), loss_function(env), batch)


def max_norms_in_turn(norm: float, *, with_scaler: bool) -> list[float | None]:
    """Return the `max_norm` of each of five calls: None, one that clips, one that is too high to clip, two that clip.

    With a scaler, the first two are exchanged: a program that forgets `scaler.update()` raises in the second call, so
    what it does wrong in clipping shows in its first update or never.

    Args:
        norm: norm of the gradient of the first call.
        with_scaler: True if the calls get a scaler.
    """
    first_two = (0.4 * norm, None) if with_scaler else (None, 0.4 * norm)
    return [*first_two, 50.0 * norm, 0.3 * norm, 0.2 * norm]


def call_with_max_norms(
    stage: Stage,
    name: str,
    problem: Problem,
    opt: Optimizer,
    arguments_of_calls: Iterable[Sequence[Any]],
    max_norms: Iterable[float | None],
    *,
    dtype: torch.dtype,
    scaler: torch.amp.GradScaler | None,
) -> None:
    """Call the learner's function once for each `max_norm`; the learning rates fall from call to call.

    With a scaler, record its scale after each call. Updates are recorded if the caller has watched the model
    (`Recorder.watch`).

    The model is in train mode in the first call, in eval mode in the second, and so on. It has neither BatchNorm nor
    dropout, so a right update is the same in both modes.

    Args:
        stage: the scenario's stage.
        name: name of the exercise.
        problem: the model and the loss function.
        opt: the optimizer of the problem's model.
        arguments_of_calls: for each call, the positional arguments after the loss function.
        max_norms: for each call, its `max_norm`.
        dtype: the `dtype` of all calls.
        scaler: the `scaler` of all calls; may be None.
    """
    scales = []
    for index, (arguments, max_norm) in enumerate(zip(arguments_of_calls, max_norms, strict=True)):
        problem.model.train(index % 2 == 0)
        stage.recorder.call(
            stage.student(name),
            *(problem.model, opt, problem.loss_fn, *arguments),
            dtype=dtype,
            scaler=scaler,
            max_norm=max_norm,
        )
        scale_rates(opt, 0.8)
        if scaler is not None:
            scales.append(scaler.get_scale())
    if scaler is not None:
        stage.recorder.array("배율", scales)


def call_with_zero_max_norm(
    stage: Stage, name: str, problem: Problem, arguments: Sequence[Any], *, with_scaler: bool
) -> None:
    """Watch a model, and call the learner's function with `max_norm=0.0`, which must leave its parameters as they are.

    A program that tests `if max_norm:` does not clip at zero, and moves them.

    Args:
        stage: the scenario's stage.
        name: name of the exercise.
        problem: the model and the loss function.
        arguments: the call's positional arguments after the loss function.
        with_scaler: call in float16 with a scaler; otherwise in bfloat16 without one.
    """
    opt = sgd(problem.model)
    stage.recorder.watch(problem.model, opt)
    scaler = grad_scaler(stage.env, init_scale=_ORDINARY_SCALE) if with_scaler else None
    dtype = torch.float16 if with_scaler else torch.bfloat16
    call_with_max_norms(stage, name, problem, opt, [arguments], [0.0], dtype=dtype, scaler=scaler)


def record_autocast_precisions(stage: Stage, name: str, arguments: Sequence[Any]) -> None:
    """Record the precision to which autocast is set during forward pass, loss and backward pass.

    There are six calls: bfloat16 without a scaler, float16 with one, bfloat16 with a disabled one, bfloat16 with an
    enabled one, float16 without one, and this again with a huge loss. A program that concludes from a scaler that
    float16 is wanted differs in the fourth, and in the third too if it does not ask whether the scaler is enabled. One
    that has a fixed precision where there is no scaler differs in the fifth; one that makes a scaler of its own there,
    in the sixth (`_record_huge_loss`).

    Args:
        stage: the scenario's stage.
        name: name of the exercise.
        arguments: the positional arguments of each call after the loss function.
    """
    env, recorder = stage.env, stage.recorder
    for dtype, scaler, remark in (
        (torch.bfloat16, None, ""),
        (torch.float16, grad_scaler(env, init_scale=_ORDINARY_SCALE), ""),
        (torch.bfloat16, grad_scaler(env, enabled=False), "(꺼 둔 스케일러)"),
        (torch.bfloat16, grad_scaler(env, init_scale=_ORDINARY_SCALE), "(켜 둔 스케일러)"),
        (torch.float16, None, "(스케일러 없이)"),
    ):
        model = autocast_net(env)
        loss_fn = noting_loss(loss_function(env), model.notes)
        recorder.call(
            stage.student(name), *(model, sgd(model), loss_fn, *arguments), dtype=dtype, scaler=scaler
        )
        for part in ("순전파", "손실", "역전파"):
            asked_for = f"{str(dtype).removeprefix('torch.')}{remark}"
            fact_name = f"{with_particle(asked_for, '을/를')} 청한 {part}의 autocast"
            recorder.claim(fact_name, model.notes.fact(part), model.notes.witness(part))
    _record_huge_loss(stage, name, arguments)


_HUGE = 1e305
"""Factor of losses whose gradients are finite in float64, and infinite times the 2**16 with which a scaler begins."""


def _record_huge_loss(stage: Stage, name: str, arguments: Sequence[Any]) -> None:
    """Call in float16 without a scaler, and record whether the parameters move: a new scaler would skip this update."""
    model, loss_fn = autocast_net(stage.env), loss_function(stage.env)
    before = flat_weights(model)

    def huge_loss(output: Tensor, target: Tensor) -> Tensor:
        return loss_fn(output, target) * _HUGE

    student = stage.student(name)
    stage.recorder.call(student, model, sgd(model), huge_loss, *arguments, dtype=torch.float16, scaler=None)
    has_moved = yes_or_no(not torch.equal(flat_weights(model), before))
    stage.recorder.fact("스케일러 없이 손실이 아주 클 때 매개변수가 움직임", has_moved)


_LABEL_MARK = 100
"""Number that is added to the labels of samples whose loss is to be infinite; real labels are smaller."""


def marked_for_infinite_loss(batch: Batch) -> Batch:
    """Return the batch with marked labels, for which `record_infinite_losses` makes the loss infinite."""
    inputs, labels = batch
    return inputs, labels + _LABEL_MARK


def _infinite_where_marked(loss_fn: LossFn) -> LossFn:
    """Return a loss function that is infinite for batches with marked labels, and `loss_fn` for others."""

    def loss(output: Tensor, target: Tensor) -> Tensor:
        is_marked = bool((target >= _LABEL_MARK).any())
        return loss_fn(output, target % _LABEL_MARK) * (torch.inf if is_marked else 1.0)

    return loss


def record_infinite_losses(
    stage: Stage, name: str, arguments_of_calls: Sequence[Sequence[Any]], *, max_norm: float | None = None
) -> None:
    """Watch a model, call the learner's function with it in float16, and record updates and the scale after each call.

    Args:
        stage: the scenario's stage.
        name: name of the exercise.
        arguments_of_calls: for each call, the positional arguments after the loss function. The loss is infinite for
            batches of `marked_for_infinite_loss`.
        max_norm: the `max_norm` of all calls.
    """
    model, loss_fn = autocast_net(stage.env), _infinite_where_marked(loss_function(stage.env))
    opt = sgd(model)
    scaler = grad_scaler(stage.env, init_scale=_ORDINARY_SCALE)
    stage.recorder.watch(model, opt)
    scales = []
    for arguments in arguments_of_calls:
        stage.recorder.call(
            stage.student(name),
            *(model, opt, loss_fn, *arguments),
            dtype=torch.float16,
            scaler=scaler,
            max_norm=max_norm,
        )
        scales.append(scaler.get_scale())
    stage.recorder.array("배율", scales)


def record_returned(
    stage: Stage, name: str, arguments_of_calls: Sequence[Sequence[Any]], *, with_scaler: bool
) -> None:
    """Record what calls return: in float16 with a scaler, or in bfloat16 without one.

    Each call gets a new model, so that a wrong update does not change what the next call returns. All but the first
    get a `max_norm` that clips. `arguments_of_calls` has the positional arguments of each call after the loss function.
    """
    for index, arguments in enumerate(arguments_of_calls):
        model = autocast_net(stage.env)
        # Any scale but 1 will do: it shows a program that returns the scaled loss.
        scaler = grad_scaler(stage.env, init_scale=2.0**6) if with_scaler else None
        value = stage.recorder.call(
            stage.student(name),
            *(model, sgd(model), loss_function(stage.env), *arguments),
            dtype=torch.float16 if with_scaler else torch.bfloat16,
            scaler=scaler,
            max_norm=0.1 if index else None,
        )
        stage.recorder.returned(value)


def record_modes_left(stage: Stage, name: str, arguments: Sequence[Any]) -> None:
    """Call the learner's function with two models, and record the modes in which it leaves them.

    Of the first model, only the last layer is in eval mode; the second is wholly in eval mode. The facts are the same
    for every seed and for a function that does nothing, so another scenario of the same check must record numbers.
    """
    for mode, mode_name in ((Modes.LAST_EVAL, "학습"), (Modes.ALL_EVAL, "평가")):
        model = set_modes(autocast_net(stage.env), mode)
        stage.recorder.call(
            stage.student(name),
            *(model, sgd(model), loss_function(stage.env), *arguments),
            dtype=torch.bfloat16,
        )
        stage.recorder.fact(f"{mode_name} 모드로 준 모델의 모드", [m.training for m in model.modules()])
