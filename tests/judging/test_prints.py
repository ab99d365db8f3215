"""Hints ask for `print`; it costs nothing as long as anything else is wrong."""

import contextlib
import io

import pytest

from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.assess import assess
from grader.judging.origin import Origin
from grader.judging.reference import cached_reference
from grader.judging.solution import exercise_source
from grader.observe.play import play
from grader.observe.program import load_program

_PRINTS = "    print(next(model.parameters()).grad)\n    loss.backward()\n"


def told(source: str) -> Feedback:
    """What is said of a `train_step`."""
    exercise = load_course().exercise("train_step")
    with contextlib.redirect_stdout(io.StringIO()):
        trace = play(exercise.driver, load_program(source), seed=SEED)
    return assess(exercise, trace, cached_reference("train_step", SEED), Origin(None, source))


@pytest.mark.parametrize(
    ("right", "wrong", "mistake"),
    [
        ("    opt.zero_grad()\n", "", "missing-zero-grad"),
        ("    opt.step()\n", "", "missing-step"),
        ("loss.item()", "loss", "returns-tensor"),
    ],
)
def test_a_print_is_no_mistake_beside_another(right: str, wrong: str, mistake: str) -> None:
    source = exercise_source(load_course().exercise("train_step")).replace(right, wrong)
    silent, printing = told(source), told(source.replace("    loss.backward()\n", _PRINTS))
    assert silent.mistake_ids == printing.mistake_ids == [mistake]
    assert printing.score == silent.score
    assert printing.printed is not None  # the card shows it: the hint asked for it
    assert not printing.diagnosis.unexplained


def test_a_print_that_is_left_when_all_is_right_is_told() -> None:
    source = exercise_source(load_course().exercise("train_step"))
    feedback = told(source.replace("    loss.backward()\n", _PRINTS))
    assert feedback.mistake_ids == ["prints"]
    assert feedback.score == feedback.max_score - 1
