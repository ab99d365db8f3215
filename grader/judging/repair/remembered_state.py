"""Detect what a program remembers from one call to the next where it should not.

All scenarios are played in one process, as a learner calls a function again and again in one notebook. A mutable
default, an attribute of a class or a global variable lives on between the calls; a newly loaded program has forgotten
what they held. So a scenario that comes out differently in a newly loaded program shows that something was remembered.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count

from grader.course.course import Exercise
from grader.judging.compare_runs import difference
from grader.judging.repair.search import Runner
from grader.observe.trace import Run
from grader.submission.syntax import Definition, definitions, names_in, top_level

_MAYBE_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
"""Expressions whose value is mutable, or may be: the result of a call."""


def line_that_remembers(source: str, name: str) -> int | None:
    """Return a line, from 1, by which the definition of `name` could remember something; None if there is none.

    Searched are the definition, then the functions and classes it names, then the mutable top-level variables it names.
    """
    others = definitions(source)
    definition = others.pop(name, None)
    if definition is None:
        return None
    used = names_in(definition)
    examined = [definition, *(node for other, node in others.items() if other in used)]
    lines_inside = (line for node in examined for line in _lines_that_remember(node))
    lines_of_variables = (
        statement.lineno
        for statement in top_level(source)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, _MAYBE_MUTABLE)
        for target in _targets(statement)
        if isinstance(target, ast.Name) and target.id in used
    )
    return next(chain(lines_inside, lines_of_variables), None)


def _lines_that_remember(definition: Definition) -> Iterator[int]:
    """Yield lines of mutable defaults, attributes of the class or function, and `global` statements."""
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            defaults = (d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
            yield from (d.lineno for d in defaults if isinstance(d, _MAYBE_MUTABLE))
        elif isinstance(node, ast.ClassDef):
            yield from (s.lineno for s in node.body if isinstance(s, ast.Assign | ast.AnnAssign))
        elif isinstance(node, ast.Global):
            yield node.lineno
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
            yield from (
                target.lineno
                for target in _targets(node)
                if isinstance(target, ast.Attribute)
                and isinstance(target.value, ast.Name)
                and target.value.id == definition.name
            )


def _targets(node: ast.Assign | ast.AugAssign | ast.AnnAssign) -> Iterable[ast.expr]:
    """Return what an assignment assigns to."""
    return node.targets if isinstance(node, ast.Assign) else (node.target,)


def differing_when_reloaded(
    exercise: Exercise, source: str, runs: Mapping[str, Run], failing: Iterable[str], runner: Runner
) -> list[str]:
    """Return the failing scenarios whose result is another one, and the same one twice, in a newly loaded program.

    Args:
        exercise: the exercise that was played.
        source: the learner's program.
        runs: the learner's runs, played one after the other in one process.
        failing: names of the scenarios that differ from the solution's.
        runner: plays the program; it loads a text anew unless it is the same as the one before.

    Raises:
        AttemptsSpent: the runner plays nothing more.
    """
    # Each text has one more empty line at its end, so that the runner loads it anew.
    new_texts = (source + "\n" * number for number in count(1))
    return [name for name in failing if _differs_when_reloaded(exercise, new_texts, name, runs[name], runner)]


def _differs_when_reloaded(
    exercise: Exercise, new_texts: Iterator[str], name: str, before: Run, runner: Runner
) -> bool:
    """Return True if two plays by newly loaded programs agree with each other, but not with the run before."""
    atol = exercise.driver[name].atol
    first = runner.run(next(new_texts), name)
    if first is None or difference(first, before, atol) is None:
        return False
    second = runner.run(next(new_texts), name)  # a difference by chance proves nothing
    return second is not None and difference(first, second, atol) is None
