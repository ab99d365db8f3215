"""Points and comments for many answers at once: whom a rule means, which lines it writes, and where it fits no more.

A rule is what a line was written for, and stands in its column `규칙`: `실수:missing-zero-grad` for everybody with that
mistake, `묶음:1a2b3c4d5e` for a group of answers that behave alike, empty for one student.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.desk.behaviour import behaviour_key, feedback_on
from grader.classroom.desk.changes import DeskError, Edited, is_change
from grader.classroom.desk.people import People
from grader.course.feedback import ClassResult, SubmissionResult
from grader.gradebook.hand_files import HandLine, Sheet
from grader.gradebook.overrides import is_whole, parse_score
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
    """Return the lines that fit no more: about students who were graded again, or are gone.

    Lines about an earlier answer are not among them: whether they are meant is another question.
    """

    def misfit(line: HandLine) -> bool:
        student = people.student_of(line)
        if student is None or not people.handed_in(student):
            return student is None or bool(line.rule)
        return not fits(line.rule, result.submissions[student], line.exercise)

    return [
        line for line in lines if not is_whole(line.exercise) and not people.is_stale(line) and misfit(line)
    ]


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
        raise DeskError(f"만점은 {points(full)}점이에요. 받은 점수: '{text}'")
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


@dataclass(frozen=True)
class Measured:
    """What a mark by hand changes: the points before it."""

    full: float
    points: Mapping[int, float]
    """Points by student; who is excused has none, nor has somebody whose file could not be read."""
    unread: frozenset[int] = frozenset()
    """Students whose file could not be read."""

    def moves(self, student: int, others: Iterable[HandLine], change: HandLine) -> bool:
        """Return True if the points to add or to take away move the student's mark, beside other such points."""
        before = self.points[student] + sum(value_of(line) for line in others)
        held, after = (min(max(sum_, 0.0), self.full) for sum_ in (before, before + value_of(change)))
        return held != after


LEFT_ALONE = {
    "decided": "이미 점수를 정해서 그대로예요",
    "unread": "파일을 읽지 못해서 더하고 뺄 점수가 없어요. 3처럼 정할 점수나 면제를 적어 주세요",
    "excused": "면제라서 더하고 뺄 점수가 없어요",
    "unmoved": "이미 {}이라 바뀔 점수가 없어서 적지 않았어요",
    "unknown": "학번이나 이름으로 한 사람을 가리킬 수 없어서 적지 못했어요. 명단에 학번을 더해 주세요",
}
"""Why a student is left alone, in Korean."""


def left_in_words(done: Edited, score: str, people: People) -> list[str]:
    """Return who was left alone and why, in Korean sentences.

    Args:
        done: what the edit did.
        score: the score that was to be given, as written.
        people: the class.
    """
    bound = "0점" if score.startswith("-") else "만점"
    return [
        f"{len(students)}명({people.listed(students)})은 {LEFT_ALONE[why].format(bound)}."
        for why, students in done.left_alone.items()
    ]


def giving_points(
    people: People, students: Sequence[int], new: HandLine, measured: Measured, *, alone: bool = False
) -> Callable[[Sheet], Edited]:
    """Return the edit that gives these students a score, or adds points.

    The same rule given again replaces what it gave before. A fixed score replaces everything; points are not added
    to a fixed score. What was given for an earlier answer is replaced in any case.

    Args:
        people: the class.
        students: who gets it.
        new: exercise, score, reason and rule; whom it is about is filled in.
        measured: the points before all marks by hand.
        alone: True to replace all points that were added or taken away before.
    """

    def edit(sheet: Sheet) -> Edited:
        removed, added = [], []
        left: dict[str, list[int]] = {}
        beside = _lines_by_student(sheet, people, new.exercise)
        for student in students:
            line = people.line_for(student, new.exercise, new.score, new.text, new.rule)
            stale, own = _parted(beside.get(student, []), people.is_stale)
            if line is None:
                left.setdefault("unknown", []).append(student)
                continue
            if any(_says_the_same(line, one) for one in own):
                continue
            same_rule, others = _parted(
                own, lambda one: (alone and is_change(one.score)) or (bool(one.rule) and one.rule == new.rule)
            )
            why = _why_not(student, line, own, others, measured)
            if why:
                left.setdefault(why, []).append(student)
                continue
            replaced = same_rule if is_change(line.score) else own
            removed += [one for one in (*stale, *replaced) if sheet.remove(one)]
            sheet.add(line)
            added.append(line)
        return Edited(removed, added, left)

    return edit


