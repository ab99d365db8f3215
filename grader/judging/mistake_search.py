"""Find small sets of known mistakes that behave as a wrong program does, scenario by scenario.

A wrong program usually makes several mistakes, and each scenario shows only some of them. So `beam_search` grows sets
of mistakes until they behave as the learner's program does in one scenario after the other, and `choose_sets` makes the
best of them smaller. A scenario that no set explains is left unexplained, and what is explained is reported all the
same. A mistake that the others hide in every scenario is not guessed: without it, the set explains as much.

Example (`test_the_plain_first_try_is_named_whole`): a first try at `accumulate` checks no arguments, does not divide
the loss, and drops the leftover batches. In the scenario `refuses-empty`, {no-accum-check} agrees. In `sgd`, this set
does not agree, but does with `no-division` added. In `edges`, `drops-leftover` or `leaks-leftover` has to be added; in
`short` and `adamw`, only the sets with `drops-leftover` agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

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
    """Equally good sets, each in the order of the exercise's TOML; empty if no scenario could be explained."""
    explained: tuple[str, ...] = ()
    """Names of scenarios in which the learner's run differs from the solution's and agrees with the sets."""
    unexplained: tuple[str, ...] = ()
    """Names of the other scenarios that went wrong, those without a run of the learner's last."""


