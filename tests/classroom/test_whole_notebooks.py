"""A lesson's notebook, handed in as it was built and solved: every function passes, and nothing is remarked on."""

import os
import shutil
from pathlib import Path

import pytest

from grader.course.course import Course, Lesson
from grader.course.reading import load_course
from grader.grading.grade_submission import grade_one
from grader.grading.grading_run import GradingRun
from grader.submission.submission import read_submission

COURSE: Course = load_course()
pytestmark = [pytest.mark.skipif(os.name != "posix", reason="signals"), pytest.mark.timeout(300)]


@pytest.mark.parametrize(
    "lesson",
    [
        pytest.param(lesson, id=lesson.name, marks=[pytest.mark.full] if number else [])
        for number, lesson in enumerate(COURSE.lessons)
    ],
)
def test_a_solved_notebook_passes_without_a_remark(lesson: Lesson, tmp_path: Path) -> None:
    """What a lesson imports from the grader has a stand-in where it is graded: `check`, `predict`, plots."""
    for part in lesson.parts:
        shutil.copy(part.executed, tmp_path)
    submission = read_submission(tmp_path, tuple(COURSE.exercises))
    result = grade_one(GradingRun(COURSE, (lesson,), seed=7, sandbox="none", jobs=1), submission)
    assert {f.exercise: (f.status, f.notes) for f in result.all_feedback} == {
        exercise.name: ("passed", ()) for exercise in lesson.exercises
    }
