"""Find the edit of a learner's own code that mends the mistake named first; the hints on `check(…)` tell it.

The known mistakes are edits of the solution, and a learner's program often has another shape. So the edit is searched
for in the learner's program (`repair/search.py`), and only an edit that was played is told. With several mistakes, the
search wants the runs of the solution with the *other* mistakes: an edit that gives the learner's program these runs
mends the first mistake and nothing else.

If the edit changes another line than the one that the comparison of texts has found (`locate.py`), the card points at
the edited line: that the edit mends the mistake has been seen, that two lines are alike is only a sign.

Example: the learner clips after `step()`. The edit found moves line 5, `opt.step()`, behind line 7.

`notebook/check.py` and `grading/grade_submission.py` (for one's own file) call `with_own_edit` where `wants_own_edit`
is true; `report/hint_ladder.py` words `Feedback.own_edit`. Kinds of edits are added in `repair/`; what is told of a
kind's lines follows from its `Effect` (`_as_line_change`).
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from grader.course.course import Exercise
from grader.course.feedback import Effect, Feedback, OwnEdit
from grader.judging.explain import explain
from grader.judging.judge import judge
from grader.judging.origin import Origin
from grader.judging.reference import Reference
from grader.judging.repair.edit_drafts import KINDS
from grader.judging.repair.search import Runner, search_repair
from grader.judging.repair.small_edits import SmallEdit
from grader.observe.trace import Run, Trace
from grader.sandbox.attempts_spent import AttemptsSpent

_MAX_PLAYS = 120
"""Maximum number of plays: with more, hardly any further edit was found."""
_MAX_SECONDS = 2.0
"""Wall-clock limit of the plays, looked at before each: the learner waits for the card."""
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
    origin: Origin,
    runner: Runner,
) -> Feedback:
    """Return the feedback with an `own_edit` that mends its first mistake, and with that mistake's line at the edit.

    The feedback is returned as it is if there is no single edit that can be told, or if the search raises.

    Args:
        feedback: feedback for which `wants_own_edit` is true.
        exercise: the exercise that was judged.
        runs: the learner's runs.
        reference: the reference that judged the runs.
        origin: the learner's code.
        runner: plays edited versions of the learner's code where they can do no harm.
    """
    try:
        edit = _find_edit(exercise, runs, reference, origin, runner)
        lines = origin.source.split("\n")
        change = None if edit is None else _as_line_change(lines, edit)
        own_edit = None if change is None else _as_own_edit(lines, change, origin)
        if own_edit is None:
            return feedback
        return _with_line_of_edit(replace(feedback, own_edit=own_edit), exercise)
    except Exception:  # the check itself is done: only a hint is missing
        logging.getLogger(__name__).exception("searching an edit of %s", exercise.name)
        return feedback


def _with_line_of_edit(feedback: Feedback, exercise: Exercise) -> Feedback:
    """Return the feedback with the first mistake at a line that its own edit changes, if it is not there or beside it.

    The line stays where something is missing, or belongs elsewhere, and where the course has fixed it
    (`Mistake.only_near`).
    """
    edit = feedback.own_edit
    first, *others = feedback.diagnosis.mistakes
    is_fixed = any(mistake.only_near for mistake in exercise.mistakes if mistake.id in first.ids)
    if edit is None or is_fixed or edit.effect in ("inserts", "moves"):
        return feedback
    is_beside = first.line is not None and edit.first - 1 <= first.line <= edit.last + 1
    if is_beside and first.cell == edit.cell:
        return feedback
    text = edit.old[0].strip()[:_MAX_LINE_CHARACTERS]
    moved = replace(first, line=edit.first, cell=edit.cell, before=False, after=False, source_line=text)
    diagnosis = replace(feedback.diagnosis, mistakes=(moved, *others))
    return replace(
        feedback, diagnosis=diagnosis, line=edit.first, cell=edit.cell, source_line=text, lines_above=0
    )


def _find_edit(
    exercise: Exercise, runs: Mapping[str, Run], reference: Reference, origin: Origin, runner: Runner
) -> SmallEdit | None:
    """Return an edit that mends the first mistake: with it, the program's runs are those of the other mistakes.

    None if none is found, or if the other mistakes cannot be put into one program to have runs to aim at.
    """
    # Feedback names mistakes but does not tell which of their variants were found. `explain` does, from its memory.
    trace = Trace(dict(runs))
    explanation = explain(trace, judge(exercise, trace, reference.solution_run), reference)
    first = explanation.mistakes[0].variant
    others = tuple(variant for variant in explanation.combination if variant != first)
    if others and reference.source_with_mistakes(others) is None:
        return None

    def wanted_run(scenario: str) -> Run:
        return reference.run_with_mistakes(others, scenario) if others else reference.solution_run(scenario)

    limited = _RunnerWithDeadline(runner)
    found = search_repair(exercise, origin.source, runs, wanted_run, limited, budget=_MAX_PLAYS)
    if found is None or not found.repairs_everything or len(found.edits) != 1:
        return None
    return found.edits[0]


class _RunnerWithDeadline:
    """A runner that plays nothing more once `_MAX_SECONDS` have passed; the search then ends with what it has found."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._deadline = runner, time.monotonic() + _MAX_SECONDS

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

    The change's `effect` says what happens to the lines that are shown; it may differ from that of the edit's kind.

    Args:
        before: all lines of the program before the edit.
        edit: the edit.
    """
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


def _as_own_edit(before: Sequence[str], change: _LineChange, origin: Origin) -> OwnEdit | None:
    """Return the change with the line numbers of the learner's file.

    None if it has no line or too many (`_MAX_LINES`), if only empty lines stand above it (as above a first import), or
    if its first line, its last or the one above it is not in the learner's file.

    Args:
        before: all lines of the program before the edit.
        change: the edit.
        origin: the learner's code.
    """
    behind = change.behind
    while behind and not before[behind - 1].strip():
        behind -= 1  # name the last line with text, not an empty one
    line_count = max(len(change.old), len(change.new))
    if not behind or not 0 < line_count <= _MAX_LINES:
        return None
    above = origin.place(behind)
    first, last = origin.place(change.start + 1), origin.place(max(change.end, change.start + 1))
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
        cell=first.cell,
    )


def _count_equal_first_lines(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of lines with which both texts begin alike."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
