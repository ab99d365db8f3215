"""Search for the small edits that make a learner's own program right.

The *wanted run* of a scenario is the run that the repaired program should have: the solution's, or in
`judging/own_edit.py` that of a program with the learner's other mistakes. The search repairs one scenario at a time,
the target: the failing scenario with the fewest events in the wanted run, because it is cheap to play.

1. Edits are tried in the order of `small_edits`. An edit that makes the target agree with the wanted run is played in
   the other failing scenarios too, which it may repair, and in the passing ones, which it must not break.
2. The best edit found within a limited number of plays is made. If no edit repairs the target, the one that brings it
   nearest to the wanted run is made; it is kept only if it or a later edit repairs a scenario.
3. The search goes on with the edited program, until nothing fails, no edit helps, `_MAX_EDITS` edits are made, or the
   budget of plays is spent.

Example (`test_several_mistakes_are_repaired_one_after_the_other` in the tests): a program checks `accum_steps < 0`
instead of `< 1` and lacks one `opt.zero_grad()`. The first edit puts the 1 back, which repairs the scenarios about
refused arguments; the second inserts the missing line and repairs the rest.

The search's own budget counts plays, not seconds, so that the result does not depend on how busy the machine is. An
edit that repairs its target is still played in the other scenarios when the budget is spent, because it is probably the
repair. A runner can end the search earlier, also within an edit, by raising `AttemptsSpent`; one with a deadline makes
the result depend on the machine.

`add_repair.py` and `judging/own_edit.py` call `search_repair`. Which edits are tried, and in which order, is decided in
`small_edits`; which of those that help is taken, in `_RepairSearch._next_edit`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Protocol

from grader.course.course import Exercise
from grader.judging.compare_runs import Difference, differing_fields, find_difference
from grader.judging.repair.small_edits import Focus, SmallEdit, small_edits
from grader.judging.repair.top_level_names import import_statements
from grader.judging.solution import exercise_source, solution_source
from grader.observe.trace import Event, Run
from grader.sandbox.attempts_spent import AttemptsSpent

_CODE_WORD = re.compile(r"[a-z_]{3,}")
"""Matches a word in the name of an array or fact, such as `train_losses`; code with that word is the place to look."""
_MAX_EDITS = 4
"""Maximum number of edits in a repair: nobody would learn from a longer list of changes."""
# Both numbers of plays were set by hand, for the budgets of `add_repair`.
_PLAYS_BEFORE_NEARER_IS_TAKEN = 120
"""Plays after which an edit that only brings the target nearer is taken, if no edit has repaired the target."""
_PLAYS_AFTER_FIRST_REPAIR = 40
"""Plays, after an edit that repairs the target and breaks no scenario, in which a better one may still be found."""
_TOO_MANY_EVENTS_TO_ALIGN = 500
"""Number of events from which on two runs are not aligned, because the time grows with the square of the number. A
wrong loop may record up to `observe.trace.MAX_EVENTS`."""
_STATES = "theta"
"""Name of the array with the flat parameters: a row for the start and one for each update."""


class Runner(Protocol):
    """Plays edited versions of the learner's program, in a process where they can do no harm."""

    def run(self, text: str, scenario: str) -> Run | None:
        """Return the run of one scenario by the program `text`; None if it did not load or did not come to an end.

        Raises:
            AttemptsSpent: nothing more can be played.
        """


@dataclass(frozen=True)
class Repair:
    """Edits that make the program better, in the order in which they were found."""

    edits: tuple[SmallEdit, ...]
    """In each, `line` is the line in the program as the learner wrote it; `program` has the edits before it, too."""
    plays: int
    """Number of plays that the search made."""
    repaired_scenarios: tuple[str, ...] = ()
    """Names of the scenarios that agree with the wanted runs only after the edits."""
    still_failing: tuple[str, ...] = ()
    """Names of the scenarios that still fail after the edits: their run differs, or there is none."""

    @property
    def repairs_everything(self) -> bool:
        """True if the program is right with all of the edits made."""
        return not self.still_failing


