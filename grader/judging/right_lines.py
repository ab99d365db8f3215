"""Return the lines that the solution has where the program of a known mistake differs from it.

Example: `no-division` turns `loss = loss_fn(logits, yb) / len(window)` into `loss = loss_fn(logits, yb)`. The right
line is the former.

The third hint of a page (`report/hold_back.py`) shows these lines. The last step of `hint` (`report/hint_ladder.py`)
shows a single one if no edit of the learner's own code was found. `uncalled.py` looks for method calls in them. Repairs
(`judging/repair/`) are edits of the learner's program instead.
"""

import ast
import io
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from textwrap import dedent

from grader.course.course import Exercise
from grader.judging.edits import variant_source
from grader.judging.explain import ExplainedMistake
from grader.judging.solution import exercise_source
from grader.submission.syntax import DEFINITIONS, definitions, first_line, last_line

_MAX_LINES = 4
"""Maximum number of lines that are shown; more would be the answer."""
_GAP = "..."
"""Stands between two lines that are not neighbours in the solution."""


@dataclass(frozen=True)
class _Code:
    """The lines of a definition without docstrings, comments and empty lines."""

    lines: tuple[str, ...]
    header_size: int
    """Number of lines before the body: decorators, and the `def` or `class` with all its parameters."""


def right_lines(exercise: Exercise, mistake: ExplainedMistake) -> tuple[str, ...]:
    """Return the solution's lines where the mistake's program differs.

    If that program has all of them, too, only in other places, their neighbours come with them, because the lines alone
    would not show where they belong. Docstrings, comments and empty lines are left out, and `...` stands between lines
    that are not neighbours.

    Empty if the mistake only adds lines, if there would be more than `_MAX_LINES`, or if other mistakes that are shown
    with it behave alike (`shown_alternatives`).
    """
    if len(mistake.shown_alternatives) > 1:
        return ()
    right, wrong = _codes(exercise, mistake)
    shown = _changed(right, wrong)
    if {right.lines[index].strip() for index in shown} <= {line.strip() for line in wrong.lines}:
        beside = {index + step for index in shown for step in (-1, 1)}
        # The header tells nothing about where a line belongs.
        shown |= {index for index in beside if right.header_size <= index < len(right.lines)}
    return tuple(_with_gaps(right, sorted(shown))) if len(shown) <= _MAX_LINES else ()


def changed_lines(exercise: Exercise, mistake: ExplainedMistake) -> list[str]:
    """Return all lines of the solution, however many, that the mistake's program does not have at their place."""
    right, wrong = _codes(exercise, mistake)
    return [right.lines[index] for index in sorted(_changed(right, wrong))]


def _codes(exercise: Exercise, mistake: ExplainedMistake) -> tuple[_Code, _Code]:
    """Return the code of the solution and of the program with the mistake that feedback names first."""
    right, wrong = exercise_source(exercise), variant_source(exercise, mistake.shown_variant)
    return _code(right, exercise.name), _code(wrong, exercise.name)


@cache
def _changed(right: _Code, wrong: _Code) -> frozenset[int]:
    """Return the indices of the lines of `right` that `wrong` does not have at their place."""
    matcher = SequenceMatcher(None, right.lines, wrong.lines, autojunk=False)
    changes = [(start, end) for kind, start, end, _, _ in matcher.get_opcodes() if kind != "equal"]
    return frozenset(index for start, end in changes for index in range(start, end))


@cache
def _code(source: str, name: str) -> _Code:
    """Return the code of a source that defines `name`."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno, last_line(node.body[0])
            lines[first - 1 : last] = [""] * (last - first + 1)
    header = lines[: first_line(definitions(source)[name].body[0]) - 1]
    return _Code(tuple(filter(str.strip, lines)), len(list(filter(str.strip, header))))


def _with_gaps(code: _Code, indices: list[int]) -> Iterator[str]:
    """Yield these lines without their common indentation, and a mark between those that are not neighbours."""
    lines = dedent("\n".join(code.lines[index] for index in indices)).splitlines()
    for number, line in enumerate(lines):
        if number > 0 and indices[number] > indices[number - 1] + 1:
            yield line[: len(line) - len(line.lstrip())] + _GAP
        yield line
