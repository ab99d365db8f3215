"""Find the smallest sets of known mistakes that behave as a wrong program does, scenario by scenario.

A wrong program usually makes several mistakes, and each scenario shows only some of them. So this is a beam search. It
goes through the scenarios that went wrong, beginning with those in which the known mistakes have the fewest different
behaviours, and keeps a list of candidate sets. In each scenario a set stays if the solution with its mistakes behaves
as the learner's program does; otherwise it grows by one mistake, or by two if one is not enough. A scenario that no set
explains is left unexplained, and what is explained is reported all the same. A mistake that is hidden by others changes
nothing observable and is not guessed.

Example (`test_the_plain_first_try_is_named_whole`): a first try at `accumulate` checks no arguments, does not divide
the loss, and drops the leftover batches. The scenario `refuses-empty` has six behaviours, one of which fits:
{no-accum-check}. `sgd` differs from that set, and fits once `no-division` joins it. `edges` fits once
`drops-leftover` or `leaks-leftover` joins; `short` and `adamw` then leave only sets with `drops-leftover`.

A mistake *acts* in a scenario if it changes the scenario when made alone (see `trials`). A candidate is *idle* in a
scenario if none of its mistakes acts there.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

from grader.judging.edits import Combination, MistakeVariant, ids_of
from grader.judging.reference import Reference
from grader.judging.trials import Trials
from grader.observe.trace import Run

_MAX_CANDIDATES = 32
"""Maximum number of candidates kept after each scenario."""
_MAX_EXTENDED = 8
"""Maximum number of acting candidates that are extended by one mistake in a scenario."""
_MAX_EXTENDED_COSTLY = 2
"""The same limit if idle candidates have been extended with success, and for extending candidates by two mistakes."""
_MAX_PAIRS = 112
"""Maximum number of pairs of mistakes tried for one candidate in one scenario; the most promising come first."""
_MAX_SCENARIOS_WITHOUT_PAIR = 3
"""Number of scenarios without a fitting pair after which the empty set is no longer extended by pairs."""
_MAX_PLAYS_WITHOUT_SUCCESS = 64
"""Number of plays without an explained scenario after which no more is tried; the most ever needed was 27."""
_MAX_SAME_MISTAKES = 3
"""Maximum number of candidates with the same two or more mistakes, in different variants."""
_MAX_MISTAKES = 6
"""Maximum number of mistakes in a set."""


@dataclass(frozen=True)
class FoundMistakes:
    """The smallest sets of known mistakes that behave as the learner's program does, and what they explain."""

    combinations: tuple[Combination, ...] = ()
    """Equally good sets, each in the order of the course file; empty if no scenario could be explained."""
    explained: tuple[str, ...] = ()
    """Names of scenarios in which the learner's run differs from the solution's and agrees with the sets."""
    unexplained: tuple[str, ...] = ()
    """Names of scenarios in which the learner's run differs from the solution's and from the sets."""


@dataclass(frozen=True)
class _Candidate:
    """A set of mistakes with the names of the scenarios that it has explained so far."""

    combination: frozenset[MistakeVariant]
    explained: tuple[str, ...] = ()


