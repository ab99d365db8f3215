"""Unpack the zip files of a download below a folder: only what is graded, within limits, never outside the folder."""

import errno
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path
from typing import IO, Any, Protocol

from grader.base.decoding import MAX_FILE_BYTES
from grader.base.files import NotRegular, open_regular
from grader.base.names import display_name, short
from grader.intake.child_process import is_machine_fault
from grader.intake.handover import is_made_by_programs
from grader.intake.tar_archives import TARS, TooLarge, opened_tar
from grader.submission.file_forms import MAX_DOCUMENT_BYTES, is_document, is_source
from grader.submission.find_files import ARCHIVES, MAX_DEPTH, MAX_ENTRIES, Unreadable, is_skipped
from grader.submission.submission import MAX_STUDENT_BYTES

MAX_ARCHIVE_BYTES = 100 * 2**20
"""Largest archive that may lie within an archive."""
MAX_NESTED = 3
"""Maximum depth of archives within archives, per student."""
MAX_UNPACKED_TAR_BYTES = MAX_STUDENT_BYTES
"""Largest tar archive, unpacked; a larger one holds data."""
ZIPS = (".zip", ".dbc")
_ZIP_BEGINS = b"PK\x03\x04"
MAX_DIRECTORY_BYTES = 16 * 2**20
"""Largest directory of an archive; it is read into memory before its entries can be counted."""
TOO_MANY = "압축 파일에 파일이 너무 많이 들어 있어요. 낼 파일만 압축해 주세요."
_METADATA_FILES = ("submission_metadata.yml",)
"""Files in which a learning system describes the class; unpacked from the class's own archive only."""
_SAME_NAME = "같은 이름의 파일이나 폴더가 있음"
_ERROR_NUMBERS = {
    errno.EACCES: "읽거나 쓸 권한이 없음",
    errno.EEXIST: _SAME_NAME,
    errno.EILSEQ: "쓸 수 없는 이름이나 값",
    errno.EINVAL: "쓸 수 없는 이름이나 값",
    errno.EISDIR: _SAME_NAME,
    errno.ELOOP: "끝없이 이어지는 링크",
    errno.ENAMETOOLONG: "너무 긴 이름",
    errno.ENOENT: "없는 파일",
    errno.ENOTDIR: _SAME_NAME,
    errno.EPERM: "읽거나 쓸 권한이 없음",
}
"""Number of an `OSError` -> what it says of an upload."""
_ERROR_TYPES: tuple[tuple[type[Exception], str], ...] = (
    (zipfile.BadZipFile, "zip이 아니거나 깨진 파일"),
    (zlib.error, "깨진 내용"),
    (EOFError, "중간에 끊긴 파일"),
    (NotImplementedError, "지원하지 않는 압축 방식"),
    (OSError, "깨진 내용"),  # without a number: `bz2`
    (ValueError, "쓸 수 없는 이름이나 값"),
)
"""Type of another exception -> the same; the first that fits counts."""
_BLOCK = 2**20
"""Bytes read at a time."""
_DIRECTORY_BYTES = 5  # index of the directory's size in the list that `zipfile._EndRecData` returns
_DRIVE = re.compile("[A-Za-z]:")
_TOO_LARGE = "풀면 {:.0f} MB가 넘어서 읽지 않았어요. 출력을 지우고 낼 파일만 내 주세요."


@dataclass
class Quota:
    """What may still be written and listed for one student."""

    bytes_left: int = MAX_STUDENT_BYTES
    entries_left: int = MAX_ENTRIES


class TooMany(Exception):
    """An archive has more entries than are read."""


class _Broken(Exception):
    """An entry of an archive cannot be decoded."""


class Contents(Protocol):
    """An open archive: a `ZipFile` or a `TarContents`."""

    def open(self, entry: Any, /) -> AbstractContextManager[IO[bytes]]:
        """Open an entry for reading."""


