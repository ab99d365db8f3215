"""Zip files of a download -> files below a folder: only what is graded is written, within limits, never outside."""

import os
import re
import shutil
import stat
import zipfile
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from grader.intake.handover import is_nobodys
from grader.submission.decoding import MAX_FILE_BYTES, display_name
from grader.submission.search import MAX_ENTRIES, SUFFIXES, Unreadable, is_skipped
from grader.submission.submission import MAX_STUDENT_BYTES

MAX_ARCHIVE_BYTES = 100 * 2**20
"""Largest archive within an archive."""
MAX_NESTED = 3
"""Archives within archives of one student."""
MAX_CLASS_ENTRIES = 400_000
MAX_CLASS_BYTES = 16 * 2**30
_ABOUT = ("submission_metadata.yml",)
"""What a system says about a class."""
_BLOCK = 2**20
_DRIVE = re.compile("[A-Za-z]:")
_TOO_LARGE = "풀면 {:.0f} MB가 넘어서 읽지 않았어요. 출력을 지우고 낼 파일만 내 주세요."


@dataclass
class Limits:
    """What may still be written and looked at for one student, or for a class."""

    bytes_left: int = MAX_STUDENT_BYTES
    entries_left: int = MAX_ENTRIES

    @classmethod
    def of_class(cls) -> "Limits":
        """For the archive that holds a whole class."""
        return cls(MAX_CLASS_BYTES, MAX_CLASS_ENTRIES)


@dataclass
class Unpacked:
    """What unpacking wrote and what it left out."""

    limits: Limits = field(default_factory=Limits)
    unreadable: list[Unreadable] = field(default_factory=list)
    broken: dict[Path, str] = field(default_factory=dict)
    """Files that stand where an archive held something broken, and what is to be said of them."""

    def refuse(self, name: str, message: str) -> None:
        """Say once that something could not be read."""
        problem = Unreadable(name, message)
        if problem not in self.unreadable:
            self.unreadable.append(problem)

    def unpack(self, archive: Path, into: Path, name: str, *, nested: int = 0) -> None:
        """Write what an archive holds below `into`. Never raises for what is in the archive: that is in `unreadable`.

        Of files that are not graded only the name is written, so that they are listed like any other.
        """
        try:
            with zipfile.ZipFile(archive) as opened:
                for info in opened.infolist():
                    self.limits.entries_left -= 1
                    if self.limits.entries_left < 0:
                        self.refuse(name, "압축 파일에 든 것이 너무 많아요. 낼 파일만 압축해 주세요.")
                        return
                    self._take(opened, info, into, name, nested)
        except (
            zipfile.BadZipFile,
            zipfile.LargeZipFile,
            EOFError,
            ValueError,
            OSError,
            NotImplementedError,
        ) as error:
            self.refuse(name, f"압축 파일을 열 수 없어요({type(error).__name__}). 다시 압축해서 내 주세요.")

    def _take(
        self, opened: zipfile.ZipFile, info: zipfile.ZipInfo, into: Path, archive: str, nested: int
    ) -> None:
        shown = _shown(info)
        parts = [part for part in shown.replace("\\", "/").split("/") if part not in ("", ".")]
        if info.is_dir() or not parts or _left_out(parts, nested):
            return
        name = f"{archive}/{shown}"
        if shown.startswith(("/", "\\")) or ".." in parts or _DRIVE.match(parts[0]):
            self.refuse(name, "폴더 밖으로 나가는 경로라서 풀지 않았어요. 파일만 다시 압축해 주세요.")
            return
        if stat.S_ISLNK(info.external_attr >> 16):
            self.refuse(name, "링크라서 풀지 않았어요. 링크 대신 파일 자체를 압축해 주세요.")
            return
        lower = parts[-1].lower()
        target = into.joinpath(*parts)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if lower.endswith(".zip"):
                self._nested(opened, info, target, name, nested)
            elif lower.endswith(SUFFIXES) or (nested < 0 and lower in _ABOUT):
                self._write(opened, info, _free(target), name, MAX_FILE_BYTES)
            else:
                _free(target).touch(exist_ok=False)
        except OSError as error:
            self.refuse(
                name, f"풀 수 없어요({error.strerror or type(error).__name__}). 이름을 짧게 바꿔 주세요."
            )

    def _nested(
        self, opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, name: str, nested: int
    ) -> None:
        if nested >= MAX_NESTED:
            self.refuse(name, f"압축 파일이 {MAX_NESTED}겹보다 깊어요. 한 번만 압축해 주세요.")
            return
        inner = _free(target)
        if self._write(opened, info, inner, name, MAX_ARCHIVE_BYTES) and nested >= 0:
            folder = _free(target.with_suffix(""))
            folder.mkdir()
            self.unpack(inner, folder, name, nested=nested + 1)
            inner.unlink()

    def _write(
        self, opened: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path, name: str, most: int
    ) -> bool:
        """Write a file, and stop where it is larger than it may be, whatever size the archive claims."""
        allowed = min(most, self.limits.bytes_left)
        written = 0
        try:
            with opened.open(info) as source, target.open("xb") as file:
                while written <= allowed and (block := source.read(_BLOCK)):
                    file.write(block)
                    written += len(block)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError) as error:
            locked = isinstance(error, RuntimeError) and "password" in str(error)
            message = f"{'암호가 걸려 있어요. 암호 없이' if locked else '내용이 깨졌어요.'} 다시 압축해서 내 주세요."
            self.refuse(name, message)
            target.write_bytes(b"")
            self.broken[target] = message
            return False
        self.limits.bytes_left -= min(written, allowed)
        if written > allowed:
            target.write_bytes(b"")
            self.broken[target] = _TOO_LARGE.format(allowed / 2**20)
            self.refuse(
                name,
                f"풀면 {allowed / 2**20:.0f} MB가 넘어서 읽지 않았어요. 출력을 지우고 낼 파일만 내 주세요.",
            )
        return written <= allowed


