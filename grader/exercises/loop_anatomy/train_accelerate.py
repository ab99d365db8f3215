"""Driver of `train_accelerate`, which does what `train` does with Hugging Face Accelerate.

Promises of the exercise, and the scenarios that check them:
    the same training as `train`: `epochs`, `clipping`, `ended`, `seed`, `modes`, `run`
    the same result, checkpoint and exceptions: `returns`, `raises`, `ties`, `zero`, `old-file`
    model, loader and backward pass are left to the Accelerator: `calls`; optimizer and clipping: `scaled`
    float32 without `amp_dtype`: `calls`; a run with "bfloat16" ends without an error: `bf16`
    the checkpoint holds the model as it was before `prepare` wrapped it: `checkpoint`
    graphs of earlier batches are not kept: `memory`

Scenarios that are not in this file come from `_training_run.py` and are shared with `train`. In all scenarios, the
Accelerator wraps the model as if it had been started by several processes (`_simulated_accelerator.py`).

A scenario decides the check that `check=` names, or that of its name. How to add one, or a promise: grader/ADDING.md.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from grader.exercises.fixtures.lent import PARTS, lent_parts
from grader.exercises.fixtures.training import settings_for
from grader.exercises.loop_anatomy._gradient_scaling import watched_gradients
from grader.exercises.loop_anatomy._simulated_accelerator import AcceleratorUse, simulated_accelerator
from grader.exercises.loop_anatomy._training_case import STEADY_SETTINGS, TrainingCase, training_case
from grader.exercises.loop_anatomy._training_run import (
    TRAIN_ATOL,
    add_run_scenarios,
    first_gradient_norm,
    record_autocast,
    record_memory,
    run_unwatched,
)
from grader.observe.play import Driver, Stage

# `cost`: Accelerate is set up anew in each scenario, which makes a play about twice as long.
driver = Driver("train_accelerate", cost=2, lends=PARTS)


class _CountedTraining(NamedTuple):
    """A call of the learner's function."""

    result: Any
    """What it returned."""
    use: AcceleratorUse
    """What it did with the Accelerator."""


def _train_and_count(
    stage: Stage,
    case: TrainingCase,
    path: str | Path,
    caller: Callable[..., Any] | None = None,
    *,
    scale: float | None = None,
) -> _CountedTraining:
    """Call the learner's function; lend parts that it lacks.

    Args:
        stage: the scenario's stage.
        case: the training case.
        path: where the checkpoint is written.
        caller: calls the function with its arguments; None: `stage.recorder.call`.
        scale: scale of the GradScaler that the Accelerator has; None: it has none.
    """
    student = stage.student("train_accelerate")
    with lent_parts(student), simulated_accelerator(stage.env, case, scale=scale) as use:
        result = (caller or stage.recorder.call)(
            student,
            *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
            checkpoint_path=path,
        )
    return _CountedTraining(result, use)


def _train_accelerate(
    stage: Stage, case: TrainingCase, path: str | Path, *, caller: Callable[..., Any] | None = None
) -> Any:
    """Call the learner's function (see `CallTrain`)."""
    return _train_and_count(stage, case, path, caller).result


add_run_scenarios(driver, _train_accelerate)


@driver.scenario("calls", "Accelerator에 맡긴 일", atol=TRAIN_ATOL)
def _calls(stage: Stage) -> None:
    """Count what is left to the Accelerator, and record where autocast is on.

    A program that does not prepare model or loader goes wrong with several processes. One that calls `loss.backward()`
    goes wrong with float16's scale or accumulation. Neither shows in the numbers of one process. The config asks for
    float32, so a program that gives the Accelerator another precision shows too.
    """
    updates = stage.env.draw("updates").whole(2, 9)
    case = training_case(stage.env, STEADY_SETTINGS, (3,), samples=updates * STEADY_SETTINGS.batch_size)

    def call(stage: Stage, case: TrainingCase, path: str | Path, **_: Any) -> Any:
        result, use = _train_and_count(stage, case, path)
        stage.recorder.fact("accelerator.backward를 부른 횟수", use.backward_calls)
        stage.recorder.fact("prepare를 거친 train_loader", use.has_prepared_train_loader)
        stage.recorder.fact("prepare를 거친 모델로 학습한 배치", use.forwards_through_wrapper)
        return result

    run_unwatched(stage, call, case)
    record_autocast(stage, case)


@driver.scenario("scaled", "배율을 쓰는 Accelerator", check="calls", atol=TRAIN_ATOL)
def _scaled(stage: Stage) -> None:
    """Give an Accelerator that scales the loss, and record the norm of the gradients that the only update reads.

    `max_norm` is above the true norm and below the scaled one. So a program that clips or steps without the Accelerator
    uses gradients that its scaler has scaled. The weights are not compared: AdamW hides a scale. There is one update,
    so that gradients which are not cleared make no difference.
    """
    case = training_case(stage.env, STEADY_SETTINGS, (3,))
    max_norm = 20 * first_gradient_norm(case)
    case = replace(case, settings=replace(case.settings, max_norm=max_norm))

    def call(stage: Stage, case: TrainingCase, path: str | Path, **_: Any) -> Any:
        return _train_and_count(stage, case, path, scale=2.0**16).result

    with watched_gradients(case.model) as norms:
        run_unwatched(stage, call, case)
    stage.recorder.array("업데이트가 읽은 그레이디언트의 노름", norms.read)


@driver.scenario("bf16", "bfloat16으로 맡긴 학습", check="calls", atol=TRAIN_ATOL)
def _bf16(stage: Stage) -> None:
    """Train in bfloat16, which must end without an error; whether the precision is really used is not judged.

    A program that passes `amp_dtype` on raises: Accelerate calls this precision `bf16`, and refuses other names.
    """
    run_unwatched(
        stage,
        _train_accelerate,
        training_case(stage.env, replace(STEADY_SETTINGS, amp_dtype="bfloat16"), (3,)),
    )


@driver.scenario("memory", "살아 있는 계산 그래프", check="run", atol=TRAIN_ATOL, watches_memory=True)
def _memory(stage: Stage) -> None:
    """Record whether graphs of earlier batches pile up, and whether any graph outlives the call.

    A program that adds up losses without `.item()` keeps their graphs, which pile up batch by batch.
    """
    record_memory(stage, _train_accelerate)
