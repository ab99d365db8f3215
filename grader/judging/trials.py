"""Play sets of known mistakes and compare each play with the learner's run, within a budget of plays.

`explain` asks here whether a set of mistakes behaves as the learner's program does in one scenario. Playing every set
in every scenario would take too long, so most questions are answered from the behaviour table and a cache: in a
scenario, only the mistakes that change it when made alone are put into the program (the *acting* ones), and a single
acting mistake is represented by the first variant that behaves alike. So {no-division, no-accum-check} in a scenario
that only `no-division` changes costs one play, shared with every other set of which that is true. Interactions that
this misses are caught at the end, when the best sets are played whole.

The budget counts plays, not seconds, so the answer does not depend on how busy the machine is.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from grader.judging.compare_runs import differing_fields
from grader.judging.edits import Combination, MistakeVariant
from grader.judging.reference import Reference
from grader.observe.trace import Run

_PLAYS = 360
"""Maximum number of plays, at 1 to 10 ms each on the reference machine; divided by the driver's `cost`."""

_RESERVED_PLAYS = 80
"""Plays of `_PLAYS` that are reserved for running the best sets in full."""


class Trials:
    """Answer whether sets of mistakes behave as the learner's program does; always no once the budget is spent."""

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        """`runs`: the learner's; `wrong`: names of scenarios in which they differ from the solution's."""
        self._its, self._runs, self._wrong = reference, runs, wrong
        self._order = {variant: number for number, variant in enumerate(reference.variants)}
        self._tried: dict[tuple[str, frozenset[MistakeVariant]], bool] = {}
        self._firsts: dict[str, dict[int, MistakeVariant]] = {}
        self._programs: dict[Combination, str | None] = {}
        cost = reference.exercise.driver.cost
        self._all = self._left = round(_PLAYS / cost)
        self._kept_back = self._for_the_end = round(_RESERVED_PLAYS / cost)

    def reserve_plays(self, keep: bool) -> None:
        """Reserve (True) or release (False) the plays for the best sets."""
        self._kept_back = self._for_the_end if keep else 0

    @property
    def made(self) -> int:
        """Number of plays made so far."""
        return self._all - self._left

    def sorted(self, combination: Iterable[MistakeVariant]) -> Combination:
        """Return the variants in the order of the course file."""
        return tuple(sorted(combination, key=self._order.__getitem__))

    def changes(self, variant: MistakeVariant, scenario: str) -> bool:
        """Return True if this variant alone changes what is observed in the scenario."""
        return self._its.behaviour(variant, scenario) != 0

    def acting(self, combination: Iterable[MistakeVariant], scenario: str) -> frozenset[MistakeVariant]:
        """Return the variants that change the scenario when made alone."""
        return frozenset(variant for variant in combination if self.changes(variant, scenario))

    def behaviours(
        self, variants: Iterable[MistakeVariant], scenario: str
    ) -> dict[int, list[MistakeVariant]]:
        """Return the variants grouped by the number of their behaviour in the scenario."""
        groups: dict[int, list[MistakeVariant]] = {}
        for variant in variants:
            groups.setdefault(self._its.behaviour(variant, scenario), []).append(variant)
        return groups

    def agrees(self, combination: frozenset[MistakeVariant], scenario: str) -> bool:
        """Return True if the acting mistakes of the set reproduce the learner's run of the scenario.

        Mistakes that change nothing alone are left out, and variants that behave alike share one play.
        """
        acting = self.acting(combination, scenario)
        if len(acting) == 1:  # the first variant that behaves alike is played for all
            (variant,) = acting
            acting = frozenset([self._first_alike(scenario)[self._its.behaviour(variant, scenario)]])
        return self.exact_program_agrees(acting, scenario)

    def _first_alike(self, scenario: str) -> dict[int, MistakeVariant]:
        """Return the first variant of each behaviour in the scenario."""
        if scenario not in self._firsts:
            groups = self.behaviours(self._its.variants, scenario)
            self._firsts[scenario] = {number: variants[0] for number, variants in groups.items()}
        return self._firsts[scenario]

    def whole_program_agrees(self, combination: frozenset[MistakeVariant], scenario: str) -> bool:
        """Return True if the program with all mistakes of the set reproduces the learner's run of the scenario.

        Mistakes that change nothing alone may do so combination. If the edits cannot be combined into one program, the
        acting mistakes decide, as in `agrees`.
        """
        if self._program(combination) is None:
            return self.agrees(combination, scenario)
        return self.exact_program_agrees(combination, scenario)

    def agrees_whole_or_acting(self, combination: frozenset[MistakeVariant], scenario: str) -> bool:
        """Return True if the whole set or its acting mistakes reproduce the run: for edits that conflict."""
        return self.whole_program_agrees(combination, scenario) or self.agrees(combination, scenario)

    def exact_program_agrees(self, combination: frozenset[MistakeVariant], scenario: str) -> bool:
        """Return True if the program with exactly these mistakes reproduces the learner's run of the scenario.

        No other variant stands in for one of these. The empty set is the solution. False if no play is left.
        """
        if not combination:
            return scenario not in self._wrong
        key = (scenario, combination)
        if key not in self._tried:
            if self._left <= self._kept_back:
                return False
            self._left -= 1
            program = self._program(combination)
            target = self._target(scenario)
            self._tried[key] = program is not None and self._its.agrees(program, scenario, target)
        return self._tried[key]

    def reach(self, combination: frozenset[MistakeVariant], scenario: str) -> int:
        """Return how much nearer the set comes to the learner's run than the solution does; 0 if it cannot be played.

        This is the number of additional leading parameter states that agree, plus the number of arrays and facts in
        which the solution differs from the learner's run and the set does not.
        """
        program = self._program(self.acting(combination, scenario))
        if program is None or self._left <= self._kept_back:
            return 0
        self._left -= 1
        target, right = self._target(scenario), self._its.solution(scenario)
        self._its.agrees(program, scenario, target)
        run, atol = self._its.known(program, scenario), self._its.exercise.driver[scenario].atol
        mended = differing_fields(right, target, atol) - differing_fields(run, target, atol)
        return _shared_leading_states(run, target) - _shared_leading_states(right, target) + len(mended)

    def _target(self, scenario: str) -> Run:
        """Return the run to reproduce: the learner's, or the solution's where the learner is right."""
        return self._runs[scenario] if scenario in self._wrong else self._its.solution(scenario)

    def _program(self, combination: Iterable[MistakeVariant]) -> str | None:
        """Return the source with all these mistakes made; None if their edits cannot be combined."""
        variants = self.sorted(combination)
        if variants not in self._programs:
            self._programs[variants] = self._its.program_of_all(variants)
        return self._programs[variants]


def _shared_leading_states(run: Run, target: Run) -> int:
    """Return the number of leading parameter states (rows of `theta`) that both runs share."""
    one, other = run.arrays.get("theta"), target.arrays.get("theta")
    if one is None or other is None or one.shape[1:] != other.shape[1:]:
        return 0
    rows = min(len(one), len(other))
    if rows == 0:
        return 0
    close = np.isclose(one[:rows], other[:rows], rtol=1e-6, atol=1e-8, equal_nan=True)
    apart = ~close.reshape(rows, -1).all(axis=1)
    return int(apart.argmax()) if apart.any() else rows
