"""`grader check` of a notebook: JupyterLab shows no numbers of cells, so a place in the exercise's cell names none."""

import os
from pathlib import Path

import nbformat
import pytest

from grader.course.reading import load_course
from grader.grading.own_file import OwnFile
from grader.judging.learner_code import LearnerCode
from grader.report.text import feedback_text

STEP = """def train_step(model, opt, loss_fn, xb, yb):
    loss = loss_fn(model(xb), yb)
    loss.backward()
    opt.step()
    return loss.item()
"""


def written(path: Path, *cells: str) -> OwnFile:
    """A notebook of these cells."""
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    return OwnFile(path, load_course())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_line_of_the_exercises_cell_names_that_cell(tmp_path: Path) -> None:
    """It said `코드 셀 8`."""
    own = written(tmp_path / "mine.ipynb", "import torch", "a = 1", STEP)
    (feedback,) = own.check((load_course().exercise("train_step"),))
    told = feedback_text(feedback)
    assert "mine.ipynb · train_step 셀의 " in told
    assert "코드 셀" not in told


def test_a_line_of_another_cell_keeps_its_number(tmp_path: Path) -> None:
    own = written(tmp_path / "mine.ipynb", "import torch", "def helper(loss):\n    return loss.item()", STEP)
    source = own.submission.source_for("train_step")
    assert source is not None
    code = LearnerCode.of_own_file(source, "train_step")
    places = [code.place_of(n) for n, text in enumerate(code.text.split("\n"), 1) if "loss.item()" in text]
    assert [(place.cell, place.line) for place in places if place is not None] == [(2, 2), (None, 5)]
