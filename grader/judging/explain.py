"""Explain a wrong submission by what is known: mistakes, a copied program, or else the nearest mistake.

`mistake_search` finds combinations of known mistakes that behave as the submission does. Of equally good ones, those
that also work in the same way (`tie_break`) are kept, and the first of these is reported. If another combination
differs from it in one mistake only, the two mistakes are twins: they behave alike here, and feedback names both
(`a|b`). Where scenarios stay unexplained, a mistake is named only if the explained ones are evidence enough
(`_evidence_suffices`).
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from grader.course.course import Mistake
from grader.course.feedback import Pasted
from grader.judging.compare_runs import differing_fields
from grader.judging.edits import Combination, MistakeVariant, ids_of
from grader.judging.judge import Verdict
from grader.judging.mistake_search import FoundMistakes, find_mistakes
from grader.judging.nearest_mistake import nearest_mistake
from grader.judging.reference import Reference
from grader.judging.run_digest import behaviour_digest
from grader.judging.tie_break import break_tie
from grader.observe.trace import Run, Trace

_TOO_FEW_STATES = 2
"""Parameter states (the start and one update) that are too few evidence: two mistakes may share those numbers."""

_REMEMBERED = 300
"""Maximum number of explanations kept for each reference; the least recently used is dropped first."""
_Key = tuple[bytes, tuple[str, ...]]
"""(digest of the runs, names of the wrong scenarios)"""
_explanations: WeakKeyDictionary[Reference, OrderedDict[_Key, "Explanation"]] = WeakKeyDictionary()
"""Explanations by what they explain, as long as the reference is kept."""


@dataclass(frozen=True)
class ExplainedMistake:
    """A known mistake that the submission makes."""

    variant: MistakeVariant
    """The way in which it is made."""
    names: tuple[Mistake, ...]
    """The mistake and all that behave alike in its place, in the order of the course file."""
    scenarios: tuple[str, ...]
    """Names of the explained scenarios that it changes."""


@dataclass(frozen=True)
class Explanation:
    """What explains a wrong submission; empty for one that passed, or of which nothing could be compared."""

    mistakes: tuple[ExplainedMistake, ...] = ()
    """The mistakes that can be named."""
    combination: Combination = ()
    """All mistakes that together behave as the submission does, also those without evidence enough to name them."""
    unexplained: tuple[str, ...] = ()
    """Names of the wrong scenarios that the mistakes do not explain; empty if no mistake can be named."""
    pasted: Pasted | None = None
    """The well-known wrong program that behaves the same in every scenario."""
    near: Mistake | None = None
    """The nearest known mistake, if nothing else is known."""


def explain(trace: Trace, verdict: Verdict, reference: Reference) -> Explanation:
    """Return what explains a submission that did not pass.

    It follows from the runs alone, and is remembered: in a class, many programs make the same mistake.

    Args:
        trace: the submission's trace.
        verdict: its verdict.
        reference: what it was judged by.
    """
    if not verdict.differences:
        return Explanation()
    remembered = _explanations.setdefault(reference, OrderedDict())
    key = behaviour_digest(trace), tuple(verdict.differences)
    if key in remembered:
        remembered.move_to_end(key)
    else:
        remembered[key] = _explained(trace, verdict, reference)
        if len(remembered) > _REMEMBERED:
            remembered.popitem(last=False)
    return remembered[key]


def _explained(trace: Trace, verdict: Verdict, reference: Reference) -> Explanation:
    """Return the explanation, found anew."""
    found = find_mistakes(reference, trace.runs, list(verdict.differences))
    combinations = break_tie(found, trace, reference)
    mistakes = _explained_mistakes(combinations, found, trace, reference)
    pasted = _pasted(trace, verdict, reference)
    near = None if mistakes or pasted else nearest_mistake(reference, trace.runs, verdict.differences)
    combination = combinations[0] if combinations else ()
    return Explanation(mistakes, combination, found.unexplained if mistakes else (), pasted, near)


def _explained_mistakes(
    combinations: Sequence[Combination], found: FoundMistakes, trace: Trace, reference: Reference
) -> tuple[ExplainedMistake, ...]:
    """Return the mistakes of the first combination, each together with its twins.

    Two mistakes are twins if exchanging one for the other in the first combination gives another combination found.
    Mistakes without enough evidence are left out.
    """
    if not combinations:
        return ()
    mistakes = []
    for variant in combinations[0]:
        partners = ids_of(combinations[0]) - {variant.mistake.id}
        twins = {v.mistake.id for c in combinations for v in c if partners == ids_of(c) - {v.mistake.id}}
        names = tuple(m for m in reference.exercise.mistakes if m.id in twins or m.id == variant.mistake.id)
        if len(names) > 1 and not _only_exceptions_left(found, trace):
            continue  # only the unexplained scenarios could tell these twins apart
        shows = tuple(s for s in found.explained if reference.behaviour(variant, s) != 0)
        if _evidence_suffices(variant, shows, found, trace, reference):
            mistakes.append(ExplainedMistake(variant, names, shows))
    return tuple(mistakes)


def _only_exceptions_left(found: FoundMistakes, trace: Trace) -> bool:
    """Return True if the code raised in every scenario that stays unexplained: all that ran to its end is explained."""
    return all(s in trace.runs and trace.runs[s].failure is not None for s in found.unexplained)


def _evidence_suffices(
    variant: MistakeVariant, shows: Sequence[str], found: FoundMistakes, trace: Trace, reference: Reference
) -> bool:
    """Return True if the explained scenarios are enough to name this mistake although others stay unexplained.

    `shows` are the explained scenarios that the mistake changes, `acting` the unexplained ones. One of three reasons is
    enough:

    1. All unexplained scenarios end in exceptions, which spoil no other scenario, and at least as many scenarios of
       `shows` ran to their end as there are in `acting`, and at least one.
    2. There are more scenarios in `shows` than in `acting`, and one of `shows` differs from the solution only in arrays
       and facts that are right in all unexplained scenarios. So whatever is unexplained did not cause the fit.
    3. In one of `shows`, the parameters of several updates differ from the solution's: so many numbers do not fit the
       mistake by chance.

    If nothing is unexplained, one scenario in `shows` is enough.

    Args:
        variant: the mistake.
        shows: names of the explained scenarios that it changes.
        found: which scenarios are explained.
        trace: the submission's trace.
        reference: what it was judged by.
    """
    if not found.unexplained:
        return bool(shows)
    elsewhere = [s for s in found.unexplained if s in trace.runs]
    spoiled = {field for s in elsewhere for field in _fields(s, trace, reference)}
    acting = [s for s in elsewhere if reference.behaviour(variant, s) != 0]
    ran_to_the_end = [s for s in shows if trace.runs[s].failure is None]
    if _only_exceptions_left(found, trace) and len(ran_to_the_end) >= max(1, len(acting)):
        return True
    # Leave out runs that the learner's own `raise` ended: they are compared by the exception's type only.
    told = [s for s in shows if not _raised_on_purpose(trace.runs[s])]
    if len(shows) > len(acting) and any(_fields(s, trace, reference).isdisjoint(spoiled) for s in told):
        return True
    for scenario in shows:
        theta, right = (
            run.arrays.get("theta") for run in (trace.runs[scenario], reference.solution_run(scenario))
        )
        if theta is None or right is None or len(theta) <= _TOO_FEW_STATES:
            continue
        if theta.shape != right.shape or not np.allclose(theta, right, rtol=0.0, atol=1e-6, equal_nan=True):
            return True
    return False


def _raised_on_purpose(run: Run) -> bool:
    """Return True if the run ended in the learner's own `raise`."""
    return run.failure is not None and run.failure.own


def _fields(scenario: str, trace: Trace, reference: Reference) -> set[str]:
    """Return the names of the arrays and facts in which the learner's run of a scenario differs from the solution's."""
    atol = reference.exercise.driver[scenario].atol
    return differing_fields(trace.runs[scenario], reference.solution_run(scenario), atol)


def _pasted(trace: Trace, verdict: Verdict, reference: Reference) -> Pasted | None:
    """Return the well-known wrong program (`Copy`) that behaves as the submission in every scenario; None if none."""

    def target(name: str) -> Run:
        return trace.runs[name] if name in verdict.differences else reference.solution_run(name)

    scenarios = [s.name for s in reference.exercise.driver.scenarios if s.name in trace.runs]
    for copy in reference.exercise.copies:
        if all(reference.reproduces(copy.program, name, target(name)) for name in scenarios):
            return Pasted(copy.id, copy.title, copy.explain, copy.hint)
    return None
