"""Driver of `train`: whole training runs of four epochs, watched update by update."""

from dataclasses import replace
from pathlib import Path

from grader.exercises.loop_anatomy._training_case import LONG, Case, training_case
from grader.exercises.loop_anatomy._training_run import TRAIN_ATOL, add_run_scenarios, played
from grader.observe.fixtures.checkpoints import scratch_folder
from grader.observe.fixtures.stand_ins import untouched_backends
from grader.observe.fixtures.training import settings_for
from grader.observe.play import Driver, Stage

driver = Driver("train")


def _train(stage: Stage, case: Case, path: str | Path) -> float:
    student, device = stage.student("train"), stage.env.device
    extra = (
        {}
        if device.type == "cpu" and case.settings.total_steps == LONG.total_steps
        else {"device": str(device)}
    )
    result: float = stage.recorder.call(
        student,
        *(case.model, case.train_loader, case.val_loader, settings_for(student, case.settings)),
        **extra,
        checkpoint_path=path,
    )
    return result


add_run_scenarios(driver, _train)


@driver.scenario("amp", "bfloat16과 float16 autocast", atol=TRAIN_ATOL)
def _amp(stage: Stage) -> None:
    """bfloat16: training under autocast, backward and validation outside of it.

    For float16 only the autocast of the forward pass is compared, not the weights. A program may or may not use a
    scaler, and this decides how much an old gradient that was not cleared changes the weights.
    """
    case = training_case(stage.env, replace(LONG, amp_dtype="bfloat16"))
    played(stage, _train, case)
    names = {"순전파": "학습 순전파", "평가 모드의 순전파": "검증 순전파", "역전파": "역전파"}
    for what, name in names.items():
        stage.recorder.fact(f"{name}의 autocast", case.model.notes.fact(what))
    half = training_case(stage.env, replace(LONG, amp_dtype="float16"))
    with untouched_backends(), scratch_folder() as folder:
        _train(stage, half, folder / "half.pt")
    stage.recorder.fact("float16을 청한 학습 순전파의 autocast", half.model.notes.fact("순전파"))
