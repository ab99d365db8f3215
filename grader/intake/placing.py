"""Put the files that one student handed in into a folder of that student: copied or unpacker, within limits."""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

from grader.base.names import display_name
from grader.base.removal import remove_tree
from grader.intake.archives import Unpacker, is_copied, is_opened, is_packed_source, why_not
from grader.submission.file_forms import is_source
from grader.submission.find_files import MAX_DEPTH, MAX_ENTRIES, Unreadable, is_skipped

_TOO_DEEP = f"폴더가 {MAX_DEPTH}겹보다 깊어요. 나머지는 읽지 않았어요. 낼 파일만 남겨 주세요."


def placed(
    parts: Sequence[tuple[str, Path]], folder: Path, broken: Mapping[Path, str]
) -> tuple[Unreadable, ...]:
    """Put a student's files into a folder of their own, and return what could not be read.

    Args:
        parts: for each file or folder, its name within `folder` (empty: the folder's content itself) and its place.
        folder: the student's folder; emptied first.
        broken: Korean messages by path, for files and folders of a class's archive that are not complete.

    Raises:
        OSError: the machine is at fault.
    """
    remove_tree(folder)
    folder.mkdir(parents=True)
    unpacker = Unpacker(broken=dict(broken))
    for name, path in parts:
        _place(path, folder / name, unpacker, name, 0)
    return unpacker.unreadable


def placed_if_packed(path: Path, folder: Path, broken: Mapping[Path, str]) -> tuple[Unreadable, ...] | None:
    """Do as `placed` with an entry of a plain class folder if there is an archive in it; else return None.

    Args:
        path: a student's folder or file.
        folder: where it is put.
        broken: as in `placed`.
    """
    if not _holds_an_archive(path):
        return None
    return placed([(path.name if path.is_file() else "", path)], folder, broken)


def _holds_an_archive(path: Path) -> bool:
    """Return whether the path is an archive, or a folder with one, as deep and wide as is read; follows no link."""
    pending, seen = [(path, 0)], 0
    while pending:
        current, depth = pending.pop()
        try:
            kind = current.lstat().st_mode
            if stat.S_ISREG(kind) and (is_opened(current.name) or is_packed_source(current.name, current)):
                return True
            if stat.S_ISDIR(kind) and depth <= MAX_DEPTH:
                with os.scandir(current) as listing:
                    inside = list(islice(listing, MAX_ENTRIES - seen))
                seen += len(inside)
                pending += [(Path(entry.path), depth + 1) for entry in inside if not is_skipped(entry.name)]
        except OSError:  # told by whoever reads it
            continue
    return False


def _place(source: Path, target: Path, unpacker: Unpacker, name: str, depth: int) -> None:
    """Put a file, a folder's content or an archive's content at `target`.

    Links stay links: whether they lead outside is judged when they are read. Files that are not graded are created
    empty, so that only their names are kept.
    """
    try:
        kind = source.lstat().st_mode
        if source in unpacker.broken:
            unpacker.refuse(name or "./", unpacker.broken[source])
        if stat.S_ISDIR(kind):
            target.mkdir(parents=True, exist_ok=True)
            _place_folder(source, target, unpacker, name, depth)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target = unpacker.free_path(target)
        if stat.S_ISLNK(kind):
            os.symlink(os.readlink(source), target)
        elif source in unpacker.broken:
            return
        elif stat.S_ISREG(kind) and (is_opened(name) or is_packed_source(name, source)):
            unpacker.unpack_beside(source, target, name)
        elif is_copied(name, source.lstat().st_size) and stat.S_ISREG(kind):
            _copy(source, target, unpacker, name)
        elif is_source(name):
            unpacker.refuse(name, "보통 파일이 아니에요(파이프, 장치). 파일 자체를 내 주세요.")
        else:
            target.touch(exist_ok=False)
    except Exception as error:
        unpacker.refuse(name, f"열 수 없어요({why_not(error)}). 파일을 다시 받아 주세요.")


def _place_folder(source: Path, target: Path, unpacker: Unpacker, name: str, depth: int) -> None:
    """Place a folder's entries in the order of their names, until the limit of entries is reached."""
    with os.scandir(source) as listing:
        found = sorted(islice(listing, unpacker.quota.entries_left + 1), key=lambda e: e.name)
    for entry in found:
        unpacker.quota.entries_left -= 1
        if unpacker.quota.entries_left < 0:
            message = f"파일과 폴더가 {MAX_ENTRIES:,}개 넘게 있어요. 낼 파일만 남겨 주세요."
            unpacker.refuse(name or "./", message)
            return
        if is_skipped(entry.name) and not is_source(entry.name):
            continue
        inner = f"{name}/{display_name(entry.name)}".removeprefix("/")
        if depth >= MAX_DEPTH and entry.is_dir(follow_symlinks=False):
            unpacker.refuse(f"{inner}/", _TOO_DEEP)
            continue
        _place(Path(entry.path), target / entry.name, unpacker, inner, depth + 1)


def _copy(source: Path, target: Path, unpacker: Unpacker, name: str) -> None:
    size = source.lstat().st_size
    if size > unpacker.quota.bytes_left:
        unpacker.refuse(name, "앞의 파일들이 너무 커서 읽지 않았어요. 출력을 지우고 낼 파일만 내 주세요.")
        return
    unpacker.quota.bytes_left -= size
    shutil.copyfile(source, target, follow_symlinks=False)
