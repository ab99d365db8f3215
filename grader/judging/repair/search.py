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
target is still played in the other scenarios when the budget is spent. The runner can also end the search before the
budget is spent, by raising `AttemptsSpent`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Protocol

import numpy as np

from grader.course.course import Exercise
from grader.judging.compare_runs import Difference, find_difference
from grader.judging.edits import exercise_source, solution_text
from grader.judging.repair.imports_and_helpers import imports_of
from grader.judging.repair.small_edits import Focus, SmallEdit, small_edits
from grader.observe.trace import Event, Run
from grader.sandbox.attempts_spent import AttemptsSpent

_CODE_WORD = re.compile(r"[a-z_]{3,}")
"""A word of code in the name of an array or fact; it tells where to look."""
_MAX_EDITS = 4
"""Maximum number of edits in a repair."""
_PLAYS_UNTIL_NEARER_IS_TAKEN = 120
"""Plays after which an edit that only brings the target nearer is taken, if no edit has repaired the target."""
_PLAYS_AFTER_FIRST_REPAIR = 40
"""Plays spent on finding a better edit once an edit repairs the target and breaks no scenario."""
_TOO_MANY_EVENTS_TO_ALIGN = 500
"""Number of events from which on runs are not aligned: the time for it grows with the square of the number."""


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
    """In each, `line` is the line in the program as the learner wrote it, and `text` also contains the edits before."""
    plays: int
    """Number of plays that the search made."""
    repaired_scenarios: tuple[str, ...] = ()
    """Names of the scenarios that agree with the solution's runs only after the edits."""
    still_failing: tuple[str, ...] = ()
    """Names of the scenarios that differ after the edits too."""

    @property
    def repairs_everything(self) -> bool:
        """True if the program is right with all of the edits made."""
        return not self.still_failing


def search(
    exercise: Exercise,
    source: str,
    runs: Mapping[str, Run],
    solution: Callable[[str], Run],
    runner: Runner,
    *,
    budget: int = 200,
) -> Repair | None:
    """Return edits that repair one scenario or more, if possible all; None if none were found.

    Args:
        exercise: the exercise, whose definition is edited.
        source: the learner's program.
        runs: the program's runs, by the names of their scenarios; one that is missing counts as failing.
        solution: returns the solution's run, given a scenario's name.
        runner: plays the edited programs.
        budget: number of plays after which no further edit is tried.
    """
    return _Search(exercise, solution, runner, budget).repair(source, dict(runs))


@dataclass(frozen=True)
class _TriedEdit:
    """One edit that was played, and what it did to the target: repaired it, or how near it came."""

    edit: SmallEdit
    runs: dict[str, Run]
    """Runs of the edited program, for the scenarios that were played with it."""
    repaired: int
    """Number of failing scenarios that the edit repairs; 0 if it does not repair the target."""
    progress: tuple[float, ...] = ()
    """How near the target came to the solution's run, see `_Search._progress`; empty if it was repaired."""


