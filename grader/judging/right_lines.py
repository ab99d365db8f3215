"""Find the lines of the solution that a known mistake changes: what its repair writes."""

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
    """Return the lines of code of one text that the other lacks."""
    lines, others = right.splitlines(), wrong.splitlines()
    changes = SequenceMatcher(None, lines, others, autojunk=False).get_opcodes()
    lacking = [line for kind, start, end, _, _ in changes if kind != "equal" for line in lines[start:end]]
    code = [line for line in lacking if line.strip() and not line.lstrip().startswith("#")]
    return tuple(dedent("\n".join(code)).splitlines()) if len(code) <= _MOST_LINES else ()
