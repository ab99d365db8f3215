"""Find the edit of a learner's own code that mends each mistake with hints; the hints on `check(…)` tell it.

The known mistakes are edits of the solution, and a learner's program often has another shape. So the edit is searched
for in the learner's program, and only an edit that was played is told. With several mistakes, an edit is wanted that
gives the learner's program the runs of the solution with the *other* mistakes: it mends that mistake and nothing else.

1. Edits that take back what the known mistake does (`_undoing_edits`) are played first. A few plays are enough for most
   mistakes, so the edit is found on a busy machine, too.
2. `repair/search.py` searches among all small edits, for as long as it may. Beside other mistakes it may find edits
   that do no more than hide one behind the others, such as an update taken away. So there, what it finds is told only
   if the edits of all mistakes together make the program right: then nothing is left behind which to hide.
3. Of several mistakes' edits, only those are told that mend their mistakes when all are made at once, too
   (`_Searches.mend_together`).
4. Where nothing that was played mends a mistake, hints tell what the course says of it (`Mistake.mend`).

The card, the hints and the edit are to name one place. An edit that only inserts lines is also played at the place that
the comparison of texts has found (`locate.py`), and told there if it mends the mistake there, too: `zero_grad()` may
stand above the forward pass or above `backward()`, and the card has named one of the two. Otherwise the card usually
points at what the edit changes (`_with_line_of_edit`): that the edit mends the mistake has been seen, that two lines
are alike is only a sign.

Example: the learner clips after `step()`. The edit found moves line 5, `opt.step()`, behind line 7.

`notebook/check.py` and `grading/grade_submission.py` (for one's own file) call `with_own_edit` where `wants_own_edit`
is true; `report/hint_ladder.py` words `NamedMistake.own_edit`. Kinds of
edits are added in `repair/`; `line_changes.py` reads an edit as lines.
"""

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile

from grader.course.course import Exercise
from grader.course.feedback import Feedback, NamedMistake, OwnEdit
from grader.judging.compare_runs import find_difference
from grader.judging.edits import MistakeVariant, variant_source
from grader.judging.explain import ExplainedMistake, Explanation, explain
from grader.judging.judge import judge
from grader.judging.learner_code import LearnerCode
from grader.judging.line_changes import (
    LineChange,
    as_line_change,
    indentation_of,
    inserted_at,
    line_below,
    statement_at,
    with_changes,
)
from grader.judging.own_names import headers_in_own_names, in_own_names
from grader.judging.reference import Reference
from grader.judging.repair.search import Runner, search_repair
from grader.judging.repair.small_edits import Focus, SmallEdit, small_edits
from grader.judging.repair.top_level_names import import_statements
from grader.judging.solution import exercise_source, solution_source
from grader.judging.word_changes import likeness_of, words_changed
from grader.observe.trace import Run, Trace
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.submission.syntax import is_compound, last_line

_MOST_SEARCHED = 3
"""Maximum number of mistakes of which edits are searched: the learner waits for the card."""
_MAX_PLAYS = 120
"""Maximum number of plays of a search: with more, hardly any further edit was found."""
_MAX_SECONDS = 2.0
"""Wall-clock limit of a search's plays, looked at before each: the learner waits for the card."""
_MAX_SECONDS_UNDOING = 1.0
"""Wall-clock limit of the plays of edits that take one mistake back."""
_MAX_SECONDS_AT_THE_CARD = 1.0
"""Wall-clock limit of the plays of one edited program: at the card's place, or with several edits made."""
_MAX_UNDOING_EDITS = 4
"""Maximum number of edits that are played to take one mistake back."""
_MAX_EDITS_COMPARED = 300
"""Maximum number of small edits, the likeliest first, that are compared with what would take a mistake back."""
_MIN_LIKENESS = 0.5
"""Minimum likeness (`word_changes.likeness_of`) of an edit to what would take the mistake back."""
_MAX_LINE_CHARACTERS = 400
"""Maximum number of characters shown of the edited line; `assess.py` shows as many of other lines."""
_JUMP = re.compile(r"(continue|break|pass|return|raise)\b")
"""Begins a statement behind which nothing in its block runs, or that does nothing."""
_MAX_LINES = 6
"""Maximum number of old lines, and of new lines, of an edit that is told; more would give the answer away."""


