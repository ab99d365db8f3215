"""Find known mistakes that show in single arrays of scenarios which no set of known mistakes explains.

An unknown mistake often spoils one array of a run, say `theta`, and leaves the others to tell what else is wrong. A
known mistake is *seen* in an array if its program gives the learner's numbers there and the solution does not.

`explain.py` calls `mistakes_seen_in_arrays` where the named mistakes leave scenarios unexplained, or none could be
named, and the program is none that was pasted. To change what counts as evidence: `_Comparison.suffices`; which arrays
can be evidence: `_tells_much`.

Example (`test_a_mistake_is_seen_beside_an_unknown_one`): a learner's `ema_update_` averages the buffers, which is
known, and adds a constant to the weights, which is not. `theta` agrees with no known mistake. The arrays of the
buffers agree with `averages-buffers`, whose program changes no other array in which the learner is right.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from grader.judging.compare_runs import differing_fields
from grader.judging.edits import Combination, MistakeVariant
from grader.judging.reference import Reference
from grader.observe.trace import Run

_MAX_PLAYS = 300
"""Maximum number of plays for one submission and exercise, divided by the driver's `cost`. First tries take up to 150:
most variants take one play, because the first scenario speaks against them."""


class _Place(NamedTuple):
    """An array in one scenario."""

    scenario: str
    array: str


class SeenMistake(NamedTuple):
    """A known mistake that is seen in arrays."""

    variant: MistakeVariant
    """The variant of it that gives the learner's numbers."""
    places: frozenset[_Place]
    """Where it gives them."""

    @property
    def scenarios(self) -> set[str]:
        """Names of the scenarios in which it is seen."""
        return {place.scenario for place in self.places}

    @property
    def arrays(self) -> frozenset[str]:
        """Names of the arrays in which it is seen."""
        return frozenset(place.array for place in self.places)


@dataclass(frozen=True)
class _Comparison:
    """How the runs with one mistake compare with the learner's, in one scenario or in several."""

    agreeing: frozenset[_Place]
    """Arrays that the mistake changes to the learner's numbers."""
    spoilt: int
    """Number of arrays and facts that it changes and in which the learner's run is neither as with it nor as without
    it: something unknown may have changed them as well."""

    @property
    def suffices(self) -> bool:
        """True if more arrays agree than are spoilt: what the mistake changes is mostly as the learner has it."""
        return len(self.agreeing) > self.spoilt


def mistakes_seen_in_arrays(
    named: Combination,
    unexplained: Sequence[str],
    wrong: Sequence[str],
    runs: Mapping[str, Run],
    reference: Reference,
) -> list[SeenMistake]:
    """Return the mistakes beside the named ones that are seen in arrays of unexplained scenarios.

    Two programs are compared with the learner's: the one with the named mistakes, and the same with one mistake more.
    Scenarios in which the learner's program raises something are left out. The mistake is returned if
    - made alone, it changes an unexplained scenario and none that went right,
    - wherever it changes something, it raises nothing, and the learner is nowhere as without it in what it changes,
    - enough agrees (`_Comparison.suffices`), and
    - no other mistake of which this is true, in its best variant, gives the learner's numbers in one of its places.

    Args:
        named: the mistakes that are named already.
        unexplained: names of the scenarios that stay unexplained.
        wrong: names of all scenarios that went wrong.
        runs: the learner's runs by name of the scenario.
        reference: plays the mistakes.
    """
    search = _ArraySearch(named, unexplained, wrong, runs, reference)
    seen: dict[str, SeenMistake] = {}
    for variant in reference.variants:
        found = search.compare(variant)
        if found is None or not found.suffices:
            continue
        # Of the variants of one mistake, the one that is seen in most places counts, then the first.
        best = seen.get(variant.mistake.id)
        if best is None or len(found.agreeing) > len(best.places):
            seen[variant.mistake.id] = SeenMistake(variant, found.agreeing)
    return [
        one
        for one in seen.values()
        if not any(one.places & other.places for other in seen.values() if other is not one)
    ]


