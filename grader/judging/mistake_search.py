"""Find the smallest sets of known mistakes that behave as a wrong program does, scenario by scenario.

A wrong program usually makes several mistakes, and each scenario shows only some of them. The scenarios that went
wrong are therefore taken in order, first those with the fewest different behaviours of known mistakes, and candidate
sets grow along the way (a beam search). In each scenario a set is kept if the solution with its mistakes behaves as
the learner's program does; otherwise it grows by one mistake, or by two if one is not enough. A scenario that no set
explains stays unexplained, and what is explained is reported all the same. A mistake that is hidden by others changes
nothing observable and is not guessed.

Example (`test_the_plain_first_try_is_named_whole`): a first try at `accumulate` checks no arguments, does not divide
the loss, and drops the leftover batches. The scenario `refuses-empty` has six behaviours, one of which fits:
{no-accum-check}. `sgd` differs from that set, and fits once `no-division` joins it. `edges` fits once
`drops-leftover` or `leaks-leftover` joins; `short` and `adamw` then leave only sets with `drops-leftover`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations

from grader.judging.edits import Combination, MistakeVariant
from grader.judging.reference import Reference
from grader.judging.trials import Trials
from grader.observe.trace import Run

_MAX_SETS = 32
"""Maximum number of candidate sets kept after each scenario."""
_MAX_EXTENDED = 8
"""How many of the best sets that change the scenario at hand are extended by one mistake."""
_MAX_EXTENDED_COSTLY = 2
"""The same limit if other sets have been extended with success already, or if two mistakes have to be added."""
_MAX_PAIRS = 112
"""Maximum number of pairs of mistakes tried for one set in one scenario; the most promising pairs come first."""
_MAX_FAILED_PAIR_SCENARIOS = 3
"""Scenarios without a fitting pair after which the empty set is no longer extended by pairs."""
_MAX_PLAYS_WITHOUT_SUCCESS = 64
"""Plays after which no further scenario is tried while none has been explained; the most ever needed was 27."""
_MAX_VARIANTS = 3
"""Maximum number of kept sets that make the same two or more mistakes and differ only in the variants of them."""
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
    """A candidate set of mistakes with the names of the scenarios that it explains so far."""

    combination: frozenset[MistakeVariant]
    explained: tuple[str, ...] = ()


def find_mistakes(reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> FoundMistakes:
    """Return the sets of known mistakes that explain most of the scenarios that went wrong.

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs by scenario name; a scenario without a run stays unexplained.
        wrong: names of the scenarios in which the learner's run differs from the solution's.
    """
    return _Search(reference, runs, wrong).found()


class _Search:
    """One search for the sets that explain one learner's runs; it holds the budget of plays."""

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        self._reference, self._runs = reference, runs
        self._order = {variant: number for number, variant in enumerate(reference.variants)}
        self._wrong = [name for name in wrong if name in runs]
        self._missing = tuple(name for name in wrong if name not in runs)
        self._right = [s.name for s in reference.exercise.driver.scenarios if s.name not in wrong]
        self._trials = Trials(reference, runs, self._wrong)
        self._any_explained = False  # True as soon as one scenario has been explained
        # A mistake that alone changes a scenario in which the learner is right mostly changes it in combination, too.
        self._likely = [
            variant
            for variant in reference.variants
            if not any(self._trials.changes(variant, s) for s in self._right)
        ]

    def found(self) -> FoundMistakes:
        """Return the best sets of up to three attempts, each allowing more than the one before.

        The first attempt uses likely mistakes (one variant for each behaviour) and must explain every scenario; the
        second may leave scenarios out; the third also uses mistakes that change scenarios in which the learner is
        right.
        """
        found = FoundMistakes()
        tries = (
            (self._representative_variants, False),
            (self._likely, True),
            (self._reference.variants, True),
        )
        for plausible, leave_out in tries:
            if len(found.explained) == len(self._wrong):
                break
            grown = self._beam_search(plausible, leave_out=leave_out)
            self._trials.reserve_plays(False)
            more = self._best(grown)
            self._trials.reserve_plays(True)
            if len(more.explained) > len(found.explained):
                found = more
        self._trials.reserve_plays(False)
        if len(found.explained) < len(self._wrong):
            found = self._single_way() or self._with_hidden_mistakes(found)
        unexplained = tuple(s for s in (*self._wrong, *self._missing) if s not in found.explained)
        return FoundMistakes(found.combinations, found.explained, unexplained)

    def _single_way(self) -> FoundMistakes | None:
        """Return the first variant that alone explains everything, playing each candidate itself; None if none does.

        Elsewhere one variant stands for all that behave alike in the table. With a seed other than the table's, two of
        them may behave differently.
        """
        for variant in self._reference.variants:
            alone = frozenset([variant])
            if not all(
                self._trials.changes(variant, s) for s in self._wrong
            ):  # the table answers without a play
                continue
            if all(self._trials.exact_program_agrees(alone, s) for s in (*self._wrong, *self._right)):
                return FoundMistakes(((variant,),), tuple(self._wrong))
        return None

    def _with_hidden_mistakes(self, found: FoundMistakes) -> FoundMistakes:
        """Add one more mistake for each scenario left over, for mistakes that show only in combination with the others.

        A count returned in the wrong place shows as a wrong loss, which neither of the two mistakes changes alone.
        """
        sets = [frozenset(combination) for combination in found.combinations]
        explained = list(found.explained)
        for scenario in (s for s in self._wrong if s not in found.explained):
            if any(self._trials.whole_program_agrees(combination, scenario) for combination in sets):
                sets = [
                    combination
                    for combination in sets
                    if self._trials.whole_program_agrees(combination, scenario)
                ]
                explained.append(scenario)
                continue
            changing = [
                variant for variant in self._reference.variants if self._trials.changes(variant, scenario)
            ]
            others = [w for w in self._likely if w not in changing]
            for variant in (*changing, *others):
                grown = [
                    combination | {variant} for combination in sets if self._may_join(variant, combination)
                ]
                fitting = [s for s in grown if self._all_agree(s, (scenario, *explained, *self._right))]
                if fitting:
                    sets = fitting
                    explained.append(scenario)
                    break
        return FoundMistakes(tuple(map(self._trials.sorted, sets)), tuple(explained))

    def _may_join(self, variant: MistakeVariant, combination: frozenset[MistakeVariant]) -> bool:
        """Return True if the set stays within its limit and does not make this mistake as another variant already."""
        return len(combination) < _MAX_MISTAKES and variant.mistake.id not in {
            w.mistake.id for w in combination
        }

    def _all_agree(self, combination: frozenset[MistakeVariant], scenarios: Iterable[str]) -> bool:
        """Return True if the program with all these mistakes agrees with the learner's in every given scenario."""
        return all(self._trials.whole_program_agrees(combination, scenario) for scenario in scenarios)

    @cached_property
    def _representative_variants(self) -> list[MistakeVariant]:
        """Likely variants, but only the first of several of one mistake that behave alike everywhere."""
        names = [s.name for s in self._reference.exercise.driver.scenarios]
        first: dict[tuple[object, ...], MistakeVariant] = {}
        for variant in self._likely:
            first.setdefault(
                (variant.mistake.id, *(self._reference.behaviour(variant, name) for name in names)), variant
            )
        return list(first.values())

    # ---- growing sets --------------------------------------------------------------------------------

    def _beam_search(self, plausible: Sequence[MistakeVariant], *, leave_out: bool) -> list[_Candidate]:
        """Return candidate sets of plausible mistakes with what they explain, those that explain most first.

        With `leave_out`, a set survives a scenario that it does not explain; without, a scenario that nothing explains
        ends the attempt with no sets.
        """
        changing = {
            s: [variant for variant in plausible if self._trials.changes(variant, s)] for s in self._wrong
        }
        order = sorted(self._wrong, key=lambda s: len(self._trials.behaviours(changing[s], s)))
        beam, later = [_Candidate(frozenset())], []
        for scenario in order:
            if not self._any_explained and self._trials.made >= _MAX_PLAYS_WITHOUT_SUCCESS:
                break
            grown = self._extend_for(beam, scenario, changing[scenario], leave_out=leave_out)
            if grown:
                beam = grown
                self._any_explained = self._any_explained or bool(beam[0].explained)
            else:
                # Once other scenarios have enlarged the sets, one more mistake may be enough.
                later.append(scenario)
        in_vain = 0
        for scenario in later:
            grown = self._extend_for(beam, scenario, changing[scenario], leave_out=leave_out)
            if not grown:
                begun = [
                    s
                    for s in beam[:_MAX_EXTENDED_COSTLY]
                    if s.combination or in_vain < _MAX_FAILED_PAIR_SCENARIOS
                ]
                pairs = [n for s in begun for n in self._with_two(s, scenario, changing[scenario])]
                in_vain += not pairs
                grown = self._best_candidates([*pairs, *(beam if leave_out else ())])
            beam = grown
        return beam

    def _extend_for(
        self,
        beam: Sequence[_Candidate],
        scenario: str,
        changing: Sequence[MistakeVariant],
        *,
        leave_out: bool,
    ) -> list[_Candidate]:
        """Return the sets that agree in this scenario as well, unchanged or with one more mistake.

        Empty if no set agrees; otherwise, with `leave_out`, sets that disagree are kept behind those that agree.
        """
        kept = [
            self._with_explained(state, scenario)
            for state in beam
            if self._trials.agrees(state.combination, scenario)
        ]
        others = [state for state in beam if not self._trials.agrees(state.combination, scenario)]
        # An idle set has no mistake that changes this scenario, so an added mistake acts alone and one play answers for
        # all idle sets. An acting set needs a play of its own for each added mistake: few are tried if idle ones fit.
        acting = [state for state in others if self._trials.acting(state.combination, scenario)]
        idle = [state for state in others if state not in acting]
        grown = [new for state in idle for new in self._with_one(state, scenario, changing)]
        for state in acting[: _MAX_EXTENDED_COSTLY if grown else _MAX_EXTENDED]:
            grown += self._with_one(state, scenario, changing)
        return self._best_candidates([*kept, *grown, *(others if leave_out else ())]) if kept or grown else []

    def _best_candidates(self, states: Iterable[_Candidate]) -> list[_Candidate]:
        """Return the best states, with a limit on those that differ only in the variants of their mistakes."""
        alike: Counter[frozenset[str]] = Counter()
        seen: set[frozenset[MistakeVariant]] = set()
        best = []
        for state in sorted(states, key=lambda s: (-len(s.explained), *self._rank(s.combination))):
            if (
                state.combination in seen
            ):  # the same set can be reached by adding its mistakes in another order
                continue
            seen.add(state.combination)
            ids = frozenset(variant.mistake.id for variant in state.combination)
            alike[ids] += 1
            if len(ids) == 1 or alike[ids] <= _MAX_VARIANTS:
                best.append(state)
        return best[:_MAX_SETS]

    def _rank(self, combination: frozenset[MistakeVariant]) -> tuple[int, list[int]]:
        """Return a sort key: fewer mistakes first, then mistakes that come first in the course file."""
        return len(combination), sorted(self._order[variant] for variant in combination)

    def _with_explained(self, state: _Candidate, scenario: str) -> _Candidate:
        """Return the state with one more explained scenario."""
        return _Candidate(state.combination, (*state.explained, scenario))

    def _with_one(
        self, state: _Candidate, scenario: str, changing: Sequence[MistakeVariant]
    ) -> Iterator[_Candidate]:
        """Yield the set with one more mistake, for each mistake that makes it agree in this scenario."""
        fails: set[int] = set()  # numbers of behaviours (see Reference.behaviour) that did not fit
        alone = not self._trials.acting(state.combination, scenario)
        for variant in changing:
            number = self._reference.behaviour(variant, scenario)
            if number in fails:
                continue
            grown = self._extended_by(state, (variant,), scenario)
            if grown is None:
                # Variants that behave alike alone may differ in combination: their edits may overlap with others.
                if alone and not self._trials.agrees(state.combination | {variant}, scenario):
                    fails.add(number)
                continue
            yield grown

    def _with_two(
        self, state: _Candidate, scenario: str, changing: Sequence[MistakeVariant]
    ) -> Iterator[_Candidate]:
        """Yield the set with two more mistakes, for each pair that makes it agree in this scenario.

        Pairs are tried in the order of how much their mistakes explain singly (see `Trials.reach`).
        """
        behaviours = self._trials.behaviours(changing, scenario)
        reach = {
            n: self._trials.reach(state.combination | {variants[0]}, scenario)
            for n, variants in behaviours.items()
        }
        pairs = sorted(combinations(behaviours, 2), key=lambda p: -(reach[p[0]] + reach[p[1]]))
        for one, other in pairs[:_MAX_PAIRS]:
            grown = self._extended_by(state, (behaviours[one][0], behaviours[other][0]), scenario)
            if grown is not None:
                yield grown

    def _extended_by(self, state: _Candidate, more: Combination, scenario: str) -> _Candidate | None:
        """Return the set with these mistakes added; None unless it agrees here and wherever it agreed before.

        Only earlier scenarios that an added mistake changes are played again.
        """
        ids = [variant.mistake.id for variant in (*state.combination, *more)]
        if len(set(ids)) < len(ids) or len(ids) > _MAX_MISTAKES:
            return None
        combination = state.combination.union(more)
        if not self._trials.agrees(combination, scenario):
            return None
        touched = [s for s in state.explained if any(self._trials.changes(variant, s) for variant in more)]
        kept = all(self._trials.agrees(combination, s) for s in touched)
        return _Candidate(combination, (*state.explained, scenario)) if kept else None

    # ---- choosing ------------------------------------------------------------------------------------

    def _best(self, states: Sequence[_Candidate]) -> FoundMistakes:
        """Return the smallest of the best sets, with their twins.

        The first set is played whole, with all its edits in one program: in the scenarios that went wrong, which it
        must explain, and in the others, which it must leave right.
        """
        found: list[tuple[frozenset[MistakeVariant], tuple[str, ...]]] = []
        for state in states:
            combination = self._without_idle(state)
            if not combination or (found and len(state.explained) < len(found[0][1])):
                continue
            # Only the first set is played with all its edits; a set that explains as much is taken for its twin.
            agrees = self._trials.agrees if found else self._trials.whole_program_agrees
            explained = tuple(s for s in self._wrong if agrees(combination, s))
            apart = (
                not found
                and len(explained) < len(self._wrong)
                and self._explains_despite_conflicts(combination)
            )
            if apart:
                explained = tuple(self._wrong)
            elif not explained or not all(agrees(combination, s) for s in self._right):
                continue
            if not found:
                combination = self._minimal(combination, explained)
                # A removed mistake may have hidden the others in some scenario, so count again.
                explained = explained if apart else tuple(s for s in self._wrong if agrees(combination, s))
            if not found or len(explained) > len(found[0][1]):
                found = [(combination, explained)]
            elif explained == found[0][1] and combination not in [t for t, _ in found]:
                found.append((combination, explained))
        if not found:
            return FoundMistakes()
        size = min(len(combination) for combination, _ in found)
        smallest = [combination for combination, _ in found if len(combination) == size]
        sets = dict.fromkeys((*smallest, *self._equivalents(smallest[0], found[0][1])))
        return FoundMistakes(tuple(map(self._trials.sorted, sets)), found[0][1])

    def _explains_despite_conflicts(self, combination: frozenset[MistakeVariant]) -> bool:
        """Return True if the set agrees in every scenario when conflicting edits may be played without each other.

        In each scenario it is enough that the mistakes that change it agree, if the program with all of them does not.
        """
        return all(self._trials.agrees_whole_or_acting(combination, s) for s in (*self._wrong, *self._right))

    def _minimal(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> frozenset[MistakeVariant]:
        """Remove mistakes from the set that the program, played whole, does not need to agree.

        This does not rely on the behaviour table, which says only what a mistake changes alone.
        """
        for variant in sorted(combination, key=self._order.__getitem__):
            less = combination - {variant}
            if less and self._all_agree(less, (*explained, *self._right)):
                combination = less
        if len(combination) > 2:
            combination = self._without_one(combination, explained)
        return self._merged(combination, explained)

    def _without_one(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> frozenset[MistakeVariant]:
        """Remove one mistake and replace another by one that is alike, if the resulting set agrees everywhere.

        Two mistakes that show alike alone may differ in combination. Without a backward pass and with the update at the
        wrong end, the parameters stay where they are; a loss returned as a tensor keeps its graph only without a
        backward pass, so that with the other mistake a third one is needed.
        """
        names = [s.name for s in self._reference.exercise.driver.scenarios]
        order = sorted(combination, key=self._order.__getitem__)
        for removed, replaced in permutations(order, 2):
            rest = combination - {removed, replaced}
            acting = [s for s in names if self._trials.changes(replaced, s)]
            shown_by_removed = [s for s in explained if self._trials.changes(removed, s)]
            for other in self._representative_variants:
                alike = [
                    self._reference.behaviour(other, s) == self._reference.behaviour(replaced, s)
                    for s in acting
                ]
                if 2 * sum(alike) <= len(alike) or not self._may_join(other, rest) or other in combination:
                    continue
                grown = rest | {other}
                if self._all_agree(grown, (*shown_by_removed, *explained, *self._right)):
                    return grown
        return combination

    def _merged(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> frozenset[MistakeVariant]:
        """Replace two mistakes by one that shows in exactly the same scenarios, if the result agrees everywhere."""
        scenarios = (*explained, *self._right)
        for pair in combinations(sorted(combination, key=self._order.__getitem__), 2):
            acting = [any(self._trials.changes(variant, s) for variant in pair) for s in scenarios]
            for variant in self._representative_variants:
                rest = combination.difference(pair)
                if not self._may_join(variant, rest) or variant in pair:
                    continue
                if acting == [self._trials.changes(variant, s) for s in scenarios]:
                    merged = rest | {variant}
                    if self._all_agree(merged, scenarios):
                        return merged
        return combination

    def _equivalents(
        self, combination: frozenset[MistakeVariant], explained: Sequence[str]
    ) -> Iterator[frozenset[MistakeVariant]]:
        """Yield the set with one mistake replaced by another that behaves alike in combination with the rest.

        Candidates that are alike in most scenarios in which the replaced one shows come first. Where neither shows
        alone, the rest may bring it out: a sum instead of a mean shows under AdamW as soon as clipping is left out.
        """
        for variant in sorted(combination, key=self._order.__getitem__):
            acting = [s for s in explained if self._trials.changes(variant, s)]
            rest = combination - {variant}
            likeness = {
                other: sum(
                    self._reference.behaviour(other, s) == self._reference.behaviour(variant, s)
                    for s in acting
                )
                for other in self._representative_variants
                if other.mistake.id not in {w.mistake.id for w in combination}
            }
            for other in sorted(likeness, key=lambda o: -likeness[o]):
                grown = rest | {other}
                if likeness[other] and all(
                    self._trials.agrees(grown, s) or self._trials.whole_program_agrees(grown, s)
                    for s in explained
                ):
                    yield grown

    def _without_idle(self, state: _Candidate) -> frozenset[MistakeVariant]:
        """Return the set without mistakes that the scenarios explained so far do not need."""
        combination = state.combination
        for variant in sorted(combination, key=self._order.__getitem__, reverse=True):
            less = combination - {variant}
            if all(self._trials.agrees(less, s) for s in state.explained if self._trials.changes(variant, s)):
                combination = less
        return combination
