"""Points and comments for many answers at once: whom a rule means, which lines it writes, and where it fits no more.

A rule is what a line was written for, and stands in its column `규칙`: `실수:missing-zero-grad` for everybody with that
mistake, `묶음:1a2b3c4d5e` for a group of answers that behave alike, empty for one student.
"""

import math
from collections.abc import Callable, Iterable, Sequence

from grader.classroom.desk.behaviour import behaviour_key, feedback_on
from grader.classroom.desk.changes import DeskError, Edited, is_change
from grader.classroom.desk.people import People
from grader.course.feedback import ClassResult, SubmissionResult
from grader.gradebook.hand_files import HandLine, Sheet
from grader.gradebook.overrides import parse_score
from grader.report.plain_text import clean, one_line, points

MISTAKE, GROUP = "실수:", "묶음:"
"""Beginnings of rules."""
_MOST_CHARS = 2_000


def fits(rule: str, submission: SubmissionResult, exercise: str) -> bool:
    """True if the rule means this student's answer; a line for one student always fits."""
    feedback = feedback_on(submission, exercise)
    if feedback is None:
        return False
    if rule.startswith(MISTAKE):
        return rule.removeprefix(MISTAKE) in feedback.mistake_ids
    if rule.startswith(GROUP):
        return rule.removeprefix(GROUP) == behaviour_key(feedback)
    return True


def misfits(lines: Iterable[HandLine], result: ClassResult, people: People) -> list[HandLine]:
    """Return the lines that fit no more: about students who were graded again, or are gone."""

    def misfit(line: HandLine) -> bool:
        student = people.student_of(line)
        return student is None or not fits(line.rule, result.submissions[student], line.exercise)

    return [line for line in lines if line.exercise and misfit(line)]


def meant_by(rule: str, submissions: Sequence[SubmissionResult], exercise: str) -> list[int]:
    """Return the students whom a rule for many means; empty for a rule for one."""
    if not rule.startswith((MISTAKE, GROUP)):
        return []
    return [index for index, submission in enumerate(submissions) if fits(rule, submission, exercise)]


def checked_score(written: str, full: float) -> str:
    """Return the score as `overrides.csv` writes it; empty if none is given.

    Raises:
        DeskError: it is none, or more than the full mark.
    """
    text = one_line(written, 40)
    if not text:
        return ""
    try:
        value, change = parse_score(text)
    except (ValueError, IndexError) as error:
        raise DeskError(
            f"점수를 읽을 수 없어요: '{text}'. "
            "더하려면 +1, 빼려면 -0.5, 정하려면 3, 세지 않으려면 면제라고 적어 주세요."
        ) from error
    if value is None:
        return "면제"
    if not math.isfinite(value) or abs(value) > full + 1e-9:
        raise DeskError(f"이 연습의 만점은 {points(full)}점이에요. 받은 점수: '{text}'")
    return f"{'+' if value >= 0 else '-'}{points(abs(value))}" if change else points(value)


def checked_text(written: str, *, needed: bool) -> str:
    """Return a reason or comment as the files keep it.

    Raises:
        DeskError: it is empty though it is needed, or too long.
    """
    text = clean(written.replace("\r\n", "\n").replace("\r", "\n").strip(), 10 * _MOST_CHARS).strip()
    if needed and not text:
        raise DeskError("까닭이나 코멘트를 한 문장으로 적어 주세요. 학생도 읽는 글이에요.")
    if len(text) > _MOST_CHARS:
        raise DeskError(f"글이 너무 길어요 ({len(text):,}자). {_MOST_CHARS:,}자까지 적을 수 있어요.")
    return text


def giving_points(
    people: People, students: Sequence[int], exercise: str, score: str, reason: str, rule: str
) -> Callable[[Sheet], Edited]:
    """Return the edit that gives these students a score, or adds points, for an exercise.

    The same rule given again replaces what it gave before. A fixed score replaces everything; points are not added
    to a fixed score.
    """

    def edit(sheet: Sheet) -> Edited:
        removed, added, left_alone = [], [], 0
        beside = _lines_by_student(sheet, people, exercise)
        for student in students:
            line = people.line_for(student, exercise, score, reason, rule)
            own = beside.get(student, [])
            if line is None or line in own:
                left_alone += line is None
                continue
            if is_change(score):
                if any(not is_change(one.score) for one in own):
                    left_alone += 1
                    continue
                replaced = [one for one in own if rule and one.rule == rule]
            else:
                replaced = own
            removed += [one for one in replaced if sheet.remove(one)]
            sheet.add(line)
            added.append(line)
        return Edited(removed, added, left_alone)

    return edit


def giving_comment(
    people: People, students: Sequence[int], exercise: str, text: str, rule: str
) -> Callable[[Sheet], Edited]:
    """Return the edit that tells these students something; who has been told the same is left out."""

    def edit(sheet: Sheet) -> Edited:
        beside = _lines_by_student(sheet, people, exercise)
        lines = [
            (people.line_for(student, exercise, "", text, rule), beside.get(student, []))
            for student in students
        ]
        added = [line for line, own in lines if line is not None and text not in [one.text for one in own]]
        for line in added:
            sheet.add(line)
        return Edited((), added, sum(line is None for line, _ in lines))

    return edit


def removing(wanted: Callable[[HandLine], bool]) -> Callable[[Sheet], Edited]:
    """Return the edit that removes these lines."""

    def edit(sheet: Sheet) -> Edited:
        removed = [line for line in sheet.lines if wanted(line)]
        for line in removed:
            sheet.remove(line)
        return Edited(removed)

    return edit


def _lines_by_student(sheet: Sheet, people: People, exercise: str) -> dict[int, list[HandLine]]:
    found: dict[int, list[HandLine]] = {}
    for line in sheet.lines:
        student = people.student_of(line)
        if student is not None and line.exercise == exercise:
            found.setdefault(student, []).append(line)
    return found
