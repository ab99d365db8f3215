"""A class is graded on a GPU machine as on any other."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from grader.course.feedback import SubmissionResult
from grader.course.reading import load_course
from grader.grading.grade_submission import grade_in_sandbox
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import start_sandbox
from grader.submission.submission import Submission, read_submission
from tests.gpu.processes import said
from tests.sample_programs import sample, samples

pytestmark = [pytest.mark.cuda, pytest.mark.usefixtures("gpu_in_servers")]

COURSE = load_course()
LESSON = COURSE.lesson("01")
RUN = GradingRun(COURSE, (LESSON,), seed=7)
KINDS = ("none", pytest.param("bwrap", marks=pytest.mark.sandbox))


@pytest.fixture
def submissions(tmp_path: Path) -> list[Submission]:
    """A right one, a few with several mistakes each, and one that only a repair explains."""
    wrong = [samples("first_tries", exercise)[0] for exercise in ("train_step", "accumulate", "evaluate")]
    wrong.append(sample("unlisted", "train_step", "rounded"))
    right = tmp_path / "right"
    right.mkdir()
    for part in LESSON.parts:
        shutil.copy(part.source, right)
    files = [right, *(sample.write(tmp_path) for sample in wrong)]
    return [read_submission(file, tuple(COURSE.exercises)) for file in files]


def told(result: SubmissionResult) -> list[tuple[object, ...]]:
    """What is said of each exercise, and pointed at."""
    return [
        (f.exercise, f.status, f.score, f.mistake_ids, f.line, f.diagnosis.repair) for f in result.feedbacks
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_the_sandbox_gives_on_a_gpu_what_it_gives_on_the_cpu(
    kind: str, submissions: list[Submission]
) -> None:
    results = {}
    for device in ("cpu", "cuda"):
        run = replace(RUN, device=device, sandbox=kind)
        with start_sandbox(run) as sandbox:
            results[device] = [told(grade_in_sandbox(run, submission, sandbox)) for submission in submissions]
    assert results["cuda"] == results["cpu"]
    assert {status for _, status, *_ in results["cpu"][0]} == {"passed"}
    assert any(repair for *_, repair in results["cpu"][-1]), "a repair is among what is compared"


AGAIN = """
from grader.grading.grade_submission import grade_in_sandbox
from grader.grading.warm import warm_up
from grader.grading.run_submission import start_sandbox
from grader.grading.grading_run import GradingRun
from grader.course.reading import load_course
from grader.submission.submission import read_submission
from pathlib import Path

warm_up()
course = load_course()
lesson = course.lesson("01")
run = GradingRun(course, (lesson,), seed=7, sandbox="none")
submission = read_submission(Path({folder!r}), tuple(course.exercises))
with start_sandbox(run, may_fork=True) as sandbox:
    print(grade_in_sandbox(run, submission, sandbox).score)
    sandbox.close()  # as where an attempt took the server with it
    print(grade_in_sandbox(run, submission, sandbox).score)
"""


def test_a_server_is_begun_again_after_this_process_has_judged(tmp_path: Path) -> None:
    """On a GPU machine whoever has run a backward pass can fork nobody who runs one, on the CPU neither."""
    points = f"{sum(exercise.max_score for exercise in LESSON.exercises if exercise.kind == 'exercise')}"
    for part in LESSON.parts:
        shutil.copy(part.source, tmp_path)
    assert said(AGAIN.format(folder=str(tmp_path))).split() == [points, points]
