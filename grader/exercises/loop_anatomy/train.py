"""Driver of `train`, which trains by a config, keeps the best checkpoint and returns the best validation accuracy.

Promises of the exercise, and the scenarios that check them (those of `_training_run.py` are shared with
`train_accelerate`):
    the config's seed is set: `seed`
    AdamW, cross-entropy, clipping and the schedule, step by step: `epochs`, `clipping`, `ended`; on `device`: `device`
    autocast if `amp_dtype` is given, with a GradScaler in float16: `float32`, `amp`, `fp16`, `overflow`, `run-bf16`
    one scaler for the whole training: `scale-kept`
    accuracy over all validation samples, in eval mode and float32: `returns`, `modes`, `amp`
    the best epoch's checkpoint, as `BestCheckpoint` writes it: `checkpoint`, `ties`, `zero`, `old-file`
    train mode and the last weights at the end: `modes`, `epochs`; a loader's exception comes out: `raises`
    graphs of earlier batches are not kept: `memory`
    everything together: `run`

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.exercises.fixtures.lent import PARTS, lent_parts
from grader.exercises.fixtures.training import settings_for
from grader.exercises.loop_anatomy._gradient_scaling import scalers_on_cpu, watched_gradients
from grader.exercises.loop_anatomy._training_case import STEADY_SETTINGS, TrainingCase, training_case
from grader.exercises.loop_anatomy._training_run import (
    EVENTFUL_SETTINGS,
    TRAIN_ATOL,
    add_run_scenarios,
    first_gradient_norm,
    record_autocast,
    record_memory,
    run_unwatched,
    run_watched,
)
from grader.observe.play import Driver, Stage

driver = Driver("train", lends=PARTS)

_LOW_MAX_NORM = 0.05
"""A `max_norm` below the norm of every gradient in `fp16`, so that each update is clipped."""

_EPOCHS_BEFORE_OVERFLOW = 4
"""Epochs, of one batch each, before the one that overflows. In all of these but the last, gradients may overflow too,
because the first scale of a `GradScaler` is too high."""


def _train(
    stage: Stage,
    case: TrainingCase,
    path: str | Path,
    *,
    caller: Callable[..., Any] | None = None,
    device: str = "",
) -> Any:
    """Call the learner's `train` (see `CallTrain`) on a device, by default the scenario's; lend parts that it lacks.

    The CPU is not passed on, because it is the default of `train`.
    """
    student = stage.student("train")
    device = device or str(stage.env.device)
    with lent_parts(student):
        return (caller or stage.recorder.call)(
            student,
            *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
            **({} if device == "cpu" else {"device": device}),
            checkpoint_path=path,
        )


add_run_scenarios(driver, _train)


@driver.scenario("run-bf16", "bfloat16으로 모두 합친 학습", check="run", atol=TRAIN_ATOL)
def _run_bf16(stage: Stage) -> None:
    """Combine clipping and the schedule in bfloat16.

    A program with a branch for each precision may lack clipping or the schedule in the branch for bfloat16.
    """
    settings = replace(EVENTFUL_SETTINGS, total_steps=4, amp_dtype="bfloat16")
    run_watched(stage, _train, training_case(stage.env, settings, (3, 5), samples=5))


@driver.scenario("device", "`device`를 줬을 때", check="updates", atol=TRAIN_ATOL)
def _device(stage: Stage) -> None:
    """Ask for the device `meta`, where tensors have no content, and record whether the training comes to its end.

    A right program cannot train there, and raises. A program that ignores `device` trains to the end on the CPU.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (3,))
    has_ended = False

    def call_allowing_errors(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        def call_and_catch(*args: Any, **kwargs: Any) -> None:
            nonlocal has_ended
            try:
                function(*args, **kwargs)
            except Exception:  # which exception depends on the line that first computes
                return
            has_ended = True

        stage.recorder.call(call_and_catch, *args, **kwargs)

    def on_meta(stage: Stage, case: TrainingCase, path: str | Path, **_: Any) -> Any:
        return _train(stage, case, path, caller=call_allowing_errors, device="meta")

    run_unwatched(stage, on_meta, case)
    outcome = "CPU에서 끝까지 학습함" if has_ended else "학습할 수 없음"
    stage.recorder.fact("계산할 수 없는 장치(`meta`)로 부르면", outcome)


@driver.scenario("float32", "amp_dtype이 None인 학습", check="amp", atol=TRAIN_ATOL)
def _float32(stage: Stage) -> None:
    """Train without `amp_dtype`, and record where autocast is on.

    A program that always uses autocast does so without `amp_dtype` too.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (3,))
    run_unwatched(stage, _train, case)
    record_autocast(stage, case)


@driver.scenario("amp", "bfloat16 autocast", atol=TRAIN_ATOL)
def _amp(stage: Stage) -> None:
    """Train in bfloat16, and record where autocast is on.

    A program that does not use autocast, or uses it in backward or validation passes too, shows here.
    """
    case = training_case(stage.env, replace(STEADY_SETTINGS, amp_dtype="bfloat16"), (3,))
    run_watched(stage, _train, case)
    record_autocast(stage, case)


def _working_scalers(stage: Stage) -> AbstractContextManager[None]:
    """Return a context in which scalers work on the CPU. On a GPU they do without help, and it changes nothing there.

    So on a GPU a program shows that switches its scaler off.
    """
    return scalers_on_cpu() if stage.env.device.type == "cpu" else nullcontext()


@driver.scenario("fp16", "float16 autocast와 GradScaler", check="amp", atol=TRAIN_ATOL)
def _fp16(stage: Stage) -> None:
    """Train in float16, and record whether the loss was scaled, and the norm of the gradients that each update reads.

    A program without a scaler does not scale the loss. In a right program each update is clipped, and reads gradients
    of the norm `_LOW_MAX_NORM`. A program that does not unscale clips the scaled gradients, so that its updates read
    smaller ones. The weights are not compared, because an old gradient that was not cleared hardly changes them beside
    scaled ones.
    """
    recorder = stage.recorder
    settings = replace(STEADY_SETTINGS, amp_dtype="float16", max_norm=_LOW_MAX_NORM)
    case = training_case(stage.env, settings, (3,), samples=6)
    true_norm = first_gradient_norm(case)
    with _working_scalers(stage), watched_gradients(case.model) as norms:
        run_unwatched(stage, _train, case)
    recorder.fact("학습 순전파의 autocast", case.model.notes.fact("학습 순전파"))
    is_scaled = any(norm > 2 * true_norm for norm in norms.computed[:1])
    recorder.fact("역전파한 손실", "배율을 곱한 손실" if is_scaled else "배율을 곱하지 않은 손실")
    recorder.array("업데이트가 읽은 그레이디언트의 노름", norms.read)


@driver.scenario("overflow", "float16에서 오버플로가 난 배치", check="amp", atol=TRAIN_ATOL)
def _overflow(stage: Stage) -> None:
    """Let gradients overflow in one batch, and record whether the parameters stay finite.

    A program that calls `opt.step()` instead of `scaler.step(opt)` makes an update with infinite gradients.
    """
    case = training_case(stage.env, replace(STEADY_SETTINGS, amp_dtype="float16", max_norm=0.5), (3,))
    case.model.overflowing_batch = 0
    with _working_scalers(stage):
        run_unwatched(stage, _train, case)
    are_finite = all(bool(p.isfinite().all()) for p in case.model.parameters())
    stage.recorder.fact(
        "inf가 나온 배치 뒤의 매개변수", "모두 유한함" if are_finite else "NaN이나 inf가 있음"
    )


@driver.scenario("scale-kept", "float16에서 오버플로가 난 다음 에폭", check="amp", atol=TRAIN_ATOL)
def _scale_kept(stage: Stage) -> None:
    """Let gradients overflow in one epoch, and record whether the next one goes on with the lowered scale.

    A program that makes a scaler anew in each epoch, or for each batch, returns to the first scale.

    Weights hardly move, and every epoch has the same batch, so the norm of the scaled gradients tells the scale.
    """
    settings = replace(STEADY_SETTINGS, lr=1e-6, amp_dtype="float16")
    case = training_case(stage.env, settings, range(1, _EPOCHS_BEFORE_OVERFLOW + 3))
    case.model.overflowing_batch = _EPOCHS_BEFORE_OVERFLOW
    with _working_scalers(stage), watched_gradients(case.model) as norms:
        run_unwatched(stage, _train, case)
    states = case.model.parameters_at_validation
    has_next_update = len(states) == _EPOCHS_BEFORE_OVERFLOW + 2 and bool((states[-1] != states[-2]).any())
    outcome = _scale_after_overflow(norms.computed) if has_next_update else "알 수 없음"
    stage.recorder.fact("오버플로가 난 다음 에폭의 배율", outcome)


def _scale_after_overflow(norms: Sequence[float]) -> str:
    """Return in Korean whether the scale of the last update is lower than that of the update before the overflow.

    Args:
        norms: norm of the scaled gradients at each update. The last two finite ones are those before and after the
            overflow, at which only a fused optimizer is called.
    """
    finite = [norm for norm in norms if math.isfinite(norm)]
    before, after = finite[-2:] if len(finite) > 1 else (math.nan, math.nan)
    ratio = after / before if before else math.nan
    if 0.9 < ratio < 1.1:
        return "내려가기 전의 값"
    return "내려간 값 그대로" if ratio < 0.9 else "알 수 없음"


@driver.scenario("memory", "살아 있는 계산 그래프", atol=TRAIN_ATOL, watches_memory=True)
def _memory(stage: Stage) -> None:
    """Record whether graphs of earlier batches pile up, and whether any graph outlives the call.

    A program that adds up losses without `.item()` keeps their graphs, which pile up batch by batch.
    """
    record_memory(stage, _train)
