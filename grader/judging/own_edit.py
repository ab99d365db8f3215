"""Find the edit of a learner's own code that mends the mistake named first; the hints on `check(…)` tell it.

The known mistakes are edits of the solution, and a learner's program often has another shape. So the edit is searched
for in the learner's program (`repair/search.py`), and only an edit that was played is told. With several mistakes, the
search wants the runs of the solution with the *other* mistakes: an edit that gives the learner's program these runs
mends the first mistake and nothing else.

The card, the hints and the edit are to name one place. An edit that only inserts lines is also played at the place that
the comparison of texts has found (`locate.py`), and told there if it mends the mistake there, too: `zero_grad()` may
stand above the forward pass or above `backward()`, and the card has named one of the two. Otherwise the card usually
points at what the edit changes (`_with_line_of_edit`): that the edit mends the mistake has been seen, that two lines
are alike is only a sign.

Example: the learner clips after `step()`. The edit found moves line 5, `opt.step()`, behind line 7.

`notebook/check.py` and `grading/grade_submission.py` (for one's own file) call `with_own_edit` where `wants_own_edit`
is true; `report/hint_ladder.py` words `Feedback.own_edit`. Kinds of edits are added in `repair/`; what is told of a
kind's lines follows from its `Effect` (`_as_line_change`).
"""

import ast
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import dedent, indent

from grader.course.course import Exercise
from grader.course.feedback import Effect, Feedback, NamedMistake, OwnEdit
from grader.judging.compare_runs import find_difference
from grader.judging.explain import explain
from grader.judging.judge import judge
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import Reference
from grader.judging.repair.edit_drafts import KINDS
from grader.judging.repair.search import Runner, search_repair
from grader.judging.repair.small_edits import SmallEdit
from grader.observe.trace import Run, Trace
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.submission.syntax import is_compound, last_line

_MAX_PLAYS = 120
"""Maximum number of plays: with more, hardly any further edit was found."""
_MAX_SECONDS = 2.0
"""Wall-clock limit of the plays, looked at before each: the learner waits for the card."""
_MAX_SECONDS_AT_THE_CARD = 1.0
"""Wall-clock limit of the plays of the edit at the card's place."""
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
    """Return the feedback with an `own_edit` that mends its first mistake, and with that mistake at the edit's place.

    Which places stay, says `_with_line_of_edit`. The feedback is returned as it is if there is no single edit that can
    be told, or if the search raises.

    Args:
        feedback: feedback for which `wants_own_edit` is true.
        exercise: the exercise that was judged.
        runs: the learner's runs.
        reference: the reference that judged the runs.
        learner_code: the learner's code, with the place of each line.
        runner: plays edited versions of the learner's code where they can do no harm.
    """
    try:
        lines = learner_code.text.split("\n")
        search = _Search(exercise, runs, reference, runner)
        edit = search.find(learner_code.text)
        change = None if edit is None else _as_line_change(lines, edit)
        if change is not None:
            line = _line_in_program(feedback.diagnosis.mistakes[0], learner_code)
            change = search.at_the_card(lines, change, feedback.diagnosis.mistakes[0], line)
        own_edit = None if change is None else _as_own_edit(lines, change, learner_code)
        if own_edit is None:
            return feedback
        return _with_line_of_edit(replace(feedback, own_edit=own_edit), exercise)
    except Exception:  # the check itself is done: only a hint is missing
        logging.getLogger(__name__).exception("searching an edit of %s", exercise.name)
        return feedback


def _with_line_of_edit(feedback: Feedback, exercise: Exercise) -> Feedback:
    """Return the feedback with the first mistake at the place that its own edit changes, if it names another one.

    Where the card says that something is missing beside a line, it names the very place where the edit inserts it, or
    the first line that the edit changes, moves or puts under a new one. Where it names a line itself, that stays if
    the edit changes it or a line beside it, or if the edit inserts or moves lines.

    A place that the course has fixed (`Mistake.only_near`) always stays; an edit that inserts lines elsewhere is then
    left out.
    """
    edit, first, *others = feedback.own_edit, *feedback.diagnosis.mistakes
    if edit is None:
        return feedback
    is_beside = first.before or first.after
    is_near = first.line is not None and edit.first - 1 <= first.line <= edit.last + 1
    moved = _at_the_edit(first, edit)
    if any(mistake.only_near for mistake in exercise.mistakes if mistake.id in first.ids):
        is_elsewhere = is_beside and edit.effect == "inserts" and _place_of(moved) != _place_of(first)
        return replace(feedback, own_edit=None) if is_elsewhere else feedback
    if not is_beside and (edit.effect in ("inserts", "moves") or (is_near and first.cell == edit.cell)):
        return feedback
    if _place_of(moved) == _place_of(first):
        return feedback
    return replace(
        feedback,
        diagnosis=replace(feedback.diagnosis, mistakes=(moved, *others)),
        line=moved.line,
        cell=moved.cell,
        source_line=moved.source_line,
        lines_above=0,
    )


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
        self, exercise: Exercise, runs: Mapping[str, Run], reference: Reference, runner: Runner
    ) -> None:
        self._exercise, self._runs, self._reference, self._runner = exercise, runs, reference, runner
        # Feedback names mistakes but does not tell which of their variants were found. `explain` does, from its memory.
        trace = Trace(dict(runs))
        explanation = explain(trace, judge(exercise, trace, reference.solution_run), reference)
        first = explanation.mistakes[0].variant
        self._others = tuple(variant for variant in explanation.combination if variant != first)
        self._source_of_others = reference.source_with_mistakes(self._others) if self._others else None

    def find(self, source: str) -> SmallEdit | None:
        """Return an edit of `source`, the learner's program, that alone does it; None if none is found."""
        if self._others and self._source_of_others is None:
            return None  # they cannot be put into one program
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS)
        found = search_repair(self._exercise, source, self._runs, self._aim, runner, budget=_MAX_PLAYS)
        if found is None or not found.repairs_everything or len(found.edits) != 1:
            return None
        return found.edits[0]

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
        return moved if self._mends(program) else change

    def _mends(self, program: str) -> bool:
        """Return True if the program's runs are those of the learner's other mistakes, in every scenario."""
        runner = _RunnerWithDeadline(self._runner, _MAX_SECONDS_AT_THE_CARD)
        try:
            for scenario in self._exercise.driver.scenarios:
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
