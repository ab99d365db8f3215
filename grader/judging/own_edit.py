"""Find the edit of a learner's own code that mends each mistake with hints; the hints on `check(…)` tell it.

The known mistakes are edits of the solution, and a learner's program often has another shape. So the edit is searched
for in the learner's program, and only an edit that was played is told. With several mistakes, an edit is wanted that
gives the learner's program the runs of the solution with the *other* mistakes: it mends that mistake and nothing else.

1. Edits that take back what the known mistake does (`_undoing_edits`) are played first. A few plays are enough for most
   mistakes, so the edit is found on a busy machine, too.
2. Only for the mistake named first: `repair/search.py` searches among all small edits, for as long as it may.
3. Where nothing that was played mends a mistake, the solution's lines stand in for the edit, in the learner's names
   (`own_names.py`).

The card, the hints and the edit are to name one place. An edit that only inserts lines is also played at the place that
the comparison of texts has found (`locate.py`), and told there if it mends the mistake there, too: `zero_grad()` may
stand above the forward pass or above `backward()`, and the card has named one of the two. Otherwise the card usually
points at what the edit changes (`_with_line_of_edit`): that the edit mends the mistake has been seen, that two lines
are alike is only a sign.

Example: the learner clips after `step()`. The edit found moves line 5, `opt.step()`, behind line 7.

`notebook/check.py` and `grading/grade_submission.py` (for one's own file) call `with_own_edit` where `wants_own_edit`
is true, and then `own_names.with_own_names`; `report/hint_ladder.py` words `NamedMistake.own_edit`. Kinds of edits are
added in `repair/`; what is told of a kind's lines follows from its `Effect` (`_as_line_change`).
"""

import ast
import logging
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, takewhile
from textwrap import dedent, indent

from grader.course.course import Exercise
from grader.course.feedback import MOST_MISTAKES, Effect, Feedback, NamedMistake, OwnEdit
from grader.judging.compare_runs import find_difference
from grader.judging.edits import MistakeVariant, variant_source
from grader.judging.explain import ExplainedMistake, Explanation, explain
from grader.judging.judge import judge
from grader.judging.learner_code import LearnerCode
from grader.judging.own_names import headers_in_own_names, in_own_names
from grader.judging.reference import Reference
from grader.judging.repair.edit_drafts import KINDS
from grader.judging.repair.search import Runner, search_repair
from grader.judging.repair.small_edits import Focus, SmallEdit, small_edits
from grader.judging.repair.top_level_names import import_statements
from grader.judging.solution import exercise_source, solution_source
from grader.judging.word_changes import likeness_of, words_changed
from grader.observe.trace import Run, Trace
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.submission.syntax import is_compound, last_line

_MAX_PLAYS = 120
"""Maximum number of plays of a search: with more, hardly any further edit was found."""
_MAX_SECONDS = 2.0
"""Wall-clock limit of a search's plays, looked at before each: the learner waits for the card."""
_MAX_SECONDS_UNDOING = 1.0
"""Wall-clock limit of the plays of edits that take one mistake back."""
_MAX_SECONDS_AT_THE_CARD = 1.0
"""Wall-clock limit of the plays of the edit at the card's place."""
_MAX_UNDOING_EDITS = 4
"""Maximum number of edits that are played to take one mistake back."""
_MAX_EDITS_COMPARED = 300
"""Maximum number of small edits, the likeliest first, that are compared with what would take a mistake back."""
_MIN_LIKENESS = 0.5
"""Minimum likeness (`word_changes.likeness_of`) of an edit to what would take the mistake back."""
_MAX_LINE_CHARACTERS = 400
"""Maximum number of characters shown of the edited line; `assess.py` shows as many of other lines."""
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
        named = list(feedback.diagnosis.mistakes)
        for number, (one, mistake) in enumerate(zip(named[:MOST_MISTAKES], explained.mistakes, strict=False)):
            others = tuple(variant for variant in explained.combination if variant != mistake.variant)
            source_of_others = reference.source_with_mistakes(others) if others else None
            if others and source_of_others is None:
                continue  # they cannot be put into one program
            search = _Search(exercise, runs, reference, runner, source_of_others)
            edit = _own_edit(search, one, mistake, learner_code, is_first=number == 0)
            if edit is not None:
                named[number] = _with_line_of_edit(replace(one, own_edit=edit), exercise)
        return _with_mistakes(feedback, named)
    except Exception:  # the check itself is done: only a hint is missing
        logging.getLogger(__name__).exception("searching an edit of %s", exercise.name)
        return feedback


