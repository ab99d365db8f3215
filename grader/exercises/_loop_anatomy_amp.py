"""Drivers of lesson 02, second part: one step, and one window, in mixed precision."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from grader.observe.fixtures.classifiers import (
    CLASSES,
    FEATURES,
    HIDDEN,
    Batch,
    LossFn,
    Net,
    batches,
    gradient_norm,
    initialised,
    loss_function,
    scale_rates,
    sgd,
)
from grader.observe.fixtures.training import AutocastNet, in_half_steps, noting_loss
from grader.observe.play import Driver, Env, Problem, Scenario, Stage

AMP_ATOL = 2e-6
"""Where float32 is rounded: another order of adding gives 1e-7, a scale that is a power of two nothing. In
float64 a clip written by hand without torch's 1e-6 is as far off."""

_SIZES = (4, 3, 5, 2, 4)
_MICRO = 3


def _layers() -> list[nn.Module]:
    return [nn.Linear(FEATURES, HIDDEN), nn.Tanh(), nn.Linear(HIDDEN, CLASSES)]


def _net(env: Env) -> AutocastNet:
    """Notes autocast, computes in float64."""
    net = AutocastNet(_layers())
    initialised(net, env, "model")
    return net


def _rounding_net(env: Env, salt: str = "model") -> Net:
    """float32, rounded as autocast says."""
    net = initialised(Net(_layers()), env, salt)
    net.float()
    return net


def _data(env: Env, sizes: tuple[int, ...]) -> list[Batch]:
    return in_half_steps(batches(env, sizes))


def _rounding_data(env: Env, sizes: tuple[int, ...]) -> list[Batch]:
    return [(xb.float(), yb) for xb, yb in batches(env, sizes)]


def _scaler(env: Env, **settings: Any) -> torch.amp.GradScaler:
    return torch.amp.GradScaler(env.device.type, **settings)


def _norm(env: Env, batch: Batch) -> float:
    """Of the gradient that the first update sees, from a model of its own."""
    return gradient_norm(_net(env), loss_function(env), batch)


# ---- amp_step ------------------------------------------------------------------------------------


def _step_problem(env: Env) -> Problem:
    return Problem(_net(env), _data(env, _SIZES), loss_function(env))


def _amp_steps(stage: Stage, dtype: torch.dtype, scaler: torch.amp.GradScaler | None) -> None:
    """Clipping not asked for, active, out of reach, active, active; the rates fall."""
    env, recorder = stage.env, stage.recorder
    problem = _step_problem(env)
    norm = _norm(env, problem.batches[0])
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    scales = []
    limits = (None, 0.4 * norm, 50.0 * norm, 0.3 * norm, 0.2 * norm)
    for (xb, yb), limit in zip(problem.batches, limits, strict=True):
        recorder.call(
            stage.student("amp_step"),
            *(problem.model, opt, problem.loss_fn, xb, yb),
            dtype=dtype,
            scaler=scaler,
            max_norm=limit,
        )
        scale_rates(opt, 0.8)
        if scaler is not None:
            scales.append(scaler.get_scale())
    if scaler is not None:
        recorder.array("배율", scales)


def _amp_step_bf16(stage: Stage) -> None:
    """Without a scaler: one would hide what an older gradient adds behind its scale."""
    _amp_steps(stage, torch.bfloat16, None)


def _amp_step_fp16(stage: Stage) -> None:
    _amp_steps(stage, torch.float16, _scaler(stage.env, init_scale=2.0**12, growth_interval=3))


def _amp_step_rounding(stage: Stage) -> None:
    """Real bfloat16, then real float16: one step each, from weights that are known to the last bit."""
    env, recorder = stage.env, stage.recorder
    for number, dtype in enumerate((torch.bfloat16, torch.float16)):
        model = _rounding_net(env, f"model {number}")
        opt = sgd(model)
        recorder.watch(model, opt)
        scaler = _scaler(env, init_scale=2.0**8) if number else None
        (batch,) = _rounding_data(env, (6,))
        recorder.call(
            stage.student("amp_step"), model, opt, loss_function(env), *batch, dtype=dtype, scaler=scaler
        )


