"""Warm-ups and bonus tasks: judged and explained once a student has begun them, and part of no score."""

from pathlib import Path

import pytest

from grader.course.feedback import ClassResult, SubmissionResult
from grader.course.reading import load_course
from grader.grading.grade_submission import grade_one
from grader.grading.grading_run import GradingRun
from grader.judging.solution import exercise_source
from grader.report.results import from_json, to_json
from grader.report.write_report import gradebook_csv, write_report
from grader.submission.submission import read_submission

COURSE = load_course()
LESSON = COURSE.lesson("01")
EMPTY = "def overfit_one_batch(model, opt, loss_fn, xb, yb, *, target, max_steps):\n    raise NotImplementedError\n"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A right exercise, a warm-up that overwrites, a bonus that is right, and one that was not begun."""
    folder = tmp_path_factory.mktemp("class") / "가온"
    folder.mkdir()
    parts = [exercise_source(COURSE.exercise(n)) for n in ("train_step", "accumulate_weighted")]
    wrong = "def add_gradient(model, loss_fn, xb, yb, weight):\n    return 0.0\n"
    code = "import torch\n\n\n" + "\n\n".join([*parts, wrong, EMPTY])
    (folder / "answers.py").write_text(code, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def result(handed_in: Path) -> SubmissionResult:
    submission = read_submission(handed_in, tuple(COURSE.exercises))
    return grade_one(GradingRun(COURSE, (LESSON,), 1, sandbox="none"), submission)


def test_extras_that_were_begun_are_judged(result: SubmissionResult) -> None:
    assert [(f.exercise, f.kind, f.status) for f in result.extras] == [
        ("add_gradient", "warmup", "failed"),
        ("accumulate_weighted", "bonus", "passed"),
    ]
    assert result.extras[1].because
    assert not result.extras[0].because


def test_a_warm_up_that_runs_as_it_was_handed_out_is_not_begun(tmp_path: Path) -> None:
    """A line is left out of it. `check` names it; in a class it is a warm-up that nobody touched."""
    source = exercise_source(COURSE.exercise("mend_step"))
    found = {}
    for name, code in {
        "as it was": source.replace("    opt.step()\n", ""),
        "begun": source.replace("loss.", "xb."),
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "answers.py").write_text(code, encoding="utf-8")
        submission = read_submission(tmp_path / name, tuple(COURSE.exercises))
        for own in (False, True):
            run = GradingRun(COURSE, (LESSON,), 1, sandbox="none", own_file=own)
            found[name, own] = [f.exercise for f in grade_one(run, submission).extras]
    assert found.pop(("as it was", False)) == []
    assert all(names == ["mend_step"] for names in found.values())


def test_they_count_for_no_score(result: SubmissionResult) -> None:
    assert [f.exercise for f in result.feedbacks] == [e.name for e in LESSON.counted]
    assert result.score == COURSE.exercise("train_step").max_score
    assert result.max_score == sum(e.max_score for e in LESSON.counted)


def test_results_keep_them_and_tables_leave_them_out(result: SubmissionResult, tmp_path: Path) -> None:
    graded = ClassResult(1, "cpu", "none", (result,))
    again = from_json(to_json(graded))
    assert to_json(again) == to_json(graded)
    assert [f.exercise for f in again.submissions[0].extras] == [f.exercise for f in result.extras]
    assert "add_gradient" not in gradebook_csv(graded, COURSE)
    write_report(tmp_path, graded, COURSE)
    page = (tmp_path / "feedback" / "가온.html").read_text(encoding="utf-8")
    assert "몸풀기" in page
    assert "보너스" in page
    assert "overfit_one_batch" not in page