def find_mistakes(reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> FoundMistakes:
    """Return the sets of known mistakes that explain most of the scenarios that went wrong.

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs by scenario name; a scenario without a run stays unexplained.
        wrong: names of the scenarios in which the learner's run differs from the solution's.
    """
    return _Search(reference, runs, wrong).search()


class _Search:
    """One search for the sets that explain one learner's runs. Its `Trials` hold the budget of plays."""

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        self._reference, self._runs = reference, runs
        self._positions = {variant: position for position, variant in enumerate(reference.variants)}
        self._scenarios = [scenario.name for scenario in reference.exercise.driver.scenarios]
        self._wrong = [name for name in wrong if name in runs]
        self._without_run = tuple(name for name in wrong if name not in runs)
        self._right = [name for name in self._scenarios if name not in wrong]
        self._trials = Trials(reference, runs, self._wrong)
        self._any_explained = False  # True as soon as one scenario has been explained
        # Mistakes that, made alone, change a scenario in which the learner is right are unlikely: in combination they
        # mostly change it, too.
        self._likely = [
            variant
            for variant in reference.variants
            if not any(self._trials.changes(variant, scenario) for scenario in self._right)
        ]

    def search(self) -> FoundMistakes:
        """Return the best sets of up to three rounds, each allowing more than the one before.

        The first round uses likely mistakes (one variant for each behaviour) and must explain every scenario; the
        second may leave scenarios out; the third also uses mistakes that change scenarios in which the learner is
        right.
        """
        found = FoundMistakes()
        rounds = (
            (self._representative_variants, False),
            (self._likely, True),
            (self._reference.variants, True),
        )
        for variants, may_leave_out in rounds:
            if len(found.explained) == len(self._wrong):
                break
            candidates = self._beam_search(variants, may_leave_out=may_leave_out)
            self._trials.release_reserve()
            best = self._choose(candidates)
            self._trials.hold_back_reserve()
            if len(best.explained) > len(found.explained):
                found = best
        self._trials.release_reserve()
        if len(found.explained) < len(self._wrong):
            # Costly exercises have few plays. So that the program of a single known mistake is found there too, allow
            # enough plays to play two candidates in every scenario.
            self._trials.ensure(2 * len(self._scenarios))
            found = self._single_variants() or self._with_hidden_mistakes(found)
        unexplained = tuple(s for s in (*self._wrong, *self._without_run) if s not in found.explained)
        return FoundMistakes(found.combinations, found.explained, unexplained)

    def _single_variants(self) -> FoundMistakes | None:
        """Return the variants that alone explain every scenario; None if there are none.

        Here each variant is played itself. In the rounds, one variant is played for all that behave alike in the
        behaviour table, but with a seed other than the table's, two of these may behave differently.
        """
        fitting = []
        for variant in self._reference.variants:
            if not all(self._trials.changes(variant, scenario) for scenario in self._wrong):
                continue  # the table rules it out without a play
            alone = frozenset([variant])
            scenarios = (*self._wrong, *self._right)
            if all(self._trials.exact_program_agrees(alone, scenario) for scenario in scenarios):
                fitting.append((variant,))
        return FoundMistakes(tuple(fitting), tuple(self._wrong)) if fitting else None

    def _with_hidden_mistakes(self, found: FoundMistakes) -> FoundMistakes:
        """Add one mistake for each scenario left over, to find mistakes that show only in combination with the others.

        A count returned in the wrong place shows as a wrong loss, which neither of the two mistakes changes alone.
        """
        sets = [frozenset(combination) for combination in found.combinations]
        explained = list(found.explained)
        for scenario in (s for s in self._wrong if s not in found.explained):
            agreeing = [one for one in sets if self._trials.whole_program_agrees(one, scenario)]
            if agreeing:
                sets = agreeing
                explained.append(scenario)
                continue
            acting = [v for v in self._reference.variants if self._trials.changes(v, scenario)]
            others = [v for v in self._likely if v not in acting]
            for variant in (*acting, *others):
                grown = [one | {variant} for one in sets if self._may_join(variant, one)]
                fitting = [one for one in grown if self._all_agree(one, (scenario, *explained, *self._right))]
                if fitting:
                    sets = fitting
                    explained.append(scenario)
                    break
        return FoundMistakes(tuple(map(self._trials.in_course_order, sets)), tuple(explained))

    def _may_join(self, variant: MistakeVariant, combination: frozenset[MistakeVariant]) -> bool:
        """Return True if the set has room and does not make this mistake already, in whatever variant."""
        return len(combination) < _MAX_MISTAKES and variant.mistake.id not in ids_of(combination)

    def _all_agree(self, combination: frozenset[MistakeVariant], scenarios: Iterable[str]) -> bool:
        """Return True if the program with all these mistakes agrees with the learner's in every given scenario."""
        return all(self._trials.whole_program_agrees(combination, scenario) for scenario in scenarios)

    def _sorted(self, combination: frozenset[MistakeVariant]) -> list[MistakeVariant]:
        """Return the variants in the order of the course file, because a set has another order in each process."""
        return sorted(combination, key=self._positions.__getitem__)

    @cached_property
    def _representative_variants(self) -> list[MistakeVariant]:
        """Likely variants, without those that behave everywhere like an earlier variant of the same mistake."""
        first: dict[tuple[object, ...], MistakeVariant] = {}
        for variant in self._likely:
            behaviours = (self._reference.behaviour(variant, scenario) for scenario in self._scenarios)
            first.setdefault((variant.mistake.id, *behaviours), variant)
        return list(first.values())

    # ---- growing sets --------------------------------------------------------------------------------

    def _beam_search(self, variants: Sequence[MistakeVariant], *, may_leave_out: bool) -> list[_Candidate]:
        """Return candidates made of these variants, those that explain most first.

        Args:
            variants: variants that may be in a set.
            may_leave_out: True: a candidate stays even if it does not explain a scenario. False: a scenario that
                nothing explains ends the search without candidates.
        """
        acting = {
            scenario: [variant for variant in variants if self._trials.changes(variant, scenario)]
            for scenario in self._wrong
        }
        order = sorted(self._wrong, key=lambda s: len(self._trials.behaviours(acting[s], s)))
        beam = [_Candidate(frozenset())]
        postponed = []
        for scenario in order:
            if not self._any_explained and self._trials.plays >= _MAX_PLAYS_WITHOUT_SUCCESS:
                break
            grown = self._grow(beam, scenario, acting[scenario], may_leave_out=may_leave_out)
            if grown:
                beam = grown
                self._any_explained = self._any_explained or bool(beam[0].explained)
            else:
                # Try this scenario again after the others: the sets are larger then, so one more mistake may be enough.
                postponed.append(scenario)
        scenarios_without_pair = 0
        for scenario in postponed:
            grown = self._grow(beam, scenario, acting[scenario], may_leave_out=may_leave_out)
            if not grown:
                extended = [
                    candidate
                    for candidate in beam[:_MAX_EXTENDED_COSTLY]
                    if candidate.combination or scenarios_without_pair < _MAX_SCENARIOS_WITHOUT_PAIR
                ]
                pairs = [new for one in extended for new in self._add_two(one, scenario, acting[scenario])]
                if not pairs:
                    scenarios_without_pair += 1
                grown = self._keep_best([*pairs, *(beam if may_leave_out else ())])
            beam = grown
        return beam

    def _grow(
        self,
        beam: Sequence[_Candidate],
        scenario: str,
        variants: Sequence[MistakeVariant],
        *,
        may_leave_out: bool,
    ) -> list[_Candidate]:
        """Return the candidates that agree in this scenario as well, as they are or with one more mistake.

        Empty if none agrees. Otherwise, with `may_leave_out`, those that disagree are kept behind those that agree.

        Args:
            beam: the candidates so far.
            scenario: the scenario.
            variants: variants that act in it and may be added.
            may_leave_out: see `_beam_search`.
        """
        agreeing = [one for one in beam if self._trials.agrees(one.combination, scenario)]
        others = [one for one in beam if not self._trials.agrees(one.combination, scenario)]
        # In an idle candidate, an added mistake acts alone, so one play answers for all idle candidates. A candidate
        # with acting mistakes needs a play of its own for each added mistake: few are tried if idle ones fit.
        acting = [one for one in others if self._trials.acting(one.combination, scenario)]
        idle = [one for one in others if one not in acting]
        kept = [_Candidate(one.combination, (*one.explained, scenario)) for one in agreeing]
        grown = [new for one in idle for new in self._add_one(one, scenario, variants)]
        for candidate in acting[: _MAX_EXTENDED_COSTLY if grown else _MAX_EXTENDED]:
            grown += self._add_one(candidate, scenario, variants)
        if not kept and not grown:
            return []
        return self._keep_best([*kept, *grown, *(others if may_leave_out else ())])

    def _keep_best(self, candidates: Iterable[_Candidate]) -> list[_Candidate]:
        """Return the best candidates, best first, with few of those that make the same mistakes in other variants.

        The more scenarios a candidate explains, the better; then, the fewer mistakes it makes; then, the earlier these
        are in the course file.
        """
        same_mistakes: Counter[frozenset[str]] = Counter()
        seen: set[frozenset[MistakeVariant]] = set()
        best = []
        for candidate in sorted(candidates, key=lambda c: (-len(c.explained), *self._rank(c.combination))):
            if candidate.combination in seen:  # reached before by adding its mistakes in another order
                continue
            seen.add(candidate.combination)
            ids = ids_of(candidate.combination)
            same_mistakes[ids] += 1
            if len(ids) == 1 or same_mistakes[ids] <= _MAX_SAME_MISTAKES:
                best.append(candidate)
        return best[:_MAX_CANDIDATES]

    def _rank(self, combination: frozenset[MistakeVariant]) -> tuple[int, list[int]]:
        """Return a sort key: fewer mistakes first, then mistakes that come first in the course file."""
        return len(combination), sorted(self._positions[variant] for variant in combination)

    def _add_one(
        self, candidate: _Candidate, scenario: str, variants: Sequence[MistakeVariant]
    ) -> Iterator[_Candidate]:
        """Yield the candidate with one more mistake, for each of the variants that makes it agree in this scenario."""
        idle = not self._trials.acting(candidate.combination, scenario)
        failed: set[int] = set()  # behaviours (see Reference.behaviour) that do not fit in this scenario
        for variant in variants:
            behaviour = self._reference.behaviour(variant, scenario)
            if behaviour in failed:
                continue
            grown = self._add(candidate, (variant,), scenario)
            if grown is not None:
                yield grown
            # Only in an idle candidate do all variants of this behaviour fail with this one. In others, their edits may
            # overlap with those of the acting mistakes in different ways.
            elif idle and not self._trials.agrees(candidate.combination | {variant}, scenario):
                failed.add(behaviour)

    def _add_two(
        self, candidate: _Candidate, scenario: str, variants: Sequence[MistakeVariant]
    ) -> Iterator[_Candidate]:
        """Yield the candidate with two more mistakes, for each pair that makes it agree in this scenario.

        Pairs whose mistakes bring the candidate nearer to the learner's run, each alone, are tried first.
        """
        behaviours = self._trials.behaviours(variants, scenario)
        progress = {
            behaviour: self._trials.progress(candidate.combination | {alike[0]}, scenario)
            for behaviour, alike in behaviours.items()
        }
        pairs = sorted(combinations(behaviours, 2), key=lambda pair: -sum(progress[b] for b in pair))
        for one, other in pairs[:_MAX_PAIRS]:
            grown = self._add(candidate, (behaviours[one][0], behaviours[other][0]), scenario)
            if grown is not None:
                yield grown

    def _add(self, candidate: _Candidate, more: Combination, scenario: str) -> _Candidate | None:
        """Return the candidate with these mistakes added; None unless it agrees here and wherever it agreed before.

        Only earlier scenarios that an added mistake changes are played again.
        """
        ids = [variant.mistake.id for variant in (*candidate.combination, *more)]
        if len(set(ids)) < len(ids) or len(ids) > _MAX_MISTAKES:
            return None
        combination = candidate.combination.union(more)
        if not self._trials.agrees(combination, scenario):
            return None
        touched = [s for s in candidate.explained if any(self._trials.changes(v, s) for v in more)]
        if not all(self._trials.agrees(combination, s) for s in touched):
            return None
        return _Candidate(combination, (*candidate.explained, scenario))

    # ---- choosing ------------------------------------------------------------------------------------

    def _choose(self, candidates: Sequence[_Candidate]) -> FoundMistakes:
        """Return the smallest of the best candidates' sets, with their twins.

        The first set is played whole, with all its edits in one program: in the scenarios that went wrong, which it
        must explain, and in the others, which it must leave right.
        """
        found: list[tuple[frozenset[MistakeVariant], tuple[str, ...]]] = []
        for candidate in candidates:
            combination = self._without_unneeded(candidate)
            if not combination or (found and len(candidate.explained) < len(found[0][1])):
                continue
            # Only the first set is played whole; of later sets, only the acting mistakes are played in each scenario.
            agrees = self._trials.agrees if found else self._trials.whole_program_agrees
            explained = tuple(s for s in self._wrong if agrees(combination, s))
            despite_conflicts = (
                not found
                and len(explained) < len(self._wrong)
                and self._explains_despite_conflicts(combination)
            )
            if despite_conflicts:
                explained = tuple(self._wrong)
            elif not explained or not all(agrees(combination, s) for s in self._right):
                continue
            if not found:
                combination = self._reduce(combination, explained)
                if not despite_conflicts:
                    # A removed mistake may have hidden the others in some scenario, so find the explained ones again.
                    explained = tuple(s for s in self._wrong if agrees(combination, s))
            if not found or len(explained) > len(found[0][1]):
                found = [(combination, explained)]
            elif explained == found[0][1] and combination not in [one for one, _ in found]:
                found.append((combination, explained))
        if not found:
            return FoundMistakes()
        size = min(len(combination) for combination, _ in found)
        smallest = [combination for combination, _ in found if len(combination) == size]
        explained = found[0][1]
        # `_twins` tries the mistakes most alike first, so a few plays tell whether another one explains the same.
        self._trials.ensure(2 * len(self._scenarios))
        sets = dict.fromkeys((*smallest, *self._twins(smallest[0], explained)))
        return FoundMistakes(tuple(map(self._trials.in_course_order, sets)), explained)

    def _explains_despite_conflicts(self, combination: frozenset[MistakeVariant]) -> bool:
        """Return True if the set agrees in every scenario, played whole or with its acting mistakes only.

        The learner can make two mistakes that one text of the course cannot make together.
        """
        return all(self._trials.agrees_whole_or_acting(combination, s) for s in (*self._wrong, *self._right))

    def _reduce(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> frozenset[MistakeVariant]:
        """Return the set without mistakes that it does not need in order to agree, played whole.

        Unlike `_without_unneeded`, this does not rely on what a mistake changes alone.
        """
        for variant in self._sorted(combination):
            rest = combination - {variant}
            if rest and self._all_agree(rest, (*explained, *self._right)):
                combination = rest
        if len(combination) > 2:
            combination = self._save_one_by_exchange(combination, explained)
        return self._merge_two(combination, explained)

    def _save_one_by_exchange(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> frozenset[MistakeVariant]:
        """Return the set with one mistake removed and a second one exchanged for a similar one, if that agrees.

        Two mistakes that behave alike when made alone may differ in combination. Example: the parameters stay where
        they are if the backward pass is missing, and also if the update comes at the wrong end. But a loss that is
        returned as a tensor keeps its graph only if the backward pass is missing. With the update at the wrong end, a
        third mistake is needed to explain the graph.
        """
        for removed, exchanged in permutations(self._sorted(combination), 2):
            rest = combination - {removed, exchanged}
            acting_in = [s for s in self._scenarios if self._trials.changes(exchanged, s)]
            removed_acts_in = [s for s in explained if self._trials.changes(removed, s)]
            for other in self._representative_variants:
                if other in combination or not self._may_join(other, rest):
                    continue
                if 2 * self._alike_count(other, exchanged, acting_in) <= len(acting_in):
                    continue
                grown = rest | {other}
                # Where the removed mistake acts, most exchanges fail: these scenarios come first.
                if self._all_agree(grown, (*removed_acts_in, *explained, *self._right)):
                    return grown
        return combination

    def _merge_two(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> frozenset[MistakeVariant]:
        """Return the set with two mistakes replaced by one that acts in exactly the same scenarios, if one agrees."""
        scenarios = (*explained, *self._right)
        for pair in combinations(self._sorted(combination), 2):
            either_acts = [any(self._trials.changes(variant, s) for variant in pair) for s in scenarios]
            rest = combination.difference(pair)
            for variant in self._representative_variants:
                if variant in pair or not self._may_join(variant, rest):
                    continue
                if either_acts == [self._trials.changes(variant, s) for s in scenarios]:
                    merged = rest | {variant}
                    if self._all_agree(merged, scenarios):
                        return merged
        return combination

    def _twins(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> Iterator[frozenset[MistakeVariant]]:
        """Yield the set with one mistake exchanged for another that behaves alike in combination with the rest.

        The two mistakes need to behave alike, each made alone, in one scenario only; mistakes that do so in most
        scenarios are tried first. In other scenarios, the rest of the set may bring out a mistake that does not show
        alone: a sum instead of a mean shows under AdamW only if clipping is left out, too.
        """
        ids = ids_of(combination)
        for variant in self._sorted(combination):
            rest = combination - {variant}
            acting_in = [s for s in explained if self._trials.changes(variant, s)]
            alike_counts = {
                other: self._alike_count(other, variant, acting_in)
                for other in self._representative_variants
                if other.mistake.id not in ids
            }
            for other in sorted(alike_counts, key=lambda other: -alike_counts[other]):
                twin = rest | {other}
                if alike_counts[other] and all(
                    self._trials.agrees(twin, s) or self._trials.whole_program_agrees(twin, s)
                    for s in explained
                ):
                    yield twin

    def _alike_count(self, one: MistakeVariant, other: MistakeVariant, scenarios: Iterable[str]) -> int:
        """Return in how many of the scenarios two variants behave alike."""
        behaviour = self._reference.behaviour
        return sum(behaviour(one, scenario) == behaviour(other, scenario) for scenario in scenarios)

    def _without_unneeded(self, candidate: _Candidate) -> frozenset[MistakeVariant]:
        """Return the candidate's set without mistakes that no scenario explained so far needs."""
        combination = candidate.combination
        for variant in reversed(self._sorted(combination)):
            rest = combination - {variant}
            acting_in = (s for s in candidate.explained if self._trials.changes(variant, s))
            if all(self._trials.agrees(rest, s) for s in acting_in):
                combination = rest
        return combination
