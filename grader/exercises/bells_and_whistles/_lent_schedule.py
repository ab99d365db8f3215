"""While `train_gpt` is played, replace the learner's `lr_at` by a right one.

`lr_at` is an exercise of its own, so a wrong `lr_at` must not cost points twice. This file enters the sandbox, so the
lent function must not pass as an answer to `lr_at` (`tests/sandbox/test_parcels.py` checks this): it knows only cosine
decay, does not check `decay`, and leaves out edge cases that `train_gpt` never reaches.
"""

import cmath
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from grader.exercises.fixtures.stand_ins import globals_of
from grader.observe.play import Stage
from grader.observe.program import STUDENT_ERRORS
from grader.observe.values import as_number

_NAME = "lr_at"
_MISSING = object()  # not callable, so `_is_right` returns False for it
_NOTE = (
    "`train_gpt`가 부르는 `lr_at`이 아직 맞지 않아요. 여기서는 맞는 학습률을 빌려 드려서 `train_gpt`만 채점했어요. "
    "`lr_at`부터 고쳐 보세요."
)
_SHORT_SCHEDULE: dict[str, Any] = {
    "warmup_steps": 2,
    "total_steps": 8,
    "initial_lr": 0.004,
    "peak_lr": 0.05,
    "min_lr": 0.002,
}


def _lent(
    step: int,
    warmup_steps: int,
    total_steps: int,
    initial_lr: float,
    peak_lr: float,
    min_lr: float,
    decay: str = "cosine",
) -> float:
    """Return the lent learning rate: linear warm-up, then cosine decay whatever `decay` says."""
    if step < warmup_steps:
        return initial_lr + step * (peak_lr - initial_lr) / warmup_steps
    steps_down = total_steps - 1 - warmup_steps
    if step - warmup_steps >= steps_down:
        return min_lr
    cosine = cmath.exp(
        1j * cmath.pi * (step - warmup_steps) / steps_down
    ).real  # cos(πt): t goes from 0 to 1 during the decay
    return (peak_lr + min_lr + (peak_lr - min_lr) * cosine) / 2


@contextmanager
def lent_schedule(stage: Stage, function: Callable[..., Any]) -> Iterator[None]:
    """Replace the submission's `lr_at` by the lent one inside this context.

    If the lent one was called, and the submission's `lr_at` is wrong or absent, add a note to the program's warnings.
    A note costs no points.
    """
    names = globals_of(function)
    own = names.get(_NAME, _MISSING)
    was_called = False

    def lent(*args: Any, **kwargs: Any) -> float:
        nonlocal was_called
        was_called = True
        return _lent(*args, **kwargs)

    names[_NAME] = lent
    try:
        yield
    finally:
        if own is _MISSING:
            names.pop(_NAME, None)
        else:
            names[_NAME] = own
    if was_called and _NOTE not in stage.program.warnings and not _is_right(own):
        stage.program.warnings.append(_NOTE)


def _is_right(own: Any) -> bool:
    """Return True if the submission's `lr_at` agrees with the lent one on one short cosine schedule.

    This is a rough test, which only decides about the note; `lr_at` is graded as an exercise of its own.
    """
    try:
        return all(
            abs(as_number(own(step, **_SHORT_SCHEDULE)) - _lent(step, **_SHORT_SCHEDULE)) < 1e-6
            for step in range(_SHORT_SCHEDULE["total_steps"])
        )
    except STUDENT_ERRORS:
        return False
