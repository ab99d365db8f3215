"""`drill` in a notebook: starts the clock with an empty function in a new cell, and takes the written one back."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.base.errors import HanstepError
from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.learner.settings import as_chosen
from grader.notebook.check import judge_in_kernel
from grader.notebook.hints import hints_left
from grader.notebook.shown import Shown, message, new_cell
from grader.observe.wording import particle
from grader.practice.best_times import BestTimes
from grader.practice.drill import (
    FIRST,
    after_first_miss,
    blank,
    recent_times,
    result,
    set_aside_note,
    to_beat,
)
from grader.report.html import feedback_html, note_html
from grader.report.plain_text import one_line
from grader.report.text import feedback_text
from grader.submission.practice_cells import exercise_meant, own_name

_started: dict[str, float] = {}
"""When the clock of each exercise was started, in seconds of `time.monotonic`."""
_missed: set[str] = set()
"""Those of them that were handed in wrong already."""


def drill(exercise: str | Callable[..., Any] = FIRST) -> Shown:
    """Start the clock for an exercise, or hand in what was written. Neither counts as an answer to the exercise.

    Args:
        exercise: its name, to start the clock; the function itself, to stop it. For a wrong function, the usual
            feedback is shown and the clock goes on.
    """
    now = time.monotonic()
    try:
        if isinstance(exercise, str):
            return _begin(load_course().exercise(exercise), now)
        if not callable(exercise):
            return message(
                "drill에는 연습 문제의 이름이나 드릴 셀에 쓴 함수를 넘겨 주세요 "
                f"(받은 값: {one_line(repr(exercise), 60)}). "
                '예: drill("train_step")으로 시작하고, drill(train_step_drill)로 끝내요.'
            )
        written = str(getattr(exercise, "__name__", type(exercise).__name__))
        name = exercise_meant(written, load_course().exercises) or written
        drilled = load_course().exercise(name)
        if name not in _started:
            return message(f'시계가 아직 멈춰 있어요. 먼저 새 셀에서 drill("{name}")을 실행해 주세요.')
        feedback = judge_in_kernel(drilled, exercise)
    except HanstepError as error:
        return message(str(error))
    left, told = hints_left(drilled, Progress.load()), as_chosen(feedback, Path.cwd())
    if name not in _missed:
        told = after_first_miss(told)
    shown = Shown(feedback_html(told, total_hints=left, folded=True), feedback_text(told), feedback)
    if not shown.passed:
        _missed.add(name)
        return _under("시계는 계속 가고 있어요. 고쳐서 다시 실행해 보세요.", shown)
    seconds = now - _started.pop(name)
    times = BestTimes()
    before = times.record(name, seconds)
    Progress.load().record_drill(name)
    again = f'한 번 더 하려면 `drill("{name}")`을 실행하세요.'
    lines = (result(seconds, before), recent_times(times.of[name]), set_aside_note(times), again)
    return _under(" ".join(filter(None, lines)), shown, seconds)


def _begin(exercise: Exercise, now: float) -> Shown:
    """Start the clock, put the blank function into a new cell and show it."""
    name = own_name(exercise.name, "drill")
    template = re.sub(rf"(?m)^def {exercise.name}\b", f"def {name}", blank(exercise))
    _started[exercise.name] = now
    _missed.discard(exercise.name)
    new_cell(f"{template.rstrip()}\n\n\ndrill({name})")
    lines = [
        f"아래에 생긴 셀에 `{name}` 함수를 기억만으로 쓰고 그 셀을 실행하세요. "
        f"이름이 달라서 내 답 `{exercise.name}`{particle(exercise.name, '은/는')} 그대로 남아요.",
        to_beat(exercise, BestTimes().of.get(exercise.name)),
    ]
    title = "시작! 시계가 가고 있어요"
    without = f"셀이 생기지 않았으면 새 셀에 쓰고 drill({name})을 실행하세요"
    page = note_html(lines, title=title, code=template, folded=without)
    return Shown(page, "\n".join([f"{title}.", *lines, f"{without}.", "", template]))


def _under(line: str, shown: Shown, seconds: float | None = None) -> Shown:
    """Return what `check` shows, with the line above it; `seconds`, if given, stop the clock that JupyterLab shows."""
    stop = "" if seconds is None else f' data-hanstep-time="{seconds:.1f}"'
    return replace(
        shown,
        html=f"<div{stop}>{note_html([line])}</div>{shown.html}",
        text=f"{line.replace('`', '')}\n{shown.text}",
    )