def wants_own_edit(feedback: Feedback) -> bool:
    """Return True if the function is begun and its named mistakes explain everything.

    Where something stays unexplained, `repair.add_repair` may search instead.
    """
    return feedback.begun and feedback.diagnosis.mistakes_explain_all


def with_own_edit(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    learner_code: LearnerCode,
    runner: Runner,
) -> Feedback:
    """Return the feedback whose first mistakes have an `own_edit` that mends them, and are at the edit's place.

    Which places stay, says `_with_line_of_edit`. A mistake stays as it is if there is no single edit that can be told,
    and all do if a search raises.

    Args:
        feedback: feedback for which `wants_own_edit` is true.
        exercise: the exercise that was judged.
        runs: the learner's runs.
        reference: the reference that judged the runs.
        learner_code: the learner's code, with the place of each line.
        runner: plays edited versions of the learner's code where they can do no harm.
    """
    try:
        explained = _explained(exercise, runs, reference)
        searches = _Searches(exercise, runs, reference, runner, explained)
        named = list(feedback.diagnosis.mistakes)
        lines = learner_code.text.split("\n")
        changes: dict[int, LineChange] = {}
        open_searches: dict[int, _Search] = {}
        for number, (one, mistake) in enumerate(
            zip(named[:_MOST_SEARCHED], explained.mistakes, strict=False)
        ):
            search = searches.leaving_others_than([mistake])
            if search is None:
                continue

            def fits(change: LineChange, number: int = number) -> bool:
                return not changes or searches.mend_together({**changes, number: change}, lines)

            change = _own_change(search, one, mistake, learner_code, fits)
            if change is not None and _as_own_edit(lines, change, learner_code) is not None:
                changes[number] = change
            else:
                open_searches[number] = search
        if changes.keys() | open_searches.keys() == set(range(len(named))):
            changes |= _changes_to_a_right_program(searches, open_searches, changes, learner_code)
        for number, change in changes.items():
            edit = _as_own_edit(lines, change, learner_code)
            named[number] = _with_line_of_edit(replace(named[number], own_edit=edit), exercise)
        return _with_mistakes(feedback, named)
    except Exception:  # the check itself is done: only a hint is missing
        logging.getLogger(__name__).exception("searching an edit of %s", exercise.name)
        return feedback


def _changes_to_a_right_program(
    searches: "_Searches",
    open_searches: Mapping[int, "_Search"],
    changes: Mapping[int, LineChange],
    learner_code: LearnerCode,
) -> dict[int, LineChange]:
    """Return a change for each mistake that has none yet; empty unless all changes together make the program right.

    Args:
        searches: makes the searches.
        open_searches: by the mistake's number, the search for an edit of each mistake that has no change yet.
        changes: the changes of the others.
        learner_code: the learner's code.
    """
    lines = learner_code.text.split("\n")
    found: dict[int, LineChange] = {}
    for number, search in open_searches.items():
        if search.mends_everything:
            return {}  # it has searched already
        edit = search.find(learner_code.text, _MAX_SECONDS / len(open_searches))
        change = None if edit is None else as_line_change(lines, edit)
        if change is None or _as_own_edit(lines, change, learner_code) is None:
            return {}
        found[number] = change
    return found if searches.mend_together({**changes, **found}, lines) else {}


def _explained(exercise: Exercise, runs: Mapping[str, Run], reference: Reference) -> Explanation:
    """Return what explains the runs: feedback names mistakes but does not tell which of their variants were found."""
    trace = Trace(dict(runs))
    return explain(trace, judge(exercise, trace, reference.solution_run), reference)  # from its memory


def _own_change(
    search: "_Search",
    named: NamedMistake,
    mistake: ExplainedMistake,
    learner_code: LearnerCode,
    fits: Callable[[LineChange], bool],
) -> LineChange | None:
    """Return the change of the learner's lines that mends a mistake; None if none is found or it cannot be told.

    Args:
        search: the search for it.
        named: the mistake as the card names it.
        mistake: the same mistake, with the variant that was found.
        learner_code: the learner's code.
        fits: tells whether the change also mends its mistake together with the changes for the mistakes before it.
    """
    source, line = learner_code.text, _line_in_program(named, learner_code)
    lines = source.split("\n")
    for edit in search.edits(source, mistake, line):
        change = as_line_change(lines, edit)
        if change is not None:
            at_the_card = search.at_the_card(lines, change, named, line)
            if fits(at_the_card):
                return at_the_card
            if at_the_card != change and fits(change):
                return change
    headers = headers_in_own_names(search.exercise, source)
    change = search.right_line(lines, line, in_own_names(named.right_lines, headers))
    return change if change is not None and fits(change) else None


