"""Lessons on a GPU machine: their cells take the GPU where there is one."""

import nbformat
import pytest

from grader.authoring import build as building
from grader.authoring.execute import execute
from grader.course.course import Part
from grader.course.reading import load_course
from tests import fake_device
from tests.gpu.processes import PRETENDED

pytestmark = [pytest.mark.cuda, pytest.mark.notebook]

PARTS = [pytest.param(part, id=part.place, marks=pytest.mark.full) for part in load_course().parts]
"""By command only: on the pretended GPU a lesson takes three times as long as on the CPU."""
LARGER_ON_A_GPU = {"03": "where there is a GPU it trains a larger model for longer"}


@pytest.mark.parametrize("part", PARTS)
def test_the_solution_runs_on_a_gpu(part: Part) -> None:
    """Raises at the first error; claims are asserts in the notebook."""
    lesson = load_course().lesson(part.lesson)
    if PRETENDED and lesson.id in LARGER_ON_A_GPU:
        pytest.skip(f"too long for the pretended GPU: {LARGER_ON_A_GPU[lesson.id]}")
    notebook = building.solution_notebook(part)
    if PRETENDED:
        notebook.cells.insert(0, nbformat.v4.new_code_cell(fake_device.code_that_installs()))
    execute(notebook)
