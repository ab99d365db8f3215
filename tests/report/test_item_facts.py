"""Statistics of exercises, by examples that can be computed in the head."""

from dataclasses import replace
from datetime import datetime

import pytest

from grader.course.feedback import CheckResult, Diagnosis, Feedback, NamedMistake, SubmissionResult
from grader.report.class_page import class_page
from grader.report.item_facts import frequent_pairs, item_facts
from tests.report import samples
from tests.report.samples import MISSING_ZERO_GRAD, NO_DIVISION
from tests.report.test_class_page import class_of, page_of, parsed


def answer(exercise: str, got: float, *mistakes: NamedMistake, status: str = "failed") -> Feedback:
    checks = (CheckResult("a", got, True), CheckResult("b", 4 - got, False))
    of = "passed" if got == 4 else status
    return Feedback("01", exercise, exercise, of, checks, "", diagnosis=Diagnosis(mistakes))  # type: ignore[arg-type]


def student(*feedbacks: Feedback) -> SubmissionResult:
    return SubmissionResult("s", feedbacks)


def test_difficulty_is_the_share_of_points_of_those_who_tried() -> None:
    students = (
        student(answer("a", 4)),
        student(answer("a", 2)),
        student(answer("a", 0, status="missing")),
        student(replace(answer("a", 0), begun=False)),
    )
    facts = item_facts(students)["a"]
    assert (facts.students, facts.difficulty, facts.discrimination) == (2, 0.75, None)
    assert "b" not in item_facts(students)


def test_discrimination_is_the_correlation_with_the_rest() -> None:
    """The exercise itself is not in the rest: one that all others contradict is negative."""
    students = [student(answer("a", i % 5), answer("b", i % 5), answer("c", 4 - i % 5)) for i in range(20)]
    facts = item_facts(students)
    assert facts["c"].discrimination == pytest.approx(-1)
    two = [student(answer("a", i % 5), answer("b", i % 5)) for i in range(20)]
    assert item_facts(two)["a"].discrimination == pytest.approx(1)
    same = [student(answer("a", 4), answer("b", i % 5)) for i in range(20)]
    assert item_facts(same)["a"].discrimination is None


def test_pairs_of_mistakes_in_one_exercise() -> None:
    both = student(answer("a", 0, NO_DIVISION, MISSING_ZERO_GRAD), answer("b", 0, NO_DIVISION))
    other = student(answer("a", 0, MISSING_ZERO_GRAD, NO_DIVISION))
    alone = student(answer("a", 0, NO_DIVISION), answer("b", 0, MISSING_ZERO_GRAD))
    (pair,) = frequent_pairs((both, other, alone), 5)
    assert (pair.exercise, pair.students) == ("a", 2)
    assert set(pair.titles) == {MISSING_ZERO_GRAD.titles[0], NO_DIVISION.titles[0]}
    assert frequent_pairs((both, alone), 5) == [], "one student is no pattern"


def test_the_page_shows_the_minutes_that_the_lesson_expects() -> None:
    exercise = replace(samples.course().exercises["train_step"], minutes=15)
    (lesson,) = samples.course().lessons
    course = replace(samples.course(), lessons=(replace(lesson, exercises=(exercise,)),))
    result = class_of(student(answer("train_step", 4), answer("accumulate", 2)))
    text = parsed(class_page(result, course, ["s"], datetime(2026, 3, 1))).text
    assert "train_step 약 15분" in text
    assert text.count("약 ") == 1, "the course says nothing of the other"


def test_the_page_shows_them() -> None:
    pair = (MISSING_ZERO_GRAD, NO_DIVISION)
    students = [student(answer("train_step", i % 4, *pair), answer("accumulate", i % 5)) for i in range(20)]
    text = parsed(page_of(class_of(*students))).text
    assert "정답률 38%, 변별도 " in text
    assert "함께 나온 실수" in text
    assert "20명 opt.zero_grad()를 부르지 않았어요 + 손실을" in text
