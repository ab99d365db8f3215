"""Find the edit of a learner's own code that mends the mistake named first: what the hints of a check come to.

The known mistakes are edits of the solution, and a learner's program often has another shape. So the edit is searched
in the learner's program (`repair.search`), and only one that was played is told. With several mistakes, the program
that the search aims at is the solution with the *others*: an edit that makes the learner's runs equal to its runs has
mended the first mistake and nothing else.

Example: the learner clips after `step()`. The edit found moves line 5, `opt.step()`, behind line 7.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

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

_BUDGET = 120
"""Maximum number of plays. Of the mistakes that any number of plays mends by one edit, this finds nearly all."""
_SECONDS = 2.0
"""Wall-clock limit: the learner waits for the card."""
_MAX_LINES = 6
"""Maximum number of changed lines; more would be the answer."""


def wants_own_edit(feedback: Feedback) -> bool:
    """Return True if mistakes are named and explain everything."""
    diagnosis = feedback.diagnosis
    return bool(feedback.begun and diagnosis.mistakes and not diagnosis.unexplained)


def with_own_edit(
    feedback: Feedback,
    exercise: Exercise,
    runs: Mapping[str, Run],
    reference: Reference,
    origin: Origin,
    runner: Runner,
) -> Feedback:
    """Return the feedback with the edit that mends its first mistake; unchanged if no single edit is found.

    Args:
        feedback: feedback for which `wants_own_edit` is true.
        exercise: the exercise that was judged.
        runs: the learner's runs.
        reference: what they were judged by.
        origin: the learner's code.
        runner: plays edited versions of the learner's code where they can do no harm.
    """
    try:
        edit = _search(exercise, runs, reference, origin, runner)
    except Exception:  # a hint less; the check itself is done
        logging.getLogger(__name__).exception("searching an edit of %s", exercise.name)
        return feedback
    told = None if edit is None else _as_told(origin.source.split("\n"), edit, origin)
    return replace(feedback, own_edit=told)


def _search(
    exercise: Exercise, runs: Mapping[str, Run], reference: Reference, origin: Origin, runner: Runner
) -> SmallEdit | None:
    """Return the single edit after which the program makes only the mistakes that are named behind the first one."""
    trace = Trace(dict(runs))
    explanation = explain(trace, judge(exercise, trace, reference.solution_run), reference)
    first = explanation.mistakes[0].variant
    others = tuple(variant for variant in explanation.combination if variant != first)
    if others and reference.source_with_mistakes(others) is None:
        return None

    def aim(scenario: str) -> Run:
        return reference.run_with_mistakes(others, scenario) if others else reference.solution_run(scenario)

    found = search_repair(exercise, origin.source, runs, aim, _Hurried(runner), budget=_BUDGET)
    if found is None or not found.repairs_everything or len(found.edits) != 1:
        return None
    return found.edits[0]


class _Hurried:
    """A runner that stops after `_SECONDS`."""

    def __init__(self, runner: Runner) -> None:
        self._runner, self._deadline = runner, time.monotonic() + _SECONDS

    def run(self, text: str, scenario: str) -> Run | None:
        if time.monotonic() > self._deadline:
            raise AttemptsSpent
        return self._runner.run(text, scenario)


def _as_told(before: Sequence[str], edit: SmallEdit, origin: Origin) -> OwnEdit | None:
    """Return the edit in lines as the learner counts them; None if it changes too many lines, or adds an import too."""
    after = edit.program.split("\n")
    start = _common(before, after)
    end = len(before) - _common(before[start:][::-1], after[start:][::-1])
    old, new = before[start:end], after[start : end + len(after) - len(before)]
    effect: Effect = KINDS[edit.kind].effect
    behind = start
    if effect == "moves":
        count = len(edit.old)
        goes_down = tuple(before[start : start + count]) == edit.old
        first = start if goes_down else end - count
        if tuple(before[first : first + count]) != edit.old:
            return None
        behind = end if goes_down else start
        start, end, old, new = first, first + count, list(edit.old), list(edit.new)
        if start <= behind <= end:  # it only goes into a block, or out of one
            effect = "rewrites"
    elif effect == "guards":
        new = new[:1]
    elif effect == "rewrites" and edit.old and not edit.new:
        effect, old = "unwraps", list(edit.old)
    elif effect == "deletes" and new:  # `pass` stands for the only statement of a block
        effect = "rewrites"
    while behind and not before[behind - 1].strip():
        behind -= 1  # what belongs behind an empty line belongs behind the line above it
    if not behind or max(len(old), len(new)) > _MAX_LINES or not (old or new):
        return None
    places = [origin.place(line) for line in (behind, start + 1, max(end, start + 1))]
    lines = [place.line for place in places if place is not None]
    if len(lines) < len(places):
        return None
    return OwnEdit(effect, lines[1], lines[2], lines[0], tuple(old), tuple(new), before[behind - 1])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of lines that are equal at the beginning of both."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
