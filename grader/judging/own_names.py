"""Put the solution's lines for a mistake into the learner's names.

Example: the solution has `return loss.item()`, the learner calls the loss `error`. The line is `return error.item()`.

`own_edit.py` plays such a line in place of the learner's. Tests: `tests/judging/test_own_edit.py`.
"""

import ast
from collections.abc import Mapping, Sequence

from grader.course.course import Exercise
from grader.judging.repair.definition_text import DefinitionText
from grader.judging.repair.translated_solution import TranslatedSolution, header_text
from grader.judging.right_lines import GAP
from grader.judging.solution import exercise_source

_MAX_OWN_LINES = 3
"""Maximum number of the solution's lines that are translated."""


def headers_in_own_names(exercise: Exercise, source: str) -> Mapping[str, str]:
    """Return the first line of each of the solution's statements as it reads in the learner's names.

    Statements that cannot be translated are left out; all are if the learner's program does not define the exercise.
    """
    try:
        learner = DefinitionText(source, exercise.name)
    except LookupError:
        return {}
    translated = TranslatedSolution.translate(
        learner, DefinitionText(exercise_source(exercise), exercise.name)
    )
    return {header_text(one.original.node): header_text(one.versions[0]) for one in translated.statements}


def in_own_names(right_lines: Sequence[str], headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the lines in the learner's names; empty if they are too many or apart, or if one is not translated."""
    if not 0 < len(right_lines) <= _MAX_OWN_LINES:
        return ()
    found = []
    for line in right_lines:
        code, statement = line.strip(), _statement_on(line)
        own = None if statement is None else headers.get(header_text(statement))
        if code == GAP or own is None:
            return ()
        found.append(line[: len(line) - len(line.lstrip())] + own)
    return tuple(found)


def _statement_on(line: str) -> ast.stmt | None:
    """Return the one statement that a line is, of a block with an empty body; None for a part of a longer one."""
    code = line.strip()
    try:
        body = ast.parse(f"{code} pass" if code.endswith(":") else code).body
    except SyntaxError:
        return None
    return body[0] if len(body) == 1 else None
