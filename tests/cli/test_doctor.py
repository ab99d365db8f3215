"""`grader doctor`: this machine is healthy, and every failing finding ends with the command that mends it."""

import io
import sys
from pathlib import Path

import pytest
from rich.console import Console

from grader import paths
from grader.cli import doctor
from grader.cli.doctor import Finding, diagnose_machine, render
from grader.sandbox import bubblewrap, packages
from grader.sandbox.bubblewrap import Probe


def finding(name: str) -> Finding:
    """One finding by name."""
    return next(f for f in diagnose_machine() if f.name == name)


def test_everything_is_examined_and_works_where_the_tests_run() -> None:
    findings = diagnose_machine()
    names = ["Python", "강의 파일", "PyTorch", "장치", "격리", "커널의 한도", "글꼴", "Jupyter", "진도 폴더"]
    assert [f.name for f in findings] == names
    broken = [f for f in findings if not f.ok and f.name != "격리"]  # some machines forbid namespaces
    assert not broken, broken


def test_the_table_says_what_and_how_to_mend_it() -> None:
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(
        render([Finding("글꼴", False, "[없어요]", "pip install 글꼴"), Finding("Python", True, "3.11")])
    )
    text = console.export_text()
    assert "안 됨" in text
    assert "[없어요]" in text, "a detail is text, not markup"
    assert "→ pip install 글꼴" in text


def test_an_examination_that_breaks_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Finding:
        raise RuntimeError("부서졌어요")

    monkeypatch.setattr(doctor, "_jupyter", broken)
    found = finding("Jupyter")
    assert not found.ok
    assert "부서졌어요" in found.detail
    assert "pip install" in found.remedy


def test_a_missing_torch_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert not finding("PyTorch").ok
    assert finding("PyTorch").remedy.endswith("install --force-reinstall torch")


def test_missing_course_files_and_fonts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "course_root", lambda: tmp_path)
    found = finding("글꼴")
    assert not found.ok
    assert str(tmp_path) in found.detail
    assert all(f.ok or f.remedy for f in diagnose_machine())


def test_a_machine_without_a_sandbox_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for remedy in ("apt-get install -y bubblewrap", ""):
        lack = Probe(False, "no-bwrap", remedy)
        monkeypatch.setattr(bubblewrap, "probe", lambda lack=lack: lack)
        found = finding("격리")
        assert not found.ok
        assert "bubblewrap" in found.detail
        assert found.remedy == remedy or not remedy
        assert found.remedy, "always a command"


def test_a_checkout_that_is_not_installed_hides_no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "probe", lambda: Probe(True, "ok"))
    assert "강의가 설치되어 있지 않아서" not in finding("격리").detail
    monkeypatch.setattr(packages, "knows_dependencies", lambda: False)
    found = finding("격리")
    assert "강의가 설치되어 있지 않아서" in found.detail
    assert "pip install -e" in found.remedy


def test_a_progress_folder_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "파일"
    blocker.write_text("", encoding="utf-8")
    monkeypatch.setenv("HANSTEP_HOME", str(blocker / "안쪽"))
    found = finding("진도 폴더")
    assert not found.ok
    assert "HANSTEP_HOME" in found.remedy
