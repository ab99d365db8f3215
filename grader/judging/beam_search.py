"""Grow sets of known mistakes, scenario by scenario, until they behave as the learner's program does.

This is a beam search: it keeps a list of candidate sets, the *beam*, and goes through the scenarios that went wrong. In
each scenario a set stays if it *agrees*: if the solution with its mistakes gives the learner's run there. Otherwise it
grows by one mistake with which it agrees. If no set agrees, even grown, the scenario is *postponed*: it is tried again
after all others, when the sets are larger, and then with two more mistakes, too. So are those that are left when many
plays in a row have explained none. The search begins with the scenarios in which the known mistakes have the fewest
different behaviours, because these leave the least choice.

A mistake is made in one of its variants, so a set holds variants, at most one of each mistake. A variant *acts* in a
scenario if it changes the scenario when made alone (see `agreement_oracle`). A candidate is *idle* in a scenario if
none of its variants acts there, and *active* otherwise.

Example: mistake `a` acts in the scenarios 1 and 2, `b` and `c` act in scenario 2 only, and the learner makes `a` and
`b`. The beam begins with the empty set. In scenario 1, that grows to {a}. In scenario 2, {a} does not agree, and
neither does {a, c}, but {a, b} does.

`mistake_search` calls `BeamSearch.search` in several rounds, and hands the candidates to `choose_sets`, which makes the
best ones smaller. Another way to grow a set goes into `_extend` (beside `_with_one_more`) if it is cheap, or else into
`_explain_postponed` (beside `_with_two_more`), the order of the candidates into `_rank`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product, starmap

from grader.judging.agreement_oracle import AgreementOracle, MistakeSet
from grader.judging.edits import MistakeVariant, exclude_each_other, ids_of
from grader.judging.reference import Reference

# Every candidate that is kept or extended costs plays, of which one learner's search has few (`agreement_oracle`). The
# numbers were set by hand, as large as that budget allows; `tests/first_tries` and `tests/judging/test_sets.py` hold
# programs of two to five mistakes that must be found with them.
_MAX_CANDIDATES = 32
"""Maximum number of candidates kept after each scenario."""
_MAX_EXTENDED_ACTIVE = 8
"""Maximum number of active candidates that are extended by one mistake in a scenario, if no idle one so agrees."""
_MAX_EXTENDED_ACTIVE_BESIDE_IDLE = 2
"""The same maximum if an idle candidate agrees once extended: active ones cost more plays and are needed less then."""
_MAX_EXTENDED_BY_PAIRS = 2
"""Maximum number of candidates that are extended by two mistakes in a scenario."""
_MAX_PAIRS = 112
"""Maximum number of pairs of mistakes tried for one candidate in one scenario; the most promising come first.

A pair usually takes one play, and each behaviour one to put the pairs in order. For a driver of cost 1 this is nearly a
third of the plays of a whole search (`_MAX_PLAYS` of `agreement_oracle`), so a scenario that no pair explains leaves
plays for others. For dear drivers, whose searches have fewer plays, the budget may be spent first.
"""
_MAX_SCENARIOS_WITHOUT_PAIR = 3
"""Number of scenarios that no pair explained after which the empty set is no longer extended by pairs."""
_MAX_PLAYS_WITHOUT_SUCCESS = 64
"""Number of plays since the first search after which no further scenario is begun if none is explained yet.

Scenarios that were postponed by then are still tried once more. Searches for drivers of a high cost have fewer plays
anyway.
"""
_MAX_PLAYS_BEFORE_PAIRS = 96
"""Number of plays since a scenario was last explained after which the others are postponed without a try.

If two mistakes show in every scenario that is left, no single one explains any: to try them in all takes the plays that
the pairs need. A dear driver's searches have hardly more plays than this, or fewer.
"""
_MAX_PLAYS_ALONE = 32
"""Number of plays in which `variants_agreeing_alone` tries single mistakes, before any search."""
_MAX_SAME_MISTAKES = 3
"""Maximum number of candidates with the same two or more mistakes in different variants, so that others find room."""
_MAX_MISTAKES = 6
"""Maximum number of mistakes in a set."""


@dataclass(frozen=True)
class Candidate:
    """A set of mistakes that the learner's program may make."""

    mistakes: MistakeSet
    """One variant of each mistake."""
    explained: tuple[str, ...] = ()
    """Names of the scenarios in which the set has been found to agree."""