class _Search:
    """One search, with its budget."""

    def __init__(
        self, exercise: Exercise, solution: Callable[[str], Run], runner: Runner, budget: int
    ) -> None:
        self._exercise, self._solution_run, self._runner = exercise, solution, runner
        self._budget = budget
        self._plays = 0
        self._solution_definition = exercise_source(exercise)
        self._imports = imports_of(solution_text(exercise.lesson))

    def repair(self, source: str, runs: dict[str, Run]) -> Repair | None:
        """Return the repair; None if no edit repaired a scenario.

        Args:
            source: the learner's program.
            runs: its runs, by the names of their scenarios.
        """
        text = source
        edits: list[SmallEdit] = []
        failing = self._failing(runs)
        failing_at_first = tuple(failing)
        fewest_failing = tuple(failing)
        edits_until_fewest = 0
        try:
            while failing and len(edits) < _MAX_EDITS:
                tried = self._next_edit(text, runs, failing)
                if tried is None:
                    break
                edits.append(replace(tried.edit, line=_original_line(source, text, tried.edit.line)))
                text, runs = tried.edit.text, runs | tried.runs
                failing = self._failing(runs)
                if len(failing) < len(fewest_failing):
                    fewest_failing = tuple(failing)
                    edits_until_fewest = len(edits)
        except AttemptsSpent:
            pass
        if not edits_until_fewest:
            return None
        # The edits after these only brought a scenario nearer, and no later edit repaired it.
        kept = tuple(edits[:edits_until_fewest])
        repaired = tuple(name for name in failing_at_first if name not in fewest_failing)
        return Repair(kept, self._plays, repaired, fewest_failing)

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
        return find_difference(run, self._solution_run(scenario), self._exercise.driver[scenario].atol)

    def _next_edit(
        self, text: str, runs: Mapping[str, Run], failing: Mapping[str, Difference]
    ) -> _TriedEdit | None:
        """Return the edit to make next; None if none helps.

        This is the first edit that repairs everything. Otherwise it is the edit that repairs most, of those played
        until `_PLAYS_AFTER_FIRST_REPAIR` after the first repair. If none repairs the target, it is the one that brings
        the target nearest, provided that it breaks no scenario that passes.

        Raises:
            AttemptsSpent: nothing more can be played, and either no edit has helped, or it is not known yet whether the
                edit that brings the target nearest breaks anything.
        """
        target, *others = self._shortest_first(failing)
        passing = [name for name in self._scenarios() if name not in failing]
        best: _TriedEdit | None = None
        nearer: _TriedEdit | None = None
        best_progress = self._progress(runs.get(target), target)
        stop_with_best = self._budget
        stop_with_nearer = self._plays + _PLAYS_UNTIL_NEARER_IS_TAKEN
        for edit in self._edits_likeliest_first(text, runs.get(target), target):
            try:
                tried = self._try_edit(edit, target, others, passing)
            except AttemptsSpent:
                if best is None and nearer is None:
                    raise
                # It is not known whether `nearer` breaks a scenario, but no later edit can be played, so it is dropped.
                return best or nearer
            if tried is not None and tried.repaired:
                if best is None:
                    stop_with_best = min(self._budget, self._plays + _PLAYS_AFTER_FIRST_REPAIR)
                if best is None or tried.repaired > best.repaired:
                    best = tried
                if tried.repaired == len(failing):
                    return tried
            elif tried is not None and tried.progress > best_progress:
                nearer, best_progress = tried, tried.progress
            if best is not None and self._plays >= stop_with_best:
                break
            if best is None and nearer is not None and self._plays >= stop_with_nearer:
                break
        if best is None and nearer is not None and self._play_rest(nearer, passing):
            return nearer
        return best

    def _scenarios(self) -> list[str]:
        """Return the names of all scenarios, in the driver's order."""
        return [scenario.name for scenario in self._exercise.driver.scenarios]

    def _shortest_first(self, failing: Iterable[str]) -> list[str]:
        """Return the failing scenarios, sorted by the number of events in the solution's run."""
        return sorted(failing, key=lambda name: len(self._solution_run(name).events))

    def _edits_likeliest_first(self, text: str, run: Run | None, target: str) -> Iterator[SmallEdit]:
        """Return the edits to try, sorted by what the program's run of the target tells about where to look."""
        focus = _focus_of(run, self._solution_run(target), self._exercise.driver[target].atol)
        return small_edits(text, self._exercise.name, self._solution_definition, focus, self._imports)

    def _try_edit(
        self, edit: SmallEdit, target: str, others: Iterable[str], passing: Iterable[str]
    ) -> _TriedEdit | None:
        """Play an edit in the target and, if that repairs it, in the others and then in those that pass.

        Args:
            edit: the edit.
            target: the failing scenario to repair.
            others: the other failing scenarios.
            passing: the scenarios that pass.

        Returns:
            What the edit did; None if it breaks a scenario that passes, or if the target does not come to an end.

        Raises:
            AttemptsSpent: nothing more can be played.
        """
        self._raise_if_spent()
        run = self._play(edit.text, target)
        if run is None:
            return None
        runs = {target: run}
        if self._difference(run, target) is not None:
            return _TriedEdit(edit, runs, 0, self._progress(run, target))
        repaired = 1
        for name in others:
            run = self._play(edit.text, name)
            if run is not None:
                runs[name] = run
                repaired += self._difference(run, name) is None
        for name in passing:
            run = self._play(edit.text, name)
            if run is None or self._difference(run, name) is not None:
                return None
            runs[name] = run
        return _TriedEdit(edit, runs, repaired)

    def _play_rest(self, tried: _TriedEdit, passing: Collection[str]) -> bool:
        """Play an edit in the scenarios that its `runs` lack, and add them; stop at the first that it breaks.

        Returns:
            True if the edit breaks no scenario that passes.

        Raises:
            AttemptsSpent: nothing more can be played.
        """
        for name in self._scenarios():
            if name in tried.runs:
                continue
            self._raise_if_spent()
            run = self._play(tried.edit.text, name)
            if run is not None:
                tried.runs[name] = run
            if name in passing and (run is None or self._difference(run, name)):
                return False
        return True

    def _progress(self, run: Run | None, scenario: str) -> tuple[float, ...]:
        """Measure how near a run is to the solution's run of the same scenario; the larger of two tuples is nearer.

        The first number is -1 without a run, 0 if the exceptions differ, 1 if something else differs, and 2 if the runs
        agree. After 0 comes the number of parameter states. After 1 come three numbers: the leading parameter states
        that agree; the states that one run has more than the other, with a minus; the arrays and facts that agree.
        """
        solution = self._solution_run(scenario)
        if run is None:
            return (-1.0,)
        differs = self._difference(run, scenario)
        if differs is None:
            return (2.0,)
        if differs.kind == "failure":
            return (0.0, float(len(run.arrays.get("theta", ()))))
        theta, solution_theta = run.arrays.get("theta"), solution.arrays.get("theta")
        if theta is None or solution_theta is None or theta.shape[1:] != solution_theta.shape[1:]:
            same_states, gap = 0, 0
        else:
            row = differs.index[:1] if differs.name == "theta" else ()
            same_states = row[0] if row else min(len(theta), len(solution_theta))
            gap = abs(len(theta) - len(solution_theta))
        atol = self._exercise.driver[scenario].atol
        same_fields = sum(
            name in run.arrays
            and run.arrays[name].shape == value.shape
            and np.allclose(run.arrays[name], value, rtol=0.0, atol=atol, equal_nan=True)
            for name, value in solution.arrays.items()
        )
        same_fields += sum(run.facts.get(name, "") == value for name, value in solution.facts.items())
        return (1.0, float(same_states), -float(gap), float(same_fields))

    def _raise_if_spent(self) -> None:
        """Raise AttemptsSpent if the budget is spent."""
        if self._plays >= self._budget:
            raise AttemptsSpent

    def _play(self, text: str, scenario: str) -> Run | None:
        """Play a program in a scenario; None if it did not come to an end."""
        self._plays += 1
        return self._runner.run(text, scenario)