def _with_mistakes(feedback: Feedback, named: Sequence[NamedMistake]) -> Feedback:
    """Return the feedback with these mistakes; it points at the first one's line if that has moved."""
    before, first = feedback.diagnosis.mistakes[0], named[0]
    feedback = replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=tuple(named)))
    if _place_of(before) == _place_of(first):
        return feedback
    return replace(feedback, line=first.line, cell=first.cell, source_line=first.source_line, lines_above=0)


def _with_line_of_edit(named: NamedMistake, exercise: Exercise) -> NamedMistake:
    """Return the mistake at the place that its own edit changes, if it names another one.

    Where the card says that something is missing beside a line, it names the very place where the edit inserts it, or
    the first line that the edit changes, moves or puts under a new one. Where it names a line itself, that stays if
    the edit changes it or a line beside it, or if the edit inserts or moves lines.

    A place that the course has fixed (`Mistake.only_near`) always stays; an edit that inserts lines elsewhere is then
    left out.
    """
    edit = named.own_edit
    if edit is None:
        return named
    is_beside = named.before or named.after
    is_near = named.line is not None and edit.first - 1 <= named.line <= edit.last + 1
    moved = _at_the_edit(named, edit)
    if any(mistake.only_near for mistake in exercise.mistakes if mistake.id in named.ids):
        is_elsewhere = is_beside and edit.effect == "inserts" and _place_of(moved) != _place_of(named)
        return replace(named, own_edit=None) if is_elsewhere else named
    if not is_beside and (edit.effect in ("inserts", "moves") or (is_near and named.cell == edit.cell)):
        return named
    return moved


def _place_of(named: NamedMistake) -> tuple[int | None, int | None, bool, bool]:
    """Return what two mistakes at one place have in common: line, cell and side."""
    return named.line, named.cell, named.before, named.after


def _at_the_edit(named: NamedMistake, edit: OwnEdit) -> NamedMistake:
    """Return the mistake at the place that its edit changes."""
    if edit.effect == "inserts":
        if named.before and (named.line, named.cell) == (edit.first, edit.cell) and edit.line_below:
            return named
        line, text, before, after = edit.behind, edit.line_behind, False, True
    else:
        line, text, before, after = edit.first, edit.old[0], edit.effect == "guards" and named.before, False
    shown = text.strip()[:_MAX_LINE_CHARACTERS]
    return replace(named, line=line, cell=edit.cell, before=before, after=after, source_line=shown)


def _line_in_program(named: NamedMistake, learner_code: LearnerCode) -> int | None:
    """Return the line of a mistake, as the program's lines are counted; None if it has none."""
    if named.line is None or not learner_code.places:
        return named.line
    places = enumerate(learner_code.places, start=1)
    return next((n for n, place in places if (place.line, place.cell) == (named.line, named.cell)), None)


@dataclass(frozen=True)
class _Searches:
    """Makes the search for an edit of each of the learner's mistakes; for the fields see `with_own_edit`."""

    exercise: Exercise
    runs: Mapping[str, Run]
    reference: Reference
    runner: Runner
    explained: Explanation
    """What explains the runs."""

    def leaving_others_than(self, mended: Sequence[ExplainedMistake]) -> "_Search | None":
        """Return the search for an edit that mends these mistakes; None if no program has just the others."""
        variants = [mistake.variant for mistake in mended]
        others = tuple(variant for variant in self.explained.combination if variant not in variants)
        source_of_others = self.reference.source_with_mistakes(others) if others else None
        if others and source_of_others is None:
            return None  # they cannot be put into one program
        return _Search(self, source_of_others)

    def mend_together(self, changes: Mapping[int, LineChange], lines: Sequence[str]) -> bool:
        """Return True if the changes, made at once, mend their mistakes and nothing else.

        A learner makes all the edits that the hints tell. Each mends its mistake alone, but two may change one line, or
        the line that the other names; and beside another mistake's edit, one may no longer be right.

        Args:
            changes: the change that mends a mistake alone, by the mistake's number.
            lines: the lines of the learner's program.
        """
        after = with_changes(lines, list(changes.values()))
        search = self.leaving_others_than([self.explained.mistakes[number] for number in changes])
        return after is not None and search is not None and search.mends("\n".join(after))


