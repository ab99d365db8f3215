"""Find a method that the learner names without calling it, where a known mistake lacks just this call: `opt.step`."""

import ast
import re
from dataclasses import dataclass

from grader.course.course import Exercise
from grader.judging.explain import ExplainedMistake
from grader.judging.origin import Origin
from grader.judging.right_lines import right_lines
from grader.submission.syntax import definition_of

_CALLED = re.compile(r"\.(\w+)\(")


@dataclass(frozen=True)
class Uncalled:
    """A statement that only names a method."""

    line: int
    """Line of the program, from 1."""
    code: str

    def in_words(self) -> str:
        """Return a Korean sentence on why nothing happened there."""
        return f"`{self.code}` 뒤에 괄호가 없어서 불리지 않았어요."


def uncalled_method(exercise: Exercise, mistake: ExplainedMistake, origin: Origin) -> Uncalled | None:
    """Return the statement of the learner's that lacks the parentheses of a call missing in this mistake, if any."""
    definition = definition_of(origin.source, exercise.name)
    missing = set(_CALLED.findall("\n".join(right_lines(exercise, mistake))))
    for node in ast.walk(definition) if definition is not None else ():
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Attribute)
            and node.value.attr in missing
        ):
            return Uncalled(node.lineno, ast.unparse(node.value))
    return None