def may_add(variant: MistakeVariant, mistakes: MistakeSet) -> bool:
    """Return True if the set has room, and makes neither the variant's mistake nor one that excludes it."""
    return _is_allowed([*mistakes, variant])


def _is_allowed(variants: Sequence[MistakeVariant]) -> bool:
    """Return True if the variants are of different mistakes that exclude no other, and not too many for one set."""
    are_different = len(variants) <= _MAX_MISTAKES and len(ids_of(variants)) == len(variants)
    return are_different and not any(starmap(exclude_each_other, combinations(variants, 2)))


class BeamSearch:
    """Searches for candidates that explain one learner's runs.

    One object can make several searches, which share the plays of the oracle. As long as none of them has explained a
    scenario (other than a postponed one), they are given up together: after `_MAX_PLAYS_WITHOUT_SUCCESS` plays, no
    further scenario is begun. A search that begins none returns the empty set alone.
    """

    def __init__(self, reference: Reference, oracle: AgreementOracle, wrong: Sequence[str]) -> None:
        """Prepare; nothing is played yet.

        Args:
            reference: the reference of the exercise and seed that was played.
            oracle: compares sets with the learner's runs, and counts the plays.
            wrong: names of the scenarios that the learner's program was played in and in which its run differs from
                the solution's.
        """
        self._reference, self._oracle, self._wrong = reference, oracle, wrong
        self._has_explained_any = False
        self._plays_before_searches: int | None = None
        """Number of plays charged before the first search; None before that."""

    def search(self, variants: Sequence[MistakeVariant], *, may_leave_unexplained: bool) -> list[Candidate]:
        """Return candidates made of these variants, those that explain most first.

        Args:
            variants: variants that may be in a set.
            may_leave_unexplained: True: a candidate that does not explain a scenario stays if there is room. False: if
                no candidate explains a scenario that was begun, the result is empty.
        """
        if self._plays_before_searches is None:
            self._plays_before_searches = self._oracle.charged_plays
        acting_in = self._acting_in(variants)
        beam = [Candidate(frozenset())]
        postponed = []
        plays_at_last_success = self._oracle.charged_plays
        for scenario in acting_in:
            if self._oracle.charged_plays - plays_at_last_success >= _MAX_PLAYS_BEFORE_PAIRS:
                postponed.append(scenario)
                continue
            plays = self._oracle.charged_plays - self._plays_before_searches
            if not self._has_explained_any and plays >= _MAX_PLAYS_WITHOUT_SUCCESS:
                break
            extended = self._extend(
                beam, scenario, acting_in[scenario], may_leave_unexplained=may_leave_unexplained
            )
            if extended:
                beam = extended
                self._has_explained_any = self._has_explained_any or bool(beam[0].explained)
                plays_at_last_success = self._oracle.charged_plays
            else:
                # Try this scenario again after the others: the sets are larger then, so one more mistake may be enough.
                postponed.append(scenario)
        return self._explain_postponed(
            beam, postponed, acting_in, may_leave_unexplained=may_leave_unexplained
        )

    def variants_agreeing_alone(self, variants: Sequence[MistakeVariant]) -> list[MistakeVariant]:
        """Return variants that, made alone, agree in a scenario that went wrong, and behave alike there.

        These are the first ones found: there may be others. Empty if there are none, or if `_MAX_PLAYS_ALONE` plays
        find none. Before the first search, its plays do not count towards `_MAX_PLAYS_WITHOUT_SUCCESS`.
        """
        before = self._oracle.charged_plays
        for scenario, acting in self._acting_in(variants).items():
            for alike in self._oracle.grouped_by_behaviour(acting, scenario).values():
                if self._oracle.charged_plays - before >= _MAX_PLAYS_ALONE:
                    return []
                if self._oracle.acting_subset_agrees(frozenset(alike[:1]), scenario):
                    return alike
        return []

    def _acting_in(self, variants: Sequence[MistakeVariant]) -> dict[str, list[MistakeVariant]]:
        """Return the variants that act in each scenario that went wrong; scenarios with few behaviours come first."""
        acting_in = {
            scenario: [variant for variant in variants if self._oracle.acts_in(variant, scenario)]
            for scenario in self._wrong
        }
        behaviour_counts = {
            scenario: len(self._oracle.grouped_by_behaviour(acting, scenario))
            for scenario, acting in acting_in.items()
        }
        return {
            scenario: acting_in[scenario] for scenario in sorted(acting_in, key=behaviour_counts.__getitem__)
        }

    def _explain_postponed(
        self,
        beam: list[Candidate],
        scenarios: Sequence[str],
        acting_in: dict[str, list[MistakeVariant]],
        *,
        may_leave_unexplained: bool,
    ) -> list[Candidate]:
        """Return the beam extended in the postponed scenarios by one more mistake or, if that is not enough, by two.

        Args:
            beam: the candidates so far.
            scenarios: names of the postponed scenarios.
            acting_in: for each scenario, the variants that act in it and may be added.
            may_leave_unexplained: see `search`.
        """
        scenarios_without_pair = 0
        for scenario in scenarios:
            extended = self._extend(
                beam, scenario, acting_in[scenario], may_leave_unexplained=may_leave_unexplained
            )
            if not extended:
                # Pairs are costly. After some failures they are no longer tried for the empty set, which has explained
                # nothing so far.
                promising = [
                    candidate
                    for candidate in beam[:_MAX_EXTENDED_BY_PAIRS]
                    if candidate.mistakes or scenarios_without_pair < _MAX_SCENARIOS_WITHOUT_PAIR
                ]
                with_pair = [
                    extended_candidate
                    for candidate in promising
                    for extended_candidate in self._with_two_more(candidate, scenario, acting_in[scenario])
                ]
                acting = self._oracle.grouped_by_behaviour(acting_in[scenario], scenario)
                if not with_pair and len(acting) > 1:  # pairs were tried, and took plays
                    scenarios_without_pair += 1
                extended = self._keep_best([*with_pair, *(beam if may_leave_unexplained else ())])
            beam = extended
        return beam

    def _extend(
        self,
        beam: Sequence[Candidate],
        scenario: str,
        variants: Sequence[MistakeVariant],
        *,
        may_leave_unexplained: bool,
    ) -> list[Candidate]:
        """Return the candidates that agree in this scenario as well, as they are or with one more mistake.

        Empty if none agrees: then `search` postpones the scenario. Otherwise, with `may_leave_unexplained`, those that
        disagree are kept too, unless better ones take all the room (`_keep_best`).

        Args:
            beam: the candidates so far.
            scenario: name of the scenario.
            variants: variants that act in it and may be added.
            may_leave_unexplained: see `search`.
        """
        agreeing: list[Candidate] = []
        disagreeing: list[Candidate] = []
        for candidate in beam:
            agrees = self._oracle.acting_subset_agrees(candidate.mistakes, scenario)
            (agreeing if agrees else disagreeing).append(candidate)
        # In an idle candidate, an added mistake acts alone, so one play answers for all idle candidates. An active
        # candidate needs a play of its own for each added mistake: few are tried if idle ones fit.
        active = [
            candidate for candidate in disagreeing if self._oracle.acting_subset(candidate.mistakes, scenario)
        ]
        idle = [candidate for candidate in disagreeing if candidate not in active]
        unchanged = [
            Candidate(candidate.mistakes, (*candidate.explained, scenario)) for candidate in agreeing
        ]
        grown = [
            extended for candidate in idle for extended in self._with_one_more(candidate, scenario, variants)
        ]
        few_active = active[: _MAX_EXTENDED_ACTIVE_BESIDE_IDLE if grown else _MAX_EXTENDED_ACTIVE]
        # The variants of one behaviour mostly fail together, though their edits may overlap with those of the acting
        # mistakes in different ways. So one of each behaviour is tried with all candidates before the others, for which
        # the plays may not suffice.
        groups = self._oracle.grouped_by_behaviour(variants, scenario).values()
        first_of_each = [group[0] for group in groups]
        rest = [variant for variant in variants if variant not in first_of_each]
        for tried in (first_of_each, rest):
            for candidate in few_active:
                grown += self._with_one_more(candidate, scenario, tried)
        if not unchanged and not grown:
            return []
        return self._keep_best([*unchanged, *grown, *(disagreeing if may_leave_unexplained else ())])

    def _with_one_more(
        self, candidate: Candidate, scenario: str, variants: Sequence[MistakeVariant]
    ) -> Iterator[Candidate]:
        """Yield the candidate with one more mistake, for each of the variants that makes it agree in this scenario."""
        is_idle = not self._oracle.acting_subset(candidate.mistakes, scenario)
        # Numbers of the behaviours (`Reference.behaviour`) that do not give the learner's run here.
        failing: set[int] = set()
        for variant in variants:
            behaviour = self._reference.behaviour(variant, scenario)
            if behaviour in failing:
                continue
            grown = self._with_added(candidate, (variant,), scenario)
            if grown is not None:
                yield grown
            # Only in an idle candidate do all variants of this behaviour fail with this one. In others, their edits may
            # overlap with those of the acting mistakes in different ways.
            elif is_idle and not self._oracle.acting_subset_agrees(candidate.mistakes | {variant}, scenario):
                failing.add(behaviour)

    def _with_two_more(
        self, candidate: Candidate, scenario: str, variants: Sequence[MistakeVariant]
    ) -> Iterator[Candidate]:
        """Yield the candidate with two more mistakes, for each pair that makes it agree in this scenario.

        Pairs are tried first whose mistakes, each added alone, bring the candidate nearest to the learner's run. Of
        variants that behave alike in this scenario, the first allowed is tried, and the others only if it agrees here
        but not in the scenarios before. To save plays, two that behave alike are never a pair.
        """
        by_behaviour = self._oracle.grouped_by_behaviour(variants, scenario)
        progress_of_behaviour = {
            behaviour: self._oracle.measure_progress(candidate.mistakes | {alike[0]}, scenario)
            for behaviour, alike in by_behaviour.items()
        }
        pairs = sorted(
            combinations(by_behaviour, 2),
            key=lambda pair: -sum(progress_of_behaviour[behaviour] for behaviour in pair),
        )
        for one, other in pairs[:_MAX_PAIRS]:
            for added in product(by_behaviour[one], by_behaviour[other]):
                if not _is_allowed([*candidate.mistakes, *added]):
                    continue  # two variants of one mistake; another pair of these behaviours may be allowed
                grown = self._with_added(candidate, added, scenario)
                if grown is not None:
                    yield grown
                if grown is not None or not self._oracle.acting_subset_agrees(
                    candidate.mistakes.union(added), scenario
                ):
                    break

    def _with_added(
        self, candidate: Candidate, added: Sequence[MistakeVariant], scenario: str
    ) -> Candidate | None:
        """Return the candidate with these mistakes added; None unless it agrees here and wherever it agreed before.

        None also if the set is not allowed (`_is_allowed`). Earlier scenarios in which no added mistake acts are not
        played again: nothing changes there.
        """
        if not _is_allowed([*candidate.mistakes, *added]):
            return None
        mistakes = candidate.mistakes.union(added)
        if not self._oracle.acting_subset_agrees(mistakes, scenario):
            return None
        affected = [
            earlier
            for earlier in candidate.explained
            if any(self._oracle.acts_in(variant, earlier) for variant in added)
        ]
        if not all(self._oracle.acting_subset_agrees(mistakes, earlier) for earlier in affected):
            return None
        return Candidate(mistakes, (*candidate.explained, scenario))

    def _keep_best(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the best candidates, best first (`_rank`), without duplicates and at most `_MAX_CANDIDATES`.

        Of candidates with the same mistakes in different variants, only the best `_MAX_SAME_MISTAKES` are kept. Sets of
        one mistake are exempt, because larger sets grow from them.
        """
        same_mistakes: Counter[frozenset[str]] = Counter()
        seen: set[MistakeSet] = set()
        best = []
        for candidate in sorted(candidates, key=self._rank):
            if candidate.mistakes in seen:  # reached before by adding its mistakes in another order
                continue
            seen.add(candidate.mistakes)
            ids = ids_of(candidate.mistakes)
            same_mistakes[ids] += 1
            if len(ids) == 1 or same_mistakes[ids] <= _MAX_SAME_MISTAKES:
                best.append(candidate)
        return best[:_MAX_CANDIDATES]

    def _rank(self, candidate: Candidate) -> tuple[int, int, list[int]]:
        """Return a sort key: candidates that explain more scenarios come first, then those with fewer mistakes.

        After that, those come first whose mistakes are earlier in the exercise's TOML.
        """
        positions = sorted(self._reference.positions[variant] for variant in candidate.mistakes)
        return -len(candidate.explained), len(positions), positions