def _amp_step_overflow(stage: Stage) -> None:
    """A scale at which every float16 gradient overflows, then one at which none does."""
    env, recorder = stage.env, stage.recorder
    model = _rounding_net(env)
    opt = sgd(model)
    scaler = _scaler(env, init_scale=2.0**40, backoff_factor=2.0**-32)
    recorder.watch(model, opt)
    scales = []
    for batch in _rounding_data(env, (4, 4)):
        recorder.call(
            stage.student("amp_step"),
            *(model, opt, loss_function(env), *batch),
            dtype=torch.float16,
            scaler=scaler,
            max_norm=1.0,
        )
        scales.append(scaler.get_scale())
    recorder.array("배율", scales)


def _record_precision(stage: Stage, call: Callable[[nn.Module, LossFn, torch.dtype, Any], None]) -> None:
    """What autocast said during forward, loss and backward.

    bfloat16 plain, float16 with a scaler; then bfloat16 with one as well, switched off and on: whether there is a
    scaler does not tell which precision is asked for.
    """
    env, recorder = stage.env, stage.recorder
    off, on = _scaler(env, enabled=False), _scaler(env, init_scale=2.0**8)
    cases = (
        (torch.bfloat16, None, ""),
        (torch.float16, _scaler(env, init_scale=2.0**8), ""),
        (torch.bfloat16, off, "(꺼 둔 스케일러)"),
        (torch.bfloat16, on, "(켜 둔 스케일러)"),
    )
    for dtype, scaler, beside in cases:
        model = _net(env)
        call(model, noting_loss(loss_function(env), model.notes), dtype, scaler)
        for what in ("순전파", "손실", "역전파"):
            name = f"{str(dtype).removeprefix('torch.')}{beside}"
            recorder.fact(f"{name}을 청한 {what}의 autocast", model.notes.fact(what))


def _amp_step_precision(stage: Stage) -> None:
    (batch,) = _data(stage.env, (4,))

    def call(model: nn.Module, loss_fn: LossFn, dtype: torch.dtype, scaler: Any) -> None:
        opt = sgd(model)
        stage.recorder.watch(model, opt)
        stage.recorder.call(
            stage.student("amp_step"), model, opt, loss_fn, *batch, dtype=dtype, scaler=scaler
        )

    _record_precision(stage, call)


def _amp_step_returns(stage: Stage) -> None:
    """The loss before the update, not the scaled one; the mode stays what it was."""
    env, recorder = stage.env, stage.recorder
    problem = _step_problem(env)
    problem.model.eval()
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt)
    for number, (xb, yb) in enumerate(problem.batches[:3]):
        scaler = _scaler(env, init_scale=2.0**6) if number else None
        dtype = torch.float16 if number else torch.bfloat16
        recorder.returned(
            recorder.call(
                stage.student("amp_step"),
                *(problem.model, opt, problem.loss_fn, xb, yb),
                dtype=dtype,
                scaler=scaler,
            )
        )
    recorder.modes()


def _amp_step_deprecated(stage: Stage) -> None:
    env, recorder = stage.env, stage.recorder
    problem = _step_problem(env)
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt)
    for scaler, dtype in ((None, torch.bfloat16), (_scaler(env, init_scale=2.0**6), torch.float16)):
        recorder.call(
            stage.student("amp_step"),
            *(problem.model, opt, problem.loss_fn, *problem.batches[0]),
            dtype=dtype,
            scaler=scaler,
        )
    recorder.fact("FutureWarning", "있음" if "FutureWarning" in recorder.warned else "없음")


# ---- amp_accumulate ------------------------------------------------------------------------------


def _windows(env: Env) -> tuple[list[Batch], ...]:
    """Windows of four, three, one and four micro-batches, all of them of one size."""
    data = _data(env, (_MICRO,) * 12)
    return data[:4], data[4:7], data[7:8], data[8:]


def _window_problem(env: Env) -> Problem:
    return Problem(_net(env), _data(env, (_MICRO,) * 12), loss_function(env))


def _amp_windows(stage: Stage, dtype: torch.dtype, scaler: torch.amp.GradScaler | None) -> None:
    env, recorder = stage.env, stage.recorder
    problem = _window_problem(env)
    windows = _windows(env)
    first = (torch.cat([xb for xb, _ in windows[0]]), torch.cat([yb for _, yb in windows[0]]))
    norm = _norm(env, first)
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt, batches=[xb for xb, _ in problem.batches])
    scales = []
    for window, limit in zip(windows, (None, 0.4 * norm, 50.0 * norm, 0.3 * norm), strict=True):
        recorder.call(
            stage.student("amp_accumulate"),
            *(problem.model, opt, problem.loss_fn, window),
            dtype=dtype,
            scaler=scaler,
            max_norm=limit,
        )
        scale_rates(opt, 0.8)
        if scaler is not None:
            scales.append(scaler.get_scale())
    if scaler is not None:
        recorder.array("배율", scales)


