"""A submission finds the packages that the course declares, and those that an instructor adds."""

import importlib.metadata
import importlib.util
import subprocess
from pathlib import Path

import pytest

from grader.sandbox.bubblewrap import bwrap_command
from grader.sandbox.packages import editable_source, is_installed, undeclared_entries
from grader.sandbox.sandbox import Job, Sandbox
from grader.sandbox.server_command import import_path, python_command, server_environment
from tests.sandbox.neighbour import ONE_PROCESS, RIGHT, SEED

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


def test_what_is_left_of_a_module_beside_it_is_covered_too(site: Path) -> None:
    """Its bytecode can be loaded without it, and a file with its metadata lets it look installed."""
    (site / "__pycache__").mkdir()
    for name in (f"{MARK}_alone.cpython-311.pyc", "torch.cpython-311.pyc"):
        (site / "__pycache__" / name).write_bytes(b"")
    (site / f"{MARK}_old-1.0.egg-info").write_text("")
    covered = {path.name for path in undeclared_entries(site)}
    assert {f"{MARK}_alone.cpython-311.pyc", f"{MARK}_old-1.0.egg-info"} <= covered
    assert not {"torch.cpython-311.pyc", "__pycache__"} & covered


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


def test_a_dependency_may_be_called_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a requirement that only old tools can read, `extra` says that it is optional, but only in the marker."""
    monkeypatch.syspath_prepend(str(tmp_path))
    _install(tmp_path, "hanstep_f", "hanstep_extra>=1.*", 'hanstep_g>=1.*; extra == "fast"')
    for name in ("hanstep_extra", "hanstep_g"):
        _install(tmp_path, name)
    covered = {path.name for path in undeclared_entries(tmp_path, ("hanstep_f",))}
    assert covered == {"hanstep_g", "hanstep_g-1.0.dist-info"}


def test_what_a_package_without_a_list_of_files_installs_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Debian's packages have none; their metadata and extension modules were covered."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, module in (("Hanstep_H", "hanstep_other"), ("Hanstep_I", "Hanstep_I")):
        info = tmp_path / f"{name}-1.0.egg-info"
        for folder in (info, tmp_path / module):
            folder.mkdir()
        (info / "PKG-INFO").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (tmp_path / "Hanstep_H-1.0.egg-info" / "top_level.txt").write_text("hanstep_other\n_hanstep_other\n")
    (tmp_path / "_hanstep_other.cpython-311-x86_64-linux-gnu.so").write_text("")
    (tmp_path / "hanstep_other_not.py").write_text("")
    covered = {path.name for path in undeclared_entries(tmp_path, ("hanstep-h", "hanstep-i"))}
    assert covered == {"hanstep_other_not.py"}


def test_what_is_imported_from_elsewhere_is_known(site: Path) -> None:
    assert editable_source(MARK) is None
    (site / f"{MARK}-1.0.dist-info" / "direct_url.json").write_text(
        '{"dir_info": {"editable": true}, "url": "file:///home/me/package"}'
    )
    assert editable_source(MARK) == "file:///home/me/package"


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["pytest", "py"])
def test_what_is_covered_says_that_it_is_not_there(name: str) -> None:
    """A folder and a module; an empty one could be imported, and would fail at its first use."""
    assert importlib.util.find_spec(name) is not None
    inside = [*bwrap_command(), *python_command(import_path(isolate=True), f"import {name}")]
    done = subprocess.run(inside, env=server_environment("cpu"), capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named '{name}'"


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["pytest", "py"])
def test_what_is_covered_does_not_look_installed(name: str) -> None:
    """Libraries ask so, and would use what is not there."""
    code = f"""
import importlib.util
from importlib import metadata
from grader.sandbox.inside.absent_packages import leave_out_stand_ins
leave_out_stand_ins()
print(importlib.util.find_spec({name!r}), {name!r} in metadata.packages_distributions(), metadata.version("torch"))
try:
    metadata.version({name!r})
except metadata.PackageNotFoundError:
    import {name}
"""
    inside = [*bwrap_command(), *python_command(import_path(isolate=True), code)]
    done = subprocess.run(inside, env=server_environment("cpu"), capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["None", "False", importlib.metadata.version("torch")]
    assert done.stderr.splitlines()[-1] == f"ModuleNotFoundError: No module named '{name}'"


@ONE_PROCESS
@pytest.mark.sandbox
def test_a_submission_does_not_find_what_is_covered(sandbox: Sandbox) -> None:
    asks = """
    import importlib.util
    from accelerate.utils.imports import _is_package_available
    assert importlib.util.find_spec("pytest") is None
    assert not _is_package_available("pytest")
    assert _is_package_available("torch")
    opt.step()"""
    program = RIGHT.format(name="first").replace("\n    opt.step()", asks)
    (outcome,) = sandbox.run([Job(program, ("first",))], SEED)
    assert outcome.trace is not None
    assert [run.failure for run in outcome.trace.runs.values()] == [None]


@pytest.mark.parametrize("name", ["", "no such package", "hanstep-never-installed"])
def test_what_is_not_installed_is_known(name: str) -> None:
    assert not is_installed(name)
    assert is_installed("torch")
