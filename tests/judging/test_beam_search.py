"""Growing sets by two mistakes, with an oracle that says at once which set gives the learner's run."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from grader.judging.beam_search import BeamSearch, may_add
from grader.judging.edits import MistakeVariant
from tests.judging.examined import COURSE

ONE, OTHER, THIRD = COURSE.exercise("accumulate").mistakes[:3]
FIRST, SECOND = MistakeVariant(ONE, 0), MistakeVariant(ONE, 1)
"""Two variants of the same mistake."""
PARTNER, IDLE = MistakeVariant(OTHER, 0), MistakeVariant(THIRD, 0)

_Behaviours = Mapping[str, Mapping[MistakeVariant, int]]
"""Scenario -> variant that acts there -> number of its behaviour."""


class Oracle:
    """Answers as `AgreementOracle`; in each scenario one set of the acting variants agrees."""

    charged_plays = 0

    def __init__(self, behaviours: _Behaviours, agreeing: Mapping[str, set[MistakeVariant]]) -> None:
        self._behaviours, self._agreeing = behaviours, agreeing

    def acts_in(self, variant: MistakeVariant, scenario: str) -> bool:
        return variant in self._behaviours[scenario]

    def acting_subset(self, mistakes: Iterable[MistakeVariant], scenario: str) -> frozenset[MistakeVariant]:
        return frozenset(variant for variant in mistakes if self.acts_in(variant, scenario))

    def acting_subset_agrees(self, mistakes: Iterable[MistakeVariant], scenario: str) -> bool:
        return self.acting_subset(mistakes, scenario) == self._agreeing.get(scenario)

    def measure_progress(self, mistakes: Iterable[MistakeVariant], scenario: str) -> float:
        return 0.0

    def grouped_by_behaviour(
        self, variants: Iterable[MistakeVariant], scenario: str
    ) -> dict[int, list[MistakeVariant]]:
        groups: dict[int, list[MistakeVariant]] = {}
        for variant in variants:
            groups.setdefault(self._behaviours[scenario][variant], []).append(variant)
        return groups


class CountingOracle(Oracle):
    """Charges a play for every question."""

    def acting_subset_agrees(self, mistakes: Iterable[MistakeVariant], scenario: str) -> bool:
        self.charged_plays += 1
        return super().acting_subset_agrees(mistakes, scenario)


def reference_of(variants: list[MistakeVariant], behaviours: _Behaviours) -> Any:
    """What the search asks of a `Reference`."""
    return SimpleNamespace(
        variants=variants,
        positions={variant: position for position, variant in enumerate(variants)},
        behaviour=lambda variant, scenario: behaviours[scenario].get(variant, 0),
    )


def found(behaviours: _Behaviours, agreeing: Mapping[str, set[MistakeVariant]]) -> list[set[MistakeVariant]]:
    variants = [FIRST, PARTNER, SECOND, IDLE]
    reference = reference_of(variants, behaviours)
    oracle: Any = Oracle(behaviours, agreeing)
    search = BeamSearch(reference, oracle, list(behaviours))
    return [set(one.mistakes) for one in search.search(variants, may_leave_unexplained=True)]


def test_a_pair_that_is_not_allowed_does_not_rule_out_the_next_of_the_same_behaviours() -> None:
    """The first of each behaviour are two variants of one mistake."""
    behaviours = {"sgd": {FIRST: 1, PARTNER: 1, SECOND: 2}}
    assert {PARTNER, SECOND} in found(behaviours, {"sgd": {PARTNER, SECOND}})


@pytest.mark.parametrize("named_in", [PARTNER, IDLE])
def test_two_that_exclude_each_other_are_not_in_one_set(named_in: MistakeVariant) -> None:
    """One entry names the other, whichever it is; in different copies of the code both may be made."""
    pair = {PARTNER, IDLE}
    (other,) = pair - {named_in}
    excluding = replace(
        named_in, mistake=msgspec.structs.replace(named_in.mistake, excludes=(other.mistake.id,))
    )
    assert may_add(named_in, frozenset({other}))
    assert not may_add(excluding, frozenset({other}))
    assert not may_add(other, frozenset({excluding}))
    assert may_add(replace(excluding, copy=1), frozenset({replace(other, copy=2)}))
    assert not may_add(replace(excluding, copy=1), frozenset({other}))


def test_scenarios_in_which_no_pair_exists_leave_the_pairs_of_others() -> None:
    """In three of them only one behaviour acts, so no play was spent on pairs there."""
    lonely = {name: {IDLE: 1} for name in ("a", "b", "c")}
    behaviours = {**lonely, "sgd": {FIRST: 1, PARTNER: 2}}
    assert {FIRST, PARTNER} in found(behaviours, {"sgd": {FIRST, PARTNER}})


def test_plays_of_single_mistakes_do_not_count_against_the_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.judging.beam_search._MAX_PLAYS_WITHOUT_SUCCESS", 1)
    behaviours = {"sgd": {FIRST: 1}}
    reference = reference_of([FIRST], behaviours)
    oracle: Any = CountingOracle(behaviours, {"sgd": {FIRST}})
    search = BeamSearch(reference, oracle, ["sgd"])
    assert search.variants_agreeing_alone([FIRST]) == [FIRST]
    assert [set(one.mistakes) for one in search.search([FIRST], may_leave_unexplained=False)] == [{FIRST}]


def test_where_all_scenarios_show_two_mistakes_pairs_get_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Single mistakes are not tried in every scenario before the first pair is."""
    monkeypatch.setattr("grader.judging.beam_search._MAX_PLAYS_BEFORE_PAIRS", 1)
    plays_before_pairs = []

    class NotingOracle(CountingOracle):
        def measure_progress(self, mistakes: Iterable[MistakeVariant], scenario: str) -> float:
            plays_before_pairs.append(self.charged_plays)
            return 0.0

    names, variants = ("a", "b", "c", "d", "e"), [FIRST, PARTNER, IDLE]
    behaviours = {name: {FIRST: 1, PARTNER: 2, IDLE: 3} for name in names}
    oracle: Any = NotingOracle(behaviours, {name: {FIRST, PARTNER} for name in names})
    search = BeamSearch(reference_of(variants, behaviours), oracle, names)
    best, *_ = search.search(variants, may_leave_unexplained=False)
    assert best.mistakes == {FIRST, PARTNER}
    assert plays_before_pairs[0] < len(names) * len(variants)
