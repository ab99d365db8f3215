"""Rule out twins by the learner's text.

Twins are known mistakes that behave alike in the scenarios that they explain. Each has a program: the solution with
the mistake made in it, in its usual variant. The learner's text contradicts a twin in two cases:

- The twin's program calls a function of the solution whose name the learner's file never mentions. Each such name is
  one contradiction, unless it is one of Python's own, such as `all`, which a loop can replace.
- The twin's program lacks a call of the solution that the learner's definition makes, or a comparison by order (`<`,
  `>=` …). Each such call or comparison is one contradiction.

The twins with the fewest contradictions stay; the others are ruled out. If a twin's wording fits the learner's code
(`wordings.py`), only those twins stay whose wording does. Another contradiction is counted in
`_mark_unlikely`; its test goes into `tests/judging/test_twins_by_text.py`.

Example: the learner's program never clips, and never updates on the short last window. "Clips only the last window"
behaves as "does not clip" then, but its program calls `clip_grad_norm_`, which the learner's file does not mention. So
of these two, feedback shows "does not clip" only. Another example: a learner's program that moves the parameters by an
optimizer of its own calls `step`. "Moves the parameters by hand" behaves in the same way, but its program calls no
`step`.
"""

import ast
import builtins
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from grader.course.course import Exercise
from grader.judging.edits import MistakeVariant, variant_source
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.learner_code import LearnerCode
from grader.judging.solution import exercise_source
from grader.judging.wordings import fitting_wording
from grader.submission.syntax import definition_of, parse, top_level

_ORDER = "<"
"""Stands for a comparison by order among the names of functions; no function has this name."""
_REPLACEABLE = {_ORDER, *vars(builtins)}
"""What a program can do by other means, so that it is no contradiction if the learner's lacks it."""


def rule_out_twins(explanation: Explanation, exercise: Exercise, learner_code: LearnerCode) -> Explanation:
    """Return the explanation with the ids of contradicted twins in `ExplainedMistake.unlikely`.

    The learner's card does not show these; `results.json` names them with the others. A mistake without twins, and any
    mistake if the learner's text is not known or does not parse, stays as it is.

    Args:
        explanation: what explains the submission.
        exercise: the exercise that was judged.
        learner_code: the learner's code, with the place of each line.
    """
    if all(len(mistake.alternatives) == 1 for mistake in explanation.mistakes):
        return explanation
    mentioned = _names_mentioned(learner_code.text)
    if not mentioned:
        return explanation
    definition = definition_of(learner_code.text, exercise.name)
    # A helper beside the definition may make a call for it, so all of the file is searched for names. Calls are counted
    # in the definition only: the answers to other exercises, in the same file, make calls of their own.
    done = _calls_and_comparisons([] if definition is None else [definition])
    mistakes = tuple(
        _mark_unlikely(mistake, exercise, mentioned, done, learner_code)
        if len(mistake.alternatives) > 1
        else mistake
        for mistake in explanation.mistakes
    )
    return replace(explanation, mistakes=mistakes)


def _mark_unlikely(
    mistake: ExplainedMistake,
    exercise: Exercise,
    mentioned: set[str],
    done: Counter[str],
    learner_code: LearnerCode,
) -> ExplainedMistake:
    """Return the mistake with those of its twins in `unlikely` that have more contradictions than another.

    Args:
        mistake: a mistake that has twins.
        exercise: the exercise that was judged.
        mentioned: names in the learner's file.
        done: calls and comparisons in the learner's definition.
        learner_code: the learner's code.
    """
    worded = {twin.id for twin in mistake.alternatives if fitting_wording(exercise, twin, learner_code)}
    if worded:
        return replace(mistake, unlikely=frozenset(twin.id for twin in mistake.alternatives) - worded)
    # `top_level` and `definition_of` keep few trees; the learner's tree, which is used again, should stay among them.
    in_solution = _calls_and_comparisons(parse(exercise_source(exercise)))
    contradictions = {}
    for twin in mistake.alternatives:
        in_twin = in_solution & _calls_and_comparisons(
            parse(variant_source(exercise, MistakeVariant(twin, 0)))
        )
        lacking = (in_solution & done) - in_twin
        contradictions[twin.id] = len(in_twin.keys() - mentioned - _REPLACEABLE) + lacking.total()
    fewest = min(contradictions.values())
    unlikely = frozenset(id_ for id_, count in contradictions.items() if count > fewest)
    return replace(mistake, unlikely=unlikely)


def _calls_and_comparisons(statements: Sequence[ast.stmt]) -> Counter[str]:
    """Return how often statements call functions and methods of each name, and compare by order (`_ORDER`).

    What stands under `if False:` does not count: some mistakes are written so.
    """
    nodes = [node for statement in statements for node in ast.walk(statement)]
    dead = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and not node.test.value
        for statement in node.body
        for inner in ast.walk(statement)
    }
    alive = [node for node in nodes if id(node) not in dead]
    calls = [node.func for node in alive if isinstance(node, ast.Call)]
    methods = Counter(call.attr for call in calls if isinstance(call, ast.Attribute))
    comparisons = Counter(
        _ORDER
        for node in alive
        if isinstance(node, ast.Compare)
        for operator in node.ops
        if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    )
    return methods + Counter(call.id for call in calls if isinstance(call, ast.Name)) + comparisons


def _names_mentioned(source: str) -> set[str]:
    """Return the names that a text uses or imports, called or not: after `do = opt.step`, `do()` is a call of `step`.

    Empty if the text does not parse.
    """
    names = set()
    for node in chain.from_iterable(map(ast.walk, top_level(source))):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.alias):
            names.add(node.name.rpartition(".")[2])
    return names
