"""Explain a wrong submission by what is known: mistakes, a copied program, or else the nearest mistake.

1. `mistake_search` finds combinations of known mistakes that behave as the submission does in as many scenarios as
   possible. The other scenarios that went wrong stay *unexplained*.
2. Of equally good combinations, those are kept whose programs work most like the submission (`tie_break`). The first
   is reported.
3. If another combination kept differs from the first in one mistake only, the two mistakes are *twins*: they behave
   alike here, and feedback names both (`a|b`).
4. If scenarios stay unexplained, a mistake is named only if the explained ones are evidence enough
   (`_evidence_suffices`). Such a submission makes a mistake that is not known, and known ones may fit by chance.
   Further mistakes are named that show in single arrays of the unexplained scenarios (`seen_in_arrays`); if all that
   are named then explain everything, nothing stays unexplained.
5. The mistake that raises the exception which is shown is named first; the others follow in the order of the TOML.

Example: if {no-division, drops-leftover} and {no-division, leaks-leftover} both explain all wrong scenarios, the
feedback names two mistakes: `no-division` and `drops-leftover|leaks-leftover`.

`assess` and `own_edit` call `explain` after `judge`. Only runs are read here: the learner's text is compared later
(`twins_by_text`, `locate`). Something else that runs tell goes into `_find_explanation` and a field of `Explanation`,
another reason to name a mistake beside something unexplained into `_evidence_suffices`.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np

from grader.course.course import Mistake
from grader.course.feedback import Pasted
from grader.judging.compare_runs import differing_fields, has_same_cause
from grader.judging.edits import Combination, MistakeVariant, ids_of
from grader.judging.judge import Verdict
from grader.judging.mistake_search import FoundMistakes, find_mistakes
from grader.judging.nearest_mistake import nearest_mistake
from grader.judging.reference import Reference
from grader.judging.run_digest import behaviour_digest
from grader.judging.seen_in_arrays import mistakes_seen_in_arrays
from grader.judging.tie_break import break_tie
from grader.observe.trace import Failure, Run, Trace

_MIN_STATES = 3
"""Minimum number of parameter states (the start and two updates) whose equality is no accident.

Two different mistakes may well give the same numbers in a single update.
"""
_STATES_ATOL = 1e-6
"""Absolute difference above which two parameters count as different."""
_MAX_REMEMBERED = 300
"""Maximum number of explanations kept for each reference; the least recently used is dropped first."""
_RunsKey = tuple[bytes, tuple[str, ...]]
"""(digest of the runs, names of the wrong scenarios)"""
_explanations: WeakKeyDictionary[Reference, OrderedDict[_RunsKey, "Explanation"]] = WeakKeyDictionary()
"""Explanations by the runs that they explain, for as long as the reference lives."""


@dataclass(frozen=True)
class ExplainedMistake:
    """A known mistake that the submission makes."""

    variant: MistakeVariant
    """The variant of it that behaves as the submission does."""
    alternatives: tuple[Mistake, ...]
    """The mistake and its twins, in the order of the exercise's TOML. `results.json` names all of them, the learner's
    card only the `shown_alternatives`."""
    scenarios: tuple[str, ...]
    """Names of the explained scenarios that it changes when made alone; with `only_arrays`, of the unexplained ones in
    which it was seen."""
    only_arrays: frozenset[str] = frozenset()
    """Names of the arrays that show it, if it was seen in single arrays of unexplained scenarios only
    (`seen_in_arrays`); empty for other mistakes."""
    unlikely: frozenset[str] = frozenset()
    """Ids of alternatives that the learner's text speaks against (`twins_by_text`)."""

    @property
    def shown_alternatives(self) -> tuple[Mistake, ...]:
        """The alternatives whose titles feedback shows, usually all of them but the unlikely ones.

        If the edits of one are part of the edits of every other, only that one is shown: it is true whichever of them
        the learner made. Example: a program that divides in neither pass does not divide in the second, so "does not
        divide in the second pass" is true of it, too.
        """
        likely = tuple(mistake for mistake in self.alternatives if mistake.id not in self.unlikely)
        part_of_all = next(
            (
                mistake
                for mistake in likely
                if all(set(mistake.edits) <= set(other.edits) for other in likely)
            ),
            None,
        )
        return likely if part_of_all is None else (part_of_all,)

    @property
    def shown_variant(self) -> MistakeVariant:
        """The first shown alternative as a variant: `variant`, or the usual one if that is of another alternative."""
        shown = self.shown_alternatives[0]
        return self.variant if self.variant.mistake.id == shown.id else MistakeVariant(shown, 0)


