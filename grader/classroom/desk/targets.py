"""Whom a request means, and whether that is whom the page named when its button was pressed.

A page may be slow, or older than the results. So a request brings what the page showed, and what would reach anybody
else is refused.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from grader.classroom.desk import rubric
from grader.classroom.desk.behaviour import behaviour_key, feedback_on
from grader.classroom.desk.changes import DeskError, Edit, Edited
from grader.classroom.desk.people import People
from grader.course.feedback import SubmissionResult
from grader.gradebook.hand_files import Sheet
from grader.report.plain_text import one_line


def text_in(request: Mapping[str, Any], name: str) -> str:
    """Return a field of a request; empty if it is no text."""
    value = request.get(name, "")
    return value if isinstance(value, str) else ""


def one_student(people: People, request: Mapping[str, Any]) -> list[int]:
    """Return the student whom a request means.

    Raises:
        DeskError: there is none, or it is not the one whom the page named.
    """
    index = people.index(text_in(request, "target"))
    if index is None:
        raise DeskError("이 학생을 찾지 못했어요. 그 사이에 다시 채점했다면 새로 고쳐 주세요.")
    named = request.get("named")
    if named is not None and named not in (people.shown(index), people.called(index)):
        raise DeskError(
            f"보여 드린 학생은 '{one_line(str(named), 60)}'인데 다른 학생({people.shown(index)})에게 가게 되어서 "
            "그만두었어요. 새로 고치고 누구인지 본 다음 적어 주세요."
        )
    return [index]


def meant_by_request(
    people: People, submissions: Sequence[SubmissionResult], exercise: str, request: Mapping[str, Any]
) -> tuple[str, list[int]]:
    """Return the rule and the students that a request about an exercise means.

    Raises:
        DeskError: there are none, or not those whom the page showed.
    """
    scope, target, shown = (text_in(request, field) for field in ("scope", "target", "group"))
    rule = {"mistake": rubric.MISTAKE, "group": rubric.GROUP}.get(scope, "")
    if rule:
        rule += target
        students = rubric.meant_by(rule, submissions, exercise)
    else:
        students = one_student(people, request)
        students = [i for i in students if i < len(submissions) and feedback_on(submissions[i], exercise)]
    if not students:
        raise DeskError("이 답을 낸 학생을 찾지 못했어요. 그 사이에 다시 채점했다면 새로 고쳐 주세요.")
    if shown and shown not in _groups(submissions, exercise, students if scope != "mistake" else None):
        raise DeskError(
            "보고 있던 묶음의 답이 아니라서 적지 않았어요. 새로 고치고 누구인지 본 다음 적어 주세요."
        )
    told = request.get("count", len(students))
    if told != len(students):
        raise DeskError(
            f"{told}명이라고 보여 드렸는데 그 사이에 다시 채점해서 {len(students)}명이 되었어요. "
            "새로 고치고 누구인지 본 다음 적어 주세요."
        )
    return rule, students


def _groups(
    submissions: Sequence[SubmissionResult], exercise: str, students: Sequence[int] | None
) -> set[str]:
    """Return the keys of the groups in which these students' answers are; None means everybody."""
    indices = range(len(submissions)) if students is None else students
    found = (feedback_on(submissions[index], exercise) for index in indices)
    return {behaviour_key(feedback) for feedback in found if feedback is not None}


def refusing_another_number(edit: Edit, request: Mapping[str, Any]) -> Edit:
    """Return the edit that is refused with DeskError if it removes more or fewer lines than the page told."""

    def counted(sheet: Sheet) -> Edited:
        done = edit(sheet)
        told = request.get("count", len(done.removed))
        if told != len(done.removed):
            raise DeskError(
                f"{told}줄이라고 보여 드렸는데 그 사이에 {len(done.removed)}줄이 되어서 그대로 두었어요. "
                "다시 보고 눌러 주세요."
            )
        return done

    return counted
