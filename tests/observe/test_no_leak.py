"""What was played is gone afterwards: a recorder holds model, optimizer and every state of its scenario."""

import contextlib
import gc

import pytest

from grader.course.reading import load_course
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import Reference
from grader.judging.solution import solution_source
from grader.notebook.check import check
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.recorder import Recorder

A_FEW = 4
"""Recorders that may stay: what the last exception still holds, however many scenarios were played."""
NEVER_CLEARS = """
def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""


def alive() -> int:
    gc.collect()
    return sum(type(thing) is Recorder for thing in gc.get_objects())


@pytest.mark.full
def test_two_hundred_checks_of_a_wrong_step() -> None:
    """Submissions, the solution and every mistake it is compared with: 800 scenarios and more."""
    before = alive()
    exercise = load_course().exercise("train_step")
    known, learner_code = Reference(exercise, seed=5), LearnerCode(NEVER_CLEARS)
    program = load_program(NEVER_CLEARS)
    for _ in range(200):
        feedback = assess(exercise, play(exercise.driver, program, seed=5), known, learner_code)
        assert [named.ids for named in feedback.diagnosis.mistakes] == [("missing-zero-grad",)]
    program.unload()
    del feedback, program, known
    assert alive() - before <= A_FEW


@pytest.mark.full
@pytest.mark.parametrize(
    ("ending", "status"),
    [
        ("while True: pass", "timeout"),
        ("raise type('Wild', (BaseException,), {})", "crashed"),
        ("raise KeyboardInterrupt", None),
        ("raise SystemExit", "error"),
        ("[group.clear() for group in opt.param_groups]", "error"),
    ],
    ids=["timeout", "BaseException", "KeyboardInterrupt", "SystemExit", "breaks the driver"],
)
def test_a_function_that_does_not_come_back(ending: str, status: str | None) -> None:
    """However the check ends, the hooks are taken from the models."""
    program = load_program(f"def train_step(model, opt, loss_fn, xb, yb):\n    {ending}\n")
    before = alive()
    for _ in range(30):
        with contextlib.suppress(KeyboardInterrupt):
            feedback = check(
                program.names["train_step"], seconds=0.02 if status == "timeout" else 20
            ).feedback
            assert feedback is not None
            assert feedback.status == status
    program.unload()
    assert alive() - before <= A_FEW


@pytest.mark.parametrize("number", [lesson.id for lesson in load_course().lessons])
def test_every_exercise_of_a_lesson(number: str) -> None:
    """Drivers watch, wrap and hook things of their own."""
    program = load_program(solution_source(number), name="lesson_without_leak")
    before = alive()
    for exercise in load_course().lesson(number).exercises:
        trace = play(exercise.driver, program, seed=1)
        assert all(scenario.name in trace.runs for scenario in exercise.driver.scenarios)
    program.unload()
    assert alive() - before <= A_FEW