def _focus_of(run: Run | None, solution: Run, atol: float) -> Focus:
    """Return what a run that differs from the solution's tells about where to look; nothing if there is no run."""
    if run is None:
        return Focus()
    differs = find_difference(run, solution, atol)
    lines = set() if run.failure is None or run.failure.line is None else {run.failure.line}
    own_events = [_event_identity(event) for event in run.events]
    solution_events = [_event_identity(event) for event in solution.events]
    if max(len(own_events), len(solution_events)) < _TOO_MANY_EVENTS_TO_ALIGN:
        matcher = SequenceMatcher(None, own_events, solution_events, autojunk=False)
        for kind, start, end, _, _ in matcher.get_opcodes():
            if kind != "equal":
                around = run.events[start:end] or run.events[max(0, start - 1) : start + 1]
                lines |= {event.line for event in around if event.line is not None}
                break
    had, wanted = Counter(e.kind for e in run.events), Counter(e.kind for e in solution.events)
    name = "" if differs is None else differs.name
    return Focus(
        frozenset(lines),
        missing=frozenset((wanted - had).keys()),
        extra=frozenset((had - wanted).keys()),
        only_returned="return" in name,
        field_words=frozenset(_CODE_WORD.findall(name)) - {"theta", "returned"},
    )


def _event_identity(event: Event) -> tuple[object, ...]:
    """Return what is equal in two events that are the same step of the loop; their lines, for example, may differ."""
    return event.kind, event.batch, event.call


def _original_line(source: str, text: str, line: int) -> int:
    """Return which line of `source` a line of the edited `text` was; for a new line, the one that stood in its place.

    Both lines are numbered from 1.
    """
    before, after = source.split("\n"), text.split("\n")
    for kind, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if start < line <= end:  # the four numbers count from 0
            return (
                first + line - start if kind == "equal" else min(first + line - start, max(last, first + 1))
            )
    return min(line, len(before))
