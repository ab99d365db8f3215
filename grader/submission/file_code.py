"""Cut one handed-in file into its cells of code, whatever form it has, and say what had to be done for that."""

import ast
from collections.abc import Collection
from dataclasses import dataclass

from grader.base.decoding import ReadError
from grader.base.names import listed
from grader.submission.cells import Cell, notebook_cells, numbered, percent_cells
from grader.submission.conflicts import sides
from grader.submission.file_forms import Form, form_of
from grader.submission.lifting import without_marimo
from grader.submission.lost_cells import lost_cells
from grader.submission.syntax import parse


@dataclass(frozen=True)
class FileCode:
    """The code of one file."""

    is_script: bool
    """False for a notebook."""
    text: str
    """The script; of a notebook, its JSON."""
    cells: list[Cell]
    notes: tuple[str, ...]
    """Korean lines on what had to be done to read it."""


def code_of_file(name: str, text: str, exercises: Collection[str]) -> FileCode:
    """Return the code of a file.

    Args:
        name: the file's name.
        text: its content.
        exercises: names of all exercises of the course.

    Raises:
        ReadError: it is a notebook that cannot be read, or it exceeds a size limit.
    """
    form, merge_note = _merged(name, text)
    if form.kind == "script":
        script = without_marimo(form.text)
        note = "" if script == form.text else "marimo 노트북의 셀을 차례로 읽었어요."
        text, cells = script, percent_cells(script)
    else:
        text = form.text
        cells, note = _cells_of_notebook(text, exercises)
    notes = tuple(one for one in (form.note, merge_note, note) if one)
    return FileCode(form.kind == "script", text, cells, notes)


def _merged(name: str, text: str) -> tuple[Form, str]:
    """Return what a file is, and a Korean note if Git left marks in it and both sides have the same code.

    Raises:
        ReadError: it is a notebook, and the sides differ.
    """
    both = sides(text)
    if both is None:
        return form_of(name, text), ""
    ours, theirs = (form_of(name, side) for side in both)
    if ours.kind == theirs.kind and _code_of(ours) == _code_of(theirs):
        return (
            ours,
            "Git 병합 충돌 표시가 남아 있지만 양쪽의 코드가 같아서 읽었어요. 표시를 지우고 저장해 두세요.",
        )
    if ours.kind == "notebook":
        raise ReadError(
            "Git 병합 충돌 표시(<<<<<<<)가 남아 있고 양쪽의 코드가 달라요. "
            "한쪽을 골라 Jupyter에서 열어 다시 저장한 .ipynb 파일을 내 주세요."
        )
    return form_of(name, text), ""


def _code_of(form: Form) -> object:
    """Return what two sides of a merge must share, outputs and a script's comments left out; unequal if unreadable."""
    try:
        if form.kind == "script":
            return [ast.dump(statement) for statement in parse(form.text)]
        return [(cell.source, cell.exercises) for cell in notebook_cells(form.text) if cell.is_code]
    except (ValueError, RecursionError, MemoryError):
        return object()


def _cells_of_notebook(text: str, exercises: Collection[str]) -> tuple[list[Cell], str]:
    """Return the cells of a notebook that are read as code, and a Korean note if some of them are not code."""
    cells = notebook_cells(text)
    others = [index for index, cell in enumerate(cells) if not cell.is_code]
    lost, answered = lost_cells(
        [cell.source for cell in cells if cell.is_code], [cells[index].source for index in others], exercises
    )
    read = {others[index] for index in lost}
    chosen = numbered(cell for index, cell in enumerate(cells) if cell.is_code or index in read)
    note = (
        f"코드 셀이 아닌 셀(Markdown, raw)에 있는 답도 읽었어요: {listed([f'`{name}`' for name in answered])}. "
        "코드 셀의 번호는 이런 셀도 함께 센 것이에요. 셀의 종류를 코드로 바꿔 두세요."
    )
    return chosen, note if answered else ""
