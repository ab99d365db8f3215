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
    _install(tmp_path, MARK, "hanstep_needed_by_it")
    _install(tmp_path, "hanstep_needed_by_it")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_what_is_not_declared_is_covered_unless_it_is_added(site: Path) -> None:
    covered = {path.name for path in undeclared_entries(site)}
    assert {MARK, "hanstep_needed_by_it"} <= covered
    assert not {MARK, "hanstep_needed_by_it"} & {path.name for path in undeclared_entries(site, (MARK,))}


def _install(site: Path, name: str, *requires: str) -> None:
    (site / name).mkdir()
    (site / name / "__init__.py").write_text("")
    info = site / f"{name}-1.0.dist-info"
    info.mkdir()
    needs = "".join(f"Requires-Dist: {line}\n" for line in requires)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needs}")
    (info / "RECORD").write_text(f"{name}/__init__.py,,\n{info.name}/METADATA,,\n")


def test_an_extra_that_a_dependency_is_needed_with_is_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    _install(tmp_path, "hanstep_a", "hanstep-b[Fast, other] >=1", "hanstep_c", "hanstep_old>=1.*")
    _install(
        tmp_path, "hanstep_b", 'hanstep_d; extra == "slow" or extra == "fast"', 'hanstep_e; extra == "slow"'
    )
    _install(tmp_path, "hanstep_c", "hanstep_b")
    for name in ("hanstep_d", "hanstep_e", "hanstep_old"):
        _install(tmp_path, name)
    covered = {path.name for path in undeclared_entries(tmp_path, ("hanstep_a",))}
    assert covered == {"hanstep_e", "hanstep_e-1.0.dist-info"}


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
