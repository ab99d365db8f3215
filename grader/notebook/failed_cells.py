"""Notice cells that no longer define their exercise: its function is still that of an earlier run.

Without this, `check(train_step)` after a syntax error, or after the function was renamed, would judge, and record, code
that no longer stands in the cell.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from grader.base.names import closest
from grader.course.reading import load_course
from grader.notebook.own_answers import exercise_of_cell
from grader.notebook.shell import running_shell
from grader.observe.wording import with_particle
from grader.submission.cells import as_python
from grader.submission.practice_cells import practised
from grader.submission.syntax import DEFINED_NAME, DEFINITIONS, SYNTAX_ERROR, ParseError, parse, top_level
from grader.submission.syntax_errors import tell_syntax_error
from grader.submission.unindented import (
    left_outside_message,
    line_left_outside,
    unindented_line,
    unindented_message,
)

_DEFINITION = re.compile(rf"^{DEFINED_NAME}", re.MULTILINE)
"""Finds definitions by their text: a cell with a syntax error has no tree."""
_EMPTY = "함수 안이 비어 있어요"
"""Title for a cell that defined an empty function, because its lines are not indented."""
_OUTSIDE = "함수의 줄이 함수 밖에 있어요"
"""Title for a cell in which a line right below the function was meant to be in it."""
_AGAIN = "오류를 고치고 그 셀을 다시 실행한 다음 확인하세요 (셀을 누르고 Shift+Enter)."


@dataclass(frozen=True)
class _Failed:
    """The last run of a cell that was to define an exercise and did not."""

    earlier: object
    """What the name stands for since an earlier run; None if it stands for nothing."""
    why: str
    """Korean sentence on what is wrong with the cell, or an exception as Python words it."""
    title: str = "위 셀이 실행되지 않았어요"


_failed: dict[str, _Failed] = {}
"""By exercise, in this kernel."""
_made_by_own_cell: dict[str, object] = {}
"""For each exercise whose own cell has run in this kernel, what the cell defined last under its name, or None."""
_running: list[str] = []
"""Texts of the running cells, the inner one last: one can run another."""


def notice_failed_cells() -> None:
    """Notice failed cells from now on, if this is a notebook; otherwise do nothing."""
    shell = running_shell()
    if shell is not None:
        _failed.clear()  # of an earlier notebook in this process
        _made_by_own_cell.clear()
        observer = _Observer(shell.user_ns)
        shell.events.register("pre_run_cell", observer.before)
        shell.events.register("post_run_cell", observer.after)


@dataclass(frozen=True)
class OlderThanItsCell:
    """Korean title and sentences to show instead of judging a function."""

    title: str
    lines: tuple[str, ...]


def older_than_its_cell(exercise: str, function: Callable[..., Any]) -> OlderThanItsCell | None:
    """Return what to say if a later run of its cell has not made `function` anew; None if it is the newest."""
    failed = _failed.get(exercise)
    if failed is None or failed.earlier is not function:
        return None
    if failed.title in (_EMPTY, _OUTSIDE):
        return OlderThanItsCell(failed.title, (failed.why, _AGAIN))
    subject = with_particle(f"`{exercise}`", "은/는")
    told = f"그래서 지금 있는 {subject} 고치기 전의 것이고, 확인하지 않았어요."
    return OlderThanItsCell(failed.title, (told, failed.why, _AGAIN))


def unindented_in_running_cell(missing: str) -> str | None:
    """Return what to say of a missing name that is a parameter of the function above it in the cell, or None."""
    source = as_python(_running[-1]) if _running else ""
    statements = top_level(source)
    for exercise in load_course().exercises:
        found = unindented_line(statements, exercise)
        if found is not None and missing in found.parameters:
            return unindented_message(exercise, found.line)
        found = line_left_outside(source, exercise)
        if found is not None and missing in found.parameters:
            return left_outside_message(exercise, found.line)
    return None


def has_run(exercise: str) -> bool:
    """Return True if the exercise's own cell has run in a front end that tells which cell runs."""
    return exercise in _made_by_own_cell


def has_failed(exercise: str) -> bool:
    """Return True if the cell that was to define the exercise failed when it ran last."""
    return exercise in _failed


