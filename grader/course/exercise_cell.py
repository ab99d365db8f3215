"""Find an exercise's cell: in a notebook by its tag (`exercise:train_step`), and in a lesson's source for the answer.

The exercise's cell holds the answer, which is the last hint, so it is written down nowhere else. Comments, the
docstring that stands in the learner's notebook too, and the marks of solution regions are left out of it.
"""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from grader.base.errors import HanstepError

_TAG = "exercise:"
_MARK = re.compile(r"[ \t]*# SOLUTION(: left out)?$", re.MULTILINE)
"""Matches the mark of a line whose value learners fill in, or of one that they get without."""

_LEFT_OUT = re.compile(r"^.*# SOLUTION: left out\n", re.MULTILINE)


class NoAnswer(HanstepError):
    """The lesson's source has no cell of the exercise that can be read."""


def exercise_of(cell: Mapping[str, Any]) -> str | None:
    """Return the name of the exercise whose answer is in the cell, or None for any other cell.

    Args:
        cell: a cell as nbformat or JSON gives it. Its tags are untrusted: whoever wrote the notebook may have put
            anything there.
    """
    tags = cell["metadata"].get("tags")
    texts = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return next((tag.removeprefix(_TAG) for tag in texts if tag.startswith(_TAG)), None)


def answer_hint(source: Path, name: str, note: str) -> str:
    """Return the hint that tells the answer, as Markdown.

    Args:
        source: the lesson's source in percent format.
        name: the exercise's name.
        note: Korean text above the code; may be empty.

    Raises:
        NoAnswer: no cell is tagged for the exercise, or it does not define it.
    """
    code = answer(source.read_text(encoding="utf-8"), name)
    if code is None:
        raise NoAnswer(
            f'{source}: `{name}`의 정답 셀이 없어요. # %% tags=["exercise:{name}"] 셀에 정의해 주세요.'
        )
    lead = f"{note}\n\n" if note else ""
    return f"{lead}```python\n{code}\n```\n"


def answer(text: str, name: str) -> str | None:
    """Return the definition of `name` in the cell of `text` tagged for it; None if there is none."""
    cell = re.search(rf'^# %% tags=\[[^\]\n]*"{_TAG}{name}"[^\n]*\n(.*?)(?=^# %%|\Z)', text, re.M | re.S)
    if cell is None:
        return None
    try:
        body = ast.parse(cell[1]).body
    except SyntaxError:
        return None
    found = [n for n in body if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == name]
    if not found:
        return None
    (definition, lines) = found[-1], cell[1].split("\n")
    start = min([definition.lineno, *(one.lineno for one in definition.decorator_list)])
    left_out = _lines_of_docstring(definition, lines)
    kept = [
        without_marks(line)
        for number, line in enumerate(lines[: definition.end_lineno], 1)
        if number >= start and number not in left_out and not line.lstrip().startswith("#")
    ]
    return "\n".join(kept)


def running_starter(text: str, name: str) -> str | None:
    """Return the definition that learners get of `name` if lines are left out of it; None if they write all of it."""
    starter = answer(_LEFT_OUT.sub("", text), name)
    return starter if starter != answer(text, name) else None


def without_marks(text: str) -> str:
    """Return the text of a solution without the marks at the ends of lines that learners fill in."""
    return _MARK.sub("", text)


def _lines_of_docstring(definition: ast.FunctionDef | ast.ClassDef, lines: list[str]) -> set[int]:
    """Return the numbers of the docstring's lines, and of the blank ones below it."""
    if ast.get_docstring(definition) is None:
        return set()
    first = definition.body[0]
    last = first.end_lineno or first.lineno
    while last < len(lines) and not lines[last].strip():
        last += 1
    return set(range(first.lineno, last + 1))