def _explained(exercise: Exercise, runs: Mapping[str, Run], reference: Reference) -> Explanation:
    """Return what explains the runs: feedback names mistakes but does not tell which of their variants were found."""
    trace = Trace(dict(runs))
    return explain(trace, judge(exercise, trace, reference.solution_run), reference)  # from its memory


def _own_edit(
    search: "_Search",
    named: NamedMistake,
    mistake: ExplainedMistake,
    learner_code: LearnerCode,
    *,
    is_first: bool,
) -> OwnEdit | None:
    """Return the edit that mends a mistake, as it is told; None if none is found or it cannot be told.

    Args:
        search: the search for it.
        named: the mistake as the card names it.
        mistake: the same mistake, with the variant that was found.
        learner_code: the learner's code.
        is_first: search among all small edits, too.
    """
    source, line = learner_code.text, _line_in_program(named, learner_code)
    lines = source.split("\n")
    edit = search.undo(source, mistake, line) or (search.find(source) if is_first else None)
    change = None if edit is None else _as_line_change(lines, edit)
    if change is None and edit is None:
        headers = headers_in_own_names(search.exercise, source)
        change = search.right_line(lines, line, in_own_names(named.right_lines, headers))
    if change is None:
        return None
    return _as_own_edit(lines, search.at_the_card(lines, change, named, line), learner_code)


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


class _Search:
    """The search for an edit that makes the program's runs those of its other mistakes."""

    def __init__(
        self,
        exercise: Exercise,
        runs: Mapping[str, Run],
        reference: Reference,
        runner: Runner,
        source_of_others: str | None,
    ) -> None:
        """`source_of_others`: the solution with the learner's other mistakes; None if there are no others."""
        self.exercise = exercise
        self._runs, self._reference, self._runner = runs, reference, runner
        self._source_of_others = source_of_others

    def undo(self, source: str, mistake: ExplainedMistake, line: int | None) -> SmallEdit | None:
        """Return an edit of `source`, the learner's program, that takes the mistake back; None if none is found.

        Args:
            source: the learner's program.
            mistake: the mistake, which is an edit of the solution.
            line: the line of `source` that the card names.
        """
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS_UNDOING)
        edits = islice(self._undoing_edits(source, mistake, line), _MAX_UNDOING_EDITS)
        return next((edit for edit in edits if self._mends(edit.program, runner)), None)

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

    def find(self, source: str) -> SmallEdit | None:
        """Return an edit of `source`, the learner's program, that alone does it; None if none is found."""
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS)
        found = search_repair(self.exercise, source, self._runs, self._aim, runner, budget=_MAX_PLAYS)
        if found is None or not found.repairs_everything or len(found.edits) != 1:
            return None
        return found.edits[0]

    def right_line(
        self, before: Sequence[str], line: int | None, own_lines: Sequence[str]
    ) -> "_LineChange | None":
        """Return a change that puts the solution's one line in place of the card's, if that mends the mistake.

        Args:
            before: the lines of the learner's program.
            line: the line that the card names.
            own_lines: the solution's lines in the learner's names.
        """
        statement = None if line is None else _statement_at(before, line)
        if line is None or statement is None or len(own_lines) != 1:
            return None
        is_block = own_lines[0].endswith(":")
        if is_block != is_compound(statement) or (is_block and not before[line - 1].rstrip().endswith(":")):
            return None
        end = line if is_block else last_line(statement)
        new = [_indentation(before[line - 1]) + own_lines[0].strip()]
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS_AT_THE_CARD)
        if not self._mends("\n".join([*before[: line - 1], *new, *before[end:]]), runner):
            return None
        return _LineChange("rewrites", line - 1, end, line - 1, before[line - 1 : end], new)

    def at_the_card(
        self, before: Sequence[str], change: "_LineChange", named: NamedMistake, line: int | None
    ) -> "_LineChange":
        """Return a change that inserts lines, at the place that the card names if it mends the mistake there, too.

        Args:
            before: the lines of the learner's program.
            change: what the edit found does with them.
            named: the mistake.
            line: its line in the program.
        """
        if change.effect != "inserts" or line is None:
            return change
        moved = _inserted_at(before, change, named, line)
        if moved is None or moved == change:
            return change
        program = "\n".join([*before[: moved.start], *moved.new, *before[moved.end :]])
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS_AT_THE_CARD)
        return moved if self._mends(program, runner) else change

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
        if self._source_of_others is None:  # there are no others
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


