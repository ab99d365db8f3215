"""Find a method call that the learner wrote, but that is never made.

Either its parentheses are missing (the line `opt.step` does nothing), or it stands behind a `return` or the like
(`_LEAVING`) in the same block, so that its line is never reached; or the learner's class lacks the method that is to be
called, so that its base class's is. Such a program behaves as one with the known mistake
that lacks the call. So `assess.py` calls `unmade_call` only for mistakes that explain the program; the card then points
at the call, or at the `return` before it, and says why it is not made. Only the text is read. To add another reason why
a call is not made: a search in `unmade_call`, and a case in `tests/judging/test_right_lines.py`.
"""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain, dropwhile
from typing import NamedTuple

from grader.course.course import Exercise
from grader.judging.explain import ExplainedMistake
from grader.judging.learner_code import LearnerCode
from grader.judging.repair.top_level_names import helper_names
from grader.judging.right_lines import changed_lines
from grader.judging.solution import exercise_source
from grader.submission.syntax import Definition, definition_of, methods

_METHOD_CALL = re.compile(r"\.(\w+)\(")
"""Matches a method call in a line of code; the group is the method's name."""
_LEAVING = {ast.Return: "return", ast.Raise: "raise", ast.Break: "break", ast.Continue: "continue"}
"""Statements that leave their block, so that nothing behind them in it is reached, with their keywords."""
_BY_HAND = {"zero_grad": "zero_"}
"""Methods, each with the one by which learners do its work parameter by parameter."""


@dataclass(frozen=True)
class UnmadeCall:
    """A call that the learner wrote and that is never made."""

    line: int
    """Line of the program to point at, from 1."""
    sentence: str
    """Korean sentence on why the call is not made."""
    title: str = ""
    """Korean title in place of the mistake's, which says that the call is missing; empty: the mistake's is true."""


def unmade_call(
    exercise: Exercise, mistake: ExplainedMistake, learner_code: LearnerCode
) -> UnmadeCall | None:
    """Return a call of a method that the mistake may lack, if the learner's definition or a helper never makes it.

    These are the methods that the solution calls in the lines that the mistake changes. A call without parentheses is
    returned rather than one that is never reached. None if there is neither.

    Args:
        exercise: the exercise that was judged.
        mistake: a mistake that explains the learner's program.
        learner_code: the learner's code, with the place of each line.
    """
    definition = definition_of(learner_code.text, exercise.name)
    if definition is None:
        return None
    if (missing := _missing_method(mistake, definition)) is not None:
        return missing
    called_methods = _with_equals(_METHOD_CALL.findall("\n".join(changed_lines(exercise, mistake))))
    nodes = _with_helpers(definition, learner_code)
    for call in _without_parentheses(nodes, called_methods):
        return call
    for unreached in _calls_never_reached(nodes):
        called = unreached.call.func
        if isinstance(called, ast.Attribute) and called.attr in called_methods:
            word = _LEAVING[type(unreached.leaving)]
            return UnmadeCall(
                unreached.leaving.lineno,
                f"`{ast.unparse(unreached.call)}` 줄이 `{word}` 뒤에 있어서 실행되지 않았어요.",
                title=f"`{word}` 뒤에 있는 줄은 실행되지 않아요",
            )
    return None


def calls_without_parentheses(exercise: Exercise, learner_code: LearnerCode) -> list[UnmadeCall]:
    """Return the lines of the definition and its helpers that only name a method that the solution calls, in order."""
    definition = definition_of(learner_code.text, exercise.name)
    if definition is None:
        return []
    called_methods = _with_equals(_METHOD_CALL.findall(exercise_source(exercise)))
    nodes = _with_helpers(definition, learner_code)
    return sorted(_without_parentheses(nodes, called_methods), key=lambda call: call.line)


def _with_helpers(definition: Definition, learner_code: LearnerCode) -> list[Definition]:
    """Return the learner's definition, and then those of the helpers that it calls."""
    helpers = (definition_of(learner_code.text, name) for name in helper_names(learner_code.text, definition))
    return [definition, *(helper for helper in helpers if helper is not None)]


def _with_equals(methods: Collection[str]) -> set[str]:
    """Return these methods, and those that do the same work by hand."""
    return {*methods, *(_BY_HAND[method] for method in methods if method in _BY_HAND)}


def _without_parentheses(definitions: Collection[Definition], names: Collection[str]) -> Iterator[UnmadeCall]:
    """Yield each statement of the definitions that names one of these methods and does not call it."""
    for node in chain.from_iterable(map(ast.walk, definitions)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute) and node.value.attr in names:
            code = ast.unparse(node.value)
            # Of a method called by hand, the mistake's title names another one.
            title = f"`{code}` 뒤에 괄호가 없어요" if node.value.attr in _BY_HAND.values() else ""
            yield UnmadeCall(node.lineno, f"`{code}` 뒤에 괄호가 없어서 불리지 않았어요.", title)


def _missing_method(mistake: ExplainedMistake, definition: Definition | None) -> UnmadeCall | None:
    """Return the learner's class if it lacks the method that the mistake is made in, so that its base's is called.

    Args:
        mistake: a mistake that explains the learner's program.
        definition: the learner's definition; None if there is none.
    """
    name = mistake.shown_alternatives[0].at.partition("def ")[2]
    if (
        not name
        or not isinstance(definition, ast.ClassDef)
        or not definition.bases
        or name in methods(definition)
    ):
        return None
    base = ast.unparse(definition.bases[0])
    return UnmadeCall(definition.lineno, f"`{name}` 메서드가 없어서 `{base}`의 것이 그대로 불렸어요.")


class _UnreachedCall(NamedTuple):
    """A call behind a statement that leaves the block."""

    leaving: ast.stmt
    """The first statement of `_LEAVING` in the block."""
    call: ast.Call


def _calls_never_reached(definitions: Collection[Definition]) -> Iterator[_UnreachedCall]:
    """Yield each call that stands behind a statement of `_LEAVING` in the same block."""
    for parent in chain.from_iterable(map(ast.walk, definitions)):
        for block in (getattr(parent, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):  # no block, or the expression of a lambda or conditional
                continue
            rest = [*dropwhile(lambda node: type(node) not in _LEAVING, block)]
            calls = (node for one in rest[1:] for node in ast.walk(one) if isinstance(node, ast.Call))
            yield from (_UnreachedCall(rest[0], call) for call in calls)
