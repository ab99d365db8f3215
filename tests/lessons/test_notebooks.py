"""Every lesson's notebooks are built from their source and run headless. New lessons need no edit."""

import ast
from typing import Any

import nbformat
import pytest

from grader import paths
from grader.authoring import build as building
from grader.authoring.execute import error_outputs, execute
from grader.course.course import Course, Lesson
from grader.course.reading import load_course

COURSE: Course = load_course()
LESSONS = [pytest.param(lesson, id=lesson.name) for lesson in COURSE.lessons]
ONE_QUICKLY = [
    LESSONS[0],
    *(pytest.param(lesson, id=lesson.name, marks=pytest.mark.full) for lesson in COURSE.lessons[1:]),
]


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


@pytest.mark.full
@pytest.mark.notebook
@pytest.mark.parametrize("lesson", LESSONS)
def test_the_solution_runs_its_claims_hold_and_its_checks_pass(lesson: Lesson) -> None:
    notebook = building.solution_notebook(lesson)
    execute(notebook)  # raises at the first error; claims are asserts in the notebook
    shown = shown_by_checks(notebook)
    assert set(shown) == {exercise.name for exercise in lesson.exercises}
    for name, text in shown.items():
        exercise = COURSE.exercises[name]
        points = f"{exercise.max_score:g}"
        expected = f"{points}/{points}" if exercise.kind == "exercise" else "통과했어요"
        assert expected in text, (name, text)


@pytest.mark.notebook
@pytest.mark.parametrize("lesson", ONE_QUICKLY)
def test_the_untouched_lesson_runs_to_its_end(lesson: Lesson) -> None:
    """ "Run all" before anything is written: no cell may lean on what the learner has yet to write."""
    notebook = nbformat.read(lesson.notebook, as_version=4)
    execute(notebook)
    assert error_outputs(notebook) == []
    for name, text in shown_by_checks(notebook).items():
        assert text, f"check({name}) shows nothing"
        assert "통과했어요" not in text, (name, text)


def test_every_built_notebook_belongs_to_the_course() -> None:
    """A lesson left out of course.toml would be shipped and never tested. (Drafts are not built yet.)"""
    for folder in (paths.solutions_path(), paths.lessons_path()):
        assert {path.stem for path in folder.rglob("*.ipynb")} == {lesson.name for lesson in COURSE.lessons}


@pytest.mark.parametrize("lesson", LESSONS)
def test_no_variable_of_a_lesson_is_called_like_an_exercise(lesson: Lesson) -> None:
    """It would be taken for the answer, and all that it leans on would run: minutes of demos before each grading."""
    tree = ast.parse(lesson.solution.read_text(encoding="utf-8"))
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert stored & set(COURSE.exercises) == set()