def search_repair(
    exercise: Exercise,
    source: str,
    runs: Mapping[str, Run],
    wanted_run: Callable[[str], Run],
    runner: Runner,
    *,
    budget: int,
) -> Repair | None:
    """Search for edits that repair one scenario or more, if possible all; return None if none are found.

    Args:
        exercise: the exercise, whose definition is edited.
        source: the learner's program.
        runs: the program's runs, by the names of their scenarios; one that is missing counts as failing.
        wanted_run: returns the run that the repaired program should have, given a scenario's name.
        runner: plays the edited programs.
        budget: number of plays after which no further edit is tried.
    """
    return _RepairSearch(exercise, wanted_run, runner, budget).find(source, dict(runs))


@dataclass(frozen=True)
class _TriedEdit:
    """One edit that was played: how many scenarios it repairs, or how near it brings the target to the wanted run."""

    edit: SmallEdit
    runs: dict[str, Run]
    """Runs of the edited program, for the scenarios played with it; more are added as they are played."""
    repaired_count: int
    """Number of failing scenarios that the edit repairs; 0 if it does not repair the target."""
    closeness: tuple[float, ...] = ()
    """How near the target is to the wanted run, see `_RepairSearch._closeness`; empty if it is repaired."""


class _RepairSearch:
    """One search: which runs are wanted, who plays the edited programs, and how many plays have been used."""

    def __init__(
        self, exercise: Exercise, wanted_run: Callable[[str], Run], runner: Runner, budget: int
    ) -> None:
        self._exercise, self._wanted_run, self._runner = exercise, wanted_run, runner
        self._budget = budget
        self._plays = 0
        self._solution_definition = exercise_source(exercise)
        self._imports = import_statements(solution_source(exercise.lesson))

    def find(self, source: str, runs: dict[str, Run]) -> Repair | None:
        """Make one edit after the other; return those that helped, or None if no edit repaired a scenario.

        Args:
            source: the learner's program.
            runs: its runs, by the names of their scenarios.
        """
        text = source  # the program with the edits made
        edits: list[SmallEdit] = []
        failing = self._failing(runs)
        failing_at_first = fewest_failing = tuple(failing)
        edits_until_fewest = 0
        try:
            while failing and len(edits) < _MAX_EDITS:
                tried = self._next_edit(text, runs, failing)
                if tried is None:
                    break
                edits.append(replace(tried.edit, line=_original_line(source, text, tried.edit.line)))
                # Where the edited program has no run, that of the program before stays.
                text, runs = tried.edit.program, runs | tried.runs
                failing = self._failing(runs)
                if len(failing) < len(fewest_failing):
                    fewest_failing = tuple(failing)
                    edits_until_fewest = len(edits)
        except AttemptsSpent:
            pass  # what was found so far is still a repair
        if not edits_until_fewest:
            return None
        # The edits after these have repaired nothing.
        kept = tuple(edits[:edits_until_fewest])
        repaired = tuple(name for name in failing_at_first if name not in fewest_failing)
        return Repair(kept, self._plays, repaired, fewest_failing)

    def _failing(self, runs: Mapping[str, Run]) -> list[str]:
        """Return the names of the scenarios that have no run or do not agree with the wanted run."""
        return [
            name
            for name in self._scenario_names()
            if name not in runs or self._difference(runs[name], name) is not None
        ]

    def _difference(self, run: Run, scenario: str) -> Difference | None:
        """Return the first difference from the wanted run of a scenario; None if they agree."""
        return find_difference(run, self._wanted_run(scenario), self._exercise.driver[scenario].atol)

    def _next_edit(self, text: str, runs: Mapping[str, Run], failing: Collection[str]) -> _TriedEdit | None:
        """Return the edit to make next; None if none helps.

        This is the first edit that repairs everything. Otherwise it is the edit that repairs most, of those played up
        to the first one that repairs the target and in the next `_PLAYS_AFTER_FIRST_REPAIR` plays. If none of the first
        `_PLAYS_BEFORE_NEARER_IS_TAKEN` plays repairs the target, it is the edit that brings the target nearest; None if
        that one breaks a scenario that passes.

        Raises:
            AttemptsSpent: nothing more can be played, and no edit has repaired the target.
        """
        target, *others = self._shortest_first(failing)
        passing = [name for name in self._scenario_names() if name not in failing]
        # The edit that repairs the target and, of those that do, the most scenarios.
        best: _TriedEdit | None = None
        # The edit that does not repair the target but brings it nearest to the wanted run.
        nearest: _TriedEdit | None = None
        nearest_closeness = self._closeness(runs.get(target), target)
        # Number of plays at which the best edit or, without one, the nearest is taken.
        take_best_at = self._plays + _PLAYS_BEFORE_NEARER_IS_TAKEN
        for edit in self._edits_likeliest_first(text, runs.get(target), target):
            try:
                tried = self._try_edit(edit, target, others, passing)
            except AttemptsSpent:
                if best is None:  # `nearest` is of no use, because no edit after it can be played
                    raise
                return best
            if tried is not None and tried.repaired_count:
                if best is None:
                    take_best_at = self._plays + _PLAYS_AFTER_FIRST_REPAIR
                if best is None or tried.repaired_count > best.repaired_count:
                    best = tried
                if tried.repaired_count == len(failing):
                    return tried
            elif tried is not None and tried.closeness > nearest_closeness:
                nearest, nearest_closeness = tried, tried.closeness
            if (best is not None or nearest is not None) and self._plays >= take_best_at:
                break
        if best is None and nearest is not None and self._breaks_nothing(nearest, passing):
            return nearest
        return best

    def _scenario_names(self) -> list[str]:
        """Return the names of all scenarios, in the driver's order."""
        return [scenario.name for scenario in self._exercise.driver.scenarios]

    def _shortest_first(self, failing: Iterable[str]) -> list[str]:
        """Return the failing scenarios, sorted by the number of events in the wanted run."""
        return sorted(failing, key=lambda name: len(self._wanted_run(name).events))

    def _edits_likeliest_first(self, text: str, run: Run | None, target: str) -> Iterator[SmallEdit]:
        """Return the edits to try, the likeliest by the program's run of the target first."""
        focus = _focus(run, self._wanted_run(target), self._exercise.driver[target].atol)
        return small_edits(text, self._exercise.name, self._solution_definition, focus, self._imports)

    def _try_edit(
        self, edit: SmallEdit, target: str, others: Iterable[str], passing: Iterable[str]
    ) -> _TriedEdit | None:
        """Play an edit in the target and, if it repairs the target, in all other scenarios.

        Args:
            edit: the edit of the program to try.
            target: the failing scenario to repair.
            others: the other failing scenarios.
            passing: the scenarios that pass.

        Returns:
            What the edit did; None if it breaks a scenario that passes, or if the target has no run.

        Raises:
            AttemptsSpent: nothing more can be played.
        """
        self._raise_if_spent()
        run = self._play(edit.program, target)
        if run is None:
            return None
        runs = {target: run}
        if self._difference(run, target) is not None:
            return _TriedEdit(edit, runs, 0, self._closeness(run, target))
        repaired_count = 1
        for name in others:
            run = self._play(edit.program, name)
            if run is not None:
                runs[name] = run
                repaired_count += self._difference(run, name) is None
        for name in passing:
            run = self._play(edit.program, name)
            if run is None or self._difference(run, name) is not None:
                return None
            runs[name] = run
        return _TriedEdit(edit, runs, repaired_count)

    def _breaks_nothing(self, tried: _TriedEdit, passing: Collection[str]) -> bool:
        """Return True if the scenarios in `passing` still pass with an edit.

        It is played in all scenarios that `tried.runs` lacks, and their runs are added, up to the first that it breaks.

        Raises:
            AttemptsSpent: nothing more can be played.
        """
        for name in self._scenario_names():
            if name in tried.runs:
                continue
            self._raise_if_spent()
            run = self._play(tried.edit.program, name)
            if run is not None:
                tried.runs[name] = run
            if name in passing and (run is None or self._difference(run, name) is not None):
                return False
        return True

    def _closeness(self, run: Run | None, scenario: str) -> tuple[float, ...]:
        """Measure how near a run is to the wanted run, if it differs: the larger of two tuples is nearer.

        - No run: `(-1,)`.
        - Only one run raised, or the exceptions differ: `(0, number of parameter states that were recorded)`.
        - Something else differs: `(1, states of the parameters that agree, from the start on; minus the difference in
          the number of states; number of arrays and facts that agree)`. An array that bears witness to a fact has the
          fact's name (`Recorder.claim`), so that the two count as one.
        """
        wanted = self._wanted_run(scenario)
        if run is None:
            return (-1.0,)
        first_difference = self._difference(run, scenario)
        assert first_difference is not None  # runs that agree are not measured: their scenario is repaired
        if first_difference.kind == "failure":
            return (0.0, float(len(run.arrays.get(_STATES, ()))))
        states, wanted_states = run.arrays.get(_STATES), wanted.arrays.get(_STATES)
        if states is None or wanted_states is None or states.shape[1:] != wanted_states.shape[1:]:
            same_states, count_difference = 0, 0
        else:
            row = first_difference.index[:1] if first_difference.name == _STATES else ()
            same_states = row[0] if row else min(len(states), len(wanted_states))
            count_difference = abs(len(states) - len(wanted_states))
        differing = differing_fields(run, wanted, self._exercise.driver[scenario].atol)
        same_fields = len({*wanted.arrays, *wanted.facts} - differing)
        return (1.0, float(same_states), -float(count_difference), float(same_fields))

    def _raise_if_spent(self) -> None:
        """Raise AttemptsSpent if the budget is spent."""
        if self._plays >= self._budget:
            raise AttemptsSpent

    def _play(self, text: str, scenario: str) -> Run | None:
        """Play a program in a scenario and return its run, or None (see `Runner.run`)."""
        self._plays += 1
        return self._runner.run(text, scenario)