def _amp_accumulate_bf16(stage: Stage) -> None:
    _amp_windows(stage, torch.bfloat16, None)


def _amp_accumulate_fp16(stage: Stage) -> None:
    _amp_windows(stage, torch.float16, _scaler(stage.env, init_scale=2.0**10, growth_interval=2))


def _amp_accumulate_overflow(stage: Stage) -> None:
    """A window whose loss is so large that its scaled gradients are infinite, then an ordinary one."""
    env, recorder = stage.env, stage.recorder
    problem = _window_problem(env)
    opt = sgd(problem.model)
    scaler = _scaler(env, init_scale=2.0**40, backoff_factor=2.0**-32)
    recorder.watch(problem.model, opt)
    factors, scales = (1e300, 1.0), []
    for window, factor in zip(_windows(env), factors, strict=False):

        def loss_fn(output: Tensor, target: Tensor, factor: float = factor) -> Tensor:
            return problem.loss_fn(output, target) * factor

        recorder.call(
            stage.student("amp_accumulate"),
            *(problem.model, opt, loss_fn, window),
            dtype=torch.float16,
            scaler=scaler,
            max_norm=1.0,
        )
        scales.append(scaler.get_scale())
    recorder.array("배율", scales)


def _amp_accumulate_precision(stage: Stage) -> None:
    window = _windows(stage.env)[1]

    def call(model: nn.Module, loss_fn: LossFn, dtype: torch.dtype, scaler: Any) -> None:
        opt = sgd(model)
        stage.recorder.watch(model, opt)
        stage.recorder.call(
            stage.student("amp_accumulate"), model, opt, loss_fn, window, dtype=dtype, scaler=scaler
        )

    _record_precision(stage, call)


def _amp_accumulate_returns(stage: Stage) -> None:
    """Windows of several sizes, with and without a scaler; the mode stays what it was."""
    env, recorder = stage.env, stage.recorder
    problem = _window_problem(env)
    problem.model.eval()
    opt = sgd(problem.model)
    recorder.watch(problem.model, opt)
    for number, window in enumerate(_windows(env)[:3]):
        scaler = _scaler(env, init_scale=2.0**6) if number else None
        dtype = torch.float16 if number else torch.bfloat16
        recorder.returned(
            recorder.call(
                stage.student("amp_accumulate"),
                *(problem.model, opt, problem.loss_fn, window),
                dtype=dtype,
                scaler=scaler,
            )
        )
    recorder.modes()


DRIVERS = (
    Driver(
        "amp_step",
        (
            Scenario("bf16", "bfloat16, 스케일러 없이", _amp_step_bf16, AMP_ATOL, _step_problem),
            Scenario("fp16", "float16과 스케일러", _amp_step_fp16, AMP_ATOL, _step_problem),
            Scenario("overflow", "오버플로가 난 스텝", _amp_step_overflow, AMP_ATOL),
            Scenario("precision", "autocast의 범위", _amp_step_precision, AMP_ATOL),
            Scenario("rounding", "낮은 정밀도로 계산한 한 스텝", _amp_step_rounding, AMP_ATOL),
            Scenario("returns", "반환값", _amp_step_returns, AMP_ATOL),
            Scenario("deprecated", "더는 쓰지 않는 API", _amp_step_deprecated, AMP_ATOL),
        ),
    ),
    Driver(
        "amp_accumulate",
        (
            Scenario("bf16", "bfloat16, 스케일러 없이", _amp_accumulate_bf16, AMP_ATOL, _window_problem),
            Scenario("fp16", "float16과 스케일러", _amp_accumulate_fp16, AMP_ATOL, _window_problem),
            Scenario("overflow", "오버플로가 난 구간", _amp_accumulate_overflow, AMP_ATOL),
            Scenario("precision", "autocast의 범위", _amp_accumulate_precision, AMP_ATOL),
            Scenario("returns", "반환값", _amp_accumulate_returns, AMP_ATOL),
        ),
    ),
)
