"""Tell whether a set of known mistakes behaves as the learner's program does in a scenario, within a budget of plays.

`mistake_search` makes one `AgreementOracle` for one learner's runs. `beam_search`, `choose_sets` and `mistake_search`
itself ask it about hundreds of sets; which sets to ask about is decided there.

To play a set is to run the solution, with all mistakes of the set made, in one scenario. A mistake *acts* in a scenario
if it changes the solution's run there when made alone (the behaviour table says so). Playing each set in
every scenario would take too long, so two assumptions save plays:

- Only the *acting subset* matters in a scenario: those mistakes of the set that act there.
- If only one mistake acts, any variant that behaves like it in the scenario may be played in its place.

So in a scenario in which only `no-division` acts, the set {no-division, no-accum-check} costs one play, and further
sets with `no-division` cost none. Where mistakes interact, the first assumption is wrong: `choose_sets` therefore plays
the best set whole.

The budget counts plays, not seconds, so that the answer does not depend on how busy the machine is.

To add another question about a set, write a method beside `whole_set_agrees` that asks `program_agrees`: this counts
the play and remembers the answer.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from grader.judging.compare_runs import differing_fields
from grader.judging.edits import Combination, MistakeVariant
from grader.judging.reference import Reference
from grader.observe.trace import Run

_MAX_PLAYS = 360
"""Maximum number of plays for one submission and exercise, before `ensure_plays_left` adds some; divided by the
driver's `cost`.

A learner waits for them, so it is little more than programs of `tests/rejected` need.
"""
_RESERVED_PLAYS = 80
"""Number of plays among `_MAX_PLAYS` that are kept for playing the best sets whole; divided by the driver's `cost`."""
_SAME_STATE_RTOL, _SAME_STATE_ATOL = 1e-6, 1e-8
"""Tolerances by which `measure_progress` counts equal states. They only put sets in an order, so they are the same for
all scenarios; whether a set agrees is decided by `compare_runs`, with each scenario's own tolerance."""

MistakeSet = frozenset[MistakeVariant]
"""Variants of different mistakes: a `Combination` without its order."""


