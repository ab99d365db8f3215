"""Driver of `train_accelerate`: the runs of `train` through Accelerate, and what is left to its Accelerator."""

from pathlib import Path

from grader.exercises.loop_anatomy._training_case import LONG, Case, training_case
from grader.exercises.loop_anatomy._training_run import TRAIN_ATOL, add_run_scenarios, played
from grader.exercises.loop_anatomy._watched_accelerator import Calls, watched_accelerator
from grader.observe.fixtures.training import settings_for
from grader.observe.play import Driver, Stage

driver = Driver("train_accelerate")


def _counted(stage: Stage, case: Case, path: str | Path) -> tuple[float, Calls]:
    """What the student's function returned, and what it called of its Accelerator."""
    student = stage.student("train_accelerate")
    with watched_accelerator(stage.env, case) as calls:
        result: float = stage.recorder.call(
            student,
            *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
            checkpoint_path=path,
        )
    return result, calls


def _train_accelerate(stage: Stage, case: Case, path: str | Path) -> float:
    return _counted(stage, case, path)[0]


add_run_scenarios(driver, _train_accelerate)


@driver.scenario("calls", "Accelerator에 맡긴 일", atol=TRAIN_ATOL)
def _calls(stage: Stage) -> None:
    """What matters only with several processes: backward and the training loader must go through Accelerator."""
    case = training_case(stage.env, LONG)

    def call(stage: Stage, case: Case, path: str | Path) -> float:
        result, calls = _counted(stage, case, path)
        stage.recorder.fact("accelerator.backward를 부른 횟수", calls.backward)
        stage.recorder.fact("prepare를 거친 train_loader", calls.train_loader_prepared)
        return result

    played(stage, call, case)
