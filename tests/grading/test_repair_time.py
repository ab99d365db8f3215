"""Repairs cost a submission limited time, however many of its exercises are wrong."""

from pathlib import Path

import pytest

from grader.course.reading import load_course
from grader.grading.grade_submission import grade_in_sandbox
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import start_sandbox
from grader.observe.trace import Run
from grader.sandbox import sandbox as sandbox_module
from grader.sandbox.attempts import AttemptLimits, Attempts
from grader.submission.submission import read_submission

COURSE = load_course()
RUN = GradingRun(COURSE, (COURSE.lesson("01"),), seed=11, sandbox="none")
BURNS = """
import time


def burns(function):
    begun = time.process_time()
    while time.process_time() < begun + 0.1:
        pass
    return function


@burns"""
FAR_FROM_RIGHT = """
def train_step(model, opt, loss_fn, xb, yb):
    for one in model.parameters():
        one.data = one.data.sin() + one.data.cos()
    return [xb, yb]


def sgd_update(params, lr):
    for one in params:
        one.data = one.data.sin() * lr + one.data.cos()
    return params
"""


def test_exercises_of_a_submission_share_the_time_of_repairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[str] = []
    run = Attempts.run

    def counted(attempts: Attempts, exercise: str, text: str, scenario: str) -> Run | None:
        found = run(attempts, exercise, text, scenario)
        played.append(exercise)
        return found

    monkeypatch.setattr(Attempts, "run", counted)
    monkeypatch.setattr(sandbox_module, "AttemptLimits", lambda: AttemptLimits(total_cpu_seconds=2))
    path = tmp_path / "a.py"
    path.write_text(BURNS + FAR_FROM_RIGHT, encoding="utf-8")
    with start_sandbox(RUN) as sandbox:
        result = grade_in_sandbox(RUN, read_submission(path, tuple(COURSE.exercises)), sandbox)
    statuses = {feedback.exercise: feedback.status for feedback in result.feedbacks}
    assert (statuses["train_step"], statuses["sgd_update"]) == ("failed", "failed")
    assert 5 <= len(played) <= 60, "each edit takes 0.1 s to load; without a limit there are hundreds"
