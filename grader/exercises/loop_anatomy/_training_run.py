"""The five situations that `train` and `train_accelerate` are both put through."""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from grader.exercises.loop_anatomy._checkpoint_file import recorded_content
from grader.exercises.loop_anatomy._training_case import LONG, SHORT, Case, training_case
from grader.observe.construction import watched_construction
from grader.observe.fixtures.checkpoints import flat_state, plain, scratch_folder, whose_weights
from grader.observe.fixtures.stand_ins import untouched_backends
from grader.observe.play import Driver, Stage

TRAIN_ATOL = 1e-5
"""Every run clips: torch divides by norm + 1e-6, a clip written by hand may not."""

Call = Callable[[Stage, Case, "str | Path"], float]
"""Calls the student's function and returns what it returned."""


def add_run_scenarios(driver: Driver, call: Call) -> None:
    """Add the five situations to the driver of the function that `call` calls."""
    driver.scenario("run", "네 에폭 학습", atol=TRAIN_ATOL)(lambda stage: _run(stage, call))
    driver.scenario("ended", "total_steps를 넘긴 학습", atol=TRAIN_ATOL)(lambda stage: _ended(stage, call))
    driver.scenario("modes", "드롭아웃과 배치 정규화가 있는 모델", atol=TRAIN_ATOL)(
        lambda stage: _modes(stage, call)
    )
    driver.scenario("returns", "반환값", atol=TRAIN_ATOL)(lambda stage: _returns(stage, call))
    driver.scenario("checkpoint", "체크포인트", atol=TRAIN_ATOL)(lambda stage: _checkpoint(stage, call))


def played(stage: Stage, call: Call, case: Case, path: str | Path | None = None) -> float:
    """Watches the model while the student's function runs; the file is a temporary one unless `path` is given."""
    stage.recorder.watch(case.model)
    with ExitStack() as stack:
        stack.enter_context(untouched_backends())
        stack.enter_context(watched_construction(stage.recorder, case.model))
        folder = stack.enter_context(scratch_folder())
        return call(stage, case, folder / "best.pt" if path is None else path)


def _run(stage: Stage, call: Call) -> None:
    played(stage, call, training_case(stage.env, LONG))


def _ended(stage: Stage, call: Call) -> None:
    played(stage, call, training_case(stage.env, SHORT))


def _modes(stage: Stage, call: Call) -> None:
    """BatchNorm and dropout; the model is handed over in eval mode, and the seed decides the dropout."""
    case = training_case(stage.env, LONG, norm_dropout=True)
    case.model.eval()
    played(stage, call, case)
    stage.recorder.array("이동 통계량", flat_state(case.model.state_dict(), case.model))
    stage.recorder.modes("끝난 뒤의 모드")


def _returns(stage: Stage, call: Call) -> None:
    stage.recorder.returned(played(stage, call, training_case(stage.env, LONG)))


def _checkpoint(stage: Stage, call: Call) -> None:
    """What the file holds after the run: the best epoch's weights, not the last one's."""
    recorder = stage.recorder
    case = training_case(stage.env, LONG)
    with scratch_folder() as folder:
        path = folder / "best.pt"
        played(stage, call, case, str(path))
        content = recorded_content(recorder, path)
    weights = content.get("model")
    names = sorted(str(name) for name in weights) if isinstance(weights, dict) else []
    recorder.fact("가중치의 이름", plain(names))
    update = whose_weights(weights, case.model, recorder.states)
    recorder.fact(
        "저장된 가중치", "어느 때의 것도 아님" if update is None else f"{update}번째 업데이트 뒤의 것"
    )
    score = content.get("score")
    recorder.fact("score", round(score, 6) if isinstance(score, float) else plain(score))
    recorder.fact("config", plain(content.get("config")))
    state = content.get("optimizer")
    moments = state.get("state") if isinstance(state, dict) else None
    recorder.fact("옵티마이저의 상태가 있는 매개변수", len(moments) if isinstance(moments, dict) else 0)
