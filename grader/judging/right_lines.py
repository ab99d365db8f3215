"""Return the lines that the solution has where the program of a known mistake differs from it.

Example: `no-division` turns `loss = loss_fn(logits, yb) / len(window)` into `loss = loss_fn(logits, yb)`. The right
line is the former.

`assess.py` puts these lines into the diagnosis; hints show them (`report/hold_back.py`, `report/hint_ladder.py`), and
`repair/add_repair.py` compares the steps of a repair with them. `uncalled.py` reads `changed_lines`. Nothing here reads
the learner's program; its edits are made in `repair/`. To show something else of the solution, or more: `right_lines`
and `_MAX_LINES`, with a case in `tests/judging/test_right_lines.py`.
"""

import ast
import io
import tokenize
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cache
from textwrap import dedent
from typing import NamedTuple

from grader.course.course import Exercise
from grader.judging.edits import variant_source
from grader.judging.explain import ExplainedMistake
from grader.judging.solution import exercise_source
from grader.submission.syntax import DEFINITIONS, definitions, first_line, last_line

_MAX_LINES = 4
"""Maximum number of lines that are shown, `GAP` not counted; a short exercise's whole answer has hardly more."""
_JUMPS = ("continue", "break", "pass", "return")
"""Lines that say nothing without the condition above them."""
GAP = "..."
"""Stands between two lines that are not neighbours in the bare solution."""


@dataclass(frozen=True)
class _BareDefinition:
    """The lines of a definition without docstrings, comments and empty lines."""

    lines: tuple[str, ...]
    statements: tuple[range, ...]
    """For each line, the indices of the statement that it is a part of; of a block, only the head is one statement."""
    unused: frozenset[int]
    """Indices of the lines of each `if False:` without `else`, its head included."""
    header_size: int
    """Number of lines before the body: decorators, and the `def` or `class` with all its parameters."""

    def header_of(self, index: int) -> int:
        """Return the index of the line that opens the block with this line."""
        indentations = [len(line) - len(line.lstrip()) for line in self.lines]
        return next((i for i in reversed(range(index)) if indentations[i] < indentations[index]), index)


def right_lines(exercise: Exercise, mistake: ExplainedMistake) -> tuple[str, ...]:
    """Return the solution's lines where the mistake's program differs.

    If each of them also occurs somewhere in that program (it was moved, or one of several equal lines is gone), their
    neighbours come with them, because the lines alone would not show where they belong. Of a statement of several
    lines, all come, but of a block only its header; with a bare `continue` comes the header of its block. Docstrings,
    comments and empty lines are left out, and `...` stands between lines that are not neighbours in what remains.

    Empty if the mistake only adds lines or changes no code, if there would be more than `_MAX_LINES`, or if feedback
    shows other mistakes that behave alike beside it (`shown_alternatives`).
    """
    if len(mistake.shown_alternatives) > 1:
        return ()
    right, wrong = _bare_programs(exercise, mistake)
    shown = _changed_indices(right, wrong)
    used = {line.strip() for index, line in enumerate(wrong.lines) if index not in wrong.unused}
    if {right.lines[index].strip() for index in shown} <= used:
        beside = {index + step for index in shown for step in (-1, 1)}
        # The header tells nothing about where a line belongs.
        shown = shown | {index for index in beside if right.header_size <= index < len(right.lines)}
    # A jump alone tells nothing: the line with its condition comes with it.
    shown = shown | {right.header_of(index) for index in shown if right.lines[index].strip() in _JUMPS}
    shown = frozenset(part for index in shown for part in right.statements[index])
    return tuple(_with_gaps(right, sorted(shown))) if len(shown) <= _MAX_LINES else ()


def changed_lines(exercise: Exercise, mistake: ExplainedMistake) -> list[str]:
    """Return all lines of the solution that the mistake's program lacks when the two are aligned.

    Unlike `right_lines`, this returns any number of lines, never their neighbours or the rest of their statement, and
    also if other mistakes behave alike.
    """
    right, wrong = _bare_programs(exercise, mistake)
    return [right.lines[index] for index in sorted(_changed_indices(right, wrong))]


class _BarePrograms(NamedTuple):
    """The solution, and the program with a mistake."""

    right: _BareDefinition
    wrong: _BareDefinition


def _bare_programs(exercise: Exercise, mistake: ExplainedMistake) -> _BarePrograms:
    """Return the solution and the program with the mistake that feedback names first."""
    shown = replace(mistake.shown_variant, copy=0)
    return _BarePrograms(
        right=_bare_definition(exercise_source(exercise), exercise.name),
        wrong=_bare_definition(variant_source(exercise, shown), exercise.name),
    )


@cache
def _changed_indices(right: _BareDefinition, wrong: _BareDefinition) -> frozenset[int]:
    """Return the indices of the lines of `right` that `wrong` lacks when the two are aligned.

    Many mistakes are written as edits that put `if False:` in place of a condition. So `wrong` also lacks what stands
    under it.
    """
    matcher = SequenceMatcher(None, right.lines, wrong.lines, autojunk=False)
    alike = {
        block.a + offset
        for block in matcher.get_matching_blocks()
        for offset in range(block.size)
        if block.b + offset not in wrong.unused
    }
    return frozenset(range(len(right.lines))) - alike


@cache
def _bare_definition(source: str, name: str) -> _BareDefinition:
    """Return a source as lines, without docstrings, comments and empty lines; it holds the definition of `name`."""
    lines = source.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    nodes = list(ast.walk(ast.parse(source)))
    for node in nodes:
        if isinstance(node, DEFINITIONS) and ast.get_docstring(node) is not None:
            first, last = node.body[0].lineno, last_line(node.body[0])
            lines[first - 1 : last] = [""] * (last - first + 1)
    kept = [number for number, line in enumerate(lines, 1) if line.strip()]
    statements = [range(index, index + 1) for index in range(len(kept))]
    unused: set[int] = set()
    for node in nodes:
        if own := _own_lines(node):
            one = _indices(kept, *own)
            statements[one.start : one.stop] = [one] * len(one)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "False" and not node.orelse:
            unused |= set(_indices(kept, node.lineno, last_line(node)))
    header_size = bisect_left(kept, first_line(definitions(source)[name].body[0]))
    bare = tuple(lines[number - 1] for number in kept)
    return _BareDefinition(bare, tuple(statements), frozenset(unused), header_size)


def _indices(kept: list[int], first: int, last: int) -> range:
    """Return the indices in `kept`, numbers of lines in order, of the lines from `first` to `last`."""
    return range(bisect_left(kept, first), bisect_right(kept, last))


def _own_lines(node: ast.AST) -> tuple[int, int] | None:
    """Return the first and last line of a statement, or of the head of a block; None for any other node."""
    if not isinstance(node, (ast.stmt, ast.ExceptHandler)) or isinstance(node, ast.Match):
        return None
    body = getattr(node, "body", None)
    last = first_line(body[0]) - 1 if body else node.end_lineno or node.lineno
    return node.lineno, max(node.lineno, last)


def _with_gaps(bare: _BareDefinition, indices: list[int]) -> Iterator[str]:
    """Yield these lines without their common indentation, and `GAP` between those that are not neighbours."""
    lines = dedent("\n".join(bare.lines[index] for index in indices)).splitlines()
    for number, line in enumerate(lines):
        if number > 0 and indices[number] > indices[number - 1] + 1:
            indentation = line[: len(line) - len(line.lstrip())]
            yield indentation + GAP
        yield line