class _Search:
    """The search for an edit that makes the program's runs those of its other mistakes."""

    def __init__(self, searches: _Searches, source_of_others: str | None) -> None:
        """`source_of_others`: the solution with the learner's other mistakes; None if there are no others."""
        self.exercise, self._runs = searches.exercise, searches.runs
        self._reference, self._runner = searches.reference, searches.runner
        self._source_of_others = source_of_others

    @property
    def mends_everything(self) -> bool:
        """True if no mistake is left when the edit is made."""
        return self._source_of_others is None

    def mends(self, program: str) -> bool:
        """Return True if the program's runs are those of the learner's other mistakes, within a time limit."""
        return self._mends(program, _RunnerWithDeadline(self._runner, _MAX_SECONDS_AT_THE_CARD))

    def edits(self, source: str, mistake: ExplainedMistake, line: int | None) -> Iterator[SmallEdit]:
        """Yield edits of `source`, the learner's program, that mend the mistake: first those that take it back.

        Args:
            source: the learner's program.
            mistake: the mistake, which is an edit of the solution.
            line: the line of `source` that the card names.
        """
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS_UNDOING)
        likely = (
            edit
            for edit in self._undoing_edits(source, mistake, line)
            if self._keeps_enough(edit.old, edit.new)
        )
        for edit in islice(likely, _MAX_UNDOING_EDITS):
            if self._mends(edit.program, runner):
                yield edit
        if self.mends_everything and (found := self.find(source, _MAX_SECONDS)) is not None:
            yield found

    def _undoing_edits(self, source: str, mistake: ExplainedMistake, line: int | None) -> Iterator[SmallEdit]:
        """Yield the small edits that are like the mistake's own edit taken back, the most alike first."""
        right = exercise_source(self.exercise)
        ways = [
            MistakeVariant(mistake.variant.mistake, n) for n in range(len(mistake.variant.mistake.programs))
        ]
        wrong = [variant_source(self.exercise, way) for way in ways]
        wanted = [words_changed(program.split("\n"), right.split("\n")) for program in wrong]
        focus = Focus(lines=frozenset() if line is None else frozenset({line}))
        imports = import_statements(solution_source(self.exercise.lesson))
        found = small_edits(source, self.exercise.name, right, focus, imports)
        until = time.monotonic() + _MAX_SECONDS_UNDOING
        edits = list(takewhile(lambda _: time.monotonic() < until, islice(found, _MAX_EDITS_COMPARED)))
        changes = [words_changed(edit.old, edit.new) for edit in edits]
        likeness = [max(likeness_of(change, one) for one in wanted) for change in changes]
        for number in sorted(range(len(edits)), key=lambda number: -likeness[number]):
            if likeness[number] >= _MIN_LIKENESS and not edits[number].imports:
                yield edits[number]

    def find(self, source: str, seconds: float) -> SmallEdit | None:
        """Return an edit of `source`, the learner's program, that alone does it; None if none is found in time."""
        runner = _RunnerWithDeadline(self._runner, seconds)
        found = search_repair(self.exercise, source, self._runs, self._aim, runner, budget=_MAX_PLAYS)
        if found is None or not found.repairs_everything or len(found.edits) != 1:
            return None
        return found.edits[0]

    def right_line(
        self, before: Sequence[str], line: int | None, own_lines: Sequence[str]
    ) -> LineChange | None:
        """Return a change that puts the solution's one line in place of the card's, if that mends the mistake.

        Args:
            before: the lines of the learner's program.
            line: the line that the card names.
            own_lines: the solution's lines in the learner's names.
        """
        statement = None if line is None else statement_at(before, line)
        if line is None or statement is None or len(own_lines) != 1:
            return None
        is_block = own_lines[0].endswith(":")
        if is_block != is_compound(statement) or (is_block and not before[line - 1].rstrip().endswith(":")):
            return None
        end = line if is_block else last_line(statement)
        if not self._keeps_enough(before[line - 1 : end], own_lines):
            return None
        new = [indentation_of(before[line - 1]) + own_lines[0].strip()]
        if not self.mends("\n".join([*before[: line - 1], *new, *before[end:]])):
            return None
        return LineChange("rewrites", line - 1, end, line - 1, before[line - 1 : end], new)

    def at_the_card(
        self, before: Sequence[str], change: LineChange, named: NamedMistake, line: int | None
    ) -> LineChange:
        """Return a change that inserts lines, at the place that the card names if it mends the mistake there, too.

        Args:
            before: the lines of the learner's program.
            change: what the edit found does with them.
            named: the mistake.
            line: its line in the program.
        """
        if change.effect != "inserts" or line is None:
            return change
        moved = inserted_at(before, change, named, line)
        if moved is None or moved == change or (moved.old and not self._keeps_enough(moved.old, moved.new)):
            return change
        program = "\n".join([*before[: moved.start], *moved.new, *before[moved.end :]])
        return moved if self.mends(program) else change

    def _keeps_enough(self, old: Sequence[str], new: Sequence[str]) -> bool:
        """Return False for an edit that may only seem to mend its mistake, because the others hide what it takes away.

        It adds a jump, as a bare `continue`, behind which nothing runs, or its new lines have hardly a word of the old.
        """
        if self.mends_everything or not new:
            return True
        is_in_first_block = indentation_of(new[-1]) == indentation_of(new[0])
        jumped_before = bool(old) and _JUMP.match(old[-1].strip())
        if is_in_first_block and _JUMP.match(new[-1].strip()) and not jumped_before:
            return False
        lost, gained = words_changed(old, new)
        kept = words_changed((), new)[1].total() - gained.total()
        return not old or 2 * kept >= min(lost.total(), gained.total())

    def _mends(self, program: str, runner: Runner) -> bool:
        """Return True if the program's runs are those of the learner's other mistakes, in every scenario."""
        try:
            for scenario in self.exercise.driver.scenarios:
                run = runner.run(program, scenario.name)
                if run is None or find_difference(run, self._aim(scenario.name), scenario.atol) is not None:
                    return False
        except AttemptsSpent:
            return False
        return True

    def _aim(self, scenario: str) -> Run:
        """Return the run that the mended program should have."""
        if self._source_of_others is None:
            return self._reference.solution_run(scenario)
        return self._reference.complete_run(self._source_of_others, scenario)


