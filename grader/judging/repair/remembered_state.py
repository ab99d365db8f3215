"""Detect that a program remembers something from one call to the next and so gives wrong results.

A submission's scenarios are played in one process, as a learner calls a function again and again in one notebook. A
mutable default, an attribute of a class or a global variable lives on between the calls; a newly loaded program has
forgotten what they held. So if two newly loaded programs give the same other result in a scenario, something was
remembered.

Example: `def reach(node, seen=set())` skips in its second call the nodes that the first call has added to `seen`.

Finding that out costs plays, so only programs with a line that could remember something are played. Not recognized as
such a line are, for example, a cache in a decorator (`functools.lru_cache`), a variable of an enclosing function (a
closure), an attribute set outside the definition (`f.cache = []`), and what a library keeps, as the default dtype of
torch. To recognize another such line: `_lines_that_could_remember`, or `line_that_could_remember` if it stands at top
level.

`add_repair.py` calls the two public functions for programs that known mistakes do not explain, before it searches for a
repair.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from grader.course.course import Exercise
from grader.judging.compare_runs import find_difference
from grader.judging.repair.search import Runner
from grader.observe.trace import Run
from grader.submission.syntax import Definition, definitions, names_in, top_level

_MAYBE_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.Call)
"""Expressions whose value is mutable; that of a call only may be."""


def line_that_could_remember(source: str, name: str) -> int | None:
    """Return the first line found, from 1, by which the definition of `name` could remember something, or None.

    The definition is searched first, then the functions and classes that it names, but not the ones that these name in
    turn. Last come the top-level variables that the definition names, if their values could be mutable.

    Args:
        source: the learner's program.
        name: name of the exercise's function or class.
    """
    other_definitions = definitions(source)
    definition = other_definitions.pop(name, None)
    if definition is None:
        return None
    names = names_in(definition)
    lines = [*_lines_that_could_remember(definition)]
    for other, node in other_definitions.items():
        if other in names:
            lines += _lines_that_could_remember(node)
    for statement in top_level(source):
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            variables = {target.id for target in _targets(statement) if isinstance(target, ast.Name)}
            if variables & names and isinstance(statement.value, _MAYBE_MUTABLE):
                lines.append(statement.lineno)
    return lines[0] if lines else None


def scenarios_changed_by_reloading(
    exercise: Exercise, source: str, runs: Mapping[str, Run], failing: Iterable[str], runner: Runner
) -> list[str]:
    """Return the names of the failing scenarios in which a newly loaded program gives another result than before.

    Two newly loaded programs must give the same other result: a program whose results differ by chance gives another
    one each time, without remembering anything.

    Args:
        exercise: the exercise that was played.
        source: the learner's program.
        runs: the learner's runs, played one after the other in one process.
        failing: names of scenarios in `runs` that differ from the solution's runs.
        runner: plays the program; it loads a text anew unless the text is the same as the one before.

    Raises:
        AttemptsSpent: the runner plays nothing more.
    """
    # Each copy has one more empty line at its end than the copy before, so that the runner loads it anew.
    fresh_copies = (source + "\n" * number for number in count(1))
    return [name for name in failing if _reloading_changes(exercise, fresh_copies, name, runs[name], runner)]


def _reloading_changes(
    exercise: Exercise, fresh_copies: Iterator[str], scenario: str, before: Run, runner: Runner
) -> bool:
    """Return True if two newly loaded copies give the same result in a scenario, and not that of the run before."""
    atol = exercise.driver[scenario].atol
    first = runner.run(next(fresh_copies), scenario)
    if first is None or find_difference(first, before, atol) is None:
        return False
    second = runner.run(next(fresh_copies), scenario)
    return second is not None and find_difference(first, second, atol) is None


def _lines_that_could_remember(definition: Definition) -> Iterator[int]:
    """Yield the lines of defaults that may be mutable, class attributes, `global`, and `f.calls = …` inside `f`."""
    for node in ast.walk(definition):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            defaults = (*node.args.defaults, *node.args.kw_defaults)
            yield from (default.lineno for default in defaults if isinstance(default, _MAYBE_MUTABLE))
        elif isinstance(node, ast.ClassDef):
            for statement in node.body:
                # Not `best: float`, which has no value.
                if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
                    yield statement.lineno
        elif isinstance(node, ast.Global):
            yield node.lineno
        elif isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
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
