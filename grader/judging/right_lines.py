"""Find the lines of the solution that a known mistake changes: what its repair writes.

Example: `no-division` turns `loss = loss_fn(logits, yb) / len(window)` into `loss = loss_fn(logits, yb)`. The right
line is the former; the card shows it with the last hint.
"""

import ast
from difflib import SequenceMatcher
from functools import cache
from textwrap import dedent

from grader.course.course import Exercise
from grader.judging.edits import MistakeVariant, variant_source
from grader.judging.explain import ExplainedMistake
from grader.judging.solution import exercise_source

_MAX_LINES = 4
"""Maximum number of lines that are shown; more would be the answer."""


def right_lines(exercise: Exercise, mistake: ExplainedMistake) -> tuple[str, ...]:
    """Return the solution's lines in place of those that make the mistake, without comments.

    Empty if the mistake only adds lines or replaces many, or if feedback names several mistakes that behave alike.
    """
    if len(mistake.shown_alternatives) > 1:
        return ()
    # The variant that explains the runs may be of another mistake, which behaves like the one that feedback names.
    made, named = mistake.variant, mistake.shown_alternatives[0]
    variant = made if made.mistake.id == named.id else MistakeVariant(named, 0)
    return _replaced_lines(exercise_source(exercise), variant_source(exercise, variant))


@cache
def _replaced_lines(right: str, wrong: str) -> tuple[str, ...]:
    """Return the lines of code of `right` that `wrong` lacks; empty if there are more than `_MAX_LINES`.

    If `wrong` has all of them, only in other places, each comes with the lines before and after it, because a line
    alone would not show where it belongs.
    """
    right_code, wrong_code = _code_lines(right), _code_lines(wrong)
    changes = SequenceMatcher(None, right_code, wrong_code, autojunk=False).get_opcodes()
    missing = {index for kind, start, end, _, _ in changes if kind != "equal" for index in range(start, end)}
    if missing and {right_code[index].strip() for index in missing} <= {line.strip() for line in wrong_code}:
        # Line 0 is the `def`, which tells nothing.
        beside = {index + step for index in missing for step in (-1, 1)}
        missing |= {index for index in beside if 1 <= index < len(right_code)}
    code = [right_code[index] for index in sorted(missing)]
    return tuple(dedent("\n".join(code)).splitlines()) if len(code) <= _MAX_LINES else ()


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