@dataclass(frozen=True)
class Explanation:
    """What explains a wrong submission; empty if it passed, or if it could not be loaded."""

    mistakes: tuple[ExplainedMistake, ...] = ()
    """The mistakes that can be named."""
    combination: Combination = ()
    """All mistakes of the set that was found, even those that the evidence does not suffice to name."""
    unexplained: tuple[str, ...] = ()
    """Names of the wrong scenarios that the mistakes do not explain; empty if no mistake can be named."""
    pasted: Pasted | None = None
    """The well-known wrong program that behaves as the submission (`_pasted_program`); None if there is none."""
    nearest_mistake: Mistake | None = None
    """The mistake whose numbers are nearest to the submission's; None if none is near, or if there are `mistakes` or
    `pasted`."""


def explain(trace: Trace, verdict: Verdict, reference: Reference) -> Explanation:
    """Return what explains a submission.

    The explanation depends only on the runs, so it is remembered for the next submission with equal runs: in a class,
    many programs make the same mistake.

    Args:
        trace: the submission's trace.
        verdict: which checks it passes, and where each scenario first differs.
        reference: the runs with which it was compared.
    """
    if not verdict.differences:
        return Explanation()
    remembered = _explanations.setdefault(reference, OrderedDict())
    key = behaviour_digest(trace), tuple(verdict.differences)
    if key in remembered:
        remembered.move_to_end(key)
    else:
        remembered[key] = _find_explanation(trace, verdict, reference)
        if len(remembered) > _MAX_REMEMBERED:
            remembered.popitem(last=False)
    return remembered[key]


def _find_explanation(trace: Trace, verdict: Verdict, reference: Reference) -> Explanation:
    """Search for the explanation, without looking at the remembered ones."""
    found = find_mistakes(reference, trace.runs, list(verdict.differences))
    combinations = break_tie(found, trace, reference)
    mistakes = _explained_mistakes(combinations, found, trace, reference)
    pasted = _pasted_program(trace, verdict, reference)
    combination = combinations[0] if combinations else ()
    unexplained = found.unexplained if mistakes else tuple(verdict.differences)
    if unexplained and not pasted:
        mistakes += _seen_in_arrays(mistakes, unexplained, trace, verdict, reference)
        named = reference.in_toml_order(mistake.variant for mistake in mistakes)
        if set(named) > set(combination) and _explains_all(named, trace, verdict, reference):
            combination, unexplained = named, ()
            mistakes = tuple(_shown_wherever_it_acts(one, verdict, reference) for one in mistakes)
    mistakes = tuple(
        sorted(mistakes, key=lambda one: -_likeness_of_exception(one, verdict.failure, trace, reference))
    )
    nearest = None if mistakes or pasted else nearest_mistake(reference, trace.runs, verdict.differences)
    return Explanation(
        mistakes=mistakes,
        combination=combination,
        unexplained=unexplained if mistakes else (),
        pasted=pasted,
        nearest_mistake=nearest,
    )


def _explained_mistakes(
    combinations: Sequence[Combination], found: FoundMistakes, trace: Trace, reference: Reference
) -> tuple[ExplainedMistake, ...]:
    """Return the mistakes of the first combination, each with its twins.

    Left out are those without enough evidence, and those whose twins an unexplained scenario might rule out.
    """
    if not combinations:
        return ()
    mistakes = []
    for variant in combinations[0]:
        interchangeable = _ids_of_interchangeable_mistakes(variant, combinations)
        alternatives = tuple(
            mistake for mistake in reference.exercise.mistakes if mistake.id in interchangeable
        )
        if len(alternatives) > 1 and not _unexplained_all_raised(found, trace):
            continue  # the unexplained scenarios might tell these twins apart
        supporting = tuple(
            scenario for scenario in found.explained if reference.behaviour(variant, scenario) != 0
        )
        if _evidence_suffices(variant, supporting, found, trace, reference):
            mistakes.append(ExplainedMistake(variant, alternatives=alternatives, scenarios=supporting))
    return tuple(mistakes)


