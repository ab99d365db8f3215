"""Choose the sentences about a mistake that are true of this run.

What a mistake's code does stays true whatever else is wrong. What happened does not: 「매개변수가 하나도 움직이지
않았어요」 is false once another mistake moves them. Such a sentence is written `{CONDITION: SENTENCE}`
(`course.conditions`). The condition is checked here on the learner's runs; if it does not hold, the sentence is left
out.

The *usual* program of a mistake is the solution with the mistake's `edits`; `variants` are other ways to make it.

A condition is one or more of these pieces, joined by ` and `. FIELD is the name of an array or fact of a run, such as
`theta` or `returned`.

    alone                  nothing else is wrong, and the learner's program behaves as the usual one with this mistake
    unmixed                the learner's run equals the usual program's in each scenario in which the usual program's
                           run differs from the solution's; anything else that is wrong shows in other scenarios
    same SCENARIO          the learner's run of this scenario equals the usual program's
    still                  no parameter ever moves, although the solution moves them; scenarios in which anything but
                           a `step` changes the solution's parameters, or which use several models, are not looked at
    raises [TYPE]          an exception (of this type) ends a scenario in which the solution raises none
    returns TYPE           this type is returned more often than by the solution
    right FIELD            the array or fact is there and equals the solution's wherever it is recorded
    wrong FIELD            it differs from the solution's somewhere
    more FIELD, less FIELD it differs, has the solution's shape everywhere, and every number that differs is larger, or
                           smaller, than the solution's
    later                  parameters differ somewhere, but nowhere at the start or after the first update; scenarios
                           in which only one of the two raises, or they raise different exceptions, are not looked at
    only FIELD             nothing but this array or fact differs from the solution's

With ` in SCENARIO` behind it, a piece looks at this scenario only. `alone`, `unmixed` and `same` cannot be limited in
this way.

Example: `returns-tensor` says `{alone: 값은 맞지만 float가 아니에요.}`. Beside a loss that is not divided, the value
that is returned is wrong, and the sentence is left out. It is left out as well beside an update that is never made: the
values that were recorded may be right, those of the next call are not.

`assess.py` calls `true_explanation` for each mistake that explains the learner's runs; the clinic calls
`explanations_of_combined_mistakes`. `course/conditions.py` reads the braces. A condition word is added there and here:
a function, its place in `_PREDICATES`, and a line above.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from grader.course.conditions import leading_events, true_text
from grader.course.course import CourseError, Wording
from grader.judging.compare_runs import differing_fields, find_difference, tolerances
from grader.judging.edits import MistakeVariant
from grader.judging.explain import ExplainedMistake, Explanation
from grader.judging.reference import Reference
from grader.observe.trace import Run, Trace
from grader.observe.wording import RETURN_TYPES


@dataclass(frozen=True)
class TrueText:
    """What the card says of a mistake in a run."""

    explain: str
    """The mistake's explanation without the sentences that are not true of the run."""
    symptom: str
    """The sentences at its beginning that say what happened in the run; empty if there are none."""
    title: str = ""
    """Title in place of the mistake's own, where that is not true of this code; empty: its own."""


