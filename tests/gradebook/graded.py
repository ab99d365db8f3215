"""A graded class of three, for the tests of marks and of what is exported."""

from grader.course.feedback import (
    Absent,
    CheckResult,
    ClassResult,
    Diagnosis,
    Feedback,
    NamedMistake,
    Person,
    Status,
    SubmissionResult,
)

EXERCISES = ("train_step", "fit", "train")
KNOWN = (*EXERCISES, "sharpness")


def feedback(lesson: str, exercise: str, status: Status, got: float, most: float) -> Feedback:
    checks = (CheckResult("바른 부분", got, True), CheckResult("나머지", most - got, False))
    named = (
        NamedMistake(
            ("missing-zero-grad",), ("`opt.zero_grad()`를 부르지 않았어요",), "설명이에요.", "힌트예요."
        ),
    )
    diagnosis = Diagnosis(named) if status == "failed" else Diagnosis()
    message = "" if status == "passed" else "`opt.zero_grad()`를 부르지 않았어요 <b>&\x07"
    return Feedback(lesson, exercise, f"{exercise} 연습", status, checks, message, diagnosis=diagnosis)


def student(
    name: str,
    scores: tuple[float, float, float],
    person: Person | None = None,
    *,
    late: bool = False,
    at: str = "",
) -> SubmissionResult:
    """Points of train_step (of 4), fit (of 6), both lesson 01, and train (of 10), lesson 02."""
    full = (4.0, 6.0, 10.0)
    lessons = ("01", "01", "02")
    feedbacks = tuple(
        feedback(lesson, exercise, "passed" if got == most else "failed" if got else "missing", got, most)
        for lesson, exercise, got, most in zip(lessons, EXERCISES, scores, full, strict=True)
    )
    return SubmissionResult(name, feedbacks, person=person, late=late, handed_in=at)


HANEUL = Person("20240001", "김하늘", "A", login="hn", email="hn@x.kr", canvas_id="101", moodle_id="201")
SEOJUN = Person("20240002", "=1+1", "B", canvas_id="102", moodle_id="202", email="sj@x.kr")
UNKNOWN = Person(name="누구")
JIWOO = Person("20240003", "박지우", "B", canvas_id="103")


def a_class() -> ClassResult:
    submissions = (
        student("20240001_김하늘", (4, 6, 5), HANEUL),
        student("20240002_이서준", (2, 0, 10), SEOJUN, late=True),
        student("누구", (4, 6, 10), UNKNOWN),
    )
    return ClassResult(7, "cpu", "bwrap", submissions, (Absent(JIWOO),))
