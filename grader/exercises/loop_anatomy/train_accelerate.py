"""Driver of `train_accelerate`, which does what `train` does with Hugging Face Accelerate.

Its scenarios are the runs shared with `train`, and further ones on what must be left to the Accelerator.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.exercises.fixtures.training import settings_for
from grader.exercises.loop_anatomy._training_case import STEADY, Case, training_case
from grader.exercises.loop_anatomy._training_run import (
    TRAIN_ATOL,
    add_run_scenarios,
    record_autocast,
    unwatched,
)
from grader.exercises.loop_anatomy._watched_accelerator import Calls, watched_accelerator
from grader.observe.play import Driver, Stage

driver = Driver("train_accelerate", cost=2)


def _counted(
    stage: Stage, case: Case, path: str | Path, through: Callable[..., Any] | None = None
) -> tuple[Any, Calls]:
    """Call the student's function; return its result, and its calls of the Accelerator."""
    student = stage.student("train_accelerate")
    with watched_accelerator(stage.env, case) as calls:
        result = (through or stage.recorder.call)(
            student,
            *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
            checkpoint_path=path,
        )
    return result, calls


def _train_accelerate(
    stage: Stage, case: Case, path: str | Path, *, through: Callable[..., Any] | None = None
) -> Any:
    return _counted(stage, case, path, through)[0]


add_run_scenarios(driver, _train_accelerate)


@driver.scenario("calls", "Accelerator에 맡긴 일", atol=TRAIN_ATOL)
def _calls(stage: Stage) -> None:
    """Calls that matter only with several processes: backward and the training loader must go through the Accelerator.

    The config asks for float32; an Accelerator with a precision of its own would train in another one.
    """
    updates = stage.env.draw("updates").whole(2, 9)
    case = training_case(stage.env, STEADY, (3,), samples=updates * STEADY.batch_size)

    def call(stage: Stage, case: Case, path: str | Path, **_: Any) -> Any:
        result, calls = _counted(stage, case, path)
        stage.recorder.fact("accelerator.backward를 부른 횟수", calls.backward)
        stage.recorder.fact("prepare를 거친 train_loader", calls.train_loader_prepared)
        return result

    unwatched(stage, call, case)
    record_autocast(stage, case)


@driver.scenario("bf16", "bfloat16으로 맡긴 학습", check="calls", atol=TRAIN_ATOL)
def _bf16(stage: Stage) -> None:
    """A run in bfloat16. Accelerate has its own names for precisions, and refuses any other.

    The precision that it really trains in is not judged.
    """
    unwatched(stage, _train_accelerate, training_case(stage.env, replace(STEADY, amp_dtype="bfloat16"), (3,)))