def _likeness_of_exception(
    mistake: ExplainedMistake, failure: Failure | None, trace: Trace, reference: Reference
) -> int:
    """Return how like the submission's exception is to the one that the mistake, made alone, raises in its place.

    2: the same cause and type; 1: the same cause (two mistakes that forget a None have it, whatever they do with the
    None); 0: another cause, no exception, or none is shown (`failure` is None).
    """
    if failure is None:
        return 0
    source = reference.sources[mistake.variant.name]
    # Lines are not compared: an explanation is remembered for runs that may differ in them (`run_digest`).
    shown = replace(failure, line=None)
    raised = {scenario: trace.runs[scenario].failure for scenario in mistake.scenarios}
    raised_in = [s for s, one in raised.items() if one is not None and replace(one, line=None) == shown]
    # Complete runs: those that are kept may be broken off where they differed from an earlier learner's.
    expected = [reference.complete_run(source, scenario).failure for scenario in raised_in]
    like = [other for other in expected if other is not None and has_same_cause(failure, other)]
    return max((2 if other.type == failure.type else 1 for other in like), default=0)


def _seen_in_arrays(
    named: Sequence[ExplainedMistake],
    unexplained: Sequence[str],
    trace: Trace,
    verdict: Verdict,
    reference: Reference,
) -> tuple[ExplainedMistake, ...]:
    """Return the mistakes beside the named ones that are seen in single arrays of the unexplained scenarios."""
    known = tuple(mistake.variant for mistake in named)
    seen = mistakes_seen_in_arrays(known, unexplained, tuple(verdict.differences), trace.runs, reference)
    return tuple(
        ExplainedMistake(
            one.variant,
            alternatives=(one.variant.mistake,),
            scenarios=tuple(name for name in verdict.differences if name in one.scenarios),
            only_arrays=one.arrays,
        )
        for one in seen
    )


def _shown_wherever_it_acts(
    mistake: ExplainedMistake, verdict: Verdict, reference: Reference
) -> ExplainedMistake:
    """Return the mistake with all scenarios that went wrong and that it changes when made alone."""
    acting = tuple(name for name in verdict.differences if reference.behaviour(mistake.variant, name) != 0)
    return replace(mistake, scenarios=acting or mistake.scenarios, only_arrays=frozenset())


def _explains_all(combination: Combination, trace: Trace, verdict: Verdict, reference: Reference) -> bool:
    """Return True if the solution with all these mistakes behaves as the submission in each scenario.

    False if a scenario that went wrong has no run.
    """
    source = reference.source_with_mistakes(combination)
    if source is None or not trace.runs.keys() >= verdict.differences.keys():
        return False
    return all(
        reference.reproduces(
            source, name, run if name in verdict.differences else reference.solution_run(name)
        )
        for name, run in trace.runs.items()
    )


def _ids_of_interchangeable_mistakes(
    variant: MistakeVariant, combinations: Sequence[Combination]
) -> set[str]:
    """Return the ids of the mistake that the variant makes and of its twins.

    A twin can take the variant's place in the first combination: another of the combinations makes the same mistakes,
    but for these two.
    """
    partners = ids_of(combinations[0]) - {variant.mistake.id}
    return {
        candidate.mistake.id
        for combination in combinations
        for candidate in combination
        if ids_of(combination) - {candidate.mistake.id} == partners
    }


def _unexplained_all_raised(found: FoundMistakes, trace: Trace) -> bool:
    """Return True if every scenario that stays unexplained ended in an exception; also if none stays unexplained."""
    return all(
        scenario in trace.runs and trace.runs[scenario].failure is not None for scenario in found.unexplained
    )


