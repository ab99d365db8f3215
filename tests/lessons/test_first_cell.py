"""The first cell of a lesson: nothing where the course is, an install in Colab and Kaggle, one line elsewhere."""

import importlib.abc
import subprocess
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
import pytest

from grader.authoring import first_cell
from grader.base.installing import archive, release, repository
from grader.course.course import Lesson
from grader.course.reading import load_course
from grader.submission.source_file import read_source

LESSONS = [pytest.param(lesson, id=lesson.name) for lesson in load_course().lessons]
ADDRESS = "https://github.com/owner/course"
SOURCE = first_cell.source(ADDRESS)


class Arriving(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of the course, which pip is said to have installed."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def find_spec(self, name: str, *_: object) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name in self.names else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        pass


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that the cell runs: pip says that it succeeded, and installs nothing."""
    commands: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        commands.append(command)
        monkeypatch.delitem(sys.modules, "grader", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Arriving(("grader", "grader.learning")), *sys.meta_path])
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)
    return commands


def without_the_course(monkeypatch: pytest.MonkeyPatch, other: ModuleType | None = None) -> None:
    """Here `grader` is missing, or is some other module."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "grader", other)  # type: ignore[arg-type]  # None: not to be found


def run_cell(source: str = SOURCE) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(source, names)
    return names


@pytest.mark.parametrize("lesson", LESSONS)
def test_it_is_the_first_code_of_both_notebooks(lesson: Lesson) -> None:
    for path in (path for part in lesson.parts for path in (part.notebook, part.executed)):
        cells = nbformat.read(path, as_version=4).cells
        first = next(cell for cell in cells if cell.cell_type == "code")
        assert (first.id, first.source) == (first_cell.ID, first_cell.source(repository()).rstrip("\n"))


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_it_does_nothing_where_the_course_is(
    address: str, pip: list[list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(run_cell(first_cell.source(address))) <= {"__name__", "__builtins__", "grader"}
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
    assert (command[:3], command[-1]) == (["-m", "pip", "install"], f"hanstep @ {release(ADDRESS)}")
    assert capsys.readouterr().out.count("\n") == 1


def test_another_package_called_grader_is_not_taken_for_the_course(
    pip: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And does not stand in the way of the course once that is installed."""
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    without_the_course(monkeypatch, ModuleType("grader"))
    run_cell()
    assert len(pip) == 1
    assert "grader.learning" in sys.modules


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


def test_before_a_release_the_repository_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    without_the_course(monkeypatch)
    asked: list[str] = []

    def run(command: list[str], **_: Any) -> Any:
        asked.append(command[-1])
        if len(asked) == 1:
            return SimpleNamespace(returncode=1, stderr="ERROR: 404")
        monkeypatch.delitem(sys.modules, "grader", raising=False)
        monkeypatch.setattr(sys, "meta_path", [Arriving(("grader", "grader.learning")), *sys.meta_path])
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    run_cell()
    assert asked == [f"hanstep @ {release(ADDRESS)}", f"hanstep @ {archive(ADDRESS)}"]


def test_a_package_that_is_not_the_course_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    without_the_course(monkeypatch)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=0, stderr=""))
    monkeypatch.setattr(sys, "meta_path", [Arriving(("grader",)), *sys.meta_path])
    with pytest.raises(ImportError, match="이 강의의 패키지가 아닙니다"):
        run_cell()


@pytest.mark.parametrize(
    ("address", "mends"),
    [("", "`%pip install 주소나-파일`"), (ADDRESS, f"`%pip install {archive(ADDRESS)}`")],
)
def test_elsewhere_it_stops_with_one_line_and_no_traceback(address: str, mends: str, tmp_path: Path) -> None:
    """As a notebook shows it; the shell counts it as an error, so that "run all" stops there."""
    (tmp_path / "cell.py").write_text(first_cell.source(address), encoding="utf-8")
    shown = (
        "import sys; sys.modules['grader'] = None\n"
        "from IPython.core.interactiveshell import InteractiveShell\n"
        "source = open('cell.py', encoding='utf-8').read()\n"
        "assert not InteractiveShell().run_cell(source).success\n"
    )
    command = [sys.executable, "-c", shown]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    (line,) = done.stdout.splitlines()
    assert mends in line


@pytest.mark.parametrize("address", ["", ADDRESS])
def test_a_handed_in_notebook_brings_nothing_of_it(address: str, tmp_path: Path) -> None:
    source = first_cell.source(address)
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)]), tmp_path / "mine.ipynb"
    )
    (tmp_path / "mine.py").write_text(f"# %%\n{source}", encoding="utf-8")
    for name in ("mine.ipynb", "mine.py"):
        assert not read_source(tmp_path / name, name, ["train_step"]).text.strip(), name
