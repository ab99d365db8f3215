"""A student's own modules, handed in along with the answers, are there when the answers run."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.course.reading import load_course
from grader.grading.own_file import OwnFile
from grader.observe.attached_modules import modules_of, offer, with_modules, without_modules
from grader.observe.program import Program, load_program
from grader.submission.submission import Submission, read_submission
from tests.intake.downloads import write

ANSWER = "def train_step(model):\n    return {}\n"


def notebook(*cells: str) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})


def handed_in(tmp_path: Path, files: Mapping[str, str]) -> Submission:
    return read_submission(write(tmp_path / "s", files), ("train_step",))


def program(submission: Submission) -> Program:
    source = submission.source_for("train_step")
    assert source is not None
    return load_program(source.program)


CASES: Mapping[str, Mapping[str, str]] = {
    "names": {
        "hw.ipynb": notebook("from helper import twice as t", ANSWER.format("t(21)")),
        "helper.py": "def twice(x):\n    return 2 * x\n",
    },
    "the module": {
        "hw.py": f"import helper as h\n{ANSWER.format('h.twice(21)')}",
        "helper.py": "twice = lambda x: 2 * x\n",
    },
    "all names": {
        "hw.ipynb": notebook("from helper import *\n" + ANSWER.format("twice(21)")),
        "helper.py": "import math\nTWO = math.floor(2.5)\ndef twice(x):\n    return TWO * x\n",
    },
    "a value that runs code": {
        "hw.py": f"import helper\n{ANSWER.format('helper.TWO * 21')}",
        "helper.py": "import math\nTWO = math.floor(2.5)\n",
    },
    "through another": {
        "hw1/hw.ipynb": notebook("from helper import twice", ANSWER.format("twice(21)")),
        "hw1/helper.py": "from more import two\ndef twice(x):\n    return two() * x\n",
        "hw1/more.py": "def two():\n    return 2\n",
    },
    "a package": {
        "hw.ipynb": notebook("from src.helper import twice", ANSWER.format("twice(21)")),
        "src/helper.py": "from .more import two\nfrom . import more\ndef twice(x):\n    return more.two() * x\n",
        "src/more.py": "def two():\n    return 2\n",
    },
    "a module of a package": {
        "hw.py": f"from src import helper\n{ANSWER.format('helper.twice(21)')}",
        "src/__init__.py": "",
        "src/helper.py": "def twice(x):\n    return 2 * x\n",
    },
    "demos do not run": {
        "hw.py": f"from helper import twice\n{ANSWER.format('twice(21)')}",
        "helper.py": "def twice(x):\n    return 2 * x\nprint(1 / 0)\nlosses = [print(1 / 0)]\n"
        "if __name__ == '__main__':\n    1 / 0\n",
    },
    "an answer in another file": {
        "a.py": "def sgd_update(x):\n    return 2 * x\n",
        "b.py": f"from a import sgd_update\n{ANSWER.format('sgd_update(21)')}",
    },
    "inside the function": {
        "hw.py": "def train_step(model):\n    from helper import twice\n    return twice(21)\n",
        "helper.py": "def twice(x):\n    return 2 * x\n",
    },
}


@pytest.mark.parametrize("files", CASES.values(), ids=CASES)
def test_the_modules_are_found(files: Mapping[str, str], tmp_path: Path) -> None:
    submission = handed_in(tmp_path, files)
    try:
        loaded = program(submission)
        assert loaded.failures == {}
        assert loaded.warnings == []
        assert loaded.names["train_step"](None) == 42
        assert any("함께 낸" in note for note in submission.notes)
    finally:
        offer({}, "")


def test_no_module_of_python_or_torch_is_replaced(tmp_path: Path) -> None:
    files = {
        "hw.py": f"import json, torch\n{ANSWER.format('json.dumps(1), torch.tensor(2).item()')}",
        "json.py": "dumps = lambda x: 'mine'\n",
        "torch.py": "tensor = None\n",
    }
    try:
        assert program(handed_in(tmp_path, files)).names["train_step"](None) == ("1", 2)
    finally:
        offer({}, "")


def test_modules_of_one_program_are_not_those_of_the_next(tmp_path: Path) -> None:
    files = {"hw.py": f"import helper\n{ANSWER.format('helper.x')}", "helper.py": "x = 1\n"}
    program(handed_in(tmp_path, files))
    assert "helper" in sys.modules
    assert load_program("import helper\n").warnings
    assert "helper" not in sys.modules


def test_a_module_that_raises_is_told_like_any_import(tmp_path: Path) -> None:
    files = {"hw.py": "import helper\n" + ANSWER.format("1"), "helper.py": "def f(x=1 / 0):\n    pass\n"}
    try:
        assert "helper를 불러오지 못했어요" in program(handed_in(tmp_path, files)).warnings[0]
    finally:
        offer({}, "")


def test_what_is_not_imported_is_not_attached(tmp_path: Path) -> None:
    files = {"hw.py": ANSWER.format("1"), "helper.py": "x = 1\n", "c.py": "import d\n", "d.py": "import c\n"}
    source = handed_in(tmp_path, files).source_for("train_step")
    assert source is not None
    assert source.modules == {}
    assert source.program == source.text


@pytest.mark.parametrize("text", ["", "x = 1\n", "x = 1"])
def test_a_text_is_the_same_without_them(text: str) -> None:
    attached = with_modules(text, {"helper": "y = '\\n\u2028'\r\n"})
    assert modules_of(attached) == {"helper": "y = '\\n\u2028'\r\n"}
    assert without_modules(attached).rstrip("\n") == text.rstrip("\n")
    assert modules_of(f"{text}\n#: modules {{\n") == {}
    assert modules_of(f"{text}\n#: modules [1]\n") == {}


def test_a_file_of_ones_own_finds_its_neighbours(tmp_path: Path) -> None:
    """`grader check hw.py` reads one file, and says what `grader grade` will."""
    files = {**CASES["through another"], "hw1/other.py": "x = 1 / 0\n"}
    folder = write(tmp_path, files) / "hw1"
    own = OwnFile(folder / "hw.ipynb", load_course())
    source = own.submission.source_for("train_step")
    assert source is not None
    assert set(source.modules) == {"helper", "more"}
    try:
        assert load_program(source.program).names["train_step"](None) == 42
    finally:
        offer({}, "")
