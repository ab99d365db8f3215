"""Cells of notebooks and `# %%` files: odd ones, old ones, broken ones, and more than are read."""

import json
import tracemalloc

import pytest

from grader.submission.cells import MAX_CELLS, MAX_CODE_CHARS
from tests.submission.samples import code, kept, notebook, read


def test_too_much_code_is_refused(refused):
    """Data pasted into code cannot eat the grader's memory."""
    assert f"{MAX_CODE_CHARS:,}" in refused("hw.py", "x = 1\n" * (MAX_CODE_CHARS // 6 + 1))


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("hw.ipynb", notebook(code(" " * 19_000_000 + "x=1")), f"{MAX_CODE_CHARS:,}자까지"),
        ("hw.ipynb", notebook(code(["\n"] * 1_000_000)), f"{MAX_CODE_CHARS:,}자까지"),
        ("hw.ipynb", '{"cells": [' + "[]," * 6_000_000 + "0]}", "출력을 모두 지우고"),
        ("hw.ipynb", notebook(*[code("x")] * (MAX_CELLS + 1)), f"{MAX_CELLS:,}개"),
        ("hw.py", "#%%\n" * 4_500_000, f"{MAX_CODE_CHARS:,}자까지"),
        ("hw.py", "#%%\n" * (MAX_CELLS + 1), f"{MAX_CELLS:,}개"),
    ],
    ids=["indent", "lines", "lists", "cells", "markers", "few markers"],
)
def test_what_swells_is_refused_before_it_does(refused, name, content, expected):
    """What a file may hold is counted before it is taken apart: no file costs a gigabyte or a minute."""
    tracemalloc.start()
    try:
        assert expected in refused(name, content)
        assert tracemalloc.get_traced_memory()[1] < 150_000_000
    finally:
        tracemalloc.stop()


def test_the_largest_number_of_cells_is_read(ipynb, py):
    """The limit itself is still allowed, in both kinds of file."""
    assert len(kept(ipynb(*[code("X = 1")] * MAX_CELLS))) == MAX_CELLS
    assert len(kept(py("#%%\nX = 1\n" * MAX_CELLS))) == MAX_CELLS


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "빈 파일"),
        ("<!DOCTYPE html><html></html>", "HTML"),
        ('{"cells": [\n<<<<<<< HEAD\n', "Git 병합 충돌"),
        ('{"cells": [\n  {"cell', "2번째 줄"),
        ("[]", "`cells`"),
        ("3", "`cells`"),
        ('{"cells": 3}', "`cells`"),
        ("[" * 10**6, "JSON"),
        ('{"cells": ' + "1" * 5000 + "}", "JSON"),
    ],
    ids=range(9),
)
def test_broken_notebooks_say_what_is_wrong(refused, content, expected):
    """Every way in which a notebook can be broken has a message that ends with what to do."""
    message = refused("hw.ipynb", content)
    assert expected in message
    assert message.endswith("다시 저장한 .ipynb 파일을 내 주세요.")


@pytest.mark.parametrize(
    ("cell", "is_read"),
    [
        (None, False),
        ([code("X = 1")], False),
        ({}, False),
        ({"cell_type": "code"}, False),
        ({"cell_type": "raw", "source": "X = 1"}, False),
        ({"cell_type": "heading", "source": "X = 1"}, False),
        (code([1, None, "X", " = 1"]), True),  # type: ignore[list-item]
        ({"cell_type": "code", "source": "X = 1", "metadata": None}, True),
        ({"cell_type": "code", "source": "X = 1", "metadata": {"tags": 1}}, True),
        ({"cell_type": "code", "source": "X = 1", "metadata": {"x": float("nan")}}, True),
        ({"cell_type": "code", "source": "X = 1", "id": "same"}, True),
        (code("\ufeffX = 1"), True),
    ],
    ids=range(12),
)
def test_odd_cells_are_read_or_passed_over(ipynb, cell, is_read):
    """Whatever stands in the list of cells, the good ones are read."""
    last = code("Z = 1") | {"id": "same"}
    assert kept(ipynb(cell, last)) == (["X = 1", "Z = 1"] if is_read else ["Z = 1"])


def test_unescaped_line_breaks_are_read(tmp_path):
    """JSON forbids a bare line break in a string; what wrote it anyway meant a line break."""
    assert kept(read(tmp_path / "hw.ipynb", notebook(code("X = 1#Y = 2")).replace("#", "\n"))) == [
        "X = 1",
        "Y = 2",
    ]


def test_format_3_is_read(tmp_path):
    """Notebooks from before 2015 keep their code under other names."""
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": ["X = 1"]}]}, 3]}
    assert kept(read(tmp_path / "hw.ipynb", json.dumps(old))) == ["X = 1"]