class _Observer:
    """Compares the exercises' functions before and after each cell that defines one."""

    def __init__(self, names: dict[str, Any]) -> None:
        self._names = names
        self._before: list[tuple[str | None, dict[str, object]]] = []
        """The exercise that a running cell belongs to, and the values that it is to replace, by name; the inner cell
        last, since one can run another."""

    def before(self, info: Any) -> None:
        """Remember the functions that the cell about to run is to define anew."""
        raw = str(info.raw_cell)
        exercises = load_course().exercises
        meant = {name for name in _DEFINITION.findall(raw) if name in exercises}
        if meant:
            meant -= practised(as_python(raw), tuple(exercises))
        self._before.append((exercise_of_cell(info), {name: self._names.get(name) for name in meant}))
        _running.append(raw)

    def after(self, result: Any) -> None:
        """Record which of them the cell has not defined, and tell a syntax error in Korean."""
        error = result.error_before_exec or result.error_in_exec
        problem = (
            _syntax_problem(str(result.info.raw_cell), error) if isinstance(error, SyntaxError) else None
        )
        source = _running.pop() if _running else ""
        own, meant = self._before.pop() if self._before else (None, {})
        statements = top_level(as_python(source)) if meant else ()
        for name, earlier in meant.items():
            outside = unindented_line(statements, name)
            if outside is not None:
                why = unindented_message(name, outside.line)
                _failed[name] = _Failed(self._names.get(name), why, _EMPTY)
            elif (slipped := line_left_outside(as_python(source), name)) is not None:
                why = left_outside_message(name, slipped.line)
                _failed[name] = _Failed(self._names.get(name), why, _OUTSIDE)
            elif error is not None and self._names.get(name) is earlier:
                _failed[name] = _Failed(earlier, problem or f"오류: {_in_one_line(error)}")
            else:
                _failed.pop(name, None)
        if own is not None:
            self._notice_own(own, source, meant, problem)
        if problem is not None:
            _show(problem)

    def _notice_own(
        self, exercise: str, source: str, meant: Mapping[str, object], problem: str | None
    ) -> None:
        """Record that an exercise's own cell has defined it, or no longer does: it was renamed or taken out."""
        if exercise in meant:
            _made_by_own_cell[exercise] = self._names.get(exercise)
            return
        earlier = _made_by_own_cell.setdefault(exercise, None)
        if earlier is not None and self._names.get(exercise) is earlier:
            why = problem or _why_not_defined(exercise, source)
            _failed[exercise] = _Failed(
                earlier, why, f"연습 셀에 {with_particle(f'`{exercise}`', '이/가')} 없어요"
            )


def _why_not_defined(exercise: str, source: str) -> str:
    """Return Korean sentences on a cell that runs and defines other names than its exercise's, or none."""
    written = [one.name for one in top_level(as_python(source)) if isinstance(one, DEFINITIONS)]
    near = closest(exercise, written) or (written[0] if len(written) == 1 else None)
    mended = with_particle(f"`{exercise}`", "으로/로")
    if near is None:
        return f"연습 셀에 이 이름의 함수가 없어요. 함수의 이름을 {mended} 써 주세요."
    return f"연습 셀에 쓴 함수의 이름은 {with_particle(f'`{near}`', '이에요/예요')}. 이름을 {mended} 바꿔 주세요."


def _syntax_problem(source: str, raised: SyntaxError) -> str | None:
    """Return a Korean line on the cell's syntax error, which IPython raised; None if only IPython sees one."""
    try:
        parse(as_python(source))
    except ParseError as error:
        return f"{error.line}번째 줄: {str(error).removeprefix(SYNTAX_ERROR)}"
    if "outside" in (raised.msg or ""):  # a `return` at the left margin: only the compiler sees it
        told = tell_syntax_error(raised, source)
        return f"{told.line}번째 줄: {told.message}"
    return None


def _in_one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())[:200]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _show(line: str) -> None:
    # Imported only here: a kernel imports this module before its first cell, and drawing takes a second to import.
    from grader.notebook.shown import message
    from grader.plots import publish

    publish(dict(message(line)._repr_mimebundle_()), {})
