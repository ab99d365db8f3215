"""`grader new` writes a course that loads, and an exercise that a right program passes and a wrong one does not."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT

WRONG = "def {name}(model, opt, loss_fn, xb, yb):\n    loss_fn(model(xb), yb).backward()\n    opt.step()\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what the commands read and write."""
    leave = shutil.ignore_patterns("__pycache__", "sample_class", "figures", "*.ipynb")
    for folder in ("grader", "lessons", "solutions", "assets"):
        shutil.copytree(ROOT / folder, tmp_path / "copy" / folder, ignore=leave)
    return tmp_path / "copy"


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "grader", *arguments]
    return subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def results(checkout: Path, folder: Path, name: str) -> dict[str, str]:
    """Status of the exercise for each program of the folder."""
    done = run(checkout, "grade", str(folder), "--out", str(folder.parent / "out"), "--sandbox", "none")
    assert done.returncode == 0, done.stderr
    found = json.loads((folder.parent / "out" / "results.json").read_text(encoding="utf-8"))
    return {
        s["student"]: next(e["status"] for e in s["exercises"] if e["exercise"] == name)
        for s in found["submissions"]
    }


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        pytest.param(("exercise", "scale_it", "--to", "01"), "scale_it", marks=pytest.mark.full),
        (("lesson", "90_new_things"), "first_of_new_things"),
    ],
)
def test_what_is_new_can_be_graded_at_once(
    checkout: Path, tmp_path: Path, arguments: tuple[str, ...], name: str
) -> None:
    """By everybody who follows the guide, before anything is filled in; and the accepted programs pass."""
    done = run(checkout, "new", *arguments)
    assert done.returncode == 0, done.stderr
    files = [Path(line) for line in done.stdout.splitlines()[:-1]]
    assert all(file.is_file() for file in files)
    assert sum("tests/accepted" in str(file) for file in files) == 3
    handed_in = tmp_path / "class"
    handed_in.mkdir()
    for file in files:
        if "accepted" in str(file):
            shutil.copy(file, handed_in / file.name)
    (handed_in / "wrong.py").write_text(WRONG.format(name=name), encoding="utf-8")
    found = results(checkout, handed_in, name)
    assert found.pop("wrong") == "failed"
    assert set(found.values()) == {"passed"}
    assert run(checkout, "new", *arguments).returncode == 2, "not a second time"


def test_a_new_mistake_is_an_entry_to_fill_in(checkout: Path) -> None:
    """Its edit does not fit yet, and `build` says so with the exercise's name."""
    done = run(checkout, "new", "mistake", "forgets-everything", "--to", "train_step")
    assert done.returncode == 0, done.stderr
    text = Path(done.stdout.splitlines()[0]).read_text(encoding="utf-8")
    assert 'id = "forgets-everything"' in text
    built = run(checkout, "build", "--check", "01")
    assert built.returncode != 0
    assert "forgets-everything" in built.stdout + built.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("mistake", "Not An Id", "--to", "train_step"), "붙임표"),
        (("mistake", "missing-zero-grad", "--to", "train_step"), "이미 있어요"),
        (("mistake", "new-one"), "--to train_step"),
        (("exercise", "not a name", "--to", "01"), "이름"),
        (("exercise", "train_step", "--to", "01"), "이미 있는"),
        (("lesson", "five"), "05_several_processes"),
        (("lesson", "01_again"), "01_five_line_step"),
        (("thing", "x"), "mistake, exercise, lesson"),
    ],
)
def test_what_cannot_be_made_is_said(checkout: Path, arguments: tuple[str, ...], says: str) -> None:
    done = run(checkout, "new", *arguments)
    assert done.returncode == 2
    assert says in done.stdout + done.stderr
