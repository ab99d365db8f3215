"""Cells with the same text are parsed once, and nothing of one notebook shows in another."""

from grader.submission.cells import Cell
from grader.submission.parsed_cells import parse_cell

_TEXT = "def train_step():\n    return 1\n"


def test_equal_cells_are_parsed_once() -> None:
    first = parse_cell(Cell(1, 1, _TEXT, ("train_step",)), ["train_step"])
    second = parse_cell(Cell(7, 1, _TEXT, ("fit",), "a.py"), ("train_step",))
    assert first.block is second.block
    assert (first.cell.number, second.cell.number, second.cell.written) == (1, 7, "a.py")


def test_untagged_cells_and_other_exercises_are_kept_apart() -> None:
    text = "if __name__ == '__main__':\n    def fit(): return 1\n"
    tagged = parse_cell(Cell(1, 1, text, ("fit",)), ["fit"])
    assert tagged.block.tagged == {0}
    assert parse_cell(Cell(1, 1, text, ()), ["fit"]).block.tagged == frozenset()
    assert (tagged.is_lifted, parse_cell(Cell(1, 1, text, ()), ["train_step"]).is_lifted) == (True, False)


def test_long_cells_are_not_kept() -> None:
    cell = Cell(1, 1, "a = 1\n" * 1_000, ())
    assert parse_cell(cell, ()).block is not parse_cell(cell, ()).block
