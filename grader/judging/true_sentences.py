"""Choose the sentences about a mistake that are true of this run.

What a mistake's code does stays true whatever else is wrong. What happened does not: 「매개변수가 하나도 움직이지
않았어요」 is false once another mistake moves them. Such a sentence stands in braces after a condition
(`course.conditions`), which is checked here on the learner's runs; a sentence whose condition fails is left out.

Conditions are joined by ` and `; `in SCENARIO` behind one makes it look at this scenario only:

    alone                  nothing else is wrong, and the program behaves as the usual one with this mistake
    unmixed                wherever the usual program with this mistake goes wrong, the learner's goes wrong just so:
                           what else is wrong shows in other scenarios
    still                  no parameter ever moves, although the solution moves them
    raises [TYPE]          an exception (of this type) that the solution does not raise ends a scenario
    returns TYPE           something that is returned is of this type, where the solution returns another one
    right FIELD            the array or fact is there and equals the solution's wherever it is recorded
    wrong FIELD            it differs from the solution's somewhere
    more FIELD, less FIELD it differs, and every number that differs is larger, or smaller, than the solution's
    later                  parameters differ, but not yet after the first update
    only FIELD             nothing but this array or fact differs from the solution's
    same SCENARIO          the run of this scenario is that of the usual program with this mistake

Example: `returns-tensor` says `{right returned: 값은 맞지만 float가 아니에요.}`. Beside a loss that is not divided, the
value that is returned is wrong, and the sentence is left out.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from grader.course.conditions import told
from grader.course.course import CourseError
from grader.judging.compare_runs import differing_fields, find_difference, tolerances
from grader.judging.edits import Combination, MistakeVariant
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.reference import Reference
from grader.observe.trace import Run, Trace

_TYPE_FACT = "반환 타입"
"""Name of the fact that drivers record about the type of what the function returns."""


def true_explanation(
    mistake: ExplainedMistake, explanation: Explanation, trace: Trace, reference: Reference
) -> str:
    """Return what is said of a mistake: its explanation without the sentences that are not true of these runs.

    Args:
        mistake: the mistake; if several are named together, the first of them is explained.
        explanation: everything that explains the submission.
        trace: the submission's trace.
        reference: what it was judged by.
    """
    made, first = mistake.variant, mistake.alternatives[0]
    text = made.mistake.explanation(made.number) if first.id == made.mistake.id else first.explain
    runs = Runs(MistakeVariant(first, 0), made, explanation, trace.runs, reference)
    return told(text, lambda condition: condition_holds(condition, runs))


def true_explanations(combination: Combination, reference: Reference) -> tuple[str, ...]:
    """Return what is true of each of these mistakes in the program that makes all of them.

    Args:
        combination: the mistakes, whose edits can be combined.
        reference: plays the program.

    Raises:
        ValueError: the edits exclude each other.
    """
    program = reference.program_of_all(combination)
    if program is None:
        raise ValueError(f"edits that exclude each other: {[variant.name for variant in combination]}")
    names = [scenario.name for scenario in reference.exercise.driver.scenarios]
    trace = Trace(runs={name: reference.run(program, name) for name in names})
    explanation = Explanation(combination=combination)
    return tuple(
        true_explanation(ExplainedMistake(variant, (variant.mistake,), ()), explanation, trace, reference)
        for variant in combination
    )


def condition_holds(condition: str, runs: "Runs") -> bool:
    """Return True if every part of the condition is true of the runs.

    Raises:
        CourseError: it is written in other words than those above, or names a scenario that does not exist.
    """
    return all(_part_holds(part, runs) for part in condition.split(" and "))


def _part_holds(part: str, runs: "Runs") -> bool:
    word, _, rest = part.partition(" ")
    if word not in _CHECKS:
        raise CourseError(
            f"실수 설명의 조건을 읽을 수 없어요: {part!r}. 쓸 수 있는 낱말: {', '.join(_CHECKS)}. "
            "solutions/의 explain을 고쳐 주세요."
        )
    if word == "same":
        return _CHECKS[word](runs.limited_to(rest), "")
    field, _, scenario = f" {rest}".rpartition(" in ") if " in " in f" {rest}" else (rest, "", "")
    return _CHECKS[word](runs.limited_to(scenario) if scenario else runs, field.strip())


@dataclass(frozen=True)
class Runs:
    """The learner's runs beside the solution's, and what explains them."""

    usual: MistakeVariant
    """The usual way to make the mistake that is explained: sentences are written for it."""
    made: MistakeVariant
    """The way in which the learner's program makes it."""
    explanation: Explanation
    learner: Mapping[str, Run]
    reference: Reference
    scenario: str = ""
    """Name of the only scenario that is looked at; empty for all."""

    def limited_to(self, scenario: str) -> "Runs":
        """Return the same runs, of which only one scenario is looked at.

        Raises:
            CourseError: the exercise has no scenario with this name.
        """
        names = [s.name for s in self.reference.exercise.driver.scenarios]
        if scenario not in names:
            raise CourseError(
                f"실수 설명의 조건에 있는 시나리오 {scenario!r}이 {self.reference.exercise.name}에 없어요. "
                f"있는 시나리오: {', '.join(names)}."
            )
        return replace(self, scenario=scenario)

    def pairs(self) -> Iterator[tuple[Run, Run, float]]:
        """Yield the learner's run, the solution's, and the tolerance, for each scenario that is looked at."""
        for scenario in self.reference.exercise.driver.scenarios:
            run = self.learner.get(scenario.name)
            if run is not None and self.scenario in ("", scenario.name):
                yield run, self.reference.solution(scenario.name), scenario.atol

    def differing(self) -> set[str]:
        """Return the names of all arrays and facts that differ in some scenario, and `failure` for an exception."""
        return {
            name for run, solution, atol in self.pairs() for name in differing_fields(run, solution, atol)
        }


