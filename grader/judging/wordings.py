"""Find the wording of a mistake that fits the learner's code.

Two ways to make a known mistake may behave alike, so that no run tells which was made. In SAM: a learner who never
restores the weights, and one who restores them from `p.data`, an alias. A `Wording` of the mistake, in the exercise's
TOML or in `solutions/shared_mistakes.toml`, says by which code the second is recognised, and has texts that are true
of it. The first wording that fits is taken; those of the exercise come before the shared ones. Only the text is read,
and only for mistakes that explain the program.

`assess.py` puts the wording's texts, if it has any, into the feedback and points at the statement, unless `unmade_call`
finds a better one. `twins_by_text.py` rules out twins of a mistake whose wording fits. (`observe/wording.py` has
nothing to do with these: it builds Korean words.) Tests: `tests/judging/test_wordings.py`.
"""

import ast
import copy
import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.course.course import Exercise, Mistake, Wording
from grader.judging.learner_code import LearnerCode
from grader.judging.repair.top_level_names import helper_names
from grader.judging.repair.translated_solution import header_text
from grader.submission.syntax import definition_of, is_constant

_ONE_WORD = re.compile(r"[\w:.-]*")
"""Matches a string that is data, such as `cuda:0`; any other may be prose, or code that does not run."""


class FittingWording(NamedTuple):
    """The wording that fits, and the first line (from 1) of the statement that matched its `code`."""

    wording: Wording
    line: int


def fitting_wording(exercise: Exercise, mistake: Mistake, learner_code: LearnerCode) -> FittingWording | None:
    """Return the mistake's first wording that fits the learner's definition and its helpers; None if none does."""
    if not mistake.wordings:
        return None
    definition = definition_of(learner_code.text, exercise.name)
    if definition is None:
        return None
    helpers = (definition_of(learner_code.text, name) for name in helper_names(learner_code.text, definition))
    statements = [
        statement for node in (definition, *helpers) if node is not None for statement in _statements(node)
    ]
    for wording in mistake.wordings:
        for statement in statements:
            others = (other for other in statements if other is not statement)
            if re.search(wording.code, statement.text) and (
                not wording.beside or any(re.search(wording.beside, other.text) for other in others)
            ):
                return FittingWording(wording, statement.line)
    return None


class _Statement(NamedTuple):
    """The first line of a statement, from 1, and what is matched of it."""

    line: int
    text: str


def _statements(definition: ast.AST) -> Iterator[_Statement]:
    """Yield the statements of a definition, in the order of the text: of a compound one, its header.

    Docstrings and the text of other strings are left out, and so are the lines `else`, `except` and `case`, which are
    no statements of their own.
    """
    tree = copy.deepcopy(definition)
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and not _ONE_WORD.fullmatch(node.value)
        ):
            node.value = ""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and not is_constant(node)]
    for node in sorted(nodes, key=lambda node: node.lineno):
        yield _Statement(node.lineno, header_text(node))