class AgreementOracle:
    """Answers whether a set of mistakes *agrees* in a scenario: whether its program gives the learner's run there.

    These methods answer it, `whole_set_agrees_in_each` for several scenarios:

        acting_subset_agrees               makes both assumptions of the module; costs fewest plays; for growing sets
        whole_set_agrees                   plays all mistakes of the set, if it can; for checking the best sets
        whole_set_or_acting_subset_agrees  for edits that can be combined, but undo each other's effect
        program_agrees                     plays exactly these variants; the others are built on it

    Once the budget is spent, a set that would have to be played counts as one that does not agree. A part of the
    budget, the *reserve*, is kept for the best sets: it can be used only after `release_reserve`.
    """

    def __init__(self, reference: Reference, runs: Mapping[str, Run], wrong: Sequence[str]) -> None:
        """Begin with the whole budget, and with the reserve held back.

        Args:
            reference: plays the sets.
            runs: the learner's runs by name of the scenario.
            wrong: names of the scenarios in which they differ from the solution's.
        """
        self._reference, self._runs, self._wrong = reference, runs, wrong
        self._answers: dict[tuple[str, MistakeSet], bool] = {}
        """Answers of `program_agrees`, by (name of the scenario, mistakes)."""
        self._first_variants: dict[str, dict[int, MistakeVariant]] = {}
        """First variant with each behaviour, by name of the scenario and number of the behaviour."""
        self._sources: dict[MistakeSet, str | None] = {}
        """What `_source` returned."""
        cost = reference.exercise.driver.cost
        self._budget = round(_MAX_PLAYS / cost)
        self._reserve = round(_RESERVED_PLAYS / cost)
        self._held_back_plays = self._reserve
        self.charged_plays = 0
        """Number of plays charged to the budget so far: also those that the reference could answer from its cache, so
        that the search ends at the same place whatever was played before."""

    def acting_subset_agrees(self, mistakes: MistakeSet, scenario: str) -> bool:
        """Return True if the program that makes only the acting subset agrees in the scenario."""
        acting = self.acting_subset(mistakes, scenario)
        if len(acting) == 1:
            (variant,) = acting
            acting = frozenset([self._first_alike(variant, scenario)])
        return self.program_agrees(acting, scenario)

    def whole_set_agrees(self, mistakes: MistakeSet, scenario: str) -> bool:
        """Return True if the program with all mistakes of the set agrees in the scenario.

        Unlike `acting_subset_agrees`, this notices mistakes that change nothing alone but something together. If the
        edits cannot be combined into one program, return the answer for the acting subset instead.
        """
        if self._source(mistakes) is None:
            return self.acting_subset_agrees(mistakes, scenario)
        return self.program_agrees(mistakes, scenario)

    def whole_set_agrees_in_each(self, mistakes: MistakeSet, scenarios: Iterable[str]) -> bool:
        """Return True if the program with all mistakes of the set agrees in each of the scenarios."""
        return all(self.whole_set_agrees(mistakes, scenario) for scenario in scenarios)

    def whole_set_or_acting_subset_agrees(self, mistakes: MistakeSet, scenario: str) -> bool:
        """Return True if the set agrees in the scenario, made whole or as its acting subset only.

        This is for edits that can be combined, but of which one undoes the effect of another.
        """
        return self.whole_set_agrees(mistakes, scenario) or self.acting_subset_agrees(mistakes, scenario)

    def program_agrees(self, mistakes: MistakeSet, scenario: str) -> bool:
        """Return True if the program with exactly these variants agrees in the scenario.

        The empty set is the solution. False if the edits cannot be combined, or if the set was not played before and
        the budget is spent.
        """
        if not mistakes:
            return scenario not in self._wrong
        key = (scenario, mistakes)
        if key not in self._answers:
            if self._is_budget_spent():
                return False
            self.charged_plays += 1
            source = self._source(mistakes)
            target = self._learner_run(scenario)
            self._answers[key] = source is not None and self._reference.reproduces(source, scenario, target)
        return self._answers[key]

    def measure_progress(self, mistakes: MistakeSet, scenario: str) -> int:
        """Return how much nearer the acting subset's run is to the learner's run than the solution's run is.

        This is the number of leading parameter states that equal the learner's, minus the same number for the solution.
        If the acting subset has all of the learner's states, the number of fields (`differing_fields`) is added in
        which the solution differs from the learner's run but the acting subset does not. 0 if the edits cannot be
        combined, or if the budget is spent.

        Example: the solution gives the learner's states 0 and 1, the acting subset the states 0 to 4: 5 - 2 = 3.
        """
        source = self._source(self.acting_subset(mistakes, scenario))
        if source is None or self._is_budget_spent():
            return 0
        self.charged_plays += 1
        target, solution = self._learner_run(scenario), self._reference.solution_run(scenario)
        # Called for its play, not for its answer: it plays the set as far as the states agree, which is far enough.
        self._reference.reproduces(source, scenario, target)
        run = self._reference.run_so_far(source, scenario)
        nearer = _shared_leading_states(run, target) - _shared_leading_states(solution, target)
        atol = self._reference.exercise.driver[scenario].atol
        differing = differing_fields(run, target, atol)
        if "theta" in differing:
            # How far this run was played depends on what was asked before, for other learners too. Its other fields
            # would make the result depend on that.
            return nearer
        return nearer + len(differing_fields(solution, target, atol) - differing)

    def can_be_combined(self, mistakes: MistakeSet) -> bool:
        """Return True if one program can make all mistakes of the set."""
        return self._source(mistakes) is not None

    def acts_in(self, variant: MistakeVariant, scenario: str) -> bool:
        """Return True if this variant, made alone, changes the run of the scenario."""
        return self._reference.behaviour(variant, scenario) != 0

    def acting_subset(self, mistakes: Iterable[MistakeVariant], scenario: str) -> MistakeSet:
        """Return those of the variants that act in the scenario."""
        return frozenset(variant for variant in mistakes if self.acts_in(variant, scenario))

    def grouped_by_behaviour(
        self, variants: Iterable[MistakeVariant], scenario: str
    ) -> dict[int, list[MistakeVariant]]:
        """Return the variants grouped by the number of their behaviour in the scenario (`Reference.behaviour`)."""
        groups: dict[int, list[MistakeVariant]] = {}
        for variant in variants:
            groups.setdefault(self._reference.behaviour(variant, scenario), []).append(variant)
        return groups

    def in_toml_order(self, mistakes: MistakeSet) -> Combination:
        """Return the variants of the set in the order of the exercise's TOML."""
        return self._reference.in_toml_order(mistakes)

    def hold_back_reserve(self) -> None:
        """Forbid the use of the reserve from now on."""
        self._held_back_plays = self._reserve

    def release_reserve(self) -> None:
        """Allow the reserve to be used from now on."""
        self._held_back_plays = 0

    def ensure_plays_left(self, count: int) -> None:
        """Enlarge the budget, if necessary, so that `count` plays are left, the reserve included."""
        self._budget = max(self._budget, self.charged_plays + count)

    def _first_alike(self, variant: MistakeVariant, scenario: str) -> MistakeVariant:
        """Return the first variant, of any mistake, that behaves in the scenario as this one does."""
        if scenario not in self._first_variants:
            groups = self.grouped_by_behaviour(self._reference.variants, scenario)
            self._first_variants[scenario] = {number: alike[0] for number, alike in groups.items()}
        return self._first_variants[scenario][self._reference.behaviour(variant, scenario)]

    def _is_budget_spent(self) -> bool:
        """Return True if no play is left, or only the reserve while that is held back."""
        return self._budget - self.charged_plays <= self._held_back_plays

    def _learner_run(self, scenario: str) -> Run:
        """Return the learner's run; if the learner is right, the solution's, which is equal but for rounding."""
        return self._runs[scenario] if scenario in self._wrong else self._reference.solution_run(scenario)

    def _source(self, mistakes: MistakeSet) -> str | None:
        """Return the source with all these mistakes made; None if their edits cannot be combined."""
        if mistakes not in self._sources:
            self._sources[mistakes] = self._reference.source_with_mistakes(mistakes)
        return self._sources[mistakes]


def _shared_leading_states(run: Run, target: Run) -> int:
    """Return the number of parameter states (rows of `theta`) before the first one in which two runs differ."""
    one = run.arrays.get("theta")
    other = target.arrays.get("theta")
    if one is None or other is None or one.shape[1:] != other.shape[1:]:
        return 0
    rows = min(len(one), len(other))
    if rows == 0:
        return 0
    close = np.isclose(one[:rows], other[:rows], rtol=_SAME_STATE_RTOL, atol=_SAME_STATE_ATOL, equal_nan=True)
    differs = ~close.reshape(rows, -1).all(axis=1)
    return int(differs.argmax()) if differs.any() else rows
