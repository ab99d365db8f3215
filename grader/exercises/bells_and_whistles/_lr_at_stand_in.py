"""Replace the learner's `lr_at` by a right one while `train_gpt` is played; for the driver `train_gpt`.

`train_gpt` calls `lr_at`, which is an exercise of its own. Without the replacement, a wrong `lr_at` would cost points
in both exercises. A submission that holds only the notebook of `train_gpt` has none: it is lent the same function.

The stand-in cannot be handed in as an answer to `lr_at`, because it is sent into the sandbox with the driver of
`train_gpt`, after `lr_at` has been played (see `grader/sandbox/parcels.py`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from grader.exercises.fixtures.lent_schedule import lent_lr_at
from grader.exercises.fixtures.stand_ins import globals_of
from grader.observe.play import Stage
from grader.observe.program import STUDENT_ERRORS
from grader.observe.values import as_number

_LR_AT = "lr_at"
"""Name of the learner's function that is replaced."""
_MISSING = object()
"""Stands for the learner's `lr_at` where the submission defines none."""
_WRONG_LR_AT_NOTE = (
    "`train_gpt`가 부르는 `lr_at`이 아직 맞지 않아요. 여기서는 맞는 학습률을 빌려 드려서 `train_gpt`만 채점했어요. "
    "`lr_at`부터 고쳐 보세요."
)
"""What the learner reads if the stand-in was used because `lr_at` is wrong."""
_SHORT_SCHEDULE: dict[str, Any] = {
    "warmup_steps": 2,
    "total_steps": 8,
    "initial_lr": 0.004,
    "peak_lr": 0.05,
    "min_lr": 0.002,
}
"""Arguments with which `_agrees_with_stand_in` asks both functions for every step of one schedule."""


@contextmanager
def replace_lr_at(stage: Stage, train_gpt: Callable[..., Any]) -> Iterator[None]:
    """Replace the `lr_at` that the learner's `train_gpt` calls by the stand-in inside this context.

    Afterwards, unless an exception ends the context, add a note to the program's warnings if the stand-in was called
    and the learner has written an `lr_at` that is wrong or empty. A note costs no points.
    """
    learner_globals = globals_of(train_gpt)
    learner_lr_at = learner_globals.get(_LR_AT, _MISSING)
    was_called = False

    def noting_stand_in(*args: Any, **kwargs: Any) -> float:
        nonlocal was_called
        was_called = True
        return lent_lr_at(*args, **kwargs)

    learner_globals[_LR_AT] = noting_stand_in
    try:
        yield
    finally:
        if learner_lr_at is _MISSING:
            learner_globals.pop(_LR_AT, None)
        else:
            learner_globals[_LR_AT] = learner_lr_at
    if not was_called or learner_lr_at is _MISSING:
        return
    warnings = stage.program.warnings
    if _WRONG_LR_AT_NOTE not in warnings and not _agrees_with_stand_in(learner_lr_at):
        warnings.append(_WRONG_LR_AT_NOTE)


def _agrees_with_stand_in(learner_lr_at: Any) -> bool:
    """Return True if the learner's `lr_at` gives the stand-in's rates at every step of one short schedule.

    This rough test only decides about the note. `lr_at` is graded as an exercise of its own.
    """
    try:
        return all(
            abs(as_number(learner_lr_at(step, **_SHORT_SCHEDULE)) - lent_lr_at(step, **_SHORT_SCHEDULE))
            < 1e-6
            for step in range(_SHORT_SCHEDULE["total_steps"])
        )
    except STUDENT_ERRORS:
        return False