def _evidence_suffices(
    variant: MistakeVariant,
    supporting: Sequence[str],
    found: FoundMistakes,
    trace: Trace,
    reference: Reference,
) -> bool:
    """Return True if the explained scenarios are evidence enough to name this mistake.

    If nothing is unexplained, one supporting scenario is enough. Else one of three reasons is needed:

    1. All unexplained scenarios end in exceptions, which spoil no other scenario. Of the supporting scenarios, at least
       one ran to its end, and at least as many as there are unexplained scenarios that the mistake changes, too.
    2. There are more supporting scenarios than unexplained ones that the mistake changes. And one of the supporting
       scenarios, not ended by the learner's own `raise`, differs from the solution only in arrays and facts that are
       right in all unexplained scenarios: so whatever is unexplained did not cause the agreement.
    3. One supporting scenario has several updates, and its parameters differ from the solution's: so many numbers do
       not agree with the mistake's by chance.

    Args:
        variant: the mistake that may be named, as it was made.
        supporting: names of the explained scenarios that the mistake changes.
        found: which scenarios are explained.
        trace: the submission's trace.
        reference: the runs with which it was compared.
    """
    if not found.unexplained:
        return bool(supporting)
    unexplained = [scenario for scenario in found.unexplained if scenario in trace.runs]
    also_changed = [scenario for scenario in unexplained if reference.behaviour(variant, scenario) != 0]
    ran_to_the_end = [scenario for scenario in supporting if trace.runs[scenario].failure is None]
    if _unexplained_all_raised(found, trace) and len(ran_to_the_end) >= max(1, len(also_changed)):
        return True
    if len(supporting) > len(also_changed) and _some_is_unaffected(supporting, unexplained, trace, reference):
        return True
    return any(_differs_over_several_updates(scenario, trace, reference) for scenario in supporting)


def _some_is_unaffected(
    supporting: Sequence[str], unexplained: Sequence[str], trace: Trace, reference: Reference
) -> bool:
    """Return True if a supporting scenario is wrong only in arrays and facts that are right in all unexplained ones."""
    wrong_in_unexplained = {
        field for scenario in unexplained for field in _wrong_fields(scenario, trace, reference)
    }
    # Leave out runs that the learner's own `raise` ended: they are compared by the exception's type only.
    compared_whole = [scenario for scenario in supporting if not _raised_on_purpose(trace.runs[scenario])]
    return any(
        _wrong_fields(scenario, trace, reference).isdisjoint(wrong_in_unexplained)
        for scenario in compared_whole
    )


def _raised_on_purpose(run: Run) -> bool:
    """Return True if the run ended in the learner's own `raise` or `assert`."""
    return run.failure is not None and run.failure.own


def _wrong_fields(scenario: str, trace: Trace, reference: Reference) -> set[str]:
    """Return the names of the arrays and facts in which the learner's run of a scenario differs from the solution's.

    `failure` is among them if only one of the two raised (`differing_fields`).
    """
    atol = reference.exercise.driver[scenario].atol
    return differing_fields(trace.runs[scenario], reference.solution_run(scenario), atol)


def _differs_over_several_updates(scenario: str, trace: Trace, reference: Reference) -> bool:
    """Return True if the learner's run has several updates, and its parameters differ from the solution's."""
    theta = trace.runs[scenario].arrays.get("theta")
    right = reference.solution_run(scenario).arrays.get("theta")
    if theta is None or right is None or len(theta) < _MIN_STATES:
        return False
    return theta.shape != right.shape or not np.allclose(
        theta, right, rtol=0.0, atol=_STATES_ATOL, equal_nan=True
    )


def _pasted_program(trace: Trace, verdict: Verdict, reference: Reference) -> Pasted | None:
    """Return the first well-known wrong program (`[[copies]]`) that behaves as the submission wherever that has a run.

    None if there is none, or if the submission has no run.
    """

    def target(scenario: str) -> Run:
        # The solution's run where the learner is right: the two agree but for rounding, and it is the exact one.
        return trace.runs[scenario] if scenario in verdict.differences else reference.solution_run(scenario)

    scenarios = [
        scenario.name for scenario in reference.exercise.driver.scenarios if scenario.name in trace.runs
    ]
    for copy in reference.exercise.copies:
        if scenarios and all(reference.reproduces(copy.program, name, target(name)) for name in scenarios):
            return Pasted(copy.id, copy.title, copy.explain, copy.hint)
    return None