@dataclass(frozen=True)
class _LineChange:
    """An edit as the lines that a hint tells of it. Lines of the program are counted from 0."""

    effect: Effect
    start: int
    """First line that is deleted, moved, guarded or rewritten."""
    end: int
    """The line after the last such line; `start` where lines are only inserted."""
    behind: int
    """Number of lines above the place where what is inserted or moved belongs; `start` for other effects."""
    old: Sequence[str]
    """The lines before the edit, as in `OwnEdit`."""
    new: Sequence[str]
    """The lines after it, as in `OwnEdit`."""


def _as_line_change(before: Sequence[str], edit: SmallEdit) -> _LineChange | None:
    """Return the lines that an edit changes; None if it is a move that `_as_line_move` cannot read.

    None also if the edit needs imports: a hint tells of one place only.

    The change's `effect` says what happens to the lines that are shown; it may differ from that of the edit's kind.

    Args:
        before: all lines of the program before the edit.
        edit: the edit.
    """
    if edit.imports:
        return None
    after = edit.program.split("\n")
    start = _count_equal_first_lines(before, after)
    end = len(before) - _count_equal_first_lines(before[start:][::-1], after[start:][::-1])
    old, new = before[start:end], after[start : end + len(after) - len(before)]
    effect: Effect = KINDS[edit.kind].effect
    if effect == "moves":
        return _as_line_move(before, edit, start, end)
    if effect == "guards":
        new = new[:1]  # the lines below it are the learner's, indented
    elif effect == "rewrites" and edit.old and not edit.new:
        effect, old = "unwraps", list(edit.old)  # an `if` or a `while` goes, its lines stay
    elif effect == "deletes" and new:
        # `pass` stands for the only statement of a block; or a `for`, `with` or `try` goes, and its lines stay.
        effect = "rewrites"
    return _LineChange(effect, start, end, start, old, new)


def _as_line_move(before: Sequence[str], edit: SmallEdit, start: int, end: int) -> _LineChange | None:
    """Return the change of an edit that moves lines from one end of `before[start:end]` to the other.

    None if the moved lines stand at neither end.
    """
    count = len(edit.old)
    if tuple(before[start : start + count]) == edit.old:
        first, behind = start, end  # they go down
    elif tuple(before[end - count : end]) == edit.old:
        first, behind = end - count, start  # they go up
    else:
        return None
    # If their new place is beside the old one, they only go into a block, or out of one.
    effect: Effect = "rewrites" if first <= behind <= first + count else "moves"
    return _LineChange(effect, first, first + count, behind, edit.old, edit.new)


def _inserted_at(
    before: Sequence[str], change: _LineChange, named: NamedMistake, line: int
) -> _LineChange | None:
    """Return the change with its lines at the mistake's line; None if they cannot stand there.

    They come above the line or below its statement, where the card says that something is missing; otherwise they
    take the place of the statement.
    """
    statement = _statement_at(before, line)
    if statement is None or (is_compound(statement) and not named.before):
        return None
    end = last_line(statement)
    new = indent(dedent("\n".join(change.new)), _indentation(before[line - 1])).split("\n")
    if named.before or named.after:
        start = line - 1 if named.before else end
        return _LineChange("inserts", start, start, start, (), new)
    return _LineChange("rewrites", line - 1, end, line - 1, before[line - 1 : end], new)


def _indentation(line: str) -> str:
    """Return the white space at the beginning of a line."""
    return line[: len(line) - len(line.lstrip())]


def _statement_at(before: Sequence[str], line: int) -> ast.stmt | None:
    """Return the statement that begins in this line, alone; None if there is none."""
    try:
        tree = ast.parse("\n".join(before))
    except SyntaxError:
        return None
    here = [node for node in ast.walk(tree) if isinstance(node, ast.stmt) and node.lineno == line]
    return here[0] if len(here) == 1 else None


def _as_own_edit(before: Sequence[str], change: _LineChange, learner_code: LearnerCode) -> OwnEdit | None:
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
    above = learner_code.place_of(behind)
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
        line_below=_line_below(before, change),
        cell=first.cell,
    )


def _line_below(before: Sequence[str], change: _LineChange) -> str:
    """Return the line above which a change inserts lines, if they stand in one block; otherwise an empty text."""
    below = "".join(before[change.start : change.start + 1])
    is_one_block = change.effect == "inserts" and _indentation(below) == _indentation(change.new[0])
    return below if is_one_block else ""


def _count_equal_first_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of lines with which both texts begin alike."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
