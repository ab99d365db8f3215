"""Find the lines of the solution that a known mistake changes: what its repair writes."""

import ast
from difflib import SequenceMatcher
from functools import cache
from textwrap import dedent

from grader.course.course import Exercise
from grader.judging.edits import MistakeVariant, variant_source
from grader.judging.explain import ExplainedMistake
from grader.judging.solution import exercise_source

_MOST_LINES = 4
"""Maximum number of lines that are told; more would be the answer."""


def right_lines(exercise: Exercise, mistake: ExplainedMistake) -> tuple[str, ...]:
    """Return the solution's lines in place of those that make the mistake, without comments.

    Empty if the mistake only adds lines or replaces many, and if it cannot be told from another one.
    """
    if len(mistake.told) > 1:
        return ()
    made = mistake.variant
    variant = made if made.mistake.id == mistake.told[0].id else MistakeVariant(mistake.told[0], 0)
    return _replaced_lines(exercise_source(exercise), variant_source(exercise, variant))


@cache
def _replaced_lines(right: str, wrong: str) -> tuple[str, ...]:
    """Return the lines of code of one text that the other lacks; a line that only moves comes with its neighbours."""
    lines, others = _code_lines(right), _code_lines(wrong)
    changes = SequenceMatcher(None, lines, others, autojunk=False).get_opcodes()
    lacking = {n for kind, start, end, _, _ in changes if kind != "equal" for n in range(start, end)}
    if lacking and {lines[n].strip() for n in lacking} <= {line.strip() for line in others}:
        first = 1  # behind the function's own first line
        lacking |= {n + side for n in lacking for side in (-1, 1) if first <= n + side < len(lines)}
    code = [lines[n] for n in sorted(lacking)]
    return tuple(dedent("\n".join(code)).splitlines()) if len(code) <= _MOST_LINES else ()


def _code_lines(text: str) -> list[str]:
    """Return the lines of a definition without docstrings, comments and empty lines."""
    left_out: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            left_out.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return [
        line
        for number, line in enumerate(text.splitlines(), start=1)
        if number not in left_out and line.strip() and not line.lstrip().startswith("#")
    ]
