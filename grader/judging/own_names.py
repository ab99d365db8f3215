"""Put the solution's lines for a mistake into the learner's names, and tell which of them the learner has already.

Example: the solution has `return loss.item()`, the learner calls the loss `error`. The line is `return error.item()`.

`own_edit.py` plays such a line in place of the learner's. Where no edit of the learner's code was found, hints show the
solution's lines as they are, in its own names: what was not played is not told as an edit. `notebook/check.py` and
`grading/grade_submission.py` call `with_solution_lines` where hints can be asked for, and `report/hint_ladder.py` tells
`NamedMistake.solution_lines`. Tests: `tests/judging/test_own_edit.py`.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.judging.learner_code import LearnerCode
from grader.judging.repair.definition_text import DefinitionText
from grader.judging.repair.translated_solution import TranslatedSolution, header_text
from grader.judging.right_lines import GAP
from grader.judging.solution import exercise_source
from grader.submission.syntax import names_in, names_read

_MAX_OWN_LINES = 3
"""Maximum number of the solution's lines that are translated."""


def with_solution_lines(feedback: Feedback, exercise: Exercise, learner_code: LearnerCode) -> Feedback:
    """Return the feedback with the solution's lines to show for mistakes without an edit of their own.

    They are left out where the learner's code has all of them, in the learner's names: then its fault lies elsewhere.
    Lines that speak of something which this learner's code does not have are left out, too (`_speaks_to`).
    """
    named = feedback.diagnosis.mistakes
    if not feedback.begun or all(one.own_edit is not None or not one.right_lines for one in named):
        return feedback
    headers = headers_in_own_names(exercise, learner_code.text)
    own = {_without_spaces(line) for line in learner_code.text.split("\n")}
    told = []
    for one in named:
        translated = in_own_names(one.right_lines, headers)
        has_all = bool(translated) and own >= {_without_spaces(line) for line in translated}
        is_told = (
            one.own_edit is None and not has_all and _speaks_to(learner_code.text, one.right_lines, exercise)
        )
        told.append(replace(one, solution_lines=one.right_lines if is_told else ()))
    return replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=tuple(told)))


def _without_spaces(line: str) -> str:
    return "".join(line.split())


def _speaks_to(learner: str, right_lines: Sequence[str], exercise: Exercise) -> bool:
    """Return True if a learner can read the solution's lines beside their own code.

    They cannot if a line is the middle of a statement, such as `finally:`, or if a name in it, such as `window`, is
    neither in the learner's code, nor made in the lines themselves, nor for all elements of an argument, as `param` is
    in `for param in params`, nor of the file around the solution.
    """
    statements = [_statement_on(line) for line in right_lines]
    solution = ast.parse(exercise_source(exercise))
    arguments = {node.arg for node in ast.walk(solution) if isinstance(node, ast.arg)}
    elements = {
        name
        for loop in ast.walk(solution)
        if isinstance(loop, ast.For | ast.comprehension)
        and isinstance(loop.iter, ast.Name)
        and loop.iter.id in arguments
        for name in names_in(loop.target)
    }
    local = {
        node.id
        for node in ast.walk(solution)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    known = set(re.findall(r"[^\W\d]\w*", learner)) | elements
    for statement in statements:
        if statement is None:
            return False
        known |= names_in(statement) - names_read(statement)
        if (names_read(statement) & local) - known:
            return False
    return True


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
