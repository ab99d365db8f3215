"""Plays sets of known mistakes and compares each with the learner's run, within a budget of plays.

The effort is bounded by a number of plays and not by seconds: the answer does not depend on how busy the machine is.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from grader.judging.edits import Way
from grader.judging.judge import differing_fields
from grader.judging.reference import Reference
from grader.observe.trace import Run

_PLAYS = 360
"""Programs tried, at 1 to 10 ms each on the reference machine; fewer where a driver says that a play costs more."""

_FOR_THE_END = 80
"""Of these plays: kept to play the best sets whole."""

Ways = tuple[Way, ...]


class Plays:
    """Answers whether a set of mistakes behaves as the learner's program does; no play left: no."""

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        """`wrong`: scenarios in which the learner's run differs from the solution's."""
        self._its, self._runs, self._wrong = reference, runs, wrong
        self._order = {way: number for number, way in enumerate(reference.ways)}
        self._tried: dict[tuple[str, frozenset[Way]], bool] = {}
        self._firsts: dict[str, dict[int, Way]] = {}
        self._programs: dict[Ways, str | None] = {}
        cost = reference.exercise.driver.cost
        self._all = self._left = round(_PLAYS / cost)
        self._kept_back = self._for_the_end = round(_FOR_THE_END / cost)

    def keep_for_the_end(self, keep: bool) -> None:
        """Whether to leave some plays for the best sets."""
        self._kept_back = self._for_the_end if keep else 0

    @property
    def made(self) -> int:
        """How many plays were made."""
        return self._all - self._left

    def sorted(self, together: Iterable[Way]) -> Ways:
        """In the order of the course file."""
        return tuple(sorted(together, key=self._order.__getitem__))

    def changes(self, way: Way, scenario: str) -> bool:
        """Whether a mistake alone changes what a scenario shows."""
        return self._its.behaviour(way, scenario) != 0

    def acting(self, together: Iterable[Way], scenario: str) -> frozenset[Way]:
        """Those that change a scenario, each alone."""
        return frozenset(way for way in together if self.changes(way, scenario))

    def behaviours(self, ways: Iterable[Way], scenario: str) -> dict[int, list[Way]]:
        """The ways grouped by how they behave in a scenario."""
        groups: dict[int, list[Way]] = {}
        for way in ways:
            groups.setdefault(self._its.behaviour(way, scenario), []).append(way)
        return groups

    def agrees(self, together: frozenset[Way], scenario: str) -> bool:
        """Whether those of the set that change the scenario give the learner's run of it."""
        acting = self.acting(together, scenario)
        if len(acting) == 1:  # of those that behave alike alone, one is played
            (way,) = acting
            acting = frozenset([self._first_alike(scenario)[self._its.behaviour(way, scenario)]])
        return self.agrees_itself(acting, scenario)

    def _first_alike(self, scenario: str) -> dict[int, Way]:
        """The first way of each behaviour."""
        if scenario not in self._firsts:
            groups = self.behaviours(self._its.ways, scenario)
            self._firsts[scenario] = {number: ways[0] for number, ways in groups.items()}
        return self._firsts[scenario]

    def agrees_whole(self, together: frozenset[Way], scenario: str) -> bool:
        """The same with the whole program; mistakes that change nothing alone may do so together.

        Where the edits do not go together, the mistakes that act in the scenario must do.
        """
        if self._program(together) is None:
            return self.agrees(together, scenario)
        return self.agrees_itself(together, scenario)

    def agrees_either_way(self, together: frozenset[Way], scenario: str) -> bool:
        """The same where edits that get in each other's way may be played apart."""
        return self.agrees_whole(together, scenario) or self.agrees(together, scenario)

    def agrees_itself(self, together: frozenset[Way], scenario: str) -> bool:
        """The same with just this program, whatever else behaves alike."""
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

    def reach(self, together: frozenset[Way], scenario: str) -> int:
        """How much nearer than the solution the set comes to the learner's run: parameter states, and other values."""
        program = self._program(self.acting(together, scenario))
        if program is None or self._left <= self._kept_back:
            return 0
        self._left -= 1
        target, right = self._target(scenario), self._its.solution(scenario)
        self._its.agrees(program, scenario, target)
        run, atol = self._its.known(program, scenario), self._its.exercise.driver[scenario].atol
        mended = differing_fields(right, target, atol) - differing_fields(run, target, atol)
        return _common(run, target) - _common(right, target) + len(mended)

    def _target(self, scenario: str) -> Run:
        return self._runs[scenario] if scenario in self._wrong else self._its.solution(scenario)

    def _program(self, together: Iterable[Way]) -> str | None:
        ways = self.sorted(together)
        if ways not in self._programs:
            self._programs[ways] = self._its.program_of_all(ways)
        return self._programs[ways]


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