class _ArraySearch:
    """Compares the arrays of one learner's runs with those of known mistakes, within a budget of plays."""

    def __init__(
        self,
        named: Combination,
        unexplained: Sequence[str],
        wrong: Sequence[str],
        runs: Mapping[str, Run],
        reference: Reference,
    ) -> None:
        """Begin with the whole budget; the arguments are those of `mistakes_seen_in_arrays`."""
        self._named, self._runs, self._reference = named, runs, reference
        scenarios = [scenario.name for scenario in reference.exercise.driver.scenarios]
        self._right = [name for name in scenarios if name not in wrong]
        self._comparable = [name for name in wrong if name in runs and runs[name].failure is None]
        self._unexplained = [name for name in self._comparable if name in unexplained]
        self._plays_left = round(_MAX_PLAYS / reference.exercise.driver.cost)

    def compare(self, variant: MistakeVariant) -> _Comparison | None:
        """Return how a mistake in this variant compares.

        None if it is named already, is made in one of two copies of the code only, changes no unexplained scenario,
        cannot be made together with the named mistakes, if the learner's runs speak against it, or if the budget of
        plays is spent. Every comparison counts as a play, whether its run is remembered or not.
        """
        acts_in = [name for name in self._comparable if self._reference.behaviour(variant, name) != 0]
        changes_unexplained = any(name in self._unexplained for name in acts_in)
        changes_right_one = any(self._reference.behaviour(variant, name) != 0 for name in self._right)
        if variant.copy or not changes_unexplained or changes_right_one:
            return None
        source = self._source_with(variant)
        if source is None:
            return None
        agreeing: set[_Place] = set()
        spoilt = 0
        for scenario in acts_in:
            if self._plays_left <= 0:
                return None
            self._plays_left -= 1
            found = self._compare_in(source, scenario)
            if found is None:
                return None
            agreeing |= found.agreeing
            spoilt += found.spoilt
        return _Comparison(frozenset(agreeing), spoilt)

    def _compare_in(self, source: str, scenario: str) -> _Comparison | None:
        """Return what one scenario tells about the mistake of this program; None if it speaks against the mistake.

        None also if the named mistakes cannot be made without this one.
        """
        atol = self._reference.exercise.driver[scenario].atol
        learner = self._runs[scenario]
        with_mistake = self._reference.complete_run(source, scenario)
        without_it = (
            self._reference.run_with_mistakes(self._named, scenario)
            if self._named
            else self._reference.solution_run(scenario)
        )
        if with_mistake.failure is not None or without_it is None:
            return None
        changed = differing_fields(with_mistake, without_it, atol)
        if changed - differing_fields(learner, without_it, atol):
            return None  # it changes what the learner has as without it
        spoilt = changed & differing_fields(learner, with_mistake, atol)
        agreeing = {
            _Place(scenario, field)
            for field in changed - spoilt
            if field not in learner.facts and _tells_much(field, with_mistake, without_it)
        }
        return _Comparison(frozenset(agreeing), len(spoilt))

    def _source_with(self, variant: MistakeVariant) -> str | None:
        """Return the source that makes the named mistakes and this one; None if it is among them or cannot be added."""
        if any(one.mistake.id == variant.mistake.id for one in self._named):
            return None
        return self._reference.source_with_mistakes((*self._named, variant))


def _tells_much(field: str, with_mistake: Run, without_it: Run) -> bool:
    """Return True if a field is an array of finite floats in which the mistake changes a number that is not whole.

    Whole numbers, and arrays of another shape, agree by chance: many mistakes change them alike, such as one that
    records nothing.
    """
    got, expected = with_mistake.arrays.get(field), without_it.arrays.get(field)
    if got is None or expected is None or got.shape != expected.shape or got.dtype.kind != "f":
        return False
    was = expected[got != expected]
    return bool(np.isfinite(got).all() and np.isfinite(was).all() and (was != np.round(was)).any())
