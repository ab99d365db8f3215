"""What a later grading changed: told to the student, to the instructor and in the marks, and held off by the policy."""

import csv
import io
from dataclasses import replace
from datetime import datetime

import pytest

from grader.course.feedback import ClassResult, SubmissionResult
from grader.gradebook.export.rows import rows
from grader.gradebook.marking import Rules, marked
from grader.gradebook.policy import Policy
from grader.gradebook.regrades import with_regrades
from grader.report.class_page import class_page
from grader.report.regraded import fallen, regrade_told
from grader.report.results import from_json, to_json
from grader.report.write_report import _student_page, gradebook_csv, gradescope
from tests.report import samples

COURSE = samples.course()
RIGHT = samples.passed()
WRONG = replace(samples.named_mistake(), exercise=RIGHT.exercise, title=RIGHT.title)
UNREAD = replace(RIGHT, status="unreadable", checks=tuple(replace(c, passed=False) for c in RIGHT.checks))


def a_class(feedback: object, digest: str) -> ClassResult:
    student = SubmissionResult("김하늘", (feedback,), digest=digest)  # type: ignore[arg-type]
    return ClassResult(7, "cpu", "bwrap", (student,))


def again(*gradings: tuple[object, str]) -> ClassResult:
    """Return the last of several gradings of one student in one folder."""
    result: ClassResult | None = None
    for feedback, digest in gradings:
        now = with_regrades(a_class(feedback, digest), result)
        result = from_json(to_json(now))
    assert result is not None
    return result


def the_student(result: ClassResult) -> SubmissionResult:
    return result.submissions[0]


def test_a_worse_answer_is_told_everywhere() -> None:
    result = again((RIGHT, "one"), (WRONG, "two"))
    told = regrade_told(the_student(result))
    change = f"{RIGHT.exercise} 4 → {WRONG.score:g}점"
    assert told == f"다시 낸 답을 채점한 결과예요. 채점기의 점수가 달라진 연습: {change}."
    assert fallen(the_student(result)) == [change]
    assert told in _student_page(the_student(result), COURSE, "at-once").replace("&gt;", ">")
    assert told in gradescope(the_student(result))["output"]
    assert told in rows(result)[0].remarks
    header, line = csv.reader(io.StringIO(gradebook_csv(result, COURSE)))
    assert dict(zip(header, line, strict=True))["다시 채점"] == told
    page = class_page(result, COURSE, ["김하늘"], datetime(2026, 3, 21))
    assert "다시 채점해서 점수가 내려간 학생 1명" in page
    assert change in page


def test_nothing_is_told_of_a_first_grading_or_of_the_same_files() -> None:
    for result in (again((RIGHT, "one")), again((RIGHT, "one"), (RIGHT, "one"))):
        assert regrade_told(the_student(result)) == ""
        assert "다시 채점" not in gradebook_csv(result, COURSE)


def test_equal_points_and_files_that_can_be_read_now() -> None:
    assert regrade_told(the_student(again((RIGHT, "one"), (RIGHT, "two")))).endswith("점수는 전과 같아요.")
    read = the_student(again((UNREAD, "one"), (RIGHT, "two")))
    assert "읽지 못함 → 4점" in regrade_told(read)
    assert fallen(read) == []


def test_what_changed_stays_told_until_the_next_change() -> None:
    """Grading the same files once more, as `--changed-only` does for others, forgets nothing."""
    twice = the_student(again((RIGHT, "one"), (WRONG, "two")))
    assert the_student(again((RIGHT, "one"), (WRONG, "two"), (WRONG, "two"))) == twice


def test_another_grader_is_no_new_answer() -> None:
    result = again((RIGHT, "one"), (WRONG, "one"))
    assert regrade_told(the_student(result)).startswith("다시 채점한 결과예요.")
    best = marked(result, Rules(Policy(handed_in_again="best")), tuple(COURSE.exercises))
    assert the_student(best).mark is not None
    assert the_student(best).mark.score == WRONG.score  # type: ignore[union-attr]


@pytest.mark.parametrize(("choice", "score"), [("last", WRONG.score), ("best", 4.0)])
def test_the_policy_may_keep_the_best_answer(choice: str, score: float) -> None:
    """Also where it was handed in before the one before."""
    for result in (
        again((RIGHT, "one"), (WRONG, "two")),
        again((RIGHT, "one"), (WRONG, "two"), (WRONG, "three")),
    ):
        mark = the_student(
            marked(result, Rules(Policy(handed_in_again=choice)), tuple(COURSE.exercises))
        ).mark
        assert mark is not None
        assert mark.score == score
        assert any("앞에 낸 답이 나아서" in reason for reason in mark.reasons) == (choice == "best")
