"""Explains a wrong program scenario by scenario, with a growing set of known mistakes.

A wrong program makes a set of mistakes, and each scenario shows some of them. So the scenarios that went wrong are
taken in the order of how few mistakes change them, and sets of mistakes grow with them: a set is kept where the
solution with these mistakes behaves as the learner's program does, and grows by one mistake (by two, where one is not
enough) where it does not. A scenario that no set explains stays unexplained; what is explained is told all the same. A
mistake that other mistakes hide changes nothing that can be seen, and is not guessed.

The effort is bounded by a number of plays and not by seconds: the answer does not depend on how busy the machine is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from grader.judging.edits import Way
from grader.judging.reference import Reference
from grader.observe.trace import Run

_BEAM = 32
_GROWING = 8  # of the beam's best sets: those that grow by one mistake
_FROM = 2  # of the beam's best sets: those that grow where a scenario needs two mistakes at once
_ALIKE = 3  # sets of the same (two or more) mistakes, made in different ways
_LARGEST = 6  # mistakes in a set
_PLAYS = 420
"""Programs tried in a scenario, at 1 to 6 ms each on the reference machine: two seconds in the worst case."""

_FOR_THE_END = 80
"""Of these plays: kept to play the best sets whole."""

_Ways = tuple[Way, ...]


@dataclass(frozen=True)
class Explanation:
    """The smallest sets of mistakes that behave as the learner's program does."""

    sets: tuple[_Ways, ...] = ()
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
        self._tried: dict[tuple[str, frozenset[Way]], bool] = {}
        self._left, self._kept_back = _PLAYS, _FOR_THE_END
        # A mistake that by itself spoils a scenario which is right mostly spoils it beside other mistakes too.
        self._likely = [way for way in reference.ways if not any(self._changes(way, s) for s in self._right)]

    def explanation(self) -> Explanation:
        """First sets that explain every scenario, then those that leave some out; likely mistakes before all others."""
        found = Explanation()
        tries = ((self._distinct(self._likely), False), (self._likely, True), (self._its.ways, True))
        for plausible, leave_out in tries:
            if len(found.explained) == len(self._wrong):
                break
            grown = self._grow(plausible, leave_out=leave_out)
            self._kept_back = 0
            more = self._best(grown)
            self._kept_back = _FOR_THE_END
            if len(more.explained) > len(found.explained):
                found = more
        if len(found.explained) < len(self._wrong):
            found = self._alone() or found
        unexplained = tuple(s for s in (*self._wrong, *self._missing) if s not in found.explained)
        return Explanation(found.sets, found.explained, unexplained)

    def _alone(self) -> Explanation | None:
        """The first single way that explains everything, each played itself: with another seed than the table's, two
        ways that behave alike there may part."""
        self._kept_back = 0
        for way in self._its.ways:
            alone = frozenset([way])
            if all(self._played(alone, s) for s in (*self._wrong, *self._right)):
                return Explanation(((way,),), tuple(self._wrong))
        return None

    def _distinct(self, ways: Sequence[Way]) -> list[Way]:
        """One of the ways to make a mistake that behave alike in every scenario."""
        names = [s.name for s in self._its.exercise.driver.scenarios]
        first: dict[tuple[object, ...], Way] = {}
        for way in ways:
            first.setdefault((way.mistake.id, *(self._its.behaviour(way, name) for name in names)), way)
        return list(first.values())

    # ---- growing sets --------------------------------------------------------------------------------

    def _grow(self, plausible: Sequence[Way], *, leave_out: bool) -> list[_State]:
        """Sets of plausible mistakes and what they explain, those that explain most first.

        With `leave_out`, a set goes on past a scenario that it does not explain.
        """
        changing = {s: [way for way in plausible if self._changes(way, s)] for s in self._wrong}
        order = sorted(self._wrong, key=lambda s: len(self._behaviours(changing[s], s)))
        beam, later = [_State(frozenset())], []
        for scenario in order:
            grown = self._grown(beam, scenario, changing[scenario], leave_out=leave_out)
            if grown:
                beam = grown
            else:
                later.append(scenario)  # one mistake more may be enough when others have grown the sets
        for scenario in later:
            grown = self._grown(beam, scenario, changing[scenario], leave_out=leave_out)
            if not grown:
                pairs = [n for s in beam[:_FROM] for n in self._with_two(s, scenario, changing[scenario])]
                grown = self._first([*pairs, *(beam if leave_out else ())])
            beam = grown
        return beam

    def _grown(
        self, beam: Sequence[_State], scenario: str, changing: Sequence[Way], *, leave_out: bool
    ) -> list[_State]:
        """The sets that agree in this scenario, too, as they are or with one mistake more; empty where none does."""
        kept = [self._told(state, scenario) for state in beam if self._agrees(state.together, scenario)]
        others = [state for state in beam if not self._agrees(state.together, scenario)]
        grown = [new for state in others[:_GROWING] for new in self._with_one(state, scenario, changing)]
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
        alone = not self._acting(state.together, scenario)
        for way in changing:
            number = self._its.behaviour(way, scenario)
            if number in fails:
                continue
            grown = self._joined(state, (way,), scenario)
            if grown is None:
                # Beside other mistakes, ways that behave alike when alone need not: edits may not go together.
                if alone and not self._agrees(state.together | {way}, scenario):
                    fails.add(number)
                continue
            yield grown

    def _with_two(self, state: _State, scenario: str, changing: Sequence[Way]) -> Iterator[_State]:
        """The same with two mistakes more; those first that explain the run's beginning by themselves."""
        behaviours = self._behaviours(changing, scenario)
        reach = {n: self._reach(state.together | {ways[0]}, scenario) for n, ways in behaviours.items()}
        for one, other in sorted(combinations(behaviours, 2), key=lambda p: -max(reach[p[0]], reach[p[1]])):
            grown = self._joined(state, (behaviours[one][0], behaviours[other][0]), scenario)
            if grown is not None:
                yield grown

    def _joined(self, state: _State, more: _Ways, scenario: str) -> _State | None:
        """The set with these mistakes too, if it agrees here and still agrees where it did."""
        ids = [way.mistake.id for way in (*state.together, *more)]
        if len(set(ids)) < len(ids) or len(ids) > _LARGEST:
            return None
        together = state.together.union(more)
        if not self._agrees(together, scenario):
            return None
        touched = [s for s in state.explained if any(self._changes(way, s) for way in more)]
        kept = all(self._agrees(together, s) for s in touched)
        return _State(together, (*state.explained, scenario)) if kept else None

    def _behaviours(self, ways: Iterable[Way], scenario: str) -> dict[int, list[Way]]:
        """The ways grouped by how they behave in a scenario."""
        groups: dict[int, list[Way]] = {}
        for way in ways:
            groups.setdefault(self._its.behaviour(way, scenario), []).append(way)
        return groups

    # ---- choosing ------------------------------------------------------------------------------------

    def _best(self, states: Sequence[_State]) -> Explanation:
        """The best sets, the first played whole: in the scenarios that went wrong, and in those that did not."""
        found: list[tuple[frozenset[Way], tuple[str, ...]]] = []
        for state in states:
            together = self._needed(state)
            if not together or (found and len(state.explained) < len(found[0][1])):
                continue
            # What is as good as a set that was played whole is its twin, and need not be.
            agrees = self._agrees if found else self._agrees_whole
            explained = tuple(s for s in self._wrong if agrees(together, s))
            if not explained or not all(agrees(together, s) for s in self._right):
                continue
            if not found:
                together = self._smallest(together, explained)
            if not found or len(explained) > len(found[0][1]):
                found = [(together, explained)]
            elif explained == found[0][1] and together not in [t for t, _ in found]:
                found.append((together, explained))
        if not found:
            return Explanation()
        size = min(len(together) for together, _ in found)
        smallest = [together for together, _ in found if len(together) == size]
        sets = dict.fromkeys((*smallest, *self._twins(smallest[0], found[0][1])))
        return Explanation(tuple(tuple(sorted(t, key=self._order.__getitem__)) for t in sets), found[0][1])

    def _smallest(self, together: frozenset[Way], explained: Sequence[str]) -> frozenset[Way]:
        """The set without mistakes that whole programs do not need, whatever the table says."""
        for way in sorted(together, key=self._order.__getitem__):
            less = together - {way}
            if less and all(self._agrees_whole(less, s) for s in (*explained, *self._right)):
                together = less
        return together

    def _twins(self, together: frozenset[Way], explained: Sequence[str]) -> Iterator[frozenset[Way]]:
        """The set with one mistake replaced by another one that behaves alike beside the rest."""
        for way in sorted(together, key=self._order.__getitem__):
            acting = [s for s in explained if self._changes(way, s)]
            rest = together - {way}
            for other in self._distinct(self._likely):
                alike = [s for s in acting if self._its.behaviour(other, s) == self._its.behaviour(way, s)]
                if not alike or other.mistake.id in {w.mistake.id for w in together}:
                    continue
                if all(self._agrees(rest | {other}, s) for s in explained):
                    yield rest | {other}

    def _needed(self, state: _State) -> frozenset[Way]:
        """The set without mistakes that explain nothing that the others do not explain without them."""
        together = state.together
        for way in sorted(together, key=self._order.__getitem__, reverse=True):
            less = together - {way}
            if all(self._agrees(less, s) for s in state.explained if self._changes(way, s)):
                together = less
        return together

    # ---- comparing -----------------------------------------------------------------------------------

    def _changes(self, way: Way, scenario: str) -> bool:
        return self._its.behaviour(way, scenario) != 0

    def _acting(self, together: frozenset[Way], scenario: str) -> frozenset[Way]:
        return frozenset(way for way in together if self._changes(way, scenario))

    def _agrees(self, together: frozenset[Way], scenario: str) -> bool:
        """Whether those of the set that change the scenario give the learner's run of it."""
        return self._tries(self._acting(together, scenario), scenario)

    def _agrees_whole(self, together: frozenset[Way], scenario: str) -> bool:
        """The same with the whole program; mistakes that change nothing alone may do so together.

        Where the edits do not go together, the mistakes that act in the scenario must do.
        """
        if self._program(together) is None:
            return self._agrees(together, scenario)
        return self._played(together, scenario)

    def _tries(self, together: frozenset[Way], scenario: str) -> bool:
        """Whether these mistakes give the learner's run; of those that behave alike alone, one is played."""
        if len(together) == 1:
            (way,) = together
            number = self._its.behaviour(way, scenario)
            together = frozenset([self._behaviours(self._its.ways, scenario)[number][0]])
        return self._played(together, scenario)

    def _played(self, together: frozenset[Way], scenario: str) -> bool:
        if not together:
            return scenario not in self._wrong
        key = (scenario, together)
        if key not in self._tried:
            if self._left <= self._kept_back:
                return False
            self._left -= 1
            program = self._program(together)
            target = self._target(scenario)
            self._tried[key] = program is not None and self._its.agrees(program, scenario, target)
        return self._tried[key]

    def _target(self, scenario: str) -> Run:
        return self._runs[scenario] if scenario in self._wrong else self._its.solution(scenario)

    def _program(self, together: Iterable[Way]) -> str | None:
        return self._its.program_of_all(tuple(sorted(together, key=self._order.__getitem__)))

    def _reach(self, together: frozenset[Way], scenario: str) -> int:
        """How many parameter states further than the solution the set follows the learner's run."""
        program = self._program(self._acting(together, scenario))
        if program is None or self._left <= self._kept_back:
            return 0
        self._left -= 1
        target = self._target(scenario)
        right = self._its.solution(scenario)
        self._its.agrees(program, scenario, target)
        return _common(self._its.known(program, scenario), target) - _common(right, target)


def _common(run: Run, target: Run) -> int:
    """Number of parameter states from the first that are the same in both."""
    one, other = run.arrays.get("theta"), target.arrays.get("theta")
    if one is None or other is None or one.shape[1:] != other.shape[1:]:
        return 0
    rows = min(len(one), len(other))
    if rows == 0:
        return 0
    close = np.isclose(one[:rows], other[:rows], rtol=1e-6, atol=1e-8, equal_nan=True)
    apart = ~close.reshape(rows, -1).all(axis=1)
    return int(apart.argmax()) if apart.any() else rows
