"""Search for the small edits that make a learner's own program right.

The search repairs one scenario at a time. Its target is the failing scenario with the fewest events in the solution's
run, which is cheap to play. Edits are tried in the order of `small_edits`; an edit that makes the target agree with
the solution is played in the other failing scenarios, which it may repair too, and in the passing ones, which it must
not break. The best edit found within a limited number of plays is made, and the search goes on with the edited
program, up to four edits. If no edit repairs the target, one that brings it nearer is made, and is kept if a later
edit then repairs a scenario.

Example (`test_several_mistakes_are_repaired_one_after_the_other`): a program checks `accum_steps < 0` instead of
`< 1` and lacks one `opt.zero_grad()`. The first edit puts the 1 back, which repairs the scenarios about
refused arguments; the second inserts the missing line and repairs the rest.

The budget counts plays, not seconds, so the result does not depend on how busy the machine is. An edit that repairs its
target is still played in the other scenarios when the budget is spent. The runner may end the search before that
(`AttemptsSpent`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Protocol

import numpy as np

from grader.course.course import Exercise
from grader.judging.compare_runs import Difference, difference
from grader.judging.edits import exercise_source, solution_text
from grader.judging.repair.imports_and_helpers import imports_of
from grader.judging.repair.small_edits import Focus, SmallEdit, small_edits
from grader.observe.trace import Event, Run
from grader.sandbox.spent import AttemptsSpent

_WORD = re.compile(r"[a-z_]{3,}")
"""Words in the name of an array or fact, which tell where to look."""
_MAX_EDITS = 4
"""Maximum number of edits in a repair."""
_PLAYS_BEFORE_NEARER = 120
"""Plays after which an edit that only brings its scenario nearer is taken, if none has repaired the scenario."""
_PLAYS_AFTER_FIRST_REPAIR = 40
"""Plays spent on finding a better edit once one repairs some scenarios and breaks none."""
_MAX_MATCHED_EVENTS = 500
"""Number of events from which on two runs are not aligned, because that takes time in proportion to the square."""


class Runner(Protocol):
    """Something that plays edited versions of the learner's program where they can do no harm."""

    def run(self, text: str, scenario: str) -> Run | None:
        """Return the run of one scenario by the program `text`; None if it did not come to an end.

        Raises:
            AttemptsSpent: nothing more can be played.
        """


@dataclass(frozen=True)
class Repair:
    """Edits that make the program better, in the order in which they were found."""

    edits: tuple[SmallEdit, ...]
    """Each has its line in the program as the learner wrote it, and in `text` the edits before it as well."""
    plays: int
    """Number of plays that the search made."""
    mended: tuple[str, ...] = ()
    """Names of scenarios that agree with the solution's only after the edits."""
    left: tuple[str, ...] = ()
    """Names of scenarios that still differ."""

    @property
    def whole(self) -> bool:
        """True if the program is right with all of the edits made."""
        return not self.left


def search(
    exercise: Exercise,
    source: str,
    runs: Mapping[str, Run],
    solution: Callable[[str], Run],
    runner: Runner,
    *,
    budget: int = 200,
) -> Repair | None:
    """Return edits that make all scenarios agree with the solution's, or at least one more; None if none were found.

    Args:
        exercise: the exercise, whose definition is edited.
        source: the learner's program.
        runs: its runs of all scenarios.
        solution: returns the solution's run, given a scenario's name.
        runner: plays the edited programs.
        budget: number of plays after which no further edit is tried.
    """
    return _Search(exercise, solution, runner, budget).search(source, dict(runs))


@dataclass(frozen=True)
class _TriedEdit:
    """One edit with what playing it showed: it repairs its target scenario or brings it nearer."""

    edit: SmallEdit
    runs: dict[str, Run]
    """Runs of the edited program, for the scenarios that were played with it."""
    repaired: int
    """Number of failing scenarios that the edit repairs; 0 if it does not repair its target."""
    progress: tuple[float, ...] = ()
    """How near its target is to the solution's run, if it is not repaired; larger is nearer."""


