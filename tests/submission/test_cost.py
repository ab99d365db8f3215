"""What the largest file costs to read: about as much as Python needs to parse it, whatever is in it."""

from pathlib import Path

import pytest

from grader.submission.cells import MAX_CODE_CHARS
from grader.submission.submission import read_submission
from tests.submission.samples import notebook
from tests.work import calls_of

MOST_CALLS = 15_000_000
"""Function calls; the largest number is 9.4 million. Each of these took from 4 seconds to minutes of processor time
once; a quiet machine needs at most 1.5 for one. What takes minutes inside one call of C ends at the test's timeout.
"""


def names(letter: str, count: int) -> str:
    return ",".join(f"{letter}{number}" for number in range(count))


def nested(keyword: str, end: str) -> str:
    """As deep as Python's indentation goes, again and again."""
    lines = "".join(" " * depth + f"{keyword} n{depth}{end}:\n" for depth in range(95)) + " " * 95 + "0\n"
    return lines * (MAX_CODE_CHARS // len(lines))


SHAPES = {
    "a line of statements": "a=1;" * (MAX_CODE_CHARS // 4),
    "a line of statements that are dropped": "f();a=1;" * (MAX_CODE_CHARS // 8),
    "names that need names": f"def fit(): return q0\n{names('q', 19_000)}=({names('b', 19_000)})",
    "a wide function of functions": "def fit():\n "
    + names("a", 19_000).replace(",", "=")
    + "=1\n"
    + " def g():0\n" * 13_000,
    "functions in functions": nested("def", "()"),
    "classes in classes": nested("class", ""),
    "lambdas in lambdas": ("x=" + "lambda a:" * 190 + "0\n") * 170,
    "decorators": "@a\n" * 60_000 + "def fit():0;" + "x=1;" * 25_000,
    "strings of two lines": "x='''\n''';" * (MAX_CODE_CHARS // 10),
    "backslashes": "\\\n" * (MAX_CODE_CHARS // 2),
    "magics": "%a\n" * (MAX_CODE_CHARS // 3),
    "cells": "# %%\ndef f(\n" * 2_900,
    "brackets": "(" * MAX_CODE_CHARS,
    "spaces": " " * (MAX_CODE_CHARS - 1) + "x",
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_largest_file_is_read_with_little_work(tmp_path: Path, shape: str, suffix: str) -> None:
    text = SHAPES[shape]
    assert len(text) <= MAX_CODE_CHARS
    path = tmp_path / f"hw{suffix}"
    path.write_text(
        text if suffix == ".py" else notebook({"cell_type": "code", "source": text, "metadata": {}})
    )
    read = []
    assert calls_of(lambda: read.append(read_submission(path, ("fit",)))) < MOST_CALLS
    assert read[0].files
