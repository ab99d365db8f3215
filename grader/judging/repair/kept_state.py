"""What a program remembers from one call to the next, where it should not.

All scenarios are played in one process, as a learner calls a function again and again in one notebook. A default list,
an attribute of a class or a global variable lives on between the calls; a program loaded anew has forgotten it. So a
scenario that comes out otherwise in a program loaded anew shows that something was remembered.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, count

from grader.course.course import Exercise
from grader.judging.judge import difference
from grader.judging.parsing import parsed
from grader.judging.repair.search import Runner
from grader.observe.trace import Run

_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
"""Values that can change, or may: what a call gives."""


def keeper_line(source: str, name: str) -> int | None:
    """The line of what could outlive a call of the definition of `name`; None where there is nothing of the kind."""
    tree = parsed(source)
    if tree is None:
        return None
    definitions = [n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)]
    its = [n for n in definitions if n.name == name][-1:]
    used = {n.id for definition in its for n in ast.walk(definition) if isinstance(n, ast.Name)}
    its += [n for n in definitions if n.name in used and n.name != name]
    lines = (line for definition in its for line in _keepers(definition))
    kept = (
        statement.lineno
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, _DISPLAYS)
        for target in _targets(statement)
        if isinstance(target, ast.Name) and target.id in used
    )
    return next(chain(lines, kept), None)


def _keepers(definition: ast.FunctionDef | ast.ClassDef) -> Iterator[int]:
    """Lines of default values that can change, attributes of classes and functions, global variables."""
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            defaults = (d for d in (*node.args.defaults, *node.args.kw_defaults) if d is not None)
            yield from (d.lineno for d in defaults if isinstance(d, _DISPLAYS))
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
    return node.targets if isinstance(node, ast.Assign) else (node.target,)


def otherwise_when_anew(
    exercise: Exercise, source: str, runs: Mapping[str, Run], failing: Iterable[str], runner: Runner
) -> list[str]:
    """The failing scenarios that come out otherwise, and each time the same, in a program loaded anew.

    Args:
        exercise: whose scenarios they are.
        source: the learner's program.
        runs: of all scenarios, played one after the other.
        failing: names of scenarios that differ from the solution's.
        runner: plays the program; it loads a text anew that is not the one before.
    """
    texts = (source + "\n" * number for number in count(1))
    return [name for name in failing if _otherwise(exercise, texts, name, runs[name], runner)]


def _otherwise(exercise: Exercise, texts: Iterator[str], name: str, before: Run, runner: Runner) -> bool:
    atol = exercise.driver[name].atol
    first = runner.run(next(texts), name)
    if first is None or difference(first, before, atol) is None:
        return False
    second = runner.run(next(texts), name)  # what comes out otherwise by chance proves nothing
    return second is not None and difference(first, second, atol) is None