class _Search:
    """One search, with its budget."""

    def __init__(
        self, exercise: Exercise, solution: Callable[[str], Run], runner: Runner, budget: int
    ) -> None:
        self._exercise, self._solution, self._runner = exercise, solution, runner
        self._budget = budget
        self._plays = 0
        self._pieces = exercise_source(exercise)
        self._imports = imports_of(solution_text(exercise.lesson))

    def search(self, source: str, runs: dict[str, Run]) -> Repair | None:
        """Return the repair; None if no edit made a scenario agree. `runs`: the learner's, by scenario."""
        text = source
        edits: list[SmallEdit] = []
        failing = self._failing(runs)
        failing_at_first = tuple(failing)
        fewest_failing = tuple(failing)
        edits_until_fewest = 0
        try:
            while failing and len(edits) < _MAX_EDITS:
                step = self._next_edit(text, runs, failing)
                if step is None:
                    break
                edits.append(replace(step.edit, line=_original_line(source, text, step.edit.line)))
                text, runs = step.edit.text, runs | step.runs
                failing = self._failing(runs)
                if len(failing) < len(fewest_failing):
                    fewest_failing = tuple(failing)
                    edits_until_fewest = len(edits)
        except AttemptsSpent:
            pass
        if not edits_until_fewest:
            return None
        # Edits that only brought a scenario nearer are kept where a later one repaired it; those after that are not.
        mended = tuple(name for name in failing_at_first if name not in fewest_failing)
        return Repair(tuple(edits[:edits_until_fewest]), self._plays, mended, fewest_failing)

    def _failing(self, runs: Mapping[str, Run]) -> dict[str, Difference]:
        """Return the first difference of each scenario that does not agree with the solution's run."""
        found = {}
        for scenario in self._exercise.driver.scenarios:
            run = runs.get(scenario.name)
            differs = Difference("failure") if run is None else self._difference(run, scenario.name)
            if differs is not None:
                found[scenario.name] = differs
        return found

    def _difference(self, run: Run, scenario: str) -> Difference | None:
        """Return the first difference from the solution's run of a scenario; None if they agree."""
        return difference(run, self._solution(scenario), self._exercise.driver[scenario].atol)

    def _next_edit(
        self, text: str, runs: Mapping[str, Run], failing: Mapping[str, Difference]
    ) -> _TriedEdit | None:
        """Return the edit to make next; None if none helps.

        This is the first edit that repairs everything. Otherwise it is the edit that repairs most of those tried
        until `_PLAYS_AFTER_FIRST_REPAIR` runs out, or, if none repairs the target, the one that brings it nearest
        and breaks nothing.

        Raises:
            AttemptsSpent: the budget is spent and no edit has helped.
        """
        order = self._order(failing)
        target = order[0]
        best: _TriedEdit | None = None
        nearer: _TriedEdit | None = None
        progress_before = self._progress(runs.get(target), target)
        stop_with_best = self._budget
        stop_with_nearer = self._plays + _PLAYS_BEFORE_NEARER
        for edit in self._edits(text, runs.get(target), target):
            try:
                step = self._try_edit(edit, order, failing)
            except AttemptsSpent:
                if best is None and nearer is None:
                    raise
                return best or nearer
            if step is not None and not step.repaired:
                if step.progress > max(progress_before, nearer.progress if nearer else progress_before):
                    nearer = step
                step = None
            if step is not None and (best is None or step.repaired > best.repaired):
                if best is None:
                    stop_with_best = min(self._budget, self._plays + _PLAYS_AFTER_FIRST_REPAIR)
                best = step
                if step.repaired == len(failing):
                    return step
            if best is not None and self._plays >= stop_with_best:
                break
            if best is None and nearer is not None and self._plays >= stop_with_nearer:
                break
        # Only the target was played with `nearer`: it counts if it breaks nothing that passes.
        if best is None and nearer is not None and self._harmless(nearer, failing):
            return nearer
        return best

    def _order(self, failing: Mapping[str, Difference]) -> list[str]:
        """Return the failing scenarios, those with the fewest events first."""
        return sorted(failing, key=lambda name: len(self._solution(name).events))

    def _edits(self, text: str, run: Run | None, target: str) -> Iterator[SmallEdit]:
        """Return the edits to try, ordered by what the target's run tells about where to look."""
        focus = focus_of(run, self._solution(target), self._exercise.driver[target].atol)
        return small_edits(text, self._exercise.name, self._pieces, focus, self._imports)

    def _try_edit(
        self, edit: SmallEdit, order: list[str], failing: Mapping[str, Difference]
    ) -> _TriedEdit | None:
        """Play an edit; None if it breaks a scenario that passes, or its target does not come to an end.

        The target is played first, and the others only if it is repaired: first those that fail, then those that
        pass.

        Raises:
            AttemptsSpent: the budget is spent, so that the target cannot be played.
        """
        self._keep_budget()
        runs: dict[str, Run] = {}
        repaired = 0
        for name in order:
            run = self._play(edit.text, name)
            good = run is not None and self._difference(run, name) is None
            if name == order[0] and not good:
                return (
                    _TriedEdit(edit, {name: run}, 0, self._progress(run, name)) if run is not None else None
                )
            if run is not None:
                runs[name] = run
            repaired += good
        for scenario in self._exercise.driver.scenarios:
            if scenario.name not in failing:
                run = self._play(edit.text, scenario.name)
                if run is None or self._difference(run, scenario.name) is not None:
                    return None
                runs[scenario.name] = run
        return _TriedEdit(edit, runs, repaired)

    def _harmless(self, step: _TriedEdit, failing: Mapping[str, Difference]) -> bool:
        """Return True if everything that passed still passes; adds the missing runs to the step."""
        for scenario in self._exercise.driver.scenarios:
            if scenario.name in step.runs:
                continue
            self._keep_budget()
            run = self._play(step.edit.text, scenario.name)
            if run is not None:
                step.runs[scenario.name] = run
            if scenario.name not in failing and (run is None or self._difference(run, scenario.name)):
                return False
        return True

    def _progress(self, run: Run | None, scenario: str) -> tuple[float, ...]:
        """Return how far a run agrees with the solution's; larger is nearer. For comparing runs of one scenario only.

        In this order: no wrong exception, leading parameter states that agree, the number of updates, other fields.
        """
        right = self._solution(scenario)
        if run is None:
            return (-1.0,)
        differs = self._difference(run, scenario)
        if differs is None:
            return (2.0,)
        if differs.kind == "failure":
            return (0.0, float(len(run.arrays.get("theta", ()))))
        theta, other = run.arrays.get("theta"), right.arrays.get("theta")
        if theta is None or other is None or theta.shape[1:] != other.shape[1:]:
            same, gap = 0, 0
        else:
            first = differs.index[:1] if differs.name == "theta" else ()
            same = first[0] if first else min(len(theta), len(other))
            gap = abs(len(theta) - len(other))
        atol = self._exercise.driver[scenario].atol
        agree = sum(
            name in run.arrays
            and run.arrays[name].shape == value.shape
            and np.allclose(run.arrays[name], value, rtol=0.0, atol=atol, equal_nan=True)
            for name, value in right.arrays.items()
        )
        agree += sum(run.facts.get(name, "") == value for name, value in right.facts.items())
        return (1.0, float(same), -float(gap), float(agree))

    def _keep_budget(self) -> None:
        """Raise AttemptsSpent if the budget is spent."""
        if self._plays >= self._budget:
            raise AttemptsSpent

    def _play(self, text: str, scenario: str) -> Run | None:
        """Play a program in a scenario; None if it did not come to an end."""
        self._plays += 1
        return self._runner.run(text, scenario)


