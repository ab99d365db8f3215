"""A notebook's `check`, `grader check` and `grader grade` say the same of a program: one runner, one set of limits."""

import linecache
from collections.abc import Iterator
from contextlib import ExitStack, redirect_stdout
from dataclasses import replace
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import torch

from grader.course.course import Course, Exercise
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading import SEED
from grader.grading.grade_submission import grade_in_sandbox
from grader.grading.grading_run import GradingRun
from grader.grading.run_submission import start_sandbox
from grader.judging.solution import exercise_source
from grader.notebook.check import judge_in_kernel
from grader.sandbox.sandbox import Sandbox
from grader.submission.submission import read_submission
from tests.sample_programs import Sample, samples

COURSE: Course = load_course()
KINDS = ("first_tries", "unlisted")
MOST, MOST_IN_CI = 60, 15
QUICKLY = ("train_step", "BestCheckpoint")


def programs() -> list[Sample]:
    """One of each kind for every exercise, as far as there are any, then a second one, up to sixty in all."""
    of_each = [samples(kind, exercise) for exercise in COURSE.exercises for kind in KINDS]
    return [sample for row in zip_longest(*of_each) for sample in row if sample is not None][:MOST]


@pytest.fixture(scope="module")
def sandboxes() -> Iterator[dict[tuple[str, str], Sandbox]]:
    """By lesson and kind, begun when they are needed."""
    with ExitStack() as stack:
        found: dict[tuple[str, str], Sandbox] = {}
        yield found
        for sandbox in found.values():
            stack.enter_context(sandbox)


def graded(path: Path, exercise: Exercise, kind: str, sandboxes: dict[tuple[str, str], Sandbox]) -> Feedback:
    """What `grade` says; with the kind `none`, what `grader check` says."""
    lesson = replace(COURSE.lesson(exercise.lesson), exercises=(exercise,))
    run = GradingRun(COURSE, (lesson,), SEED, sandbox=kind)
    key = lesson.id, kind
    if key not in sandboxes:
        sandboxes[key] = start_sandbox(replace(run, lessons=(COURSE.lesson(exercise.lesson),)))
    result = grade_in_sandbox(run, read_submission(path, tuple(COURSE.exercises)), sandboxes[key])
    (feedback,) = (*result.feedbacks, *result.extras)
    return feedback


def in_a_notebook(text: str, exercise: Exercise) -> Feedback:
    """What `check` says of the program as a cell."""
    filename = f"/tmp/ipykernel_test/{abs(hash(text))}.py"
    with redirect_stdout(StringIO()):
        namespace: dict[str, Any] = {"__name__": "__main__", "In": ["", text]}
        linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
        exec(compile(text, filename, "exec"), namespace)
        return judge_in_kernel(exercise, namespace[exercise.name])


def told(feedback: Feedback) -> dict[str, object]:
    """What a learner reads of it, but for the place of the file."""
    diagnosis = feedback.diagnosis
    return {
        "status": feedback.status,
        "points": [check.passed for check in feedback.checks],
        "mistakes": feedback.mistake_ids,
        "lines": [named.line for named in diagnosis.mistakes],
        "line": feedback.line,
        "message": feedback.message,
        "error": feedback.error,
        "repair": [(step.line, step.old, step.new) for step in diagnosis.repair],
        "remembered": diagnosis.remembered is not None,
    }


def check_three_ways(path: Path, sandboxes: dict[tuple[str, str], Sandbox]) -> None:
    exercise = COURSE.exercise(path.parent.name)
    in_notebook = told(in_a_notebook(path.read_text(encoding="utf-8"), exercise))
    assert told(graded(path, exercise, "none", sandboxes)) == in_notebook
    assert told(graded(path, exercise, "bwrap", sandboxes)) == in_notebook


@pytest.mark.sandbox
@pytest.mark.parametrize(
    "sample",
    [
        pytest.param(sample, marks=() if sample.exercise in QUICKLY else marks)
        for marks, some in (
            ((pytest.mark.full,), programs()[:MOST_IN_CI]),
            ((pytest.mark.full, pytest.mark.by_command), programs()[MOST_IN_CI:]),
        )
        for sample in some
    ],
    ids=lambda sample: f"{sample.kind}/{sample}",
)
def test_the_three_say_the_same(
    sample: Sample, tmp_path: Path, sandboxes: dict[tuple[str, str], Sandbox]
) -> None:
    check_three_ways(sample.write(tmp_path), sandboxes)


@pytest.mark.sandbox
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize(
    ("forgets", "device"), [(True, '"cuda"'), (False, 'torch.device("cuda:0")')], ids=["wrong", "right"]
)
def test_cuda_without_a_gpu_costs_only_what_is_wrong(
    forgets: bool, device: str, tmp_path: Path, sandboxes: dict[tuple[str, str], Sandbox]
) -> None:
    """It is graded as the CPU, and said, whether anything else is wrong or not: 0 of 4 points became 2 and 4."""
    exercise = COURSE.exercise("train_step")
    text = exercise_source(exercise).replace(
        "    opt.zero_grad()\n",
        "    model.to(DEVICE)\n    xb, yb = xb.to(DEVICE), yb.to(DEVICE)\n"
        + "    opt.zero_grad()\n" * (not forgets),
    )
    path = tmp_path / "train_step" / "asks.py"
    path.parent.mkdir()
    path.write_text(f"import torch\n\nDEVICE = {device}\n{text}", encoding="utf-8")
    check_three_ways(path, sandboxes)
    feedback = graded(path, exercise, "bwrap", sandboxes)
    assert feedback.mistake_ids == (["missing-zero-grad"] if forgets else [])
    assert feedback.score == (2 if forgets else 4)
    notes = feedback.notes
    assert [note.split(":")[0] for note in notes] == [f"{line_of(path, 'model.to')}번째 줄"]
    assert "GPU" in notes[0]
    assert graded(path, exercise, "none", sandboxes).notes == notes
    assert in_a_notebook(path.read_text(encoding="utf-8"), exercise).notes == notes


def line_of(path: Path, part: str) -> int:
    """Number of the first line that holds a text."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if part in line)


@pytest.mark.sandbox
def test_an_object_of_ours_can_be_pickled_in_the_sandbox_too(
    tmp_path: Path, sandboxes: dict[tuple[str, str], Sandbox]
) -> None:
    """Its class is found, though nothing else of its module is: 0 of 6 points became 5, as in the notebook."""
    path = tmp_path / "BestCheckpoint" / "whole_config.py"
    path.parent.mkdir()
    plain = '"config": config if isinstance(config, dict) else config.to_dict()'
    imports = "import math\nimport os\nfrom pathlib import Path\n\nimport torch\n\n\n"
    text = imports + exercise_source(COURSE.exercise("BestCheckpoint"))
    assert plain in text
    path.write_text(text.replace(plain, '"config": config'), encoding="utf-8")
    check_three_ways(path, sandboxes)
    assert graded(path, COURSE.exercise("BestCheckpoint"), "bwrap", sandboxes).score == 5
