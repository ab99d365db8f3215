"""Explain a `NameError` in a lesson in Korean: say which cell has not run yet, or which name is meant.

After a break the kernel is new, and a learner who goes on where they stopped runs `check(train_step)` first. Only names
are explained that the cell itself uses, and that some lesson defines or nearly exist; a name missing inside a function
keeps Python's own message.
"""

import ast
import types
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from traceback import walk_tb
from types import TracebackType
from typing import Any

from grader.base.names import closest
from grader.base.package import NOTEBOOK_FUNCTIONS
from grader.course.reading import load_course
from grader.notebook.failed_cells import has_failed, has_run, unindented_in_running_cell
from grader.notebook.own_answers import is_practice
from grader.notebook.shell import running_shell
from grader.observe.wording import particle, with_particle
from grader.submission.cells import without_magics


def explain_missing_names() -> None:
    """Explain missing names from now on, if this is a notebook and nobody else has replaced the display of errors.

    IPython still counts the cell as failed, so that "run all" stops there.
    """
    shell = running_shell()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((NameError,), _show)


def why_missing(
    name: str, *, prepared: bool = False, written: Collection[str] = (), known: Collection[str] = ()
) -> str | None:
    """Return Korean lines on what to run first, or on the name that is meant; None if neither is known.

    They name no menu: learners have met Shift+Enter, and not every editor.

    Args:
        name: the missing name.
        prepared: the lesson's first cells have run, so that running them is no advice.
        written: names of the functions and classes that the learner has defined.
        known: all names that exist, one of which may be meant.
    """
    if name in load_course().exercises:
        return _why_function_is_missing(name, written)
    if name in NOTEBOOK_FUNCTIONS:
        first = "" if prepared else "레슨의 맨 위 셀들을 먼저 실행하고, 그래도 없으면 "
        return (  # the code has a line of its own, which can be copied and is not broken
            f"`{name}`{particle(name, '은/는')} 강의 패키지에 있고, 아직 가져오지 않았어요.\n"
            f"{first}새 셀에서 이 줄을 실행하세요:\n\nfrom grader import {name}"
        )
    missing = f"`{name}`{particle(name, '이라는/라는')} 이름은"
    if name in _made_in_lessons():
        return (
            f"{missing} 아직 없어요. 위의 셀이 만드는 이름이에요. "
            "맨 위의 셀부터 Shift+Enter로 차례로 실행한 다음, 이 셀을 다시 실행하세요."
        )
    if (near := closest(name, known)) is not None:
        return f"{missing} 없어요. {with_particle(f'`{near}`', '을/를')} 쓰려던 건가요?"
    return None


def _why_function_is_missing(name: str, written: Collection[str]) -> str:
    """Return Korean lines on a missing exercise function; `written` is as for `why_missing`."""
    missing = f"아직 없는 함수예요: {name}."
    mended = f"이름을 {with_particle(f'`{name}`', '으로/로')}"
    if has_failed(name):
        return f"{missing} 그 함수를 쓴 셀이 오류로 멈췄어요. 오류를 고치고 그 셀을 다시 실행하세요."
    if (near := closest(name, written)) is not None:
        here = with_particle(f"`{near}`", "이/가")
        return f"{missing} 비슷한 이름의 함수 {here} 있어요. 그 함수의 {mended} 바꾸고, 함수를 쓴 셀을 다시 실행하세요."
    if has_run(name):
        return (
            f"{missing} 연습 셀을 실행했지만 그 안에 이 이름의 함수가 없어요. "
            f"함수의 {mended} 고치고 그 셀을 다시 실행하세요."
        )
    return f"{missing} 그 함수를 쓴 셀을 먼저 실행하세요 (셀을 누르고 Shift+Enter)."


def _show(
    shell: Any,
    kind: type[NameError],
    error: NameError,
    traceback: TracebackType | None,
    tb_offset: int | None = None,
) -> None:
    inmost = list(walk_tb(traceback))[-1:]
    in_cell = any(frame.f_code.co_name == "<module>" for frame, _ in inmost)
    prepared = any(
        getattr(shell.user_ns.get(one), "__module__", "").startswith("grader.") for one in NOTEBOOK_FUNCTIONS
    )
    explanation = None
    if in_cell and isinstance(error.name, str):
        explanation = unindented_in_running_cell(error.name) or why_missing(
            error.name,
            prepared=prepared,
            written=_written(shell.user_ns),
            known=[one for one in shell.user_ns if not one.startswith("_")],
        )
    if explanation is not None:
        lines = [f"NameError: {error}", explanation]
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]  # IPython calls it to show the error
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)


def _written(names: Mapping[str, Any]) -> list[str]:
    """Return the names of the learner's own functions and classes in a notebook's namespace."""
    return [
        name
        for name, value in names.items()
        if isinstance(value, types.FunctionType | type)
        and value.__module__ == "__main__"
        and name not in _made_in_lessons()
        and not is_practice(value)
    ]


@cache
def _made_in_lessons() -> frozenset[str]:
    """Return the names that the lessons' cells import, assign or define at top level."""
    cells = (cell for part in load_course().parts for cell in part.cells() if cell["cell_type"] == "code")
    return frozenset(name for cell in cells for name in _bound("".join(cell["source"])))


def _bound(code: str) -> Iterator[str]:
    try:
        statements = ast.parse(without_magics(code)).body
    except SyntaxError:
        return
    for statement in statements:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            yield statement.name
        elif isinstance(statement, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id
