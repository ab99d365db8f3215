"""The remover takes away whatever a student or a killed run left, and raises no error about it."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grader.base import removal
from grader.base.removal import remove_tree, temporary_folder
from tests.intake.hostile import deep_folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="paths that long exist there only")


def test_folders_thousands_deep_go(tmp_path: Path) -> None:
    """Deeper than Python recurses, than a path may be long, and than a process may have files open."""
    assert remove_tree(deep_folder(tmp_path / "top", 5_000))
    assert os.listdir(tmp_path) == []


def test_folders_that_may_not_be_written_or_read_go(tmp_path: Path) -> None:
    for mode in (0o500, 0o000, 0o300):
        inner = tmp_path / f"top{mode}" / "a" / "b"
        inner.mkdir(parents=True)
        (inner / "file").write_text("x")
        for folder in (inner, inner.parent, inner.parent.parent):
            folder.chmod(mode)
        assert remove_tree(tmp_path / f"top{mode}")
    assert os.listdir(tmp_path) == []


def test_links_are_removed_and_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "precious").write_text("x")
    top = tmp_path / "top"
    (top / "a").mkdir(parents=True)
    (top / "a" / "link").symlink_to(elsewhere)
    (top / "link").symlink_to(elsewhere / "precious")
    os.mkfifo(top / "pipe")
    assert remove_tree(top)
    (tmp_path / "to").symlink_to(elsewhere)
    assert not remove_tree(tmp_path / "to")
    assert not remove_tree(f"{tmp_path}/to/")
    assert (elsewhere / "precious").read_text() == "x"


def test_many_names_alike_go(tmp_path: Path) -> None:
    for outer in range(20):
        for inner in range(20):
            (tmp_path / "top" / str(outer) / str(inner) / "same").mkdir(parents=True)
    assert remove_tree(tmp_path / "top")


def test_what_is_not_there_is_gone_and_what_cannot_go_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert remove_tree(tmp_path / "nothing")
    assert remove_tree(tmp_path / "nothing" / "below it")
    assert remove_tree("a\0b")
    (tmp_path / "file").touch()
    assert not remove_tree(tmp_path / "file")
    (tmp_path / "top" / "a").mkdir(parents=True)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        assert not remove_tree(tmp_path / "top")
    assert remove_tree(tmp_path / "top")


@pytest.mark.parametrize("by_descriptor", [True, False])
def test_a_folder_goes_on_any_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_descriptor: bool
) -> None:
    monkeypatch.setattr(removal, "_BY_DESCRIPTOR", by_descriptor)
    (tmp_path / "top" / "a" / "b").mkdir(parents=True)
    (tmp_path / "top" / "a" / "file").write_text("x")
    assert remove_tree(f"{tmp_path}/top/")
    (tmp_path / "link").symlink_to(tmp_path)
    assert not remove_tree(f"{tmp_path}/link/")
    assert (tmp_path / "link").is_symlink()
    assert remove_tree("a\0b")


def test_a_link_put_in_place_of_a_locked_folder_changes_no_rights_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere, locked = tmp_path / "elsewhere", tmp_path / "top" / "locked"
    elsewhere.mkdir()
    elsewhere.chmod(0o750)
    (locked / "a").mkdir(parents=True)
    real_open, real_chmod = os.open, os.chmod

    def refuse(path: Any, flags: int, *args: Any, **options: Any) -> int:
        if path == "locked" and not flags & getattr(os, "O_PATH", 0) and not locked.is_symlink():
            raise PermissionError
        return real_open(path, flags, *args, **options)

    def change_after_a_swap(path: Any, mode: int, **options: Any) -> None:
        locked.rename(tmp_path / "aside")
        locked.symlink_to(elsewhere)
        real_chmod(path, mode, **options)

    with monkeypatch.context() as patched:
        patched.setattr(os, "open", refuse)
        patched.setattr(os, "chmod", change_after_a_swap)
        remove_tree(tmp_path / "top")
    assert locked.is_symlink()
    assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o750


def test_another_folder_that_takes_the_path_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = tmp_path / "a" / "top"
    (top / "b" / "c").mkdir(parents=True)
    real_listdir = os.listdir

    def list_after_a_swap(folder: Any) -> list[str]:
        if not (tmp_path / "moved").exists():
            (tmp_path / "a").rename(tmp_path / "moved")
            top.mkdir(parents=True)
        return real_listdir(folder)

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", list_after_a_swap)
        remove_tree(top)
    assert top.is_dir()
    assert os.listdir(tmp_path / "moved") == []


def test_folders_that_are_mounted_inside_are_not_emptied(tmp_path: Path) -> None:
    """One is of another device, the other one of the same."""
    unshare = [shutil.which("unshare") or "", "--user", "--map-root-user", "--mount"]
    if not unshare[0] or subprocess.run([*unshare, "true"], check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    for name in ("elsewhere", "top/a/b/mounted", "top/bound"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "elsewhere" / "precious").touch()
    (tmp_path / "top" / "a" / "file").touch()
    program = """import subprocess
from pathlib import Path
from grader.base.removal import remove_tree
subprocess.run(["mount", "-t", "tmpfs", "none", "top/a/b/mounted"], check=True)
subprocess.run(["mount", "--bind", "elsewhere", "top/bound"], check=True)
Path("top/a/b/mounted/precious").touch()
assert not remove_tree("top")
(left,) = Path("top").rglob("mounted")
assert left.joinpath("precious").exists()
assert not list(Path("top").rglob("file"))
"""
    subprocess.run([*unshare, sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert (tmp_path / "elsewhere" / "precious").exists()


def test_a_temporary_folder_goes_with_all_that_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def broken_off() -> None:
        with temporary_folder() as folder:
            deep_folder(folder / "a", 1_500)
            raise KeyError

    with pytest.raises(KeyError):
        broken_off()
    assert os.listdir(tmp_path) == []
