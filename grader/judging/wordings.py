"""Find the wording of a mistake that fits the learner's code.

Two ways to make a known mistake may behave alike, so that no run tells which was made: who never goes back to w, and
who goes back to a `p.data` that was never copied. A `Wording` in the exercise's TOML says by which code the second is
recognised, and has texts that are true of it. Only the text is read, and only for mistakes that explain the program.

`assess.py` puts the wording's texts into the feedback and points at the statement; `twins_by_text.py` rules out twins
of a mistake whose wording fits. Tests: `tests/judging/test_wordings.py`.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.course.course import Exercise, Mistake, Wording
from grader.judging.learner_code import LearnerCode
from grader.judging.repair.translated_solution import header_text
from grader.submission.syntax import definition_of


class FittingWording(NamedTuple):
    """A wording, and the line of the program, from 1, whose statement it recognises."""

    wording: Wording
    line: int


def fitting_wording(exercise: Exercise, mistake: Mistake, learner_code: LearnerCode) -> FittingWording | None:
    """Return the mistake's first wording that fits the learner's definition; None if none does."""
    if not mistake.wordings:
        return None
    definition = definition_of(learner_code.text, exercise.name)
    if definition is None:
        return None
    statements = list(_statements(definition))
    for wording in mistake.wordings:
        if wording.beside and not any(re.search(wording.beside, text) for _, text in statements):
            continue
        for line, text in statements:
            if re.search(wording.code, text):
                return FittingWording(wording, line)
    return None


def _statements(definition: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of each statement of a definition, in the order of the text; of a block, its first line."""
    nodes = [node for node in ast.walk(definition) if isinstance(node, ast.stmt)]
    for node in sorted(nodes, key=lambda node: node.lineno):
        yield node.lineno, header_text(node)
