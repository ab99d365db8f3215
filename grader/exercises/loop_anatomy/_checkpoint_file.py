"""Test checkpoint files against their contract, for all exercises that write them.

These are `BestCheckpoint`, `train` and `train_accelerate`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from grader.exercises.fixtures.checkpoints import find_saved_moment, plain, read_checkpoint
from grader.exercises.loop_anatomy._file_replacement import unchanged_test, watched_renames
from grader.exercises.loop_anatomy._training_case import TrainedNet
from grader.observe.recorder import Recorder
from grader.observe.trace import Fact
from grader.observe.wording import ordinal, yes_or_no

_KEYS = ("config", "model", "optimizer", "scheduler", "score", "step")
"""Keys that every checkpoint must hold."""


def recorded_content(recorder: Recorder, path: Path, known: Sequence[type] = ()) -> dict[str, Any]:
    """Return the file's content; record whether the file opened and which of the required keys it holds."""
    content, how = read_checkpoint(path, known)
    recorder.fact("파일", how)
    recorder.fact("키", plain([key for key in _KEYS if key in content]))
    return content


@contextmanager
def watched_replacement(recorder: Recorder, student: Any, path: Path) -> Iterator[None]:
    """Record how the file at `path` is replaced inside this context: there must be a whole file at any time."""
    is_unchanged = unchanged_test(path, path.with_name("kept.pt"))
    with watched_renames(student, path) as seen:
        yield
    # `shutil.move` does not fail where it cannot rename: it copies.
    recorder.fact("다른 폴더에 쓴 파일을 옮기려 함", yes_or_no(seen.came_from_another_folder))
    # If a program removes the old file before it renames the new one, a crash in between leaves no file.
    recorder.fact("이름을 바꿀 때 예전 파일", "없음" if any(seen.old_was_gone) else "있음")
    # A file that was written in place also shows its new content under its second name.
    recorder.fact("저장하는 동안 예전 파일", "그대로" if is_unchanged() else "덮어씀")


def epoch_of_weights(model: TrainedNet, content: Mapping[str, Any]) -> str:
    """Tell in Korean at the end of which epoch the model had the saved weights.

    A prefix `module.` in the names of weights is ignored.
    """
    state = content.get("model")
    if isinstance(state, dict):
        state = {str(name).removeprefix("module."): value for name, value in state.items()}
    epoch = find_saved_moment(state, model, model.at_validation)
    return "어느 에폭의 것도 아님" if epoch is None else f"{ordinal(epoch + 1)} 에폭이 끝났을 때의 것"


def record_score(recorder: Recorder, content: Mapping[str, Any]) -> None:
    """Record the saved score, rounded to six digits because right programs differ in the last ones."""
    score = content.get("score")
    recorder.fact("score", round(score, 6) if type(score) is float else plain(score))


def record_training_state(recorder: Recorder, content: Mapping[str, Any]) -> None:
    """Record what another run needs to go on from here: the states of optimizer and scheduler."""
    state = content.get("optimizer")
    moments = state.get("state") if isinstance(state, dict) else None
    moments = moments if isinstance(moments, dict) else {}
    recorder.fact("옵티마이저의 상태가 있는 매개변수", len(moments))
    recorder.fact("옵티마이저가 센 업데이트", _adam_steps(moments))
    # The scheduler's numbers are not compared: a program may count its steps by itself.
    state = content.get("scheduler")
    if not isinstance(state, dict) or not state:
        told = "없음"
    else:
        told = "옵티마이저의 것" if "param_groups" in state else "있음"  # no scheduler saves the groups
    recorder.fact("스케줄러의 상태", told)


def _adam_steps(moments: Mapping[Any, Any]) -> Fact:
    counts = {m.get("step") for m in moments.values() if isinstance(m, dict)}
    return [*sorted({int(n) for n in counts if isinstance(n, Tensor | int | float)})]