def _why_not(
    student: int, line: HandLine, own: Sequence[HandLine], others: Sequence[HandLine], measured: Measured
) -> str:
    """Return why a student does not get these points, a key of `LEFT_ALONE`; empty if they do."""
    if not is_change(line.score):
        return ""
    if any(not is_change(one.score) for one in own):
        return "decided"
    if student not in measured.points:
        return "unread" if student in measured.unread else "excused"
    return "" if measured.moves(student, others, line) else "unmoved"


def changes_beside(sheet: Sheet, people: People, student: int, new: HandLine) -> list[HandLine]:
    """Return the points that were added to a student's answer or taken away, beside which these would stand.

    There are none if the same is written already, or if the score was fixed.
    """
    own = [
        line
        for line in _lines_by_student(sheet, people, new.exercise).get(student, [])
        if not people.is_stale(line)
    ]
    is_free = all(is_change(line.score) and not _says_the_same(line, new) for line in own)
    return own if is_free else []


def giving_comment(people: People, students: Sequence[int], new: HandLine) -> Callable[[Sheet], Edited]:
    """Return the edit that tells these students something; who has been told the same of this answer is left out."""

    def edit(sheet: Sheet) -> Edited:
        removed, added = [], []
        left: dict[str, list[int]] = {}
        beside = _lines_by_student(sheet, people, new.exercise)
        for student in students:
            line = people.line_for(student, new.exercise, "", new.text, new.rule)
            stale, own = _parted(beside.get(student, []), people.is_stale)
            if line is None:
                left.setdefault("unknown", []).append(student)
            elif new.text not in [one.text for one in own]:
                removed += [one for one in stale if one.text == new.text and sheet.remove(one)]
                sheet.add(line)
                added.append(line)
        return Edited(removed, added, left)

    return edit


def keeping(people: People, wanted: Callable[[HandLine], bool]) -> Callable[[Sheet], Edited]:
    """Return the edit that lets these judgements of earlier answers stand for the answers that are there now."""

    def edit(sheet: Sheet) -> Edited:
        removed, added = [], []
        for line in [line for line in sheet.lines if people.is_stale(line) and wanted(line)]:
            student = people.student_of(line)
            now = student is not None and people.line_for(
                student, line.exercise, line.score, line.text, line.rule
            )
            if now and sheet.remove(line):
                sheet.add(now)
                removed.append(line)
                added.append(now)
        return Edited(removed, added)

    return edit


def yet_to_get(
    sheet: Sheet, people: People, students: Sequence[int], like: HandLine, measured: Measured
) -> list[int]:
    """Return the students for whom a line like this one would be new, and for whom nothing else was decided."""
    beside = _lines_by_student(sheet, people, like.exercise)
    is_fixed = bool(like.score) and not is_change(like.score)

    def is_free(student: int) -> bool:
        own = beside.get(student, [])
        told = any(_says_the_same(like, one) for one in own)
        return not told and (not is_fixed or all(map(people.is_stale, own)))

    free = [student for student in students if is_free(student)]
    give = giving_points(people, free, like, measured) if like.score else giving_comment(people, free, like)
    found = (people.student_of(line) for line in give(sheet.copy()).added)
    return [student for student in found if student is not None]


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
        same = line.exercise == exercise or (is_whole(line.exercise) and is_whole(exercise))
        if student is not None and same:
            found.setdefault(student, []).append(line)
    return found


def _parted(
    lines: Iterable[HandLine], first: Callable[[HandLine], bool]
) -> tuple[list[HandLine], list[HandLine]]:
    """Return the lines for which it is true, and the others."""
    kept = [*lines]
    return [line for line in kept if first(line)], [line for line in kept if not first(line)]


def _says_the_same(one: HandLine, other: HandLine) -> bool:
    return (one.score, one.text, one.rule) == (other.score, other.text, other.rule)


def value_of(line: HandLine) -> float:
    """Return the points that a line adds; 0 for one that nobody can read, which is told as a problem of the file."""
    try:
        return parse_score(line.score)[0] or 0.0
    except (ValueError, IndexError):
        return 0.0
