"""The remover takes away whatever a student or a killed run left, and never raises."""

import os
from pathlib import Path

import pytest

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
    (tmp_path / "top" / "a").mkdir(parents=True)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patched:
        patched.setattr(os, "rmdir", refuse)
        assert not remove_tree(tmp_path / "top")
    assert remove_tree(tmp_path / "top")


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
