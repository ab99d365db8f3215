"""Grading leaves nothing in the temporary folder; what a killed run had to leave goes at the next one."""

import fcntl
import os
import runpy
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from grader.classroom.own_temporary_folder import remove_abandoned_folders
from tests.intake.hostile import deep_folder
from tests.places import ROOT
from tests.sandbox.processes import descendants, left_of

WEEK = 7 * 86_400
pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks")


def left(place: Path, name: str, *, seconds: float = WEEK) -> Path:
    """A folder as a killed run leaves it, so long ago."""
    folder = place / name
    (folder / "pymp-abc").mkdir(parents=True)
    (folder / "pymp-abc" / "file").write_text("x")
    os.utime(folder, (time.time() - seconds,) * 2)
    return folder


@pytest.mark.parametrize(
    ("name", "seconds", "goes"),
    [
        ("hanstep.abcdefgh", 90, True),
        ("hanstep.abcdefgh", 5, False),
        ("hanstep-abcd_fg1", 2 * 86_400, True),
        ("hanstep-abcd_fg1", 3600, False),
        ("hanstep-site-abcdefgh", WEEK, False),
        ("hanstep.backup", WEEK, False),
        ("hanstep-ABCDEFGH", WEEK, False),
        ("xhanstep.abcdefgh", WEEK, False),
    ],
)
def test_what_is_left_and_old_goes(tmp_path: Path, name: str, seconds: float, goes: bool) -> None:
    """Only names that we give, and only when nobody can be in the middle of making them."""
    folder = left(tmp_path, name, seconds=seconds)
    remove_abandoned_folders(tmp_path)
    assert folder.exists() is not goes


@pytest.mark.parametrize("name", ["hanstep.abcdefgh", "hanstep-abcdefgh"])
def test_what_somebody_uses_stays(tmp_path: Path, name: str) -> None:
    folder = left(tmp_path, name)
    opened = os.open(folder, os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    remove_abandoned_folders(tmp_path)
    assert folder.exists()
    os.close(opened)
    remove_abandoned_folders(tmp_path)
    assert not folder.exists()


def test_the_checkpoints_of_an_open_notebook_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be open for days without saving one, while the same user grades."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = runpy.run_module("grader.experiments.loop_anatomy.digits")  # kept: it holds the folder
    folder: Path = module["folder"]
    assert folder.parent == tmp_path
    os.utime(folder, (time.time() - WEEK,) * 2)
    remove_abandoned_folders(tmp_path)
    assert folder.exists()
    assert module["folder"] is folder


@pytest.mark.parametrize("length", [30, 90])
def test_the_usual_folder_is_swept_even_if_its_path_is_too_long(tmp_path: Path, length: int) -> None:
    """Sockets in our own folder need a short path, so /tmp takes its place; notebooks' folders lie in the usual one."""
    code = """
from grader.classroom import own_temporary_folder
own_temporary_folder.remove_abandoned_folders = lambda place: print(place)
print(own_temporary_folder.move_into_own_temporary_folder())
"""
    usual = Path("/tmp", f"usual-{secrets.token_hex(4)}".ljust(length - len("/tmp/"), "x"))
    usual.mkdir()
    try:
        said = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(usual)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout.splitlines()
    finally:
        shutil.rmtree(usual)
    assert {str(usual), "/dev/shm"} <= set(said)
    assert Path(said[-1]).parent == (usual if length < 55 else Path("/tmp"))
    assert not Path(said[-1]).exists(), "it was not removed in the end"


def test_no_link_is_followed_and_nobody_elses_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can put a link with such a name into /tmp; where it leads stays as it is."""
    elsewhere = left(tmp_path / "elsewhere", "precious")
    (tmp_path / "hanstep.linklink").symlink_to(elsewhere, target_is_directory=True)
    (tmp_path / "hanstep.filefile").write_text("x")
    inner = left(tmp_path, "hanstep.innerinn")
    (inner / "link").symlink_to(elsewhere, target_is_directory=True)
    os.utime(inner, (time.time() - WEEK,) * 2)
    remove_abandoned_folders(tmp_path)
    assert not inner.exists()
    assert (elsewhere / "pymp-abc" / "file").exists()
    assert (tmp_path / "hanstep.filefile").exists()
    foreign = left(tmp_path, "hanstep.abcdefgh")
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    remove_abandoned_folders(tmp_path)
    assert foreign.exists()


@pytest.mark.full
@pytest.mark.timeout(300)
def test_grading_leaves_nothing_even_after_it_was_killed(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """The temporary folder before and after: a whole run, one killed in the middle, and the one that follows."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "kim.py").write_text("def zero_gradients(model):\n    while True: pass\n")
    temporary = Path(tempfile.mkdtemp(prefix="left-"))  # pytest's own folder has too long a path for sockets
    request.addfinalizer(lambda: shutil.rmtree(temporary))
    command = [sys.executable, "-m", "grader", "grade", "class", "--lesson", "1", "--sandbox", "none"]
    own = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)}
    running = subprocess.Popen([*command, "--jobs", "1"], cwd=tmp_path, env=own)
    deadline = time.monotonic() + 120
    while not list(temporary.glob("hanstep.*/hanstep-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    family = descendants(running.pid)
    running.send_signal(signal.SIGKILL)
    running.wait()
    (folder,) = temporary.iterdir()
    while left_of(family) and time.monotonic() < deadline:  # its workers notice, and end; the folder stays
        pass
    assert any(folder.glob("hanstep-*"))
    os.utime(folder, (time.time() - WEEK,) * 2)
    (tmp_path / "class" / "kim.py").write_text("def zero_gradients(model):\n    pass\n")
    subprocess.run(command, cwd=tmp_path, env=own, check=True, capture_output=True)
    assert list(temporary.iterdir()) == []


def test_a_deep_folder_that_was_left_ends_no_later_run(tmp_path: Path) -> None:
    """Of 1,200 levels Python 3.11's own remover dies, and with it each later run."""
    folder = left(tmp_path, "hanstep.abcdefgh")
    deep_folder(folder / "deep", 1_200)
    os.utime(folder, (time.time() - WEEK,) * 2)
    remove_abandoned_folders(tmp_path)
    assert os.listdir(tmp_path) == []
