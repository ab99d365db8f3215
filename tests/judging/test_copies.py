"""Well-known wrong programs: each fails its exercise, and is told as what it is."""

import pytest

from grader.course.course import Copy, Exercise
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Trace
from grader.report.html import feedback_html
from grader.report.text import feedback_text
from tests.judging.examined import COURSE

COPIES = [(exercise, copy) for exercise in COURSE.exercises.values() for copy in exercise.copies]


@pytest.mark.parametrize(("exercise", "copy"), [pytest.param(e, c, id=c.id) for e, c in COPIES])
def test_each_copy_is_recognised(exercise: Exercise, copy: Copy) -> None:
    trace = play(exercise.driver, load_program(copy.program), seed=3)
    feedback = assess(exercise, trace, cached_reference(exercise.name, 3), LearnerCode(copy.program))
    assert feedback.status in ("failed", "error")
    assert feedback.diagnosis.pasted is not None
    assert feedback.diagnosis.pasted.id == copy.id
    assert copy.title.split("`")[0] in feedback_text(feedback, width=400)
    assert "실마리 보기" in feedback_html(feedback)


def test_a_trace_without_runs_is_no_copy() -> None:
    """A forged trace may have no run; then every program behaves as it does wherever it has one."""
    exercise, copy = COPIES[0]
    feedback = assess(exercise, Trace(runs={}), cached_reference(exercise.name, 3), LearnerCode(copy.program))
    assert feedback.diagnosis.pasted is None


def test_there_are_copies() -> None:
    assert len(COPIES) >= 8
