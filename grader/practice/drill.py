"""The drill: write an exercise's function from memory, against the clock.

It is judged like a file in `grader check`.
"""

import ast
import re
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from grader.base.errors import CommandError, HanstepError, NothingToCheck
from grader.course.course import Course, Exercise
from grader.course.exercise_cell import exercise_of
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.learner.progress import Progress
from grader.notebook.check import judge_in_kernel
from grader.notebook.shown import Shown, message, new_cell
from grader.observe.wording import with_particle
from grader.practice.best_times import Best, BestTimes
from grader.practice.typed_body import as_body
from grader.report.html import feedback_html, note_html
from grader.report.plain_text import one_line
from grader.report.text import feedback_text
from grader.submission.practice_cells import exercise_meant, own_name
from grader.submission.practice_files import marked, unmarked

FIRST = "train_step"
"""The exercise that is drilled unless another one is asked for."""
_IMPORTS = "import torch\n\n\n"
_TO_DO = "# 여기에 코드를 쓰세요\nraise NotImplementedError\n"


def signature_and_docstring(exercise: Exercise) -> str:
    """Return the function's first lines as the lesson hands them out: signature and docstring.

    Raises:
        CommandError: the exercise is a class, which is too long for a drill.
    """
    starter = _starter(load_course(), exercise)
    (definition,) = (
        node
        for node in ast.parse(starter).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == exercise.name
    )
    if isinstance(definition, ast.ClassDef):
        raise CommandError(
            f"{with_particle(f'`{exercise.name}`', '은/는')} 클래스라 드릴로 쓰기에는 길어요. "
            '함수를 하나 골라 주세요. 예: 노트북에서는 `drill("accumulate")`, 터미널에서는 `grader drill accumulate`'
        )
    has_docstring = ast.get_docstring(definition) is not None
    last = definition.body[0].end_lineno if has_docstring else definition.body[0].lineno - 1
    return "\n".join(starter.splitlines()[definition.lineno - 1 : last]) + "\n"


def blank(exercise: Exercise) -> str:
    """Return the text to be filled in: the imports, the head and a placeholder for the body."""
    return with_body(exercise, _TO_DO)


def blank_file(exercise: Exercise) -> str:
    """Return the text of `blank` marked as a drill, to be opened in an editor."""
    return marked(blank(exercise), "drill")


def is_blank_file(exercise: Exercise, text: str) -> bool:
    """Return True if a file is still as `blank_file` of this or an earlier version made it."""
    return unmarked(text).rstrip() == blank(exercise).rstrip()


def with_body(exercise: Exercise, body: str) -> str:
    """Return a file in which the function has this body, indented or not, or which holds the whole function given."""
    whole = textwrap.dedent(body.expandtabs(4))
    if re.search(rf"(?m)^def {exercise.name}\b", whole):
        return _IMPORTS + whole
    return _IMPORTS + signature_and_docstring(exercise) + as_body(body)


def judged(exercise: Exercise, source: str) -> Feedback | None:
    """Judge a file with this text as `grader check` would, in a process of its own.

    Returns:
        None if the text does not define the function.
    """
    from grader.grading.own_file import OwnFile

    with tempfile.TemporaryDirectory(prefix="hanstep-") as folder:
        file = Path(folder) / f"{exercise.name}.py"
        file.write_bytes(unmarked(source).encode("utf-8", "replace"))
        try:
            own = OwnFile(file, load_course())
        except NothingToCheck:
            return None
        feedbacks = own.check((exercise,)) if own.source(exercise.name) else ()
    return next(iter(feedbacks), None)


def time_in_words(seconds: float) -> str:
    """Return a duration in Korean: `42.3초`, `1분 5.0초`."""
    tenths = round(10 * seconds)
    minutes, rest = divmod(tenths, 600)
    return f"{minutes}분 {rest / 10:.1f}초" if minutes else f"{rest / 10:.1f}초"


def result(seconds: float, before: Best | None) -> str:
    """Return the Korean sentence for a right answer that took this long, compared with the best before."""
    if before is None:
        return f"{time_in_words(seconds)} 걸렸어요. 첫 기록이에요."
    if seconds < before.seconds:
        faster = time_in_words(before.seconds - seconds)
        return f"{time_in_words(seconds)} 걸렸어요. 가장 빠른 기록보다 {faster} 더 빨라요. 새 기록이에요!"
    return f"{time_in_words(seconds)} 걸렸어요. 가장 빠른 기록은 {time_in_words(before.seconds)}예요."


def set_aside_note(times: BestTimes) -> str:
    """Return a Korean note if the kept times could not be read; else an empty text."""
    if times.set_aside is None:
        return ""
    return f"지난 드릴 기록을 읽을 수 없어 다른 이름으로 옮겨 두었어요: {times.set_aside}. 기록은 처음부터 다시 쌓여요."


# ---- in a notebook ---------------------------------------------------------------------------------------

_started: dict[str, float] = {}
"""When the clock of each exercise was started, in seconds of `time.monotonic`."""


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
    left = len(drilled.hints) - Progress.load().history.exercise(name).hints
    shown = Shown(feedback_html(feedback, total_hints=left, folded=True), feedback_text(feedback), feedback)
    if not shown.passed:
        return _under("시계는 계속 가고 있어요. 고쳐서 다시 실행해 보세요.", shown)
    seconds = now - _started.pop(name)
    times = BestTimes()
    before = times.record(name, seconds)
    return _under(" ".join(filter(None, (result(seconds, before), set_aside_note(times)))), shown)


def _begin(exercise: Exercise, now: float) -> Shown:
    """Start the clock, put the blank function into a new cell and show it."""
    name = own_name(exercise.name, "drill")
    template = re.sub(rf"(?m)^def {exercise.name}\b", f"def {name}", blank(exercise))
    _started[exercise.name] = now
    new_cell(f"{template.rstrip()}\n\n\ndrill({name})")
    best = BestTimes().of.get(exercise.name)
    notes = (
        f"아래에 생긴 셀에 `{name}` 함수를 기억만으로 쓰고 그 셀을 실행하세요. "
        f"이름이 달라서 내 답 `{exercise.name}`은 그대로 남아요. "
        f"셀이 생기지 않았으면 새 셀에 쓰고 `drill({name})`을 실행하세요.",
        "" if best is None else f"가장 빠른 기록: {time_in_words(best.seconds)} ({best.on})",
    )
    title, lines = "시계가 가고 있어요", [*filter(None, notes)]
    return Shown(note_html(lines, title=title, code=template), "\n".join([f"{title}.", *lines, "", template]))


def _under(line: str, shown: Shown) -> Shown:
    """Return what `check` shows, with the line above it."""
    return replace(shown, html=f"{note_html([line])}{shown.html}", text=f"{line}\n{shown.text}")


def _starter(course: Course, exercise: Exercise) -> str:
    """Return the exercise's cell of the learner's notebook, as it is handed out."""
    part = course.lesson(exercise.lesson).part_of(exercise.name)
    return next("".join(cell["source"]) for cell in part.cells() if exercise_of(cell) == exercise.name)
