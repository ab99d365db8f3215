"""What `grade` and `mark` share: reading policy and marks by hand, and trying them before anything is run."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.terminal import say

if TYPE_CHECKING:
    from grader.course.course import Course, Lesson
    from grader.course.feedback import ClassResult
    from grader.gradebook.marking import Rules
    from grader.intake.receive import Received


def read_rules(policy: Path | None, overrides: Path | None) -> "Rules":
    """Policy and marks by hand, as far as there are any.

    Raises:
        HanstepError: a file cannot be read or says what cannot be meant.
    """
    from grader.gradebook.marking import Rules
    from grader.gradebook.overrides import read_overrides
    from grader.gradebook.policy import read_policy

    return Rules(
        None if policy is None else read_policy(policy),
        () if overrides is None else read_overrides(overrides),
        str(policy),
        str(overrides),
    )


def receive_class(
    submissions: Path,
    out: Path,
    given: "dict[str, Path | None]",
    lessons: "Sequence[Lesson]",
    course: "Course",
) -> "tuple[Received, Rules]":
    """Who handed in what, and what marks are made with; roster and rules are kept in `out` for the next run.

    Args:
        submissions: what is graded.
        out: the report's folder.
        given: roster, policy and marks by hand, as far as the command names them.
        lessons: those that are graded; none: all.
        course: what the names mean.

    Raises:
        HanstepError: a file cannot be read, or the rules do not fit the class.
    """
    from grader.gradebook.kept_files import OVERRIDES, POLICY, ROSTER, chosen, keep
    from grader.intake.receive import receive
    from grader.intake.roster import read_roster

    used = chosen(out, given)
    tell_kept(given, used)
    rules = read_rules(used[POLICY], used[OVERRIDES])
    listed = used[ROSTER]
    received = receive(submissions, None if listed is None else read_roster(listed), tuple(course.exercises))
    for line in received.notes:
        say(line)
    _try(rules, received, lessons or course.lessons, course)
    keep(out, used)
    return received, rules


def tell_kept(given: "dict[str, Path | None]", used: "dict[str, Path | None]") -> None:
    """Say which files of an earlier run are used again: an instructor may have forgotten them."""
    again = [str(used[name]) for name in given if given[name] is None and used[name] is not None]
    if again:
        say(f"전에 쓴 파일을 다시 써요: {', '.join(again)}. 쓰지 않으려면 지우고 다시 실행해 주세요.")


def tell_marks(result: "ClassResult") -> None:
    """How many marks differ from what was measured, and how many were given by hand."""
    marks = [s.mark for s in result.submissions if s.mark is not None]
    if marks:
        changed = sum(bool(mark.reasons) for mark in marks)
        say(
            f"최종 점수: {len(marks):,}명 (만점 {marks[0].max_score:g}). 까닭이 적힌 학생은 {changed:,}명이에요."
        )


def _try(rules: "Rules", received: "Received", lessons: "Iterable[Lesson]", course: "Course") -> None:
    """Apply the rules to a class without points, so that a misspelt name is told before an hour of grading.

    Raises:
        HanstepError: they cannot be applied.
    """
    from grader.course.feedback import CheckResult, ClassResult, Feedback, SubmissionResult
    from grader.gradebook.marking import marked
    from grader.intake.receive import enrolled

    nothing = tuple(
        Feedback(
            lesson.id,
            exercise.name,
            exercise.title,
            "missing",
            tuple(CheckResult(check.title, check.points, False) for check in exercise.checks),
            "",
        )
        for lesson in lessons
        for exercise in lesson.counted
    )
    class_ = ClassResult(0, "", "", tuple(SubmissionResult(s.student, nothing) for s in received.submissions))
    marked(enrolled(class_, received), rules, tuple(course.exercises))
