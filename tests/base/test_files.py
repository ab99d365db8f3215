"""Files are written whole or not at all, and opened only where they are files."""

import os
import stat
from pathlib import Path

import pytest

from grader.base.errors import CommandError
from grader.base.files import NotRegular, open_folder_below, open_regular, require_file, write_whole


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A full disk or a kill in the middle must not cost the results that were there."""
    path = tmp_path / "results.json"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_a_mistyped_file_is_asked_for_by_the_name_beside_it(tmp_path: Path) -> None:
    (tmp_path / "1_five_lines.ipynb").touch()
    with pytest.raises(CommandError, match=r"혹시 .*1_five_lines\.ipynb인가요\?"):
        require_file(tmp_path / "1_five_line.ipynb")
    for other in (tmp_path / "train.py", tmp_path / "nowhere" / "train.py"):
        with pytest.raises(CommandError, match="경로를 확인해 주세요"):
            require_file(other)


@pytest.mark.skipif(os.name != "posix", reason="pipes and links")
@pytest.mark.parametrize("kind", ["pipe", "folder", "link", "device"])
def test_only_files_are_opened(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for the writer of a pipe; not even of one that takes a file's place at the last moment."""
    path = tmp_path / "file"
    file = tmp_path / "other"
    file.write_text("x")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    else:
        path.symlink_to(file if kind == "link" else "/dev/zero")
    with pytest.raises(NotRegular, match="file"):
        open_regular(path)
    before = os.stat(file)
    monkeypatch.setattr(os, "stat", lambda *_, **__: before)
    with pytest.raises(OSError):  # noqa: PT011  (which one depends on what it is)
        os.close(open_regular(path))
    assert stat.S_ISREG(before.st_mode)


@pytest.mark.skipif(os.name != "posix", reason="links")
def test_no_link_on_the_way_is_followed(tmp_path: Path) -> None:
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    (tmp_path / "root" / "link").symlink_to(tmp_path / "root" / "a")
    (tmp_path / "root" / "a" / "file").write_text("x")
    for folder in ("", "a", "a/b"):
        opened = open_folder_below(tmp_path / "root", tmp_path / "root" / folder)
        assert os.path.samestat(os.fstat(opened), os.stat(tmp_path / "root" / folder))
        os.close(opened)
    for folder in ("link", "link/b", "a/file", "a/none"):
        with pytest.raises(OSError, match=r"Not a directory|No such file|Too many levels"):
            open_folder_below(tmp_path / "root", tmp_path / "root" / folder)