def place(source: Path, target: Path, unpacked: Unpacked, name: str) -> None:
    """Put what somebody handed in at `target`: a folder's content, a file, or what an archive holds.

    Links stay links: whether they lead outside is judged where they are read. Of what is not graded only the name is
    put there.
    """
    lower = name.lower()
    try:
        kind = source.lstat().st_mode
        if stat.S_ISDIR(kind):
            target.mkdir(parents=True, exist_ok=True)
            _place_folder(source, target, unpacked, name)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        target = _free(target)
        if stat.S_ISLNK(kind):
            os.symlink(os.readlink(source), target)
        elif source in unpacked.broken:
            unpacked.refuse(name, unpacked.broken[source])
        elif lower.endswith(".zip") and stat.S_ISREG(kind):
            folder = _free(target.with_suffix(""))
            folder.mkdir()
            unpacked.unpack(source, folder, name)
        elif lower.endswith(SUFFIXES) and stat.S_ISREG(kind):
            _copy(source, target, unpacked, name)
        elif lower.endswith(SUFFIXES):
            unpacked.refuse(name, "보통 파일이 아니에요(파이프, 장치). 파일 자체를 내 주세요.")
        else:
            target.touch(exist_ok=False)
    except OSError as error:
        unpacked.refuse(
            name, f"열 수 없어요({error.strerror or type(error).__name__}). 파일을 다시 받아 주세요."
        )


def _place_folder(source: Path, target: Path, unpacked: Unpacked, name: str) -> None:
    with os.scandir(source) as listing:
        for entry in sorted(listing, key=lambda e: e.name):
            unpacked.limits.entries_left -= 1
            if unpacked.limits.entries_left < 0:
                unpacked.refuse(
                    name or "./", f"파일과 폴더가 {MAX_ENTRIES:,}개 넘게 있어요. 낼 파일만 남겨 주세요."
                )
                return
            if is_skipped(entry.name) and not entry.name.lower().endswith(SUFFIXES):
                continue
            inner = f"{name}/{display_name(entry.name)}".removeprefix("/")
            place(Path(entry.path), target / entry.name, unpacked, inner)


def _copy(source: Path, target: Path, unpacked: Unpacked, name: str) -> None:
    size = source.lstat().st_size
    if size > unpacked.limits.bytes_left:
        unpacked.refuse(name, "앞의 파일들이 너무 커서 읽지 않았어요. 출력을 지우고 낼 파일만 내 주세요.")
        return
    unpacked.limits.bytes_left -= size
    shutil.copyfile(source, target, follow_symlinks=False)


def _left_out(parts: list[str], nested: int) -> bool:
    """Whether an entry is hidden, or no student's. In a class' own archive the first part may be a student's name."""
    hidden = map(is_skipped, parts[1:] if nested < 0 else parts)
    return ".." not in parts and (any(hidden) or is_nobodys(parts[0]))


def _free(path: Path) -> Path:
    """The path, numbered where something is there already."""
    candidate, number = path, 1
    while os.path.lexists(candidate):
        number += 1
        candidate = path.with_name(f"{path.stem} ({number}){path.suffix}")
    return candidate


def _shown(info: zipfile.ZipInfo) -> str:
    """A name in an archive. Where it is not marked as UTF-8, Python took each byte for a letter of cp437."""
    if info.flag_bits & 0x800:
        return display_name(info.filename)
    try:
        return display_name(os.fsdecode(info.orig_filename.encode("cp437")))
    except UnicodeEncodeError:
        return display_name(info.filename)
