"""Every lesson there is: notebooks run headless, starters fail, solutions pass. New lessons need no edit."""

import ast
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader import paths
from grader.authoring import build as building
from grader.authoring.execute import error_outputs, execute
from grader.course import Course, Exercise, Lesson
from grader.course_files import load_course
from grader.feedback import Feedback
from grader.judging.assess import Origin, assess
from grader.judging.reference import reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.submission.submission import read_submission

COURSE: Course = load_course()
LESSONS = [pytest.param(lesson, id=lesson.name) for lesson in COURSE.lessons]
EXERCISES = [pytest.param(exercise, id=exercise.name) for exercise in COURSE.exercises.values()]
SEED = 20260101


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
    return assess(exercise, trace, reference(exercise.name, SEED, device), Origin.of_file(source))


def shown_by_checks(notebook: Any) -> dict[str, str]:
    """What each check cell shows as plain text."""
    return {
        cell["id"].removeprefix("check-"): "".join(
            output.get("data", {}).get("text/plain", "") for output in cell.outputs
        )
        for cell in notebook.cells
        if cell["id"].startswith("check-")
    }


@pytest.mark.parametrize("lesson", LESSONS)
def test_notebooks_are_what_their_source_says(lesson: Lesson) -> None:
    assert building.build(lesson, check=True) == []


@pytest.mark.notebook
@pytest.mark.parametrize("lesson", LESSONS)
def test_the_solution_runs_its_claims_hold_and_its_checks_pass(lesson: Lesson) -> None:
    notebook = building.solution_notebook(lesson)
    execute(notebook)  # raises at the first error; claims are asserts in the notebook
    shown = shown_by_checks(notebook)
    assert set(shown) == {exercise.name for exercise in lesson.exercises}
    for name, text in shown.items():
        points = f"{COURSE.exercises[name].max_score:g}"
        assert f"{points}/{points}" in text, (name, text)


@pytest.mark.notebook
@pytest.mark.parametrize("lesson", LESSONS)
def test_the_untouched_lesson_runs_to_its_end(lesson: Lesson) -> None:
    """ "Run all" before anything is written: no cell may lean on what the learner has yet to write."""
    notebook = nbformat.read(lesson.notebook, as_version=4)
    execute(notebook)
    assert error_outputs(notebook) == []
    for name, text in shown_by_checks(notebook).items():
        assert text, f"check({name}) shows nothing"
        assert "통과했어요" not in text, (name, text)


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_untouched_starter_gets_nothing(exercise: Exercise) -> None:
    feedback = graded(COURSE.lesson(exercise.lesson).notebook, exercise)
    assert feedback.status != "passed"
    assert feedback.score == 0
    assert feedback.mistake_ids == []


@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_gets_everything(exercise: Exercise, suffix: str) -> None:
    feedback = graded(COURSE.lesson(exercise.lesson).solution.with_suffix(suffix), exercise)
    assert feedback.status == "passed", feedback.message
    assert feedback.score == feedback.max_score > 0


@pytest.mark.parametrize("exercise", EXERCISES)
def test_hints_hold_the_answer_back_until_the_last(exercise: Exercise) -> None:
    assert len(exercise.hints) >= 2
    assert f"def {exercise.name}" in exercise.hints[-1] or f"class {exercise.name}" in exercise.hints[-1]
    assert not any(f"def {exercise.name}" in hint for hint in exercise.hints[:-1])


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_last_hint_is_an_answer_that_passes(exercise: Exercise, tmp_path: Path) -> None:
    """A learner who copies it must not be told that it is wrong."""
    solution = COURSE.lesson(exercise.lesson).solution.read_text(encoding="utf-8")
    code = exercise.hints[-1].split("```python\n", 1)[1].split("```", 1)[0]
    file = tmp_path / "hinted.py"
    file.write_text(f"{solution}\n# %%\n{code}", encoding="utf-8")  # the last definition counts
    feedback = graded(file, exercise)
    assert feedback.status == "passed", feedback.message


def test_every_built_notebook_belongs_to_the_course() -> None:
    """A lesson left out of course.toml would be shipped and never tested. (Drafts are not built yet.)"""
    for folder in (paths.solutions_path(), paths.lessons_path()):
        assert {path.stem for path in folder.glob("*.ipynb")} == {lesson.name for lesson in COURSE.lessons}


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_variable_of_a_lesson_is_called_like_an_exercise(lesson: Lesson) -> None:
    """It would be taken for the answer, and all that it leans on would run: minutes of demos before each grading."""
    tree = ast.parse(lesson.solution.read_text(encoding="utf-8"))
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert stored & set(COURSE.exercises) == set()


@pytest.mark.cuda
@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_solution_passes_on_a_gpu(exercise: Exercise) -> None:
    """There float16 and bfloat16 are the hardware's own. Read as a submission, judged against a run of its own."""
    feedback = graded(COURSE.lesson(exercise.lesson).solution, exercise, device="cuda")
    assert feedback.status == "passed", feedback.message