def focus_of(run: Run | None, right: Run, atol: float) -> Focus:
    """Return what a run that differs from the solution's tells about where to look."""
    if run is None:
        return Focus()
    differs = difference(run, right, atol)
    lines = set() if run.failure is None or run.failure.line is None else {run.failure.line}
    learner, solution = [_event_identity(e) for e in run.events], [_event_identity(e) for e in right.events]
    if max(len(learner), len(solution)) < _MAX_MATCHED_EVENTS:
        for kind, start, end, _, _ in SequenceMatcher(None, learner, solution, autojunk=False).get_opcodes():
            if kind != "equal":
                around = run.events[start:end] or run.events[max(0, start - 1) : start + 1]
                lines |= {e.line for e in around if e.line is not None}
                break
    had, wanted = Counter(e.kind for e in run.events), Counter(e.kind for e in right.events)
    return Focus(
        frozenset(lines),
        missing=frozenset((wanted - had).keys()),
        extra=frozenset((had - wanted).keys()),
        only_returned=differs is not None and "return" in differs.name,
        field_words=frozenset(_WORD.findall(differs.name)) - {"theta", "returned"}
        if differs
        else frozenset(),
    )


def _event_identity(event: Event) -> tuple[object, ...]:
    """Return what two events have in common if they are the same step of the loop; their lines may differ."""
    return event.kind, event.batch, event.call


def _original_line(source: str, text: str, line: int) -> int:
    """Return the line of `source` that a line of the edited text was; for a new line, the one at its place."""
    before, after = source.split("\n"), text.split("\n")
    for kind, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if start < line <= end:
            return (
                first + line - start if kind == "equal" else min(first + line - start, max(last, first + 1))
            )
    return min(line, len(before))
