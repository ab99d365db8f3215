"""Find a method call that the learner wrote without its parentheses: the line `opt.step` does nothing.

Such a program behaves as one with the known mistake that lacks the call. So this is looked for only where such a
mistake explains the program.
"""

import ast
import re
from dataclasses import dataclass

from grader.course.course import Exercise
from grader.judging.explain import ExplainedMistake
from grader.judging.origin import Origin
from grader.judging.right_lines import changed_lines
from grader.submission.syntax import definition_of

_CALLED = re.compile(r"\.(\w+)\(")
"""Matches a method call in a line of code; the group is the method's name."""


@dataclass(frozen=True)
class UncalledMethod:
    """A statement of the learner's that names a method and does not call it."""

    line: int
    """Line of the program, from 1."""
    code: str
    """The statement: `opt.step`."""

    def in_words(self) -> str:
        """Return a Korean sentence on why nothing happened there."""
        return f"`{self.code}` 뒤에 괄호가 없어서 불리지 않았어요."


def uncalled_method(exercise: Exercise, mistake: ExplainedMistake, origin: Origin) -> UncalledMethod | None:
    """Return the first statement that names, without calling it, a method whose call the mistake lacks.

    None if there is no such statement.

    Args:
        exercise: the exercise that was judged.
        mistake: a mistake that explains the learner's program.
        origin: the learner's code.
    """
    definition = definition_of(origin.source, exercise.name)
    missing_calls = set(_CALLED.findall("\n".join(changed_lines(exercise, mistake))))
    for node in ast.walk(definition) if definition is not None else ():
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr in missing_calls
        ):
            return UncalledMethod(node.lineno, ast.unparse(node.value))
    return None
