"""Put the solution's lines for a mistake into the learner's names, and tell which of them the learner has already.

Example: the solution has `return loss.item()`, the learner calls the loss `error`. The line is `return error.item()`.

`own_edit.py` plays such a line in place of the learner's. Where no edit of the learner's code was found, hints show the
solution's lines as they are, in its own names: what was not played is not told as an edit. `notebook/check.py` and
`grading/grade_submission.py` call `with_solution_lines` where hints can be asked for, and `report/hint_ladder.py` tells
`NamedMistake.solution_lines`. Tests: `tests/judging/test_own_edit.py`.
"""

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.judging.learner_code import LearnerCode
from grader.judging.repair.definition_text import DefinitionText
from grader.judging.repair.translated_solution import TranslatedSolution, header_text
from grader.judging.right_lines import GAP
from grader.judging.solution import exercise_source

_MAX_OWN_LINES = 3
"""Maximum number of the solution's lines that are translated."""


def with_solution_lines(feedback: Feedback, exercise: Exercise, learner_code: LearnerCode) -> Feedback:
    """Return the feedback with the solution's lines to show for mistakes without an edit of their own.

    They are left out where the learner's code has all of them, in the learner's names: then its fault lies elsewhere.
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
        is_told = one.own_edit is None and not has_all
        told.append(replace(one, solution_lines=one.right_lines if is_told else ()))
    return replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=tuple(told)))


def _without_spaces(line: str) -> str:
    return "".join(line.split())


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
        code = line.strip()
        statement = _parsed(f"{code} pass" if code.endswith(":") else code)
        own = None if statement is None else headers.get(header_text(statement))
        if code == GAP or own is None:
            return ()
        found.append(line[: len(line) - len(line.lstrip())] + own)
    return tuple(found)


def _parsed(code: str) -> ast.stmt | None:
    """Return the one statement that a text is; None if it is anything else, such as a line of a longer one."""
    try:
        body = ast.parse(code).body
    except SyntaxError:
        return None
    return body[0] if len(body) == 1 else None
