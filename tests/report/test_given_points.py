"""A student's page tells one truth: points that an instructor gave stand where the grader's stood, beside those."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.feedback import Feedback
from grader.course.marks import ExerciseMark, Mark
from grader.report.write_report import write_student
from tests.report import samples


def page_with(tmp_path: Path, feedback: Feedback, given: ExerciseMark, score: float | None = 9.5) -> str:
    """Return the text of the page of a student with this exercise, and these points for it."""
    mark = Mark(score, 12, (given,), (f"{given.exercise}: 직접 주었어요. 아이디어가 좋음",))
    submission = replace(samples.passed_all("가"), feedbacks=(feedback,), mark=mark)
    write_student(tmp_path, submission, samples.course(), name="page")
    page = (tmp_path / "feedback" / "page.html").read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", page[page.index("<body") :]))


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (ExerciseMark("train_step", 3.5, 4, reason="아이디어가 좋음"), "채점기 1 → 3.5/4"),
        (ExerciseMark("train_step", 8, 10, reason="아이디어가 좋음"), "채점기 1/4 → 8/10"),
        (ExerciseMark("train_step", 0, 4, dropped=True, reason="아이디어가 좋음"), "채점기 1 → 면제"),
    ],
)
def test_given_points_stand_on_the_chip_and_below_the_card(
    tmp_path: Path, given: ExerciseMark, shown: str
) -> None:
    page = page_with(tmp_path, samples.named_mistake(), given)
    assert page.count(shown) == 2
    assert "최종 점수 9.5 / 12점" in page
    assert "채점기가 준 점수 1 / 4점" in page


def test_of_a_file_that_could_not_be_read_no_zero_is_told(tmp_path: Path) -> None:
    given = ExerciseMark("train_step", 3, 4, reason="메일로 받은 파일을 봄")
    page = page_with(tmp_path, samples.stopped("unreadable", "train_step", "한 스텝"), given)
    assert "채점기 — → 3/4" in page
    assert "채점기가 준 점수" not in page


def test_without_points_by_hand_the_page_is_as_the_grader_left_it(tmp_path: Path) -> None:
    page = page_with(tmp_path, samples.named_mistake(), ExerciseMark("train_step", 1, 4), score=None)
    assert "채점기 1" not in page
    assert "최종 점수 면제" in page
