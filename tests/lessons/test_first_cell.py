"""The first cell of a lesson: nothing where the course is, an install in Colab and Kaggle, one line elsewhere."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
import pytest

from grader.authoring import first_cell
from grader.course.course import Lesson
from grader.course.reading import load_course
from grader.submission.source_file import read_source

LESSONS = [pytest.param(lesson, id=lesson.name) for lesson in load_course().lessons]
MENDS = "%pip install hanstep"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that the cell runs: pip says that it succeeded, and installs nothing."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)
    return commands


def without_the_course(monkeypatch: pytest.MonkeyPatch, other: ModuleType | None = None) -> None:
    """Here `grader` is missing, or is some other module."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grader", other)  # type: ignore[arg-type]  # None: not to be found


def run_cell() -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(first_cell.SOURCE, names)
    return names


@pytest.mark.parametrize("lesson", LESSONS)
def test_it_is_the_first_code_of_both_notebooks(lesson: Lesson) -> None:
    for path in (lesson.notebook, lesson.solution.with_suffix(".ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        first = next(cell for cell in cells if cell.cell_type == "code")
        assert (first.id, first.source) == (first_cell.ID, first_cell.SOURCE.rstrip("\n"))


def test_it_does_nothing_where_the_course_is(
    pip: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(run_cell()) <= {"__name__", "__builtins__", "grader"}
    assert pip == []
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("place", ["colab", "kaggle"])
def test_it_installs_where_a_kernel_is_lent(
    place: str, pip: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if place == "colab":
        monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    else:
        monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    without_the_course(monkeypatch)
    run_cell()
    ((python, *command),) = pip
    assert python == sys.executable
    assert (command[:3], command[-1]) == (["-m", "pip", "install"], "hanstep")
    assert capsys.readouterr().out.count("\n") == 1


def test_another_package_called_grader_is_not_taken_for_the_course(
    pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And does not stand in the way of the course once that is installed."""
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    without_the_course(monkeypatch, ModuleType("grader"))
    run_cell()
    assert len(pip) == 1
    assert "grader" not in sys.modules


def test_a_failed_install_says_what_pip_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    failed = SimpleNamespace(returncode=1, stderr="WARNING: no route\nERROR: no matching distribution\n")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    without_the_course(monkeypatch)
    with pytest.raises(
        ImportError, match=r"Internet을 켭니다.*하세요\. ERROR: no matching distribution$"
    ) as raised:
        run_cell()
    assert "\n" not in str(raised.value)


def test_elsewhere_it_stops_with_one_line_and_no_traceback(tmp_path: Path) -> None:
    """As a notebook shows it; the shell counts it as an error, so that "run all" stops there."""
    (tmp_path / "cell.py").write_text(first_cell.SOURCE, encoding="utf-8")
    shown = (
        "import sys; sys.modules['grader'] = None\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "source = open('cell.py', encoding='utf-8').read()\n"
        "assert not InteractiveShell().run_cell(source).success\n"
    )
    command = [sys.executable, "-c", shown]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    (line,) = done.stdout.splitlines()
    assert MENDS in line


def test_a_handed_in_notebook_brings_nothing_of_it(tmp_path: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(first_cell.SOURCE)])
    nbformat.write(notebook, tmp_path / "mine.ipynb")
    (tmp_path / "mine.py").write_text(f"# %%\n{first_cell.SOURCE}", encoding="utf-8")
    for name in ("mine.ipynb", "mine.py"):
        assert not read_source(tmp_path / name, name, ["train_step"]).text.strip(), name
