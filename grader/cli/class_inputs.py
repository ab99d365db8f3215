"""Read and check what `grade` and `mark` both need: policy, marks by hand, roster, submissions.

Rules are tried before anything is run. Roster, policy and marks by hand are kept beside the results, so that the next
run finds them there.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from grader.base.files import require_class, require_file, write_whole
from grader.cli.terminal import say

if TYPE_CHECKING:
    from grader.course.course import Course, Lesson
    from grader.course.feedback import ClassResult
    from grader.gradebook.marking import Rules
    from grader.intake.receive import Received


ROSTER, POLICY, OVERRIDES = "roster.csv", "policy.toml", "overrides.csv"
"""Names under which the instructor's files are kept in the report's folder."""


def require_inputs(submissions: Path, files: "Iterable[Path | None]") -> None:
    """Refuse missing inputs before anything slow is imported.

    Args:
        submissions: folder or archive of a class.
        files: the instructor's own files; None where none is given.

    Raises:
        CommandError: one of them does not exist.
    """
    if not (submissions.suffix.lower() == ".zip" and submissions.is_file()):
        require_class(submissions)
    for file in files:
        if file is not None:
            require_file(file)


def read_rules(policy: Path | None, overrides: Path | None) -> "Rules":
    """Read policy and marks by hand; None stands for a missing file.

    Raises:
        HanstepError: a file cannot be read, or has invalid content.
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
    """Read the submissions and the rules, and keep roster and rules in `out` for the next run.

    Args:
        submissions: folder or archive to grade.
        out: the report's folder.
        given: paths of roster, policy and marks by hand as given on the command line, by kept name.
        lessons: lessons to grade; empty for all.
        course: the course, whose names the rules refer to.

    Raises:
        HanstepError: a file cannot be read, or the rules do not fit the class.
    """
    from grader.intake.receive import receive
    from grader.intake.roster import read_roster

    used = given_or_kept(out, given)
    tell_kept(given, used)
    rules = read_rules(used[POLICY], used[OVERRIDES])
    listed = used[ROSTER]
    received = receive(submissions, None if listed is None else read_roster(listed), tuple(course.exercises))
    for line in received.notes:
        say(line)
    _try_rules(rules, received, lessons or course.lessons, course)
    keep_files(out, used)
    return received, rules


def given_or_kept(out: Path, given: Mapping[str, Path | None]) -> dict[str, Path | None]:
    """Return for each file name the given path, else the copy kept by an earlier run, else None."""
    found: dict[str, Path | None] = {}
    for name, path in given.items():
        kept = out / name
        found[name] = path if path is not None else kept if kept.is_file() else None
    return found


def keep_files(out: Path, files: Mapping[str, Path | None]) -> None:
    """Copy these files into `out`. Call it after they have been read without an error.

    Raises:
        OSError: a file cannot be written.
    """
    for name, path in files.items():
        kept = out / name
        if path is not None and not (kept.exists() and kept.samefile(path)):
            write_whole(kept, path.read_bytes())


def tell_kept(given: "dict[str, Path | None]", used: "dict[str, Path | None]") -> None:
    """Say which files of an earlier run are used again; an instructor may have forgotten them."""
    again = [str(used[name]) for name in given if given[name] is None and used[name] is not None]
    if again:
        say(f"전에 쓴 파일을 다시 써요: {', '.join(again)}. 쓰지 않으려면 지우고 다시 실행해 주세요.")


def tell_marks(result: "ClassResult") -> None:
    """Say how many students have a final mark, and how many of these have a reason written beside it."""
    marks = [s.mark for s in result.submissions if s.mark is not None]
    if marks:
        changed = sum(bool(mark.reasons) for mark in marks)
        say(
            f"최종 점수: {len(marks):,}명 (만점 {marks[0].max_score:g}). 까닭이 적힌 학생은 {changed:,}명이에요."
        )


def _try_rules(rules: "Rules", received: "Received", lessons: "Iterable[Lesson]", course: "Course") -> None:
    """Apply the rules to a class without points, so that a misspelt name is reported before an hour of grading.

    Raises:
        HanstepError: the rules cannot be applied.
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