def _alone(runs: Runs, _: str) -> bool:
    if runs.explanation.unexplained or len(runs.explanation.combination) > 1:
        return False
    behaviour = runs.reference.behaviour
    names = [scenario.name for scenario in runs.reference.exercise.driver.scenarios]
    return all(behaviour(runs.usual, name) == behaviour(runs.made, name) for name in names)


def _unmixed(runs: Runs, _: str) -> bool:
    names = [scenario.name for scenario in runs.reference.exercise.driver.scenarios]
    acting = [name for name in names if runs.reference.behaviour(runs.usual, name) != 0]
    return _alone(runs, "") or all(_same(runs.limited_to(name), "") for name in acting)


def _still(runs: Runs, _: str) -> bool:
    states = [run.arrays.get("theta") for run, solution, _ in runs.pairs() if _only_steps_move(solution)]
    return bool(states) and all(theta is not None and bool((theta == theta[:1]).all()) for theta in states)


def _only_steps_move(solution: Run) -> bool:
    """Return True if parameters move in the solution's run, and by steps of the optimizer only.

    Some drivers hand in several models, or change parameters themselves between two calls.
    """
    updates = len(solution.arrays.get("theta", ())) - 1
    return updates > 0 and updates == sum(event.kind == "step" for event in solution.events)


def _raises(runs: Runs, kind: str) -> bool:
    return any(
        run.failure is not None and solution.failure is None and kind in ("", run.failure.type)
        for run, solution, _ in runs.pairs()
    )


def _returns(runs: Runs, kind: str) -> bool:
    facts = [
        (run.facts[_TYPE_FACT], solution.facts.get(_TYPE_FACT))
        for run, solution, _ in runs.pairs()
        if _TYPE_FACT in run.facts
    ]
    return any(
        got != expected and kind in (got if isinstance(got, list) else [got]) for got, expected in facts
    )


def _right(runs: Runs, field: str) -> bool:
    recorded = any(field in {**run.arrays, **run.facts} for run, _, _ in runs.pairs())
    return recorded and field not in runs.differing()


def _wrong(runs: Runs, field: str) -> bool:
    return field in runs.differing()


def _more(runs: Runs, field: str) -> bool:
    return _all_beyond(runs, field, 1)


def _less(runs: Runs, field: str) -> bool:
    return _all_beyond(runs, field, -1)


def _all_beyond(runs: Runs, field: str, sign: int) -> bool:
    """Return True if numbers of the array differ, and all that do lie on this side of the solution's."""
    some = False
    for run, solution, atol in runs.pairs():
        got, expected = run.arrays.get(field), solution.arrays.get(field)
        if expected is None:
            continue
        if got is None or got.shape != expected.shape or got.dtype.kind not in "fiu":
            return False
        gap = sign * (np.atleast_1d(got).astype(float) - np.atleast_1d(expected).astype(float))
        room = tolerances(field, expected, atol).reshape(-1, *[1] * (gap.ndim - 1))
        if not np.isfinite(gap).all() or (gap < -room).any():
            return False
        some = some or bool((gap > room).any())
    return some


def _later(runs: Runs, _: str) -> bool:
    found = [find_difference(run, solution, atol) for run, solution, atol in runs.pairs()]
    at = [d.index[0] if d.kind == "array" else 0 for d in found if d is not None and d.name == "theta"]
    return bool(at) and min(at) > 1


def _only(runs: Runs, field: str) -> bool:
    return runs.differing() == {field}


def _same(runs: Runs, _: str) -> bool:
    run = runs.learner.get(runs.scenario)
    return run is not None and runs.reference.agrees(
        runs.reference.sources[runs.usual.name], runs.scenario, run
    )


_CHECKS: Mapping[str, Callable[[Runs, str], bool]] = {
    "alone": _alone,
    "unmixed": _unmixed,
    "still": _still,
    "raises": _raises,
    "returns": _returns,
    "right": _right,
    "wrong": _wrong,
    "more": _more,
    "less": _less,
    "later": _later,
    "only": _only,
    "same": _same,
}