def true_explanation(
    mistake: ExplainedMistake,
    explanation: Explanation,
    trace: Trace,
    reference: Reference,
    wording: Wording | None = None,
) -> TrueText:
    """Return what is true of a mistake in these runs.

    Args:
        mistake: what was found; of several mistakes that behave alike, feedback explains the first one shown.
        explanation: everything that explains the judged program.
        trace: the judged program's runs.
        reference: the runs with which they were compared.
        wording: texts in place of the mistake's own; None: its own.
    """
    made, named = mistake.variant, mistake.shown_alternatives[0]
    # Of twins (mistakes that behave alike), feedback may name one while the variant that was found is of another. An
    # explanation that the variant has of its own says nothing of the named one then.
    text = named.explanation(made.number) if named.id == made.mistake.id else named.explain
    text = text if wording is None else wording.explain
    has_own_text = text != named.explain
    runs = ComparedRuns(
        usual=made if has_own_text else MistakeVariant(named, 0),
        made=made,
        explanation=explanation,
        judged_runs=trace.runs,
        reference=reference,
    )

    def holds(condition: str) -> bool:
        return condition_holds(condition, runs)

    explain, symptom = true_text(text, holds), leading_events(text, holds)
    cases = reference.exercise.cases
    if cases is None or not made.copy:
        return TrueText(explain, symptom, "" if wording is None else wording.title)
    # This is also true if another twin is named, because that behaves alike.
    case = cases.first if made.copy == 1 else cases.second
    own_title = named.title if wording is None else wording.title
    title = f"{own_title} ({case})" if len(mistake.shown_alternatives) == 1 else ""
    return TrueText(f"이 실수는 {case}에만 나와요. {explain}", symptom, title)


def explanations_of_combined_mistakes(
    mistakes: Sequence[MistakeVariant], reference: Reference
) -> tuple[str, ...]:
    """Play the program that makes all of these mistakes, and return for each what is true of it there.

    Args:
        mistakes: variants of different mistakes, whose edits can be combined.
        reference: plays the program that makes them.

    Raises:
        ValueError: the edits exclude each other.
    """
    program = reference.source_with_mistakes(mistakes)
    if program is None:
        raise ValueError(f"edits that exclude each other: {[variant.name for variant in mistakes]}")
    names = [scenario.name for scenario in reference.exercise.driver.scenarios]
    trace = Trace(runs={name: reference.complete_run(program, name) for name in names})
    explanation = Explanation(combination=reference.in_toml_order(mistakes))
    made = [ExplainedMistake(variant, alternatives=(variant.mistake,), scenarios=()) for variant in mistakes]
    return tuple(true_explanation(mistake, explanation, trace, reference).explain for mistake in made)


def condition_holds(condition: str, runs: "ComparedRuns") -> bool:
    """Return True if every piece of the condition is true of the runs.

    Raises:
        CourseError: a piece begins with none of `CONDITION_WORDS`, names a scenario that does not exist, or has
            something behind `alone` or `unmixed`.
    """
    return all(_piece_holds(piece, runs) for piece in condition.split(" and "))


def _piece_holds(piece: str, runs: "ComparedRuns") -> bool:
    """Return True if a condition without ` and `, such as `more returned in sgd`, is true of the runs.

    Raises:
        CourseError: as in `condition_holds`.
    """
    word, _, rest = piece.partition(" ")
    if word not in _PREDICATES:
        raise CourseError(
            f"실수 설명의 조건을 읽을 수 없어요: {piece!r}. 쓸 수 있는 낱말: {', '.join(_PREDICATES)}. "
            "solutions/의 explain을 고쳐 주세요."
        )
    if word in _ABOUT_ALL_SCENARIOS and rest:
        raise CourseError(
            f"실수 설명의 조건 {piece!r}에서 {word} 뒤에는 아무것도 쓸 수 없어요. 모든 시나리오를 보는 조건이에요. "
            f"{word}라고만 쓰거나, 시나리오 하나만 보려면 same으로 고쳐 주세요."
        )
    if word == "same":  # the only word that is followed by a scenario; others by a field, a type or nothing
        return _PREDICATES[word](runs, rest)
    # `rest` is `FIELD in SCENARIO`, `in SCENARIO`, `FIELD` or empty. The space in front makes ` in ` match the second.
    field, _, scenario = f" {rest}".partition(" in ")
    return _PREDICATES[word](runs.limited_to(scenario) if scenario else runs, field.strip())


