"""A submission finds the packages that the course declares, and those that an instructor adds."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

from grader.sandbox.bubblewrap import bwrap_command
from grader.sandbox.packages import is_installed, undeclared_entries
from grader.sandbox.server_command import import_path, python_command, server_environment

MARK = "hanstep_not_declared"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages on the path, with one that the course does not need, and what that needs."""
    for name, needs in ((MARK, "hanstep_needed_by_it"), ("hanstep_needed_by_it", None)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        requires = f"Requires-Dist: {needs}\n" if needs else ""
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{requires}")
        (info / "RECORD").write_text(f"{name}/__init__.py,,\n{info.name}/METADATA,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_is_not_declared_is_covered_unless_it_is_added(site: Path) -> None:
    covered = {path.name for path in undeclared_entries(site)}
    assert {MARK, "hanstep_needed_by_it"} <= covered
    assert not {MARK, "hanstep_needed_by_it"} & {path.name for path in undeclared_entries(site, (MARK,))}


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["pytest", "py"])
def test_what_is_covered_says_that_it_is_not_there(name: str) -> None:
    """A folder and a module; an empty one could be imported, and would fail at its first use."""
    assert importlib.util.find_spec(name) is not None
    inside = [*bwrap_command(), *python_command(import_path(isolate=True), f"import {name}")]
    done = subprocess.run(inside, env=server_environment("cpu"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named '{name}'"


@pytest.mark.parametrize("name", ["", "no such package", "hanstep-never-installed"])
def test_what_is_not_installed_is_known(name: str) -> None:
    assert not is_installed(name)
    assert is_installed("torch")
