"""Rule out twins by the learner's text.

Twins are known mistakes that behave alike in the scenarios that they explain. A twin contradicts the text with each of
the solution's calls that its program has and the learner never wrote, and with each that it lacks and the learner
makes. Of several twins, those with more contradictions than another are ruled out.

Examples: without any clipping, a program that never updates on the short last window behaves as one that clips only
that window. Its text says which of the two it is: it does not call `clip_grad_norm_`. A program that makes an optimizer
of its own behaves as one that moves the parameters by hand, which calls no `step`.
"""

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from grader.course.course import Exercise
from grader.judging.edits import MistakeVariant, variant_source
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.origin import Origin
from grader.judging.solution import exercise_source
from grader.submission.syntax import parse, top_level


def told_apart_by_text(explanation: Explanation, exercise: Exercise, origin: Origin) -> Explanation:
    """Return the explanation with the twins that the text rules out as `unlikely`; feedback does not show these.

    Args:
        explanation: what explains the submission.
        exercise: the exercise that was judged.
        origin: the learner's code.
    """
    if all(len(mistake.alternatives) == 1 for mistake in explanation.mistakes):
        return explanation
    written = _names_written(origin.source)
    if not written:  # nothing can be said of a text that is not there
        return explanation
    # Only in the exercise's own definition: the file's other answers make calls, too.
    own = [node for node in top_level(origin.source) if getattr(node, "name", None) == exercise.name]
    called = _names_called(own[-1:])
    told = tuple(
        _with_likely_twins(mistake, exercise, written, called) if len(mistake.alternatives) > 1 else mistake
        for mistake in explanation.mistakes
    )
    return replace(explanation, mistakes=told)


def _with_likely_twins(
    mistake: ExplainedMistake, exercise: Exercise, written: set[str], called: Counter[str]
) -> ExplainedMistake:
    """Return a mistake that has twins, with the unlikely ones named.

    Args:
        mistake: the mistake.
        exercise: the exercise that was judged.
        written: what `_names_written` returns for the learner's text.
        called: what `_names_called` returns for the learner's definition.
    """
    # Not `top_level`: it keeps few trees, and the learner's is among them.
    solution_calls = _names_called(parse(exercise_source(exercise)))
    contradictions = {}
    for twin in mistake.alternatives:
        program = variant_source(exercise, MistakeVariant(twin, 0))
        kept = solution_calls & _names_called(parse(program))
        lacking = (solution_calls & called) - kept
        contradictions[twin.id] = len(kept.keys() - written) + lacking.total()
    fewest = min(contradictions.values())
    unlikely = frozenset(id_ for id_, count in contradictions.items() if count > fewest)
    return replace(mistake, unlikely=unlikely)


def _names_called(statements: Sequence[ast.stmt]) -> Counter[str]:
    """Return how often statements call functions and methods of each name, not counting calls under `if False:`."""
    nodes = [node for statement in statements for node in ast.walk(statement)]
    dead = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        for statement in node.body
        for inner in ast.walk(statement)
    }
    calls = [node.func for node in nodes if isinstance(node, ast.Call) and id(node) not in dead]
    methods = Counter(call.attr for call in calls if isinstance(call, ast.Attribute))
    return methods + Counter(call.id for call in calls if isinstance(call, ast.Name))


def _names_written(source: str) -> set[str]:
    """Return all names in the text, since `step = opt.step` may be called as `step`; empty if it does not parse."""
    names = set()
    for node in chain.from_iterable(map(ast.walk, top_level(source))):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.name.rpartition(".")[2])
    return names
