"""Choose the smallest of the candidates of a beam search, after a check with all edits of a set in one program.

`mistake_search` hands in the candidates of each `BeamSearch.search`, and reports the sets that come out. The beam
search assumes that in each scenario only the *acting* mistakes matter: those that change the scenario when made alone
(see `agreement_oracle`). It also grows sets but never shrinks them. So the best candidate is played whole here, and
then made smaller. In the end, the twins of the first of the smallest sets are added: sets with one mistake exchanged
for another that behaves alike, so that feedback can name both.

Example: the candidate {no-division, drops-leftover, no-accum-check} explains every scenario. Without any one of the
three some scenario stays unexplained, so it is returned as it is. If `leaks-leftover` behaved like `drops-leftover` in
all these scenarios, {no-division, leaks-leftover, no-accum-check} would be returned beside it.

To add: which sets are preferred goes into `_best_sets` and `choose`, another way to make a set smaller into
`_shrink_played_whole`. Ties between the sets that are returned are broken later (`tie_break`).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

from grader.judging.agreement_oracle import AgreementOracle, MistakeSet
from grader.judging.beam_search import Candidate, may_add
from grader.judging.edits import MistakeVariant, ids_of
from grader.judging.reference import Reference


class ChosenSets(NamedTuple):
    """Sets of mistakes that explain the same scenarios; empty if none explains any."""

    sets: tuple[MistakeSet, ...] = ()
    explained: tuple[str, ...] = ()
    """Names of the scenarios that each of the sets explains."""


class SetChooser:
    """Chooses among the candidates for one learner's runs."""

    def __init__(
        self,
        reference: Reference,
        oracle: AgreementOracle,
        *,
        wrong: Sequence[str],
        right: Sequence[str],
        representatives: Sequence[MistakeVariant],
        unlikely: Sequence[MistakeVariant],
    ) -> None:
        """Prepare; nothing is played yet.

        Args:
            reference: the reference of the exercise and seed that was played.
            oracle: compares sets with the learner's runs, and counts the plays.
            wrong: names of the scenarios in which the learner's run differs from the solution's.
            right: names of the scenarios in which the learner's run equals the solution's.
            representatives: the variants that may take another's place in a set, one for each behaviour of a mistake.
            unlikely: further variants that only `_unlikely_twins` puts into a set.
        """
        self._reference, self._oracle = reference, oracle
        self._wrong, self._right = wrong, right
        self._representatives, self._unlikely = representatives, unlikely
        self._scenarios = [scenario.name for scenario in reference.exercise.driver.scenarios]

    def choose(self, candidates: Sequence[Candidate]) -> ChosenSets:
        """Return the smallest of the sets that explain most, with the twins of the first one; empty if no set passes.

        Args:
            candidates: the candidates of a beam search, best first.
        """
        best = self._best_sets(candidates)
        if not best.sets:
            return best
        size = min(map(len, best.sets))
        smallest = [mistakes for mistakes in best.sets if len(mistakes) == size]
        # Allow two plays for each scenario, so that twins can be found although the search used up its plays. A twin
        # takes up to two plays in a scenario: one with its acting mistakes and one with all. `_twins` tries the
        # mistakes most alike first, so the plays of one twin usually tell if another mistake explains the same.
        self._oracle.ensure_plays_left(2 * len(self._scenarios))
        twins = self._twins(smallest[0], best.explained)
        unlikely_twins = self._unlikely_twins(smallest[0], best.explained)
        return ChosenSets(tuple(dict.fromkeys((*smallest, *twins, *unlikely_twins))), best.explained)

    def _best_sets(self, candidates: Sequence[Candidate]) -> ChosenSets:
        """Return those sets that explain most scenarios and change none in which the learner is right.

        Each candidate first loses the mistakes that it does not need (`_drop_unneeded_cheaply`). Until one has passed,
        the sets are also played whole and made smaller, which takes many plays; later ones are checked with their
        acting mistakes only. If a set explains every scenario, there is no later round of `mistake_search` that could
        need the plays: then later sets are played whole, too, where their acting mistakes do not agree.
        """
        sets: list[MistakeSet] = []
        explained: tuple[str, ...] = ()
        explained_by_acting = 0
        """Number of scenarios that the acting mistakes of `sets[0]` explain; played whole, it may explain more."""
        for candidate in candidates:
            mistakes = self._drop_unneeded_cheaply(candidate)
            all_explained = len(explained) == len(self._wrong)
            # A candidate's `explained` was found with acting mistakes only, so compare it with a count of this kind.
            needed = explained_by_acting if all_explained else len(explained)
            if not mistakes or (sets and len(candidate.explained) < needed):
                continue
            if all_explained and ids_of(mistakes) in map(ids_of, sets):
                continue  # another variant of what explains everything already
            if not sets:
                checked = self._check_whole_and_shrink(mistakes)
            elif all_explained:
                checked = self._check_explains_all(mistakes)
            else:
                checked = self._check_acting(mistakes)
            if checked is None:
                continue
            if not sets or len(checked.explained) > len(explained):
                sets, explained = [checked.mistakes], checked.explained
                explained_by_acting = len(candidate.explained)
            elif checked.explained == explained and checked.mistakes not in sets:
                sets.append(checked.mistakes)
        return ChosenSets(tuple(sets), explained)

    def _drop_unneeded_cheaply(self, candidate: Candidate) -> MistakeSet:
        """Return the candidate's set without mistakes that are not needed for any scenario that it explains.

        This takes few plays, because a mistake is tested only in scenarios in which it acts, and without playing the
        rest of the set whole.
        """
        mistakes = candidate.mistakes
        for variant in reversed(self._oracle.in_toml_order(mistakes)):
            rest = mistakes - {variant}
            acts_in = (
                scenario for scenario in candidate.explained if self._oracle.acts_in(variant, scenario)
            )
            if all(self._oracle.acting_subset_agrees(rest, scenario) for scenario in acts_in):
                mistakes = rest
        return mistakes

    def _check_explains_all(self, mistakes: MistakeSet) -> Candidate | None:
        """Return the set if it explains every scenario and changes none in which the learner is right; else None."""
        agrees = self._oracle.acting_subset_agrees
        # The acting subset comes first, because it often costs no play.
        explains_all = all(
            agrees(mistakes, scenario) or self._oracle.whole_set_agrees(mistakes, scenario)
            for scenario in self._wrong
        )
        if not explains_all or not all(agrees(mistakes, scenario) for scenario in self._right):
            return None
        return Candidate(mistakes, tuple(self._wrong))

    def _check_acting(self, mistakes: MistakeSet) -> Candidate | None:
        """Return the set with the scenarios that its acting mistakes explain.

        None if it explains none, or changes a scenario in which the learner is right.
        """
        agrees = self._oracle.acting_subset_agrees
        explained = tuple(scenario for scenario in self._wrong if agrees(mistakes, scenario))
        if not explained or not all(agrees(mistakes, scenario) for scenario in self._right):
            return None
        return Candidate(mistakes, explained)

    def _check_whole_and_shrink(self, mistakes: MistakeSet) -> Candidate | None:
        """Return the set made smaller, with the scenarios that it explains when played with all its edits.

        If some of its edits hide others, and it agrees everywhere with its acting mistakes in their place, it explains
        all. None if it explains none, or changes a scenario in which the learner is right.
        """
        explained = self._explained_whole(mistakes)
        if len(explained) < len(self._wrong) and self._whole_or_acting_subset_agrees_everywhere(mistakes):
            return Candidate(self._shrink_played_whole(mistakes, self._wrong), tuple(self._wrong))
        if not explained or not self._oracle.whole_set_agrees_in_each(mistakes, self._right):
            return None
        shrunk = self._shrink_played_whole(mistakes, explained)
        # A removed mistake may have hidden the others in some scenario, so find the explained ones again.
        return Candidate(shrunk, self._explained_whole(shrunk))

    def _explained_whole(self, mistakes: MistakeSet) -> tuple[str, ...]:
        """Return the names of the wrong scenarios that the program with all these mistakes explains."""
        return tuple(
            scenario for scenario in self._wrong if self._oracle.whole_set_agrees(mistakes, scenario)
        )

    def _whole_or_acting_subset_agrees_everywhere(self, mistakes: MistakeSet) -> bool:
        """Return True if the set agrees in every scenario, played whole or with its acting mistakes only.

        The learner can make two mistakes whose edits cannot both take effect in one program. Played whole, such a set
        does not explain the scenarios of the one that is hidden; with its acting mistakes only, it does.
        """
        return all(
            self._oracle.whole_set_or_acting_subset_agrees(mistakes, scenario)
            for scenario in (*self._wrong, *self._right)
        )

    # ---- making a set smaller ------------------------------------------------------------------------

    def _shrink_played_whole(self, mistakes: MistakeSet, explained: Sequence[str]) -> MistakeSet:
        """Return a smaller set that agrees in all these and the right scenarios, played whole; else the set itself.

        Unlike `_drop_unneeded_cheaply`, this does not rely on what a mistake changes alone.
        """
        for variant in self._oracle.in_toml_order(mistakes):
            rest = mistakes - {variant}
            if rest and self._oracle.whole_set_agrees_in_each(rest, (*explained, *self._right)):
                mistakes = rest
        if len(mistakes) > 2:
            mistakes = self._remove_one_exchange_another(mistakes, explained)
        return self._replace_two_by_one(mistakes, explained)

    def _remove_one_exchange_another(self, mistakes: MistakeSet, explained: Sequence[str]) -> MistakeSet:
        """Return the set with one mistake removed and a second one exchanged for a similar one, if that agrees.

        Two mistakes that behave alike when made alone may differ in combination. Example: the parameters stay where
        they are if the backward pass is missing, and also if the update comes at the wrong end. But a loss that is
        returned as a tensor keeps its graph only if the backward pass is missing. With the update at the wrong end, a
        third mistake is needed to explain the graph.
        """
        for removed, exchanged in permutations(self._oracle.in_toml_order(mistakes), 2):
            rest = mistakes - {removed, exchanged}
            exchanged_acts_in = [
                scenario for scenario in self._scenarios if self._oracle.acts_in(exchanged, scenario)
            ]
            removed_acts_in = [scenario for scenario in explained if self._oracle.acts_in(removed, scenario)]
            for other in self._representatives:
                if other in mistakes or not may_add(other, rest):
                    continue
                if 2 * self._alike_count(other, exchanged, exchanged_acts_in) <= len(exchanged_acts_in):
                    continue  # similar means alike in more than half of the scenarios
                smaller = rest | {other}
                # Where the removed mistake acts, most exchanges fail: these scenarios come first.
                if self._oracle.whole_set_agrees_in_each(
                    smaller, (*removed_acts_in, *explained, *self._right)
                ):
                    return smaller
        return mistakes

    def _replace_two_by_one(self, mistakes: MistakeSet, explained: Sequence[str]) -> MistakeSet:
        """Return the set with two mistakes replaced by one, if one agrees; else the set itself.

        Of these and the right scenarios, the one must act where one of the two does, and nowhere else.
        """
        scenarios = (*explained, *self._right)
        for pair in combinations(self._oracle.in_toml_order(mistakes), 2):
            either_acts = [
                any(self._oracle.acts_in(variant, scenario) for variant in pair) for scenario in scenarios
            ]
            rest = mistakes.difference(pair)
            for variant in self._representatives:
                if variant in pair or not may_add(variant, rest):
                    continue
                if either_acts == [self._oracle.acts_in(variant, scenario) for scenario in scenarios]:
                    smaller = rest | {variant}
                    if self._oracle.whole_set_agrees_in_each(smaller, scenarios):
                        return smaller
        return mistakes

    # ---- twins ---------------------------------------------------------------------------------------

    def _twins(self, mistakes: MistakeSet, explained: Sequence[str]) -> Iterator[MistakeSet]:
        """Yield the set with one mistake exchanged for another that behaves alike in combination with the rest.

        Only a mistake is tried that, made alone, behaves like the exchanged one in at least one scenario; mistakes that
        do so in most scenarios come first. In other scenarios, the rest of the set may bring out a mistake that does
        not show alone: a sum instead of a mean shows under AdamW only if clipping is left out, too.

        Twins are tested on explained scenarios only, to save plays. So a twin may change a scenario in which the
        learner is right.
        """
        for variant in self._oracle.in_toml_order(mistakes):
            rest = mistakes - {variant}
            acts_in = [scenario for scenario in explained if self._oracle.acts_in(variant, scenario)]
            alike_counts = {
                other: self._alike_count(other, variant, acts_in)
                for other in self._representatives
                if other.mistake.id != variant.mistake.id and may_add(other, rest)
            }
            for other in sorted(alike_counts, key=lambda other: -alike_counts[other]):
                twin = rest | {other}
                if alike_counts[other] and all(
                    self._oracle.acting_subset_agrees(twin, scenario)
                    or self._oracle.whole_set_agrees(twin, scenario)
                    for scenario in explained
                ):
                    yield twin

    def _unlikely_twins(self, mistakes: MistakeSet, explained: Sequence[str]) -> Iterator[MistakeSet]:
        """Yield the set with one mistake exchanged for an unlikely one, if the rest hides what makes it unlikely.

        A mistake is unlikely if, made alone, it changes a scenario in which the learner is right, so the search leaves
        it out. Example: a loss that is measured after the update changes what is returned; if the update moves nothing,
        it changes only what a second forward pass leaves in the model. A backward pass through a second forward pass
        leaves the same there, so the search names that.
        """
        for variant in self._oracle.in_toml_order(mistakes):
            rest = mistakes - {variant}
            if not rest:
                continue
            explained_by_variant = [
                scenario for scenario in explained if not self._oracle.whole_set_agrees(rest, scenario)
            ]
            for other in self._unlikely:
                if other.mistake.id == variant.mistake.id or not may_add(other, rest):
                    continue
                if not all(self._oracle.acts_in(other, scenario) for scenario in explained_by_variant):
                    continue
                twin = rest | {other}
                scenarios = (*explained_by_variant, *explained, *self._right)
                if self._oracle.whole_set_agrees_in_each(twin, scenarios):
                    yield twin

    def _alike_count(self, one: MistakeVariant, other: MistakeVariant, scenarios: Iterable[str]) -> int:
        """Return in how many of the scenarios two variants behave alike."""
        behaviour = self._reference.behaviour
        return sum(behaviour(one, scenario) == behaviour(other, scenario) for scenario in scenarios)