class _RunnerWithDeadline:
    """A runner that plays nothing more once the seconds have passed; a search then ends with what it has found."""

    def __init__(self, runner: Runner, seconds: float) -> None:
        self._runner, self._deadline = runner, time.monotonic() + seconds

    def run(self, text: str, scenario: str) -> Run | None:
        if time.monotonic() > self._deadline:
            raise AttemptsSpent
        return self._runner.run(text, scenario)


def _as_own_edit(before: Sequence[str], change: LineChange, learner_code: LearnerCode) -> OwnEdit | None:
    """Return the change with the line numbers of the learner's file.

    None if it has no line or too many (`_MAX_LINES`), if only empty lines stand above it (as above a first import), or
    if its first line, its last or the one above it is not in the learner's file.

    Args:
        before: all lines of the program before the edit.
        change: the edit.
        learner_code: the learner's code, with the place of each line.
    """
    behind = change.behind
    while behind and not before[behind - 1].strip():
        behind -= 1  # name the last line with text, not an empty one
    line_count = max(len(change.old), len(change.new))
    if not behind or not 0 < line_count <= _MAX_LINES:
        return None
    above, below = learner_code.place_of(behind), learner_code.place_of(change.behind + 1)
    first, last = (
        learner_code.place_of(change.start + 1),
        learner_code.place_of(max(change.end, change.start + 1)),
    )
    if above is None or first is None or last is None:
        return None
    return OwnEdit(
        effect=change.effect,
        first=first.line,
        last=last.line,
        behind=above.line,
        old=tuple(change.old),
        new=tuple(change.new),
        line_behind=before[behind - 1],
        line_below=line_below(before, change),
        below=None if below is None else below.line,
        cell=first.cell,
    )