def find_mistakes(reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> FoundMistakes:
    """Return the sets of known mistakes that were found to explain the most scenarios of those that went wrong.

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs by scenario name; a scenario without a run stays unexplained.
        wrong: names of the scenarios that went wrong: those without a run, and those in which it differs from the
            solution's.
    """
    search = _Search(reference, runs, wrong)
    found = search.find()
    unexplained = tuple(s for s in (*search.wrong, *search.without_run) if s not in found.explained)
    combinations = tuple(map(search.oracle.in_toml_order, found.sets))
    return FoundMistakes(combinations, found.explained, unexplained)


class _Search:
    """One search for the sets that explain one learner's runs. Its `oracle` holds the budget of plays."""

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        """Tell likely mistakes from unlikely ones; the arguments are those of `find_mistakes`."""
        self._variants = [variant for variant in reference.variants if not variant.copy]
        self._scenarios = [scenario.name for scenario in reference.exercise.driver.scenarios]
        self._right = [name for name in self._scenarios if name not in wrong]
        self.wrong = [name for name in wrong if name in runs]
        self.without_run = [name for name in wrong if name not in runs]
        self.oracle = AgreementOracle(reference, runs, self.wrong)
        # A mistake that, made alone, changes a scenario in which the learner is right is unlikely: in combination it
        # mostly changes it, too.
        self._likely = [variant for variant in self._variants if self._is_likely(variant)]
        self._representatives = _representatives(self._likely, reference, self._scenarios)
        self._with_copies = self._representatives
        if reference.exercise.cases is not None:
            with_copies = [variant for variant in reference.variants if self._is_likely(variant)]
            self._with_copies = _representatives(with_copies, reference, self._scenarios)
        unlikely = [variant for variant in self._variants if variant not in self._likely]
        self._beam_search = BeamSearch(reference, self.oracle, self.wrong)
        self._chooser = SetChooser(
            reference,
            self.oracle,
            wrong=self.wrong,
            right=self._right,
            representatives=self._representatives,
            unlikely=_representatives(unlikely, reference, self._scenarios),
        )

    def _is_likely(self, variant: MistakeVariant) -> bool:
        """Return True if the variant, made alone, leaves every scenario as it is in which the learner is right."""
        return not any(self.oracle.acts_in(variant, scenario) for scenario in self._right)

    def find(self) -> ChosenSets:
        """Return the sets that explain most, without those in which a mistake only cancels another one.

        Example: a learner returns twice the loss. Halving the loss before `backward` and doubling it in its assignment
        gives the same runs, since the two cancel in the update. Yet to name either would be false.
        """
        found = self._sets_that_explain_most()
        kept = tuple(
            mistakes for mistakes in found.sets if not any(self._only_cancels(v, found) for v in mistakes)
        )
        return ChosenSets(kept, found.explained) if kept else ChosenSets()

    def _only_cancels(self, variant: MistakeVariant, found: ChosenSets) -> bool:
        """Return True if a variant, alone, changes what is right and nothing of what its set explains."""
        acts_in = self.oracle.acts_in
        return any(acts_in(variant, s) for s in self._right) and not any(
            acts_in(variant, s) for s in found.explained
        )

    def _sets_that_explain_most(self) -> ChosenSets:
        """Return the sets that explain most, from up to three rounds, each of which allows more than the one before.

        1. Likely mistakes, one variant of each for each behaviour, in sets that explain every scenario.
        2. All variants of likely mistakes, in sets that may leave scenarios unexplained.
        3. All variants of all mistakes.

        Behind the first round, sets with mistakes in one of two copies of the code are tried (`_sets_in_copies`).
        The third round comes first if single mistakes were found to give the learner's run somewhere
        (`variants_agreeing_alone`) and all of these are unlikely, and one of them gives most of what went wrong. The
        pairs of likely mistakes that the other rounds try would take most of the plays.

        If scenarios stay unexplained after that, single variants are tried, and then one more mistake in the sets.
        """
        found = ChosenSets()
        best = Candidate(frozenset())
        rounds = [(self._representatives, False), (self._likely, True), (self._variants, True)]
        agreeing = self._beam_search.variants_agreeing_alone(self._variants)
        if not any(variant in self._likely for variant in agreeing) and any(map(self._gives_most, agreeing)):
            rounds = [rounds[2], *rounds[:2]]
        for variants, may_leave_unexplained in rounds:
            if len(found.explained) == len(self.wrong):
                break
            candidates = self._beam_search.search(variants, may_leave_unexplained=may_leave_unexplained)
            best = max((best, *candidates[:1]), key=lambda candidate: len(candidate.explained))
            self.oracle.release_reserve()
            chosen = self._chooser.choose(candidates)
            self.oracle.hold_back_reserve()
            if len(chosen.explained) > len(found.explained):
                found = chosen
            if variants is self._representatives and len(found.explained) < len(self.wrong):
                in_copies = self._sets_in_copies()
                if in_copies is not None:
                    return in_copies
        self.oracle.release_reserve()
        if len(found.explained) < len(self.wrong):
            # Costly exercises have few plays. So that the program of a single known mistake is found there too, allow
            # enough plays to play two candidates in every scenario.
            self.oracle.ensure_plays_left(2 * len(self._scenarios))
            single = tuple(self._single_variants())
            if single:
                return ChosenSets(single, tuple(self.wrong))
            return self._with_mistakes_added(found) if found.sets else self._completed(best)
        return found

    def _sets_in_copies(self) -> ChosenSets | None:
        """Return sets of likely mistakes of which some are made in one of two copies of the code; None without any.

        That a learner wrote the code twice is assumed only if this explains everything.
        """
        if self._with_copies == self._representatives:
            return None
        candidates = self._beam_search.search(self._with_copies, may_leave_unexplained=True)
        self.oracle.release_reserve()
        chosen = self._chooser.choose(candidates)
        if chosen.sets and len(chosen.explained) < len(self.wrong):
            chosen = self._with_mistakes_added(chosen)
        self.oracle.hold_back_reserve()
        in_one_copy = any(variant.copy for mistakes in chosen.sets for variant in mistakes)
        return chosen if in_one_copy and len(chosen.explained) == len(self.wrong) else None

    def _gives_most(self, variant: MistakeVariant) -> bool:
        """Return True if the variant alone gives the learner's run in more than half of what went wrong."""
        alone = frozenset([variant])
        return sum(self.oracle.acting_subset_agrees(alone, s) for s in self.wrong) > len(self.wrong) / 2

    def _single_variants(self) -> Iterator[MistakeSet]:
        """Yield a set of one for each variant that alone explains every scenario and changes none that is right.

        Here each variant is played itself. In the rounds, one variant is played for all that behave alike by the
        behaviour table, but with a seed other than the table's, two of these may behave differently.
        """
        for variant in self._variants:
            if not all(self.oracle.acts_in(variant, scenario) for scenario in self.wrong):
                continue  # the table rules it out without a play
            alone = frozenset([variant])
            if all(self.oracle.program_agrees(alone, scenario) for scenario in (*self.wrong, *self._right)):
                yield alone

    def _with_mistakes_added(self, found: ChosenSets) -> ChosenSets:
        """Return the sets made to explain scenarios that were left over, by at most one more mistake for each.

        A mistake may change a scenario only in combination with others; no round tries it there.
        """
        sets = found.sets
        explained = list(found.explained)
        for scenario in (s for s in self.wrong if s not in found.explained):
            agreeing = [one for one in sets if self.oracle.whole_set_agrees(one, scenario)]
            extended = agreeing or self._with_one_more(sets, (scenario, *explained, *self._right))
            if extended:
                sets = tuple(extended)
                explained.append(scenario)
        return ChosenSets(sets, tuple(explained))

    def _completed(self, candidate: Candidate) -> ChosenSets:
        """Return the candidate's set with one more mistake with which it agrees in every scenario; empty if none does.

        Example: a count that leaves out the last short window hides that the windows are shifted by one. The shift
        alone changes a scenario in which the learner is right, so no round takes it alone.
        """
        if not candidate.mistakes:
            return ChosenSets()
        unexplained = [name for name in self.wrong if name not in candidate.explained]
        spoilt = [name for name in self._right if not self.oracle.whole_set_agrees(candidate.mistakes, name)]
        first = (*unexplained, *spoilt)
        others = [name for name in self._scenarios if name not in first and name not in self.without_run]
        acting = [v for v in self._variants if any(self.oracle.acts_in(v, name) for name in first)]
        # Those first that act in the fewest scenarios which are explained without them.
        acting.sort(key=lambda v: sum(self.oracle.acts_in(v, name) for name in candidate.explained))
        self.oracle.ensure_plays_left(3 * len(self._scenarios))
        for variant in (v for v in acting if may_add(v, candidate.mistakes)):
            grown = candidate.mistakes | {variant}
            if self.oracle.whole_set_agrees_in_each(grown, (*first, *others)):
                return ChosenSets((grown,), tuple(self.wrong))
        return ChosenSets()

    def _with_one_more(self, sets: Sequence[MistakeSet], scenarios: Sequence[str]) -> list[MistakeSet]:
        """Return those of the sets, with one mistake added, that agree in all the scenarios.

        The first variant with which any of them agrees is taken: variants that act in the first scenario are tried
        before other likely ones. If there is none, sets whose edits cannot be combined are tried again, with another
        variant of one mistake in them. Empty if that fails, too.
        """
        acting = [v for v in self._variants if self.oracle.acts_in(v, scenarios[0])]
        others = [v for v in self._likely if v not in acting]
        for in_other_forms in (False, True):
            for variant in (*acting, *others):
                grown = [one | {variant} for one in sets if may_add(variant, one)]
                if in_other_forms:
                    grown = [form for one in grown for form in self._combinable_forms(one, variant)]
                agreeing = [one for one in grown if self.oracle.whole_set_agrees_in_each(one, scenarios)]
                if agreeing:
                    return agreeing
        return []

    def _combinable_forms(self, mistakes: MistakeSet, added: MistakeVariant) -> list[MistakeSet]:
        """Return the set with another variant of one mistake, not of `added`, in each way whose edits can be combined.

        Empty if those of the set itself can be: then it needs no other form.
        """
        if self.oracle.can_be_combined(mistakes):
            return []
        exchanged = [
            (mistakes - {one}) | {other}
            for one in self.oracle.in_toml_order(mistakes - {added})
            for other in self._variants
            if other.mistake.id == one.mistake.id and other != one
        ]
        return [form for form in exchanged if self.oracle.can_be_combined(form)]


def _representatives(
    variants: Sequence[MistakeVariant], reference: Reference, scenarios: Sequence[str]
) -> list[MistakeVariant]:
    """Return the variants without those that behave everywhere like an earlier variant of the same mistake."""
    first: dict[tuple[object, ...], MistakeVariant] = {}
    for variant in variants:
        behaviours = (reference.behaviour(variant, scenario) for scenario in scenarios)
        first.setdefault((variant.mistake.id, *behaviours), variant)
    return list(first.values())
