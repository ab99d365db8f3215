"""Find small sets of known mistakes that behave as a wrong program does, scenario by scenario.

A wrong program usually makes several mistakes, and each scenario shows only some of them. So `beam_search` grows sets
of mistakes until they behave as the learner's program does in one scenario after the other, and `choose_sets` makes the
best of them smaller. A scenario that no set explains is left unexplained, and what is explained is reported all the
same. A mistake that the others hide in every scenario is not found: without it, the set explains as much.

`explain.py` calls `find_mistakes` with the learner's runs and the names of the wrong scenarios, and decides which of
the mistakes found to name. Everything asks the `AgreementOracle` whether a set agrees, and shares its budget of plays:

    _plan_rounds              which variants the searches may use, and in which order
    for each round:           until sets explain everything
        BeamSearch.search     grows candidates
        SetChooser.choose     keeps the best of them, made smaller
        _sets_in_copies       after the round of representatives
    for the leftovers:        _single_variants, then _with_mistakes_added or _grown_to_explain_all
    find                      drops sets in which a mistake only cancels another

A variant is *likely* if, made alone, it changes no scenario in which the learner is right. A *representative* stands
for all likely variants of its mistake that behave alike. To add another way to find sets:
`_Search._sets_that_explain_most`; to exclude sets that would be named wrongly: `_Search.find`. All exercises are
searched alike; only the driver's `cost` divides the budget, and `[cases]` in the TOML adds the sets in copies.

Example (`test_the_plain_first_try_is_named_whole`): a first try at `accumulate` checks no arguments, does not divide
the loss, and drops the leftover batches. In the scenario `refuses-empty`, {no-accum-check} agrees. In `sgd`, this set
does not agree, but does with `no-division` added. In `edges`, `drops-leftover` or `leaks-leftover` has to be added; in
`short`, only the sets with a variant of `drops-leftover` agree, and in `adamw`, only those with its variant
`drops-leftover/1`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from grader.judging.agreement_oracle import AgreementOracle, MistakeSet
from grader.judging.beam_search import BeamSearch, Candidate, may_add
from grader.judging.choose_sets import ChosenSets, SetChooser
from grader.judging.edits import Combination, MistakeVariant
from grader.judging.reference import Reference
from grader.observe.trace import Run


@dataclass(frozen=True)
class FoundMistakes:
    """The sets of known mistakes that behave as the learner's program does, and what they explain."""

    combinations: tuple[Combination, ...] = ()
    """Sets that explain the same scenarios, each in the order of the exercise's TOML: the smallest, then twins.

    Empty if no scenario could be explained, or only by sets in which a mistake cancels another.
    """
    explained: tuple[str, ...] = ()
    """Names of scenarios in which the learner's run differs from the solution's and agrees with the sets."""
    unexplained: tuple[str, ...] = ()
    """Names of the other scenarios that went wrong; those in which the learner's program has no run come last."""


