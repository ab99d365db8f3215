"""Every exercise: the starter gets nothing, the solution and the last hint everything. New ones need no edit."""

from pathlib import Path

import nbformat
import pytest

from grader.course.course import Course, Exercise, Part
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.judging.assess import assess
from grader.judging.learner_code import LearnerCode
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.submission.submission import read_submission

COURSE: Course = load_course()
EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in COURSE.exercises.values()]
WITH_HINTS = [param for param in EXERCISES if param.values[0].kind != "bonus"]
SEED = 20260101


def part_of(exercise: Exercise) -> Part:
    """The part of the course that asks for the exercise."""
    return COURSE.lesson(exercise.lesson).part_of(exercise.name)


def graded(file: Path, exercise: Exercise, device: str = "cpu") -> Feedback:
    """The road a submission takes, without the sandbox."""
    submission = read_submission(file, tuple(COURSE.exercises))
    assert not submission.unreadable, submission.unreadable
    source = submission.source_for(exercise.name)
    assert source is not None, f"{file.name} does not define {exercise.name}"
    program = load_program(source.text, name="submission_in_test")
    try:
        trace = play(exercise.driver, program, seed=SEED, device=device)
    finally:
        program.unload()
    return assess(exercise, trace, cached_reference(exercise.name, SEED, device), LearnerCode.of_file(source))


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_untouched_starter_gets_nothing(exercise: Exercise) -> None:
    """One that runs, because only a line is left out of it, gets the name of that mistake."""
    cells = nbformat.read(part_of(exercise).notebook, as_version=4).cells
    starter = next(cell.source for cell in cells if cell["id"] == f"exercise-{exercise.name}")
    feedback = graded(part_of(exercise).notebook, exercise)
    assert feedback.status != "passed"
    assert feedback.score == 0
    assert bool(feedback.mistake_ids) is ("NotImplementedError" not in starter)


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_gets_everything(exercise: Exercise, suffix: str) -> None:
    feedback = graded(part_of(exercise).source.with_suffix(suffix), exercise)
    assert feedback.status == "passed", feedback.message
    assert feedback.score == feedback.max_score > 0


@pytest.mark.parametrize("exercise", WITH_HINTS)
def test_hints_hold_the_answer_back_until_the_last(exercise: Exercise) -> None:
    assert len(exercise.hints) >= 2
    assert f"def {exercise.name}" in exercise.hints[-1] or f"class {exercise.name}" in exercise.hints[-1]
    assert not any(f"def {exercise.name}" in hint for hint in exercise.hints[:-1])


@pytest.mark.parametrize("exercise", WITH_HINTS)
def test_the_last_hint_is_an_answer_that_passes(exercise: Exercise, tmp_path: Path) -> None:
    """A learner who copies it must not be told that it is wrong."""
    solution = part_of(exercise).source.read_text(encoding="utf-8")
    code = exercise.hints[-1].split("```python\n", 1)[1].split("```", 1)[0]
    file = tmp_path / "hinted.py"
    file.write_text(f"{solution}\n# %%\n{code}", encoding="utf-8")  # the last definition counts
    feedback = graded(file, exercise)
    assert feedback.status == "passed", feedback.message


@pytest.mark.cuda
@pytest.mark.parametrize(
    "exercise",
    # A minute on the pretended GPU, where its solution is compared with the CPU's run to the bit elsewhere.
    [
        pytest.param(*e.values, id=e.id, marks=pytest.mark.full) if e.id == "lambda_max" else e
        for e in EXERCISES
    ],
)
def test_the_solution_passes_on_a_gpu(exercise: Exercise) -> None:
    """There float16 and bfloat16 are the hardware's own. Read as a submission, judged against a run of its own."""
    feedback = graded(part_of(exercise).source, exercise, device="cuda")
    assert feedback.status == "passed", feedback.message