def _focus(run: Run | None, wanted: Run, atol: float) -> Focus:
    """Return what a run that differs from the wanted run tells about where to look; without a run, nothing."""
    if run is None:
        return Focus()
    lines = _lines_of_first_differing_events(run, wanted)
    if run.failure is not None and run.failure.line is not None:
        lines.add(run.failure.line)
    kinds = Counter(event.kind for event in run.events)
    wanted_kinds = Counter(event.kind for event in wanted.events)
    first_difference = find_difference(run, wanted, atol)
    name = "" if first_difference is None else first_difference.name
    return Focus(
        frozenset(lines),
        missing_events=frozenset((wanted_kinds - kinds).keys()),
        extra_events=frozenset((kinds - wanted_kinds).keys()),
        returned_differs_first=name == "returned",
        # These two are names of ours, not words of the learner's code.
        field_words=frozenset(_CODE_WORD.findall(name)) - {_STATES, "returned"},
    )


def _lines_of_first_differing_events(run: Run, wanted: Run) -> set[int]:
    """Return the lines, from 1, of the run's events at the place where the two orders of events first differ.

    If events are only missing there, these are the lines of the events before and after the place. Empty if the orders
    are equal or too long to be aligned.
    """
    own_keys = [_event_key(event) for event in run.events]
    wanted_keys = [_event_key(event) for event in wanted.events]
    if max(len(own_keys), len(wanted_keys)) >= _TOO_MANY_EVENTS_TO_ALIGN:
        return set()
    matcher = SequenceMatcher(None, own_keys, wanted_keys, autojunk=False)
    for kind, start, end, _, _ in matcher.get_opcodes():
        if kind != "equal":
            events = run.events[start:end] or run.events[max(0, start - 1) : start + 1]
            return {event.line for event in events if event.line is not None}
    return set()


def _event_key(event: Event) -> tuple[object, ...]:
    """Return what two events share if they are the same step of the loop; their lines, for example, may differ."""
    return event.kind, event.batch, event.call


def _original_line(source: str, text: str, line: int) -> int:
    """Return which line of `source` a line of the edited `text` was. Both lines are numbered from 1.

    For a new line, this is the line that it replaced or, if it was inserted, the line that then followed.
    """
    before, after = source.split("\n"), text.split("\n")
    # `before[first:last]` became `after[start:end]`.
    for kind, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if start < line <= end:
            shifted = first + line - start
            # Of three new lines for one old, all are that one; two lines inserted after line 5 are both line 6.
            return shifted if kind == "equal" else min(shifted, max(last, first + 1), len(before))
    return min(line, len(before))
