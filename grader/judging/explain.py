"""Explains a wrong program scenario by scenario, with a growing set of known mistakes.

A wrong program makes a set of mistakes, and each scenario shows some of them. So the scenarios that went wrong are
taken in the order of how few mistakes change them, and sets of mistakes grow with them: a set is kept where the
solution with these mistakes behaves as the learner's program does, and grows by one mistake (by two, where one is not
enough) where it does not. A scenario that no set explains stays unexplained; what is explained is told all the same. A
mistake that other mistakes hide changes nothing that can be seen, and is not guessed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from grader.judging.edits import Way
from grader.judging.reference import Reference
from grader.judging.trials import Plays, Ways
from grader.observe.trace import Run

_BEAM = 32
_GROWING = 8  # of the best sets that act in a scenario: those that grow by one mistake
_FROM = 2  # of the best sets: those that grow where one mistake is enough for others, or where two are needed
_PAIRS = 112  # of mistakes that are tried in a scenario, those first that explain most by themselves
_IN_VAIN = 3  # scenarios that no pair explains, after which no set begins with a pair
_HOPE = (
    64  # plays without one scenario explained, after which no other one is looked at (27 was the most needed)
)
_ALIKE = 3  # sets of the same (two or more) mistakes, made in different ways
_LARGEST = 6  # mistakes in a set


@dataclass(frozen=True)
class Explanation:
    """The smallest sets of mistakes that behave as the learner's program does."""

    sets: tuple[Ways, ...] = ()
    """Equally good ones, each in the order of the course file. Empty: no scenario could be explained."""
    explained: tuple[str, ...] = ()
    """Scenarios that differ from the solution and agree with the sets."""
    unexplained: tuple[str, ...] = ()
    """Scenarios that differ from the solution and from the sets."""


@dataclass(frozen=True)
class _State:
    """A set of mistakes on its way, with the scenarios that it explains."""

    together: frozenset[Way]
    explained: tuple[str, ...] = ()


