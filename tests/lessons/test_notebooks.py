"""Every lesson's notebooks are built from their source and run headless. New lessons need no edit."""

import ast
from typing import Any

import nbformat
import pytest

from grader import paths
from grader.authoring import build as building
from grader.authoring.execute import error_outputs, execute
from grader.course.course import Course, Lesson, Part
from grader.course.exercise_cell import exercise_of
from grader.course.reading import load_course

COURSE: Course = load_course()
LESSONS = [pytest.param(lesson, id=lesson.name) for lesson in COURSE.lessons]
PARTS = [pytest.param(part, id=part.place) for part in COURSE.parts]
ONE_QUICKLY = [
    PARTS[0],
    *(pytest.param(part, id=part.place, marks=pytest.mark.full) for part in COURSE.parts[1:]),
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
@pytest.mark.parametrize("part", PARTS)
def test_the_solution_runs_its_claims_hold_and_its_checks_pass(part: Part) -> None:
    notebook = building.solution_notebook(part)
    execute(notebook)  # raises at the first error; claims are asserts in the notebook
    shown = shown_by_checks(notebook)
    assert set(shown) == set(part.exercises)
    for name, text in shown.items():
        exercise = COURSE.exercises[name]
        points = f"{exercise.max_score:g}"
        expected = f"{points}/{points}" if exercise.kind == "exercise" else "통과했어요"
        assert expected in text, (name, text)


def names_in(cell: Any) -> tuple[set[str], set[str]]:
    """The names that a cell reads, and those that it gives a value."""
    read, given = set(), set()
    for node in ast.walk(ast.parse(cell.source)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else given).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            given.add(node.name)
        elif isinstance(node, ast.alias):
            given.add((node.asname or node.name).partition(".")[0])
    return read, given


def keep_what_answers_touch(notebook: Any) -> None:
    """Leave the exercises, the cells that use them, and what those need; the others do the same when it is solved."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    names = {cell["id"]: names_in(cell) for cell in code}
    answers: set[str] = set()
    kept: set[str] = set()
    for cell in code:
        read, given = names[cell["id"]]
        if exercise_of(cell) is not None or read & answers:
            kept.add(cell["id"])
            answers |= given
    needed = set().union(*(names[each][0] for each in kept))
    for cell in reversed(code):
        read, given = names[cell["id"]]
        if cell["id"] in kept or given & needed:
            kept.add(cell["id"])
            needed |= read
    notebook.cells = [cell for cell in notebook.cells if cell["id"] in kept]


@pytest.mark.notebook
@pytest.mark.parametrize("part", ONE_QUICKLY)
def test_the_untouched_notebook_runs_to_its_end(part: Part) -> None:
    """Before anything is written: no cell may lean on what the learner has yet to write.

    A cell that no answer reaches does the same as in the solved notebook, which another test runs whole.
    """
    notebook = nbformat.read(part.notebook, as_version=4)
    keep_what_answers_touch(notebook)
    execute(notebook)
    assert error_outputs(notebook) == []
    for name, text in shown_by_checks(notebook).items():
        assert text, f"check({name}) shows nothing"
        assert "통과했어요" not in text, (name, text)


def test_every_built_notebook_belongs_to_the_course() -> None:
    """A lesson left out of course.toml would be shipped and never tested. (Drafts are not built yet.)"""
    for folder in (paths.solutions_path(), paths.lessons_path()):
        built = {path.relative_to(folder).as_posix() for path in folder.rglob("*.ipynb")}
        assert built == {part.place for part in COURSE.parts}


@pytest.mark.parametrize("part", PARTS)
def test_no_variable_of_a_lesson_is_called_like_an_exercise(part: Part) -> None:
    """It would be taken for the answer, and all that it leans on would run: minutes of demos before each grading."""
    tree = ast.parse(part.source.read_text(encoding="utf-8"))
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert stored & set(COURSE.exercises) == set()


CALLED = {"check", "clinic", "drill", "hint", "microscope", "predict", "progress", "reveal"}
"""What a learner may call in any notebook: `progress()` and the texts speak of all of them."""


@pytest.mark.parametrize("part", PARTS)
def test_what_a_learner_may_call_is_imported(part: Part) -> None:
    tree = ast.parse(part.source.read_text(encoding="utf-8"))
    imports = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "grader"]
    assert {alias.name for one in imports for alias in one.names} >= CALLED


MOST_CELLS, MOST_CHARACTERS, MOST_LINES = 45, 8_000, 15


@pytest.mark.parametrize("part", PARTS)
def test_a_part_is_one_sitting(part: Part) -> None:
    """Cells, characters to read, and lines of a cell that is not an exercise; something graded in each part."""
    notebook = nbformat.read(part.notebook, as_version=4)
    text = sum(len(cell.source) for cell in notebook.cells if cell.cell_type == "markdown")
    assert part.exercises
    assert len(notebook.cells) <= MOST_CELLS
    assert text <= MOST_CHARACTERS
    for cell in notebook.cells:
        in_view = cell.cell_type == "code" and not cell.metadata.get("jupyter", {}).get("source_hidden")
        if in_view and exercise_of(cell) is None:
            assert len(cell.source.splitlines()) <= MOST_LINES, cell.id
