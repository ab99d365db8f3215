"""The drill: write an exercise's function from memory, against the clock.

It is judged like a file in `grader check`.
"""

import ast
import math
import re
import tempfile
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

from grader.base.errors import CommandError, NothingToCheck
from grader.base.package import TEMPORARY_PREFIX
from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.judging.solution import exercise_source, task_text
from grader.observe.wording import with_particle
from grader.practice.best_times import Best, BestTimes
from grader.practice.typed_body import as_body
from grader.report.hold_back import without_repair
from grader.submission.practice_files import marked, unmarked

FIRST = "train_step"
"""The exercise that is drilled unless another one is asked for."""
_SECONDS_PER_LINE = 12
"""Time to write one line that is known by heart: the five lines of the first exercise take a minute or so."""
_IMPORTS = "import torch\n\n\n"
_TO_DO = "# 여기에 코드를 쓰세요\nraise NotImplementedError\n"


def signature_and_docstring(exercise: Exercise) -> str:
    """Return the function's first lines as the lesson hands them out: signature and docstring.

    Raises:
        CommandError: the exercise is a class, which is too long for a drill.
    """
    if exercise_source(exercise).lstrip().startswith("class "):
        raise CommandError(
            f"{with_particle(f'`{exercise.name}`', '은/는')} 클래스라 드릴로 쓰기에는 길어요. "
            '함수를 하나 골라 주세요. 예: 노트북에서는 `drill("accumulate")`, 터미널에서는 `grader drill accumulate`'
        )
    return task_text(exercise) + "\n"


def blank(exercise: Exercise) -> str:
    """Return the text to be filled in: the imports, the head and a placeholder for the body."""
    return with_body(exercise, _TO_DO)


def target(exercise: Exercise) -> int:
    """Return the time to aim at, in seconds: so many for each line of the solution's body, in half minutes."""
    (definition,) = ast.parse(exercise_source(exercise)).body
    lines = len(ast.unparse(definition).splitlines()) - 1
    docstring = (
        ast.get_docstring(definition, clean=False) if isinstance(definition, ast.FunctionDef) else None
    )
    lines -= 0 if docstring is None else len(docstring.splitlines())
    return 30 * max(1, math.ceil(_SECONDS_PER_LINE * lines / 30))


def to_beat(exercise: Exercise, best: Best | None) -> str:
    """Return the Korean line on the time to aim at, and on the fastest one if there is one."""
    aim = f"목표 시간: {_aim_in_words(target(exercise))} (한 줄에 {_SECONDS_PER_LINE}초쯤)"
    return aim if best is None else f"{aim} · 가장 빠른 기록: {time_in_words(best.seconds)} ({best.on})"


def _aim_in_words(seconds: int) -> str:
    """Return a number of half minutes in Korean: `30초`, `2분`, `1분 30초`."""
    minutes, rest = divmod(seconds, 60)
    return " ".join([f"{minutes}분"] * (minutes > 0) + [f"{rest}초"] * (rest > 0))


def first_line(exercise: Exercise) -> int:
    """Return the number of the line at which the function's body begins in the text of `blank`."""
    return (_IMPORTS + signature_and_docstring(exercise)).count("\n") + 1


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


def judged(
    exercise: Exercise, source: str, meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Feedback | None:
    """Judge a file with this text as `grader check` would, in a process of its own.

    Args:
        exercise: the exercise that the file is to solve.
        source: text of the file.
        meanwhile: context manager entered while the function runs. It may start threads; a thread that runs already
            makes judging seconds slower, because then no process can be forked.

    Returns:
        None if the text does not define the function.
    """
    from grader.grading.own_file import OwnFile

    with tempfile.TemporaryDirectory(prefix=TEMPORARY_PREFIX) as folder:
        file = Path(folder) / f"{exercise.name}.py"
        file.write_bytes(unmarked(source).encode("utf-8", "replace"))
        try:
            own = OwnFile(file, load_course())
        except NothingToCheck:
            return None
        feedbacks = own.check((exercise,), meanwhile=meanwhile) if own.source(exercise.name) else ()
    return next(iter(feedbacks), None)


def after_first_miss(feedback: Feedback) -> Feedback:
    """Return what the first wrong answer is told: its symptom alone, so that the line may still be remembered."""
    held = without_repair(feedback)
    if held is feedback or feedback.error is not None:  # nothing is named, or the exception has its own line
        return held
    mistakes = tuple(
        replace(named, line=None, cell=None, source_line=None, before=False, after=False)
        for named in held.diagnosis.mistakes
    )
    diagnosis = replace(held.diagnosis, mistakes=mistakes)
    return replace(held, line=None, cell=None, source_line=None, lines_above=0, diagnosis=diagnosis)


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


def recent_times(best: Best) -> str:
    """Return the last times in Korean, the newest last; empty for the first one."""
    if len(best.recent) < 2:
        return ""
    return "최근 기록: " + " → ".join(map(time_in_words, best.recent))


def set_aside_note(times: BestTimes) -> str:
    """Return a Korean note if the kept times could not be read; else an empty text."""
    if times.set_aside is None:
        return ""
    return f"지난 드릴 기록을 읽을 수 없어 다른 이름으로 옮겨 두었어요: {times.set_aside}. 기록은 처음부터 다시 쌓여요."