def explain(reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> Explanation:
    """The sets of known mistakes that explain most of what went wrong.

    Args:
        reference: of the exercise and seed that was played.
        runs: the learner's.
        wrong: scenarios in which the learner's run differs from the solution's.
    """
    return _Search(reference, runs, wrong).explanation()


class _Search:
    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        self._its, self._runs = reference, runs
        self._order = {way: number for number, way in enumerate(reference.ways)}
        self._wrong = [name for name in wrong if name in runs]
        self._missing = tuple(name for name in wrong if name not in runs)
        self._right = [s.name for s in reference.exercise.driver.scenarios if s.name not in wrong]
        self._plays = Plays(reference, runs, self._wrong)
        self._begun = False  # a scenario has been explained
        # A mistake that by itself spoils a scenario which is right mostly spoils it beside other mistakes too.
        self._likely = [
            way for way in reference.ways if not any(self._plays.changes(way, s) for s in self._right)
        ]

    def explanation(self) -> Explanation:
        """First sets that explain every scenario, then those that leave some out; likely mistakes before all others."""
        found = Explanation()
        tries = ((self._distinct, False), (self._likely, True), (self._its.ways, True))
        for plausible, leave_out in tries:
            if len(found.explained) == len(self._wrong):
                break
            grown = self._grow(plausible, leave_out=leave_out)
            self._plays.keep_for_the_end(False)
            more = self._best(grown)
            self._plays.keep_for_the_end(True)
            if len(more.explained) > len(found.explained):
                found = more
        self._plays.keep_for_the_end(False)
        if len(found.explained) < len(self._wrong):
            found = self._alone() or self._completed(found)
        unexplained = tuple(s for s in (*self._wrong, *self._missing) if s not in found.explained)
        return Explanation(found.sets, found.explained, unexplained)

    def _alone(self) -> Explanation | None:
        """The first single way that explains everything, each played itself: with another seed than the table's, two
        ways that behave alike there may part."""
        for way in self._its.ways:
            alone = frozenset([way])
            if not all(self._plays.changes(way, s) for s in self._wrong):  # plays are scarce
                continue
            if all(self._plays.agrees_itself(alone, s) for s in (*self._wrong, *self._right)):
                return Explanation(((way,),), tuple(self._wrong))
        return None

    def _completed(self, found: Explanation) -> Explanation:
        """With one more mistake for each scenario left over, where it shows only beside the others.

        A count returned in the wrong place shows as a wrong loss, which neither of the two mistakes changes alone.
        """
        sets = [frozenset(together) for together in found.sets]
        explained = list(found.explained)
        for scenario in (s for s in self._wrong if s not in found.explained):
            if any(self._plays.agrees_whole(together, scenario) for together in sets):
                sets = [together for together in sets if self._plays.agrees_whole(together, scenario)]
                explained.append(scenario)
                continue
            changing = [way for way in self._its.ways if self._plays.changes(way, scenario)]
            others = [w for w in self._likely if w not in changing]
            for way in (*changing, *others):
                grown = [together | {way} for together in sets if self._may_join(way, together)]
                fitting = [s for s in grown if self._all_agree(s, (scenario, *explained, *self._right))]
                if fitting:
                    sets = fitting
                    explained.append(scenario)
                    break
        return Explanation(tuple(map(self._plays.sorted, sets)), tuple(explained))

    def _may_join(self, way: Way, together: frozenset[Way]) -> bool:
        return len(together) < _LARGEST and way.mistake.id not in {w.mistake.id for w in together}

    def _all_agree(self, together: frozenset[Way], scenarios: Iterable[str]) -> bool:
        return all(self._plays.agrees_whole(together, scenario) for scenario in scenarios)

    @cached_property
    def _distinct(self) -> list[Way]:
        """Of the likely ways to make a mistake that behave alike in every scenario, one."""
        names = [s.name for s in self._its.exercise.driver.scenarios]
        first: dict[tuple[object, ...], Way] = {}
        for way in self._likely:
            first.setdefault((way.mistake.id, *(self._its.behaviour(way, name) for name in names)), way)
        return list(first.values())

    # ---- growing sets --------------------------------------------------------------------------------

    def _grow(self, plausible: Sequence[Way], *, leave_out: bool) -> list[_State]:
        """Sets of plausible mistakes and what they explain, those that explain most first.

        With `leave_out`, a set goes on past a scenario that it does not explain.
        """
        changing = {s: [way for way in plausible if self._plays.changes(way, s)] for s in self._wrong}
        order = sorted(self._wrong, key=lambda s: len(self._plays.behaviours(changing[s], s)))
        beam, later = [_State(frozenset())], []
        for scenario in order:
            if not self._begun and self._plays.made >= _HOPE:
                break
            grown = self._grown(beam, scenario, changing[scenario], leave_out=leave_out)
            if grown:
                beam = grown
                self._begun = self._begun or bool(beam[0].explained)
            else:
                later.append(scenario)  # one mistake more may be enough when others have grown the sets
        in_vain = 0
        for scenario in later:
            grown = self._grown(beam, scenario, changing[scenario], leave_out=leave_out)
            if not grown:
                begun = [s for s in beam[:_FROM] if s.together or in_vain < _IN_VAIN]
                pairs = [n for s in begun for n in self._with_two(s, scenario, changing[scenario])]
                in_vain += not pairs
                grown = self._first([*pairs, *(beam if leave_out else ())])
            beam = grown
        return beam

    def _grown(
        self, beam: Sequence[_State], scenario: str, changing: Sequence[Way], *, leave_out: bool
    ) -> list[_State]:
        """The sets that agree in this scenario, too, as they are or with one mistake more; empty where none does."""
        kept = [self._told(state, scenario) for state in beam if self._plays.agrees(state.together, scenario)]
        others = [state for state in beam if not self._plays.agrees(state.together, scenario)]
        # Where a set does nothing, one mistake more is alone, and one play answers for all such sets. If one is enough
        # there, few others are tried: a play is needed for each mistake beside each of them.
        acting = [state for state in others if self._plays.acting(state.together, scenario)]
        idle = [state for state in others if state not in acting]
        grown = [new for state in idle for new in self._with_one(state, scenario, changing)]
        for state in acting[: _FROM if grown else _GROWING]:
            grown += self._with_one(state, scenario, changing)
        return self._first([*kept, *grown, *(others if leave_out else ())]) if kept or grown else []

    def _first(self, states: Iterable[_State]) -> list[_State]:
        """The best states, but only a few of those that differ in nothing but the way a mistake is made."""
        alike: Counter[frozenset[str]] = Counter()
        seen: set[frozenset[Way]] = set()
        best = []
        for state in sorted(states, key=lambda s: (-len(s.explained), *self._rank(s.together))):
            if state.together in seen:  # reached on two roads
                continue
            seen.add(state.together)
            ids = frozenset(way.mistake.id for way in state.together)
            alike[ids] += 1
            if len(ids) == 1 or alike[ids] <= _ALIKE:
                best.append(state)
        return best[:_BEAM]

    def _rank(self, together: frozenset[Way]) -> tuple[int, list[int]]:
        """Fewer mistakes first, then those that the course file names first."""
        return len(together), sorted(self._order[way] for way in together)

    def _told(self, state: _State, scenario: str) -> _State:
        return _State(state.together, (*state.explained, scenario))

    def _with_one(self, state: _State, scenario: str, changing: Sequence[Way]) -> Iterator[_State]:
        """The set with one mistake more that makes it agree in this scenario, too."""
        fails: set[int] = set()  # behaviours that did not fit
        alone = not self._plays.acting(state.together, scenario)
        for way in changing:
            number = self._its.behaviour(way, scenario)
            if number in fails:
                continue
            grown = self._joined(state, (way,), scenario)
            if grown is None:
                # Beside other mistakes, ways that behave alike when alone need not: edits may not go together.
                if alone and not self._plays.agrees(state.together | {way}, scenario):
                    fails.add(number)
                continue
            yield grown

    def _with_two(self, state: _State, scenario: str, changing: Sequence[Way]) -> Iterator[_State]:
        """The same with two mistakes more; those first that explain most by themselves."""
        behaviours = self._plays.behaviours(changing, scenario)
        reach = {n: self._plays.reach(state.together | {ways[0]}, scenario) for n, ways in behaviours.items()}
        pairs = sorted(combinations(behaviours, 2), key=lambda p: -(reach[p[0]] + reach[p[1]]))
        for one, other in pairs[:_PAIRS]:
            grown = self._joined(state, (behaviours[one][0], behaviours[other][0]), scenario)
            if grown is not None:
                yield grown

    def _joined(self, state: _State, more: Ways, scenario: str) -> _State | None:
        """The set with these mistakes too, if it agrees here and still agrees where it did."""
        ids = [way.mistake.id for way in (*state.together, *more)]
        if len(set(ids)) < len(ids) or len(ids) > _LARGEST:
            return None
        together = state.together.union(more)
        if not self._plays.agrees(together, scenario):
            return None
        touched = [s for s in state.explained if any(self._plays.changes(way, s) for way in more)]
        kept = all(self._plays.agrees(together, s) for s in touched)
        return _State(together, (*state.explained, scenario)) if kept else None

    # ---- choosing ------------------------------------------------------------------------------------

    def _best(self, states: Sequence[_State]) -> Explanation:
        """The best sets, the first played whole: in the scenarios that went wrong, and in those that did not."""
        found: list[tuple[frozenset[Way], tuple[str, ...]]] = []
        for state in states:
            together = self._needed(state)
            if not together or (found and len(state.explained) < len(found[0][1])):
                continue
            # What is as good as a set that was played whole is its twin, and need not be.
            agrees = self._plays.agrees if found else self._plays.agrees_whole
            explained = tuple(s for s in self._wrong if agrees(together, s))
            apart = not found and len(explained) < len(self._wrong) and self._explains_apart(together)
            if apart:
                explained = tuple(self._wrong)
            elif not explained or not all(agrees(together, s) for s in self._right):
                continue
            if not found:
                together = self._smallest(together, explained)
                # Without a mistake that was in its way, the rest may explain more.
                explained = explained if apart else tuple(s for s in self._wrong if agrees(together, s))
            if not found or len(explained) > len(found[0][1]):
                found = [(together, explained)]
            elif explained == found[0][1] and together not in [t for t, _ in found]:
                found.append((together, explained))
        if not found:
            return Explanation()
        size = min(len(together) for together, _ in found)
        smallest = [together for together, _ in found if len(together) == size]
        sets = dict.fromkeys((*smallest, *self._twins(smallest[0], found[0][1])))
        return Explanation(tuple(map(self._plays.sorted, sets)), found[0][1])

    def _explains_apart(self, together: frozenset[Way]) -> bool:
        """Whether the set explains everything where edits that get in each other's way are played apart."""
        return all(self._plays.agrees_either_way(together, s) for s in (*self._wrong, *self._right))

    def _smallest(self, together: frozenset[Way], explained: Sequence[str]) -> frozenset[Way]:
        """The set without mistakes that whole programs do not need, whatever the table says."""
        for way in sorted(together, key=self._order.__getitem__):
            less = together - {way}
            if less and self._all_agree(less, (*explained, *self._right)):
                together = less
        return self._merged(together, explained)

    def _merged(self, together: frozenset[Way], explained: Sequence[str]) -> frozenset[Way]:
        """The set with one mistake for two, where one shows in just the scenarios in which the two do."""
        scenarios = (*explained, *self._right)
        for pair in combinations(sorted(together, key=self._order.__getitem__), 2):
            acting = [any(self._plays.changes(way, s) for way in pair) for s in scenarios]
            for way in self._distinct:
                rest = together.difference(pair)
                if not self._may_join(way, rest) or way in pair:
                    continue
                if acting == [self._plays.changes(way, s) for s in scenarios]:
                    merged = rest | {way}
                    if self._all_agree(merged, scenarios):
                        return merged
        return together

    def _twins(self, together: frozenset[Way], explained: Sequence[str]) -> Iterator[frozenset[Way]]:
        """The set with one mistake replaced by another one that behaves alike beside the rest.

        First those that are alike wherever the one shows. Where neither shows alone, the rest may bring it out: a
        sum for a mean shows under AdamW as soon as clipping is left out.
        """
        for way in sorted(together, key=self._order.__getitem__):
            acting = [s for s in explained if self._plays.changes(way, s)]
            rest = together - {way}
            likeness = {
                other: sum(self._its.behaviour(other, s) == self._its.behaviour(way, s) for s in acting)
                for other in self._distinct
                if other.mistake.id not in {w.mistake.id for w in together}
            }
            for other in sorted(likeness, key=lambda o: -likeness[o]):
                grown = rest | {other}
                if likeness[other] and all(
                    self._plays.agrees(grown, s) or self._plays.agrees_whole(grown, s) for s in explained
                ):
                    yield grown

    def _needed(self, state: _State) -> frozenset[Way]:
        """The set without mistakes that explain nothing that the others do not explain without them."""
        together = state.together
        for way in sorted(together, key=self._order.__getitem__, reverse=True):
            less = together - {way}
            if all(self._plays.agrees(less, s) for s in state.explained if self._plays.changes(way, s)):
                together = less
        return together
