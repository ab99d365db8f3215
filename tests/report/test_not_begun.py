"""A function as it was handed out is not called wrong, and a student with a bonus task alone not absent."""

import csv
import io
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from grader.course.feedback import ClassResult, SubmissionResult
from grader.course.marks import Comment
from grader.gradebook.export.github import step_summary
from grader.report.class_facts import count_mistakes
from grader.report.class_page import class_page
from grader.report.text import feedback_text
from grader.report.write_report import gradebook_csv, write_student
from tests.report import samples
from tests.report.test_class_table import rendered

UNTOUCHED = samples.not_begun()
MISSING = replace(UNTOUCHED, status="missing", begun=True, message="제출물에 이 함수가 없어요.")
BONUS = replace(samples.passed_all("x").feedbacks[0], exercise="accumulate_weighted", kind="bonus")


def class_of(*students: SubmissionResult) -> ClassResult:
    return ClassResult(1, "cpu", "bwrap", students)


def rows(result: ClassResult) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(gradebook_csv(result, samples.course()))))


def test_all_tables_mark_an_untouched_function_as_check_does(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """`check` says – and 아직 시작하지 않았어요; `grade` said ✗ and 실패."""
    result = class_of(SubmissionResult("kim", (UNTOUCHED,)))
    assert feedback_text(UNTOUCHED).splitlines()[0].startswith("– ")
    assert "아직 시작하지 않았어요" in feedback_text(UNTOUCHED)
    (row,) = [line for line in rendered(result, 100).splitlines() if "kim" in line]
    assert "–" in row
    assert "✗" not in row
    assert "아직 시작하지 않았어요" in row
    assert rows(result)[0][f"{UNTOUCHED.lesson}_{UNTOUCHED.exercise}_상태"] == "시작 안 함"
    write_student(tmp_path, result.submissions[0], samples.course())
    page = (tmp_path / "feedback" / "kim.html").read_text(encoding="utf-8")
    assert "✗" not in page
    assert "실패" not in page
    assert "– 시작 안 함" in step_summary(result)


def test_an_untouched_function_is_no_unknown_mistake() -> None:
    assert count_mistakes([SubmissionResult("kim", (UNTOUCHED,))]) == []


def test_a_student_with_only_a_bonus_is_listed_as_that() -> None:
    only = SubmissionResult("kim", (MISSING,), extras=(BONUS,))
    nothing = SubmissionResult("lee", (MISSING,))
    result = class_of(only, nothing)
    said = "점수에 들지 않는 보너스만 냈어요: accumulate_weighted 통과"
    assert said in " ".join(rendered(result, 100).split())
    page = class_page(result, samples.course(), ["kim", "lee"], datetime(2026, 3, 2))
    assert "점수에 들지 않는 과제만 낸 학생 1명" in page
    assert "답안을 내지 않은 학생 1명" in page
    assert "보너스만 냈어요" in page
    bonus, none = (row["점수에 들지 않는 과제만 낸 학생"] for row in rows(result))
    assert (bonus, none) == (said, "")
    assert "점수에 들지 않는 과제만 낸 학생" not in rows(class_of(nothing))[0]


def test_a_student_with_answers_too_is_not() -> None:
    both = SubmissionResult("kim", (samples.named_mistake(),), extras=(BONUS,))
    assert "보너스만" not in rendered(class_of(both), 100)


def test_a_lesson_of_which_nothing_was_handed_in_is_one_line(tmp_path: Path) -> None:
    """Forty chips and as many lines stood above and between what was handed in."""
    one, other = (replace(MISSING, lesson="02", exercise=name, title=name) for name in ("first", "second"))
    student = SubmissionResult("kim", (samples.named_mistake(), one, other))
    write_student(tmp_path, student, samples.course())
    page = (tmp_path / "feedback" / "kim.html").read_text(encoding="utf-8")
    chips = page.partition("</nav>")[0]
    assert "레슨 02: 낸 것 없음 (2문제)" in chips
    assert "second" not in chips
    assert 'id="second"' in page
    commented = replace(student, comments=(Comment("second", "다음 주까지 내세요."),))
    suggested = replace(student, feedbacks=(student.feedbacks[0], one, replace(other, other_name="secnd")))
    for told in (commented, suggested, SubmissionResult("kim", (one, other))):
        write_student(tmp_path, told, samples.course())
        assert "낸 것 없음" not in (tmp_path / "feedback" / "kim.html").read_text(encoding="utf-8")