@dataclass(frozen=True)
class ComparedRuns:
    """The runs of the judged program beside the solution's, and what explains them."""

    usual: MistakeVariant
    """The variant that the sentences are written for: the usual one, or that with an explanation of its own."""
    made: MistakeVariant
    """The variant that the judged program makes. It may be of another mistake that behaves alike."""
    explanation: Explanation
    """Everything that explains the judged runs."""
    judged_runs: Mapping[str, Run]
    """Name of the scenario -> the run of the judged program: the learner's, or one that makes known mistakes
    (`explanations_of_combined_mistakes`)."""
    reference: Reference
    """Gives the runs of the solution and of the mistakes."""
    only_scenario: str = ""
    """Name of the only scenario that is looked at; empty for all."""

    def limited_to(self, scenario: str) -> "ComparedRuns":
        """Return the same runs, of which only one scenario is looked at.

        Raises:
            CourseError: the exercise has no scenario with this name.
        """
        self.ensure_scenario_exists(scenario)
        return replace(self, only_scenario=scenario)

    def ensure_scenario_exists(self, scenario: str) -> None:
        """Raise CourseError if the exercise has no scenario with this name."""
        names = self.scenario_names()
        if scenario not in names:
            raise CourseError(
                f"실수 설명의 조건에 있는 시나리오 {scenario!r}이 {self.reference.exercise.name}에 없어요. "
                f"있는 시나리오: {', '.join(names)}."
            )

    def scenario_names(self) -> list[str]:
        """Return the names of all scenarios of the exercise, whether they are looked at or not."""
        return [scenario.name for scenario in self.reference.exercise.driver.scenarios]

    def pairs_with_solution(self) -> Iterator[tuple[Run, Run, float]]:
        """Yield (judged run, solution's run, absolute tolerance) for each scenario that is looked at.

        Scenarios without a judged run are left out.
        """
        for scenario in self.reference.exercise.driver.scenarios:
            run = self.judged_runs.get(scenario.name)
            if run is not None and self.only_scenario in ("", scenario.name):
                yield run, self.reference.solution_run(scenario.name), scenario.atol

    def wrong_fields(self) -> set[str]:
        """Return the names of all arrays and facts that differ in a scenario, and `failure` if only one run raised."""
        return {
            name
            for run, solution, atol in self.pairs_with_solution()
            for name in differing_fields(run, solution, atol)
        }


# Below is one function for each word of `CONDITION_WORDS`, in the order of `_PREDICATES`. Each takes the runs and the
# field, type or scenario that follows the word (empty without one), and returns True if the condition holds. The table
# in the module's docstring says what each condition means.


def _is_alone(runs: ComparedRuns, _: str) -> bool:
    if runs.explanation.unexplained or len(runs.explanation.combination) > 1:
        return False
    behaviour = runs.reference.behaviour
    return all(behaviour(runs.usual, name) == behaviour(runs.made, name) for name in runs.scenario_names())


def _is_unmixed(runs: ComparedRuns, _: str) -> bool:
    changed = [name for name in runs.scenario_names() if runs.reference.behaviour(runs.usual, name) != 0]
    # If the mistake is alone, this is known without playing the usual program.
    return _is_alone(runs, "") or all(_is_same(runs, name) for name in changed)


def _is_still(runs: ComparedRuns, _: str) -> bool:
    states = [
        run.arrays.get("theta")
        for run, solution, _ in runs.pairs_with_solution()
        if _only_steps_move(solution)
    ]
    return bool(states) and all(theta is not None and bool((theta == theta[:1]).all()) for theta in states)


def _only_steps_move(solution: Run) -> bool:
    """Return True if parameters move in the solution's run, and by steps of the optimizer only.

    In other scenarios the driver hands over several models, or changes parameters between two calls, so that `theta`
    moves whatever the learner does.
    """
    updates = len(solution.arrays.get("theta", ())) - 1
    return updates > 0 and updates == sum(event.kind == "step" for event in solution.events)


def _raises(runs: ComparedRuns, type_name: str) -> bool:
    return any(
        run.failure is not None and solution.failure is None and type_name in ("", run.failure.type)
        for run, solution, _ in runs.pairs_with_solution()
    )