def find_mistakes(reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> FoundMistakes:
    """Return the sets of known mistakes that explain the most of the wrong scenarios, among all sets tried.

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs by scenario name; a scenario without a run stays unexplained.
        wrong: names of the scenarios that went wrong: those without a run, and those in which it differs from the
            solution's.
    """
    search = _Search(reference, runs, wrong)
    found = search.find()
    unexplained = tuple(
        scenario for scenario in (*search.wrong, *search.without_run) if scenario not in found.explained
    )
    combinations = tuple(map(search.oracle.in_toml_order, found.sets))
    return FoundMistakes(combinations, found.explained, unexplained)


class _Round(NamedTuple):
    """One beam search: the variants of which its sets are made."""

    variants: list[MistakeVariant]
    may_leave_unexplained: bool
    """True if a set may leave some of the wrong scenarios unexplained."""
    then_tries_copies: bool = False
    """True if sets with mistakes in one of two copies of the code are tried after it."""


class _Search:
    """One search for the sets that explain one learner's runs. Its `oracle` holds the budget of plays."""

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        """Prepare; the arguments are those of `find_mistakes`. Nothing is played for the oracle's budget yet."""
        # Variants that are made in one of two copies of the code take part in `_sets_in_copies` only.
        self._variants = [variant for variant in reference.variants if not variant.copy]
        self._scenarios = [scenario.name for scenario in reference.exercise.driver.scenarios]
        self._right = [name for name in self._scenarios if name not in wrong]
        """Names of the scenarios in which the learner's run equals the solution's."""
        self.wrong = [name for name in wrong if name in runs]
        """Names of the scenarios in which it differs."""
        self.without_run = [name for name in wrong if name not in runs]
        """Names of the scenarios in which the learner's program has no run; they stay unexplained."""
        self.oracle = AgreementOracle(reference, runs, self.wrong)
        # A mistake that, made alone, changes a scenario in which the learner is right is unlikely: in combination it
        # mostly changes it, too.
        self._likely = [variant for variant in self._variants if self._is_likely(variant)]
        self._representatives = _one_for_each_behaviour(self._likely, reference, self._scenarios)
        """One of the likely variants for each behaviour of a mistake, so that none is played twice."""
        self._representatives_with_copies = self._representatives
        if reference.exercise.cases is not None:
            likely_with_copies = [variant for variant in reference.variants if self._is_likely(variant)]
            self._representatives_with_copies = _one_for_each_behaviour(
                likely_with_copies, reference, self._scenarios
            )
        unlikely = [variant for variant in self._variants if variant not in self._likely]
        self._beam_search = BeamSearch(reference, self.oracle, self.wrong)
        self._chooser = SetChooser(
            reference,
            self.oracle,
            wrong=self.wrong,
            right=self._right,
            representatives=self._representatives,
            unlikely=_one_for_each_behaviour(unlikely, reference, self._scenarios),
        )

    def _is_likely(self, variant: MistakeVariant) -> bool:
        """Return True if the variant, made alone, changes no scenario in which the learner is right."""
        return not any(self.oracle.acts_in(variant, scenario) for scenario in self._right)

    def find(self) -> ChosenSets:
        """Return the sets that explain most, without those in which a mistake only cancels another one.

        Example: a learner returns twice the loss. Halving the loss before `backward` and doubling it in its assignment
        gives the same runs, since the two cancel in the update. Yet to name either would be false.

        Mostly `_grown_to_explain_all` makes such sets, after rounds that found none: to a set, a round adds only
        mistakes that act in a scenario which the set then explains.
        """
        found = self._sets_that_explain_most()
        kept = tuple(
            mistakes
            for mistakes in found.sets
            if not any(self._only_cancels(variant, found) for variant in mistakes)
        )
        return ChosenSets(kept, found.explained) if kept else ChosenSets()

    def _only_cancels(self, variant: MistakeVariant, found: ChosenSets) -> bool:
        """Return True if a variant, alone, changes a right scenario and none that its set explains."""
        acts_in = self.oracle.acts_in
        changes_right_one = any(acts_in(variant, scenario) for scenario in self._right)
        return changes_right_one and not any(acts_in(variant, scenario) for scenario in found.explained)

    def _sets_that_explain_most(self) -> ChosenSets:
        """Return the sets that explain most, from several rounds of search (`_plan_rounds`).

        After the round of representatives, sets with mistakes in one of two copies of the code are tried
        (`_sets_in_copies`). If scenarios stay unexplained after all rounds, single variants are tried
        (`_single_variants`), then one more mistake in the sets found (`_with_mistakes_added`), or, if none were found,
        in the best candidate (`_grown_to_explain_all`).
        """
        found = ChosenSets()
        best = Candidate(frozenset())
        for search_round in self._plan_rounds():
            if self._explains_all(found):
                break
            candidates = self._beam_search.search(
                search_round.variants, may_leave_unexplained=search_round.may_leave_unexplained
            )
            best = max((best, *candidates[:1]), key=lambda candidate: len(candidate.explained))
            self.oracle.release_reserve()
            chosen = self._chooser.choose(candidates)
            self.oracle.hold_back_reserve()
            if len(chosen.explained) > len(found.explained):
                found = chosen
            if search_round.then_tries_copies and not self._explains_all(found):
                in_copies = self._sets_in_copies()
                if in_copies is not None:
                    return in_copies
        self.oracle.release_reserve()
        if self._explains_all(found):
            return found
        # Costly exercises have few plays. So that the program of a single known mistake is found there too, allow
        # enough plays to play two candidates in every scenario.
        self.oracle.ensure_plays_left(2 * len(self._scenarios))
        single = tuple(self._single_variants())
        if single:
            return ChosenSets(single, tuple(self.wrong))
        if not found.sets:
            return self._grown_to_explain_all(best)
        return self._with_mistakes_added(found, self._variants)

    def _explains_all(self, found: ChosenSets) -> bool:
        """Return True if the sets explain every wrong scenario in which the learner's program has a run."""
        return len(found.explained) == len(self.wrong)

    def _plan_rounds(self) -> list[_Round]:
        """Play single mistakes, and return the rounds of the search in the order in which they are to be made.

        Each round has more variants than the one before, but the third comes first if the single mistakes that were
        found to give the learner's run in a scenario (`BeamSearch.variants_agreeing_alone`: those of one behaviour in
        one scenario) are all unlikely, and one gives most of what went wrong: the pairs of likely mistakes that the
        other rounds try would take most of the plays.
        """
        rounds = [
            _Round(self._representatives, may_leave_unexplained=False, then_tries_copies=True),
            _Round(self._likely, may_leave_unexplained=True),
            _Round(self._variants, may_leave_unexplained=True),
        ]
        agreeing = self._beam_search.variants_agreeing_alone(self._variants)
        if not any(variant in self._likely for variant in agreeing) and any(map(self._gives_most, agreeing)):
            return [rounds[2], *rounds[:2]]
        return rounds

    def _gives_most(self, variant: MistakeVariant) -> bool:
        """Return True if the variant alone gives the learner's run in more than half of the wrong scenarios."""
        alone = frozenset([variant])
        count = sum(self.oracle.acting_subset_agrees(alone, scenario) for scenario in self.wrong)
        return count > len(self.wrong) / 2

    def _sets_in_copies(self) -> ChosenSets | None:
        """Return sets of likely mistakes of which some are made in one of two copies of the code.

        None unless some of them are, and the sets explain everything: only then it is assumed that the learner wrote
        the code twice.
        """
        if self._representatives_with_copies == self._representatives:
            return None
        candidates = self._beam_search.search(self._representatives_with_copies, may_leave_unexplained=True)
        self.oracle.release_reserve()
        chosen = self._chooser.choose(candidates)
        if chosen.sets and not self._explains_all(chosen):
            chosen = self._with_mistakes_added(chosen, self._representatives_with_copies)
        self.oracle.hold_back_reserve()
        in_one_copy = any(variant.copy for mistakes in chosen.sets for variant in mistakes)
        return chosen if in_one_copy and self._explains_all(chosen) else None

    def _single_variants(self) -> Iterator[MistakeSet]:
        """Yield a set of one for each variant that alone explains every scenario and changes none that is right.

        Here each variant is played itself. In the rounds, one variant is played for all that behave alike by the
        behaviour table. Two that behave alike with the seed of the table may differ with another seed.
        """
        for variant in self._variants:
            if not all(self.oracle.acts_in(variant, scenario) for scenario in self.wrong):
                continue  # the table rules it out without a play
            alone = frozenset([variant])
            if all(self.oracle.program_agrees(alone, scenario) for scenario in (*self.wrong, *self._right)):
                yield alone

    def _with_mistakes_added(self, found: ChosenSets, variants: Sequence[MistakeVariant]) -> ChosenSets:
        """Return the sets after each unexplained scenario has been tried with at most one mistake added for it.

        In each of these scenarios the sets that agree there are kept, as they are or grown; if none does, the scenario
        stays unexplained. This finds mistakes that change a scenario only in combination with others. The rounds do
        not find them, because they add to a set only mistakes that, made alone, change the scenario.

        Args:
            found: the sets, and what they explain.
            variants: the variants that may be added.
        """
        sets = found.sets
        explained = list(found.explained)
        unexplained = [scenario for scenario in self.wrong if scenario not in found.explained]
        for scenario in unexplained:
            agreeing = [mistakes for mistakes in sets if self.oracle.whole_set_agrees(mistakes, scenario)]
            extended = agreeing or self._with_common_addition(
                sets, (scenario, *explained, *self._right), variants
            )
            if extended:
                sets = tuple(extended)
                explained.append(scenario)
        return ChosenSets(sets, tuple(explained))

    def _with_common_addition(
        self, sets: Sequence[MistakeSet], scenarios: Sequence[str], variants: Sequence[MistakeVariant]
    ) -> list[MistakeSet]:
        """Return the sets grown by one and the same variant, those of them that agree in all the scenarios.

        The first variant with which any of the sets agrees is taken. All that act in the first of the scenarios are
        tried before the other likely ones. If none helps, sets whose edits cannot be combined are tried again, with
        another variant of one mistake in them. Empty if that fails, too.
        """
        acting = [variant for variant in variants if self.oracle.acts_in(variant, scenarios[0])]
        others = [variant for variant in variants if variant not in acting and self._is_likely(variant)]
        for in_other_forms in (False, True):
            for variant in (*acting, *others):
                grown = [mistakes | {variant} for mistakes in sets if may_add(variant, mistakes)]
                if in_other_forms:
                    grown = [form for mistakes in grown for form in self._combinable_forms(mistakes, variant)]
                agreeing = [
                    mistakes
                    for mistakes in grown
                    if self.oracle.whole_set_agrees_in_each(mistakes, scenarios)
                ]
                if agreeing:
                    return agreeing
        return []

    def _combinable_forms(self, mistakes: MistakeSet, added: MistakeVariant) -> list[MistakeSet]:
        """Return the set with another variant of one mistake, not of `added`, for each whose edits can be combined.

        Variants in copies are not tried. Empty if the edits of the set itself can be combined: then it needs no other
        form.
        """
        if self.oracle.can_be_combined(mistakes):
            return []
        exchanged = [
            (mistakes - {variant}) | {other}
            for variant in self.oracle.in_toml_order(mistakes - {added})
            for other in self._variants
            if other.mistake.id == variant.mistake.id and other != variant
        ]
        return [form for form in exchanged if self.oracle.can_be_combined(form)]

    def _grown_to_explain_all(self, candidate: Candidate) -> ChosenSets:
        """Return the candidate's set with one more mistake with which it agrees in every scenario; empty if none does.

        Example: a count that leaves out the last short window hides that the windows are shifted by one. The shift
        alone changes a scenario in which the learner is right, so no round takes it alone.
        """
        if not candidate.mistakes:
            return ChosenSets()
        # Plays for the candidate and for three grown sets in every scenario; most of these fail in the first one, and
        # take one play. Without a play left, the candidate would seem to spoil whatever is right.
        self.oracle.ensure_plays_left(4 * len(self._scenarios))
        unexplained = [name for name in self.wrong if name not in candidate.explained]
        spoilt = [name for name in self._right if not self.oracle.whole_set_agrees(candidate.mistakes, name)]
        to_mend = (*unexplained, *spoilt)
        others = [name for name in self._scenarios if name not in to_mend and name not in self.without_run]
        acting = [
            variant
            for variant in self._variants
            if any(self.oracle.acts_in(variant, name) for name in to_mend)
        ]
        # First those that act in the fewest scenarios which the candidate explains without them.
        acting.sort(
            key=lambda variant: sum(self.oracle.acts_in(variant, name) for name in candidate.explained)
        )
        allowed = [variant for variant in acting if may_add(variant, candidate.mistakes)]
        for variant in allowed:
            grown = candidate.mistakes | {variant}
            if self.oracle.whole_set_agrees_in_each(grown, (*to_mend, *others)):
                return ChosenSets((grown,), tuple(self.wrong))
        return ChosenSets()


def _one_for_each_behaviour(
    variants: Sequence[MistakeVariant], reference: Reference, scenarios: Sequence[str]
) -> list[MistakeVariant]:
    """Return the variants without those that behave everywhere like an earlier variant of the same mistake."""
    first: dict[tuple[object, ...], MistakeVariant] = {}
    for variant in variants:
        behaviours = (reference.behaviour(variant, scenario) for scenario in scenarios)
        first.setdefault((variant.mistake.id, *behaviours), variant)
    return list(first.values())