@dataclass(frozen=True)
class Item:
    """An archive's entry that is neither a folder nor hidden."""

    entry: object
    """What `Contents.open` takes."""
    shown: str
    parts: tuple[str, ...]
    is_link: bool
    size: int
    """Bytes, as the archive claims."""

    @property
    def refused(self) -> str:
        """Korean reason why the entry must not be unpacked; empty if it may be."""
        if self.shown.startswith(("/", "\\")) or ".." in self.parts or _DRIVE.match(self.parts[0]):
            return "폴더 밖으로 나가는 경로라서 풀지 않았어요. 파일만 다시 압축해 주세요."
        if len(self.parts) - 1 > MAX_DEPTH:
            return f"폴더가 {MAX_DEPTH}겹보다 깊어요. 나머지는 읽지 않았어요. 낼 파일만 다시 압축해 주세요."
        if self.is_link:
            return "링크라서 풀지 않았어요. 링크 대신 파일 자체를 압축해 주세요."
        return ""


@dataclass
class Unpacker:
    """Unpacks archives within a quota, and collects what could not be unpacked and why.

    For one student it is used as a whole; `class_archive` makes one for each entry of a class's archive.
    """

    quota: Quota = field(default_factory=Quota)
    broken: dict[Path, str] = field(default_factory=dict)
    """Korean messages by path: for empty files in place of broken ones, and for folders that lack something."""
    _unreadable: dict[Unreadable, None] = field(default_factory=dict)
    _numbers: dict[Path, Iterator[int]] = field(default_factory=dict)

    @property
    def unreadable(self) -> tuple[Unreadable, ...]:
        """Everything that was left out, without duplicates."""
        return tuple(self._unreadable)

    @property
    def refusals(self) -> int:
        """Number of things left out so far."""
        return len(self._unreadable)

    @property
    def last_refusal(self) -> Unreadable:
        """The thing left out last."""
        return next(reversed(self._unreadable))

    def refuse(self, name: str, message: str) -> None:
        """Record once that `name` could not be read, with a Korean message."""
        self._unreadable[Unreadable(short(name), message)] = None

    def free_path(self, path: Path) -> Path:
        """Return `path`, with a number appended if something is there already.

        The numbers go on counting per path instead of starting again at 2, because there can be thousands.
        """
        candidate = path
        while os.path.lexists(candidate):
            number = next(self._numbers.setdefault(path, count(2)))
            candidate = path.with_name(f"{path.stem} ({number}){path.suffix}")
        return candidate

    def unpack(self, archive: Path, into: Path, name: str, *, nested: int = 0) -> None:
        """Write the contents of an archive below `into`; problems are added to `unreadable`.

        Files that are not graded are written empty, so that their names are listed like any other. An archive with more
        entries than are left is refused as a whole.

        Args:
            archive: the zip file.
            into: the folder to write below.
            name: how to call the archive in messages.
            nested: number of archives around this one; negative for the archive of a whole class.

        Raises:
            OSError: the machine is at fault.
        """
        try:
            with self._opened(archive, name, nested) as (opened, found):
                if len(found) > self.quota.entries_left:
                    self.refuse(name, TOO_MANY)
                    return
                self.quota.entries_left -= len(found)
                for item in found:
                    self.write_item(opened, item, into, name, nested)
        except TooMany:
            self.refuse(name, TOO_MANY)
        except TooLarge:  # it holds data; its name is listed as that of an archive that is not opened
            self.free_path(into / display_name(archive.name)).touch(exist_ok=False)
        except Exception as error:  # each decoder raises exceptions of its own
            self.refuse(name, f"압축 파일을 열 수 없어요({why_not(error)}). 다시 압축해서 내 주세요.")

    def unpack_beside(self, archive: Path, target: Path, name: str, *, nested: int = 0) -> None:
        """Unpack an archive into a new folder named like `target` without its suffix.

        Raises:
            OSError: the machine is at fault.
        """
        folder = self.free_path(target.with_name(target.name.partition(".")[0] or "archive"))
        folder.mkdir()
        self.unpack(archive, folder, name, nested=nested)

    @contextmanager
    def _opened(self, archive: Path, name: str, nested: int) -> Iterator[tuple[Contents, list[Item]]]:
        """Open an archive of any kind; yield it and its entries, one more than are left if there are more.

        Raises:
            TooMany: it is a zip file with a directory that is too large to read.
            TooLarge: it is a tar archive that is too large unpacked.
        """
        if name.lower().endswith(ZIPS) or is_source(name):
            with opened_archive(archive, MAX_DIRECTORY_BYTES) as zipped:
                if zipped is None:
                    raise TooMany
                yield zipped, items(zipped, nested)
            return
        with opened_tar(archive, name, MAX_UNPACKED_TAR_BYTES) as tar:
            found = []
            for member, path, is_link in islice(tar.entries(), self.quota.entries_left + 1):
                shown = display_name(path)
                if (parts := parts_of(shown)) and not _left_out(parts, nested):
                    found.append(Item(member, shown, parts, is_link, member.size))
            yield tar, found

    def write_item(self, opened: Contents, item: Item, into: Path, archive: str, nested: int) -> None:
        """Write one entry of an archive, or record why not.

        Raises:
            OSError: the machine is at fault.
        """
        name = f"{archive}/{item.shown}"
        if refused := item.refused:
            self.refuse(name, refused)
            return
        lower = item.parts[-1].lower()
        target = into.joinpath(*item.parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if is_opened(lower):
                self._nested(opened, item.entry, target, name, nested)
            elif is_source(lower) or (nested < 0 and lower in _METADATA_FILES):
                target = self.free_path(target)
                if self._write(opened, item.entry, target, name, MAX_FILE_BYTES) and nested >= 0:
                    self._unpack_if_packed(target, name, nested)
            elif is_copied(lower, item.size):
                self._write(opened, item.entry, self.free_path(target), name, MAX_DOCUMENT_BYTES)
            else:
                self.free_path(target).touch(exist_ok=False)
        except Exception as error:
            self.refuse(name, f"풀 수 없어요({why_not(error)}). 파일 이름을 짧게 바꿔서 다시 압축해 주세요.")

    def _nested(self, opened: Contents, entry: object, target: Path, name: str, nested: int) -> None:
        """Write an inner archive; unpack it too, unless it lies directly in the archive of a whole class."""
        if nested >= MAX_NESTED:
            self.refuse(name, f"압축 파일이 {MAX_NESTED}겹보다 깊어요. 한 번만 압축해 주세요.")
            return
        inner = self.free_path(target)
        if self._write(opened, entry, inner, name, MAX_ARCHIVE_BYTES) and nested >= 0:
            self.unpack_beside(inner, target, name, nested=nested + 1)
            inner.unlink()

    def _unpack_if_packed(self, written: Path, name: str, nested: int) -> None:
        """Unpack a file named like a source in place of which somebody has handed in an archive."""
        if nested < MAX_NESTED and is_packed_source(written.name, written):
            self.unpack_beside(written, written, name, nested=nested + 1)
            written.unlink()

    def _write(self, opened: Contents, entry: object, target: Path, name: str, most: int) -> bool:
        """Write one entry; stop when it exceeds `most` or the bytes left, whatever size the archive claims.

        Return True if the whole entry was written. A broken or too large one is replaced by an empty file and recorded.
        """
        allowed = min(most, self.quota.bytes_left)
        written = 0
        try:
            with target.open("xb") as file:
                for block in _blocks(opened, entry):
                    file.write(block)
                    written += len(block)
                    if written > allowed:
                        break
        except _Broken as error:
            locked = isinstance(error.__cause__, RuntimeError) and "password" in str(error.__cause__)
            what = "암호가 걸려 있어요. 암호 없이" if locked else "내용이 깨졌어요."
            self._leave_empty(target, name, f"{what} 다시 압축해서 내 주세요.")
            return False
        finally:
            self.quota.bytes_left -= min(written, allowed)
        if written > allowed:
            self._leave_empty(target, name, _TOO_LARGE.format(allowed / 2**20))
        return written <= allowed

    def _leave_empty(self, target: Path, name: str, message: str) -> None:
        """Leave an empty file, so that the file is listed, and record why it could not be read."""
        target.write_bytes(b"")
        self.broken[target] = message
        self.refuse(name, message)


def _blocks(opened: Contents, entry: object) -> Iterator[bytes]:
    """Yield the decoded content in blocks; any decoder's error becomes `_Broken`."""
    try:
        with opened.open(entry) as source:
            while block := source.read(_BLOCK):
                yield block
    except Exception as error:
        raise _Broken from error


@contextmanager
def opened_archive(archive: Path, most: int) -> Iterator[zipfile.ZipFile | None]:
    """Open an archive; yield None if its directory has more than `most` bytes."""
    with archive.open("rb") as file:
        # Read the end record as ZipFile will, but before it loads the directory. `_EndRecData` is private: without it,
        # only the memory limit protects us.
        end = getattr(zipfile, "_EndRecData", lambda _: None)(file)
        if end and end[_DIRECTORY_BYTES] > most:
            yield None
            return
        with zipfile.ZipFile(file) as opened:
            yield opened


def items(opened: zipfile.ZipFile, nested: int) -> list[Item]:
    """Return an archive's entries without folders, hidden files, and files that programs make."""
    found = []
    for info in opened.infolist():
        shown = _shown(info)
        parts = parts_of(shown)
        if parts and not info.is_dir() and not _left_out(parts, nested):
            is_link = stat.S_ISLNK(info.external_attr >> 16)
            found.append(Item(info, shown, parts, is_link, info.file_size))
    return found


def parts_of(path: str) -> tuple[str, ...]:
    """Return the names in a path within an archive, however its folders are separated."""
    return tuple(part for part in path.replace("\\", "/").split("/") if part not in ("", "."))


def is_opened(name: str) -> bool:
    """Return True if a file is an archive to open; of a single packed file, only if it is named like a source."""
    lower = name.lower()
    if not lower.endswith(ARCHIVES):
        return False
    return lower.endswith((*ZIPS, *TARS)) or is_source(lower.rpartition(".")[0])


def is_packed_source(name: str, path: Path) -> bool:
    """Return True if a file is named like a source and begins like a zip file: somebody has only renamed it."""
    if not is_source(name):
        return False
    try:
        with os.fdopen(open_regular(path), "rb") as file:
            return file.read(len(_ZIP_BEGINS)) == _ZIP_BEGINS
    except (OSError, NotRegular):  # told by whoever reads it
        return False


def is_copied(name: str, size: int) -> bool:
    """Return True if a file of this size is kept to be read: a source, or a document that may hold code."""
    return is_source(name) or (is_document(name) and size <= MAX_DOCUMENT_BYTES)


def _left_out(parts: tuple[str, ...], nested: int) -> bool:
    """Return True if an entry is hidden or made by a program.

    In the archive of a whole class (`nested` < 0) the first part of a path may be a student's name, and so may begin
    with a dot.
    """
    hidden = map(is_skipped, parts[1:] if nested < 0 else parts)
    return ".." not in parts and (any(hidden) or is_made_by_programs(parts[0]))


def _shown(info: zipfile.ZipInfo) -> str:
    """Return an entry's name for display. Python decodes names not marked as UTF-8 as cp437; undo that."""
    if info.flag_bits & 0x800:
        return display_name(info.filename)
    try:
        return display_name(os.fsdecode(info.orig_filename.encode("cp437")))
    except UnicodeEncodeError:
        return display_name(info.filename)


def why_not(error: Exception) -> str:
    """Describe an error in a few Korean words.

    Raises:
        OSError: the error itself, if the machine is at fault.
    """
    if is_machine_fault(error):
        raise error
    if isinstance(error, OSError) and error.errno is not None:
        code = errno.errorcode.get(error.errno, str(error.errno))
        return _ERROR_NUMBERS.get(error.errno, f"알 수 없는 오류: {code}")
    known = (words for kind, words in _ERROR_TYPES if isinstance(error, kind))
    return next(known, f"알 수 없는 오류: {type(error).__name__}")
