"""Driver of `train`, which trains by a config, keeps the best checkpoint and returns the best validation accuracy.

Scenarios are whole runs of a few epochs: those shared with `train_accelerate`, and further ones on precision (bfloat16,
float16 with a scaler, overflow) and on the device.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.exercises.fixtures.training import settings_for
from grader.exercises.loop_anatomy._gradient_scaling import scalers_on_cpu, watched_gradients
from grader.exercises.loop_anatomy._training_case import STEADY, Case, training_case
from grader.exercises.loop_anatomy._training_run import (
    TRAIN_ATOL,
    WHOLE,
    add_run_scenarios,
    first_norm,
    played,
    record_autocast,
    record_memory,
    unwatched,
)
from grader.observe.play import Driver, Stage

driver = Driver("train")

_SMALL_NORM = 0.05
"""A norm limit below every gradient norm of the fixtures."""


def _train(
    stage: Stage, case: Case, path: str | Path, *, through: Callable[..., Any] | None = None, device: str = ""
) -> Any:
    """Call the student's `train`; a device other than the CPU is passed on."""
    student = stage.student("train")
    device = device or str(stage.env.device)
    return (through or stage.recorder.call)(
        student,
        *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
        **({} if device == "cpu" else {"device": device}),
        checkpoint_path=path,
    )


add_run_scenarios(driver, _train)


@driver.scenario("run-bf16", "bfloat16으로 모두 합친 학습", check="run", atol=TRAIN_ATOL)
def _run_bf16(stage: Stage) -> None:
    """Everything combined, in bfloat16: in programs with a branch for
    each precision, both need schedule and clipping.
    """
    settings = replace(WHOLE, total_steps=4, amp_dtype="bfloat16")
    played(stage, _train, training_case(stage.env, settings, (3, 5), samples=5))


@driver.scenario("device", "`device`를 줬을 때", check="updates", atol=TRAIN_ATOL)
def _device(stage: Stage) -> None:
    """On the device `meta` nothing can be computed: a program that moves the model there cannot train to the end."""
    case = training_case(stage.env, STEADY, (3,))
    ended = False

    def through(function: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        def attempt(*args: Any, **kwargs: Any) -> None:
            nonlocal ended
            try:
                function(*args, **kwargs)
            except Exception:  # which exception depends on the line that first computes
                return
            ended = True

        stage.recorder.call(attempt, *args, **kwargs)

    def on_meta(stage: Stage, case: Case, path: str | Path, **_: Any) -> Any:
        return _train(stage, case, path, through=through, device="meta")

    unwatched(stage, on_meta, case)
    outcome = "CPU에서 끝까지 학습함" if ended else "학습할 수 없음"
    stage.recorder.fact("계산할 수 없는 장치(`meta`)로 부르면", outcome)


@driver.scenario("float32", "amp_dtype이 None인 학습", check="amp", atol=TRAIN_ATOL)
def _float32(stage: Stage) -> None:
    """Without `amp_dtype`, no part may run under autocast."""
    case = training_case(stage.env, STEADY, (3,))
    unwatched(stage, _train, case)
    record_autocast(stage, case)


@driver.scenario("amp", "bfloat16 autocast", atol=TRAIN_ATOL)
def _amp(stage: Stage) -> None:
    """Training passes are under autocast; backward and validation passes are not."""
    case = training_case(stage.env, replace(STEADY, amp_dtype="bfloat16"), (3,))
    played(stage, _train, case)
    record_autocast(stage, case)


def _working_scalers(stage: Stage) -> AbstractContextManager[None]:
    """Make scalers work on the CPU. On a GPU they work without help, and one that is switched off must show."""
    return scalers_on_cpu() if stage.env.device.type == "cpu" else nullcontext()


@driver.scenario("fp16", "float16 autocast와 GradScaler", check="amp", atol=TRAIN_ATOL)
def _fp16(stage: Stage) -> None:
    """The loss is scaled, and gradients are unscaled before they are clipped.

    Every update is clipped, so each norm is known. The weights are not compared: an old gradient that was not cleared
    would hardly show beside scaled gradients.
    """
    recorder = stage.recorder
    settings = replace(STEADY, amp_dtype="float16", max_norm=_SMALL_NORM)
    case = training_case(stage.env, settings, (3,), samples=6)
    true = first_norm(case)
    with _working_scalers(stage), watched_gradients(case.model) as norms:
        unwatched(stage, _train, case)
    recorder.fact("학습 순전파의 autocast", case.model.notes.fact("학습 순전파"))
    scaled = [norm for norm in norms.computed[:1] if norm > 2 * true]
    recorder.fact("역전파한 손실", "배율을 곱한 손실" if scaled else "배율을 곱하지 않은 손실")
    recorder.array("업데이트가 읽은 그레이디언트의 노름", norms.read)


@driver.scenario("overflow", "float16에서 오버플로가 난 배치", check="amp", atol=TRAIN_ATOL)
def _overflow(stage: Stage) -> None:
    """The scaler must skip an update whose gradients are infinite."""
    case = training_case(stage.env, replace(STEADY, amp_dtype="float16", max_norm=0.5), (3,))
    case.model.overflows_at = 0
    with _working_scalers(stage):
        unwatched(stage, _train, case)
    finite = all(bool(p.isfinite().all()) for p in case.model.parameters())
    stage.recorder.fact("inf가 나온 배치 뒤의 매개변수", "모두 유한함" if finite else "NaN이나 inf가 있음")


@driver.scenario("memory", "살아 있는 계산 그래프", atol=TRAIN_ATOL, watches_memory=True)
def _memory(stage: Stage) -> None:
    record_memory(stage, _train)
