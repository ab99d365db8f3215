"""Record what a checkpoint file holds and how it is replaced, for `BestCheckpoint` and the training runs.

Callers are `best_checkpoint.py` and `_training_run.py`, after the learner's code has saved a file (for
`watched_replacement`, while it saves). Files are read by `fixtures/checkpoints.py`. To record another entry of a
checkpoint, write a `record_…` function here that takes the content; a key that must be there goes into
`_REQUIRED_KEYS`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch import Tensor

from grader.exercises.fixtures.checkpoints import as_fact, find_saved_parameters, read_checkpoint
from grader.exercises.loop_anatomy._file_replacement import make_unchanged_check, watched_renames
from grader.exercises.loop_anatomy._training_case import ScriptedNet
from grader.observe.recorder import Recorder
from grader.observe.trace import Fact
from grader.observe.wording import ordinal, yes_or_no

_REQUIRED_KEYS = ("config", "model", "optimizer", "scheduler", "score", "step")
"""Keys that every checkpoint must hold."""


def read_and_record_content(
    recorder: Recorder, path: Path, allowed_classes: Sequence[type] = ()
) -> dict[str, Any]:
    """Read a checkpoint; record whether it opened and which required keys it has; return its content.

    The content is empty if the file could not be read. See `read_checkpoint` for `allowed_classes`.
    """
    content, outcome = read_checkpoint(path, allowed_classes)
    recorder.fact("파일", outcome)
    recorder.fact("키", as_fact([key for key in _REQUIRED_KEYS if key in content]))
    return content


@contextmanager
def watched_replacement(recorder: Recorder, student: Any, path: Path) -> Iterator[None]:
    """Record how the learner's code replaces the file at `path` inside this context.

    There must be a whole file at `path` at any time, in case the program crashes.

    Args:
        recorder: the scenario's recorder.
        student: the learner's function or class.
        path: the checkpoint's absolute path.
    """
    is_unchanged = make_unchanged_check(path, path.with_name("kept.pt"))
    with watched_renames(student, path) as renames:
        yield
    # `shutil.move` from a temporary folder copies where it cannot rename; a crash while it copies leaves half a file.
    recorder.fact("다른 폴더에 쓴 파일을 옮기려 함", yes_or_no(renames.came_from_another_folder))
    # A program that removes the old file before it renames the new one leaves no file if it crashes in between.
    recorder.fact("이름을 바꿀 때 예전 파일", "없음" if any(renames.old_was_gone) else "있음")
    # A program that writes into the old file leaves half a file if it crashes.
    recorder.fact("저장하는 동안 예전 파일", "그대로" if is_unchanged() else "덮어씀")


def saved_epoch_in_words(model: ScriptedNet, content: Mapping[str, Any]) -> str:
    """Return in Korean at the end of which epoch the model had the saved weights, or that it never had them.

    The prefix `module.`, which names of a wrapped model's weights have, is ignored: it is not judged here.
    """
    state = content.get("model")
    if isinstance(state, dict):
        state = {str(name).removeprefix("module."): value for name, value in state.items()}
    epoch = find_saved_parameters(state, model, model.parameters_at_validation)
    return "어느 에폭의 것도 아님" if epoch is None else f"{ordinal(epoch + 1)} 에폭이 끝났을 때의 것"


def score_in(content: Mapping[str, Any]) -> Fact:
    """Return the saved score as a fact; a tensor of one number, which `weights_only=True` opens too, as a number."""
    score = content.get("score")
    return as_fact(score.item() if isinstance(score, Tensor) and score.ndim == 0 else score)


def record_score(recorder: Recorder, content: Mapping[str, Any]) -> None:
    """Record the saved score, a float rounded to six decimal places because right programs differ in the last ones."""
    score = score_in(content)
    recorder.fact("score", round(score, 6) if isinstance(score, float) else score)


def record_training_state(recorder: Recorder, content: Mapping[str, Any]) -> None:
    """Record whether the states of optimizer and scheduler were saved, without which another run cannot go on."""
    state = content.get("optimizer")
    moments = state.get("state") if isinstance(state, dict) else None
    moments = moments if isinstance(moments, dict) else {}
    recorder.fact("옵티마이저의 상태가 있는 매개변수", len(moments))
    recorder.fact("옵티마이저가 센 업데이트", _update_counts(moments))
    # The numbers in the scheduler's state are not compared: a right program may have a scheduler of its own making.
    recorder.fact("스케줄러의 상태", _scheduler_state_in_words(content))


def _scheduler_state_in_words(content: Mapping[str, Any]) -> str:
    """Return in Korean that the scheduler's state was saved, that none was, or whose state was saved instead."""
    state, weights = content.get("scheduler"), content.get("model")
    if not isinstance(state, dict) or not state:
        return "없음"
    if "param_groups" in state:  # only an optimizer's state has it
        return "옵티마이저의 것"
    names = {str(name).removeprefix("module.") for name in state}  # a wrapped model's names have this prefix
    return "모델의 것" if isinstance(weights, dict) and names & weights.keys() else "있음"


def _update_counts(moments: Mapping[Any, Any]) -> Fact:
    """Return the numbers of updates that AdamW counted for its parameters, each number once.

    In a right program, the number is the same for all parameters.

    Args:
        moments: the entry `state` of the optimizer's `state_dict`.
    """
    counts = {state.get("step") for state in moments.values() if isinstance(state, dict)}
    return [*sorted({int(count) for count in counts if isinstance(count, Tensor | int | float)})]