def _returns(runs: ComparedRuns, type_name: str) -> bool:
    return any(
        _return_types(run)[type_name] > _return_types(solution)[type_name]
        for run, solution, _ in runs.pairs_with_solution()
    )


def _return_types(run: Run) -> Counter[str]:
    """Return how often each name of a type is in the fact `RETURN_TYPES`, which holds one name or a list of them."""
    fact = run.facts.get(RETURN_TYPES)
    return Counter(str(name) for name in (fact if isinstance(fact, list) else [fact]))


def _is_right(runs: ComparedRuns, field: str) -> bool:
    is_recorded = any(field in {**run.arrays, **run.facts} for run, _, _ in runs.pairs_with_solution())
    return is_recorded and field not in runs.wrong_fields()


def _is_wrong(runs: ComparedRuns, field: str) -> bool:
    return field in runs.wrong_fields()


def _is_more(runs: ComparedRuns, field: str) -> bool:
    return _differs_only_to_side(runs, field, 1)


def _is_less(runs: ComparedRuns, field: str) -> bool:
    return _differs_only_to_side(runs, field, -1)


def _differs_only_to_side(runs: ComparedRuns, field: str, sign: int) -> bool:
    """Return True if some numbers of the array differ from the solution's, and all of these to the same side.

    Args:
        runs: the runs to compare, scenario by scenario.
        field: name of the array.
        sign: 1 if the numbers must be larger than the solution's, -1 if smaller.
    """
    has_difference = False
    for run, solution, atol in runs.pairs_with_solution():
        got, expected = run.arrays.get(field), solution.arrays.get(field)
        if expected is None:
            continue
        if got is None or got.shape != expected.shape or got.dtype.kind not in "fiu":
            # `dtype.kind`: floats, signed and unsigned integers. A boolean is not larger than another.
            return False
        excess = sign * (np.atleast_1d(got).astype(float) - np.atleast_1d(expected).astype(float))
        by_row = tolerances(field, expected, atol)
        tolerance = by_row.reshape(-1, *[1] * (excess.ndim - 1))  # the same for all elements of a row
        if not np.isfinite(excess).all() or (excess < -tolerance).any():
            return False
        has_difference = has_difference or bool((excess > tolerance).any())
    return has_difference


def _is_later(runs: ComparedRuns, _: str) -> bool:
    differences = (find_difference(*pair) for pair in runs.pairs_with_solution())
    # Rows of `theta`: 0 is the start, 1 comes after the first update. A wrong shape counts as wrong from the start, and
    # so does another number of updates if all that both programs made agree.
    first_wrong_rows = [
        difference.index[0] if difference.kind == "array" else 0
        for difference in differences
        if difference is not None and difference.name == "theta"
    ]
    return bool(first_wrong_rows) and min(first_wrong_rows) > 1


def _is_only_difference(runs: ComparedRuns, field: str) -> bool:
    return runs.wrong_fields() == {field}


def _is_same(runs: ComparedRuns, scenario: str) -> bool:
    runs.ensure_scenario_exists(scenario)
    run = runs.judged_runs.get(scenario)
    return run is not None and runs.reference.reproduces(
        runs.reference.sources[runs.usual.name], scenario, run
    )


_PREDICATES: Mapping[str, Callable[[ComparedRuns, str], bool]] = {
    "alone": _is_alone,
    "unmixed": _is_unmixed,
    "still": _is_still,
    "raises": _raises,
    "returns": _returns,
    "right": _is_right,
    "wrong": _is_wrong,
    "more": _is_more,
    "less": _is_less,
    "later": _is_later,
    "only": _is_only_difference,
    "same": _is_same,
}
"""The function for each word with which a piece may begin, in the order of `course.conditions.CONDITION_WORDS`."""
_ABOUT_ALL_SCENARIOS = ("alone", "unmixed")
"""Words that stand by themselves: they compare all scenarios, so nothing may follow them."""
