"""Unpack the zip file of a whole class into a folder, such that one student's files cannot harm another's."""

import zipfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from grader.base.removal import remove_tree
from grader.intake.archives import TOO_MANY, Item, Quota, Unpacker, items, opened_archive, why_not
from grader.intake.handover import is_made_by_programs
from grader.submission.find_files import MAX_DEPTH, MAX_ENTRIES, Unreadable, is_skipped
from grader.submission.submission import MAX_STUDENT_BYTES

MAX_CLASS_ENTRIES = 400_000
"""Maximum entries of all students together."""
MAX_CLASS_BYTES = 16 * 2**30
"""Maximum unpacked bytes of all students together."""
_MAX_DIRECTORY_BYTES = 2**28
"""Largest directory of the class's archive, in bytes."""
_OF_A_CLASS = -1
"""Value of `nested` for the archive of a whole class: it lies one level outside the students' own archives."""


@dataclass
class ClassArchive:
    """Result of unpacking."""

    broken: dict[Path, str] = field(default_factory=dict)
    """Korean messages by path, for files and folders that are not complete."""
    refused: list[Unreadable] = field(default_factory=list)
    """Everything that was left out."""


def unpack_class(archive: Path, into: Path, quota: Quota | None = None) -> ClassArchive:
    """Unpack an archive below `into`, which is emptied first.

    Each folder or file of the class has its own share of bytes and entries, as a student has, so that none uses up
    those of the others. If something within a folder cannot be unpacked, the folder is created all the same and listed
    in `broken`: the student is graded as unreadable, not forgotten.

    Raises:
        OSError: the machine is at fault.
    """
    remove_tree(into)
    into.mkdir(parents=True)
    done = ClassArchive()
    quota = quota or Quota(MAX_CLASS_BYTES, MAX_CLASS_ENTRIES)
    try:
        with opened_archive(archive, _MAX_DIRECTORY_BYTES) as opened:
            if opened is None:
                done.refused.append(Unreadable(archive.name, TOO_MANY))
            else:
                _unpack(opened, items(opened, _OF_A_CLASS), into, archive.name, quota, done)
    except Exception as error:
        message = f"압축 파일을 열 수 없어요({why_not(error)}). 다시 압축해서 내 주세요."
        done.refused.append(Unreadable(archive.name, message))
    return done


def names_of_class(archive: Path) -> tuple[str, ...]:
    """Return the names of the students' folders and files in an archive; empty if it cannot be read."""
    try:
        with opened_archive(archive, _MAX_DIRECTORY_BYTES) as opened:
            found = [] if opened is None else items(opened, _OF_A_CLASS)
    except Exception as error:
        why_not(error)
        return ()
    level = _levels_above_the_class(found)
    names = dict.fromkeys(item.parts[level] for item in found if len(item.parts) > level)
    return tuple(name for name in names if not is_made_by_programs(name))


def _unpack(
    opened: zipfile.ZipFile, found: list[Item], into: Path, name: str, quota: Quota, done: ClassArchive
) -> None:
    """Write each item with the share of its student's folder or file.

    The shares are keyed by the path down to the level of the students. An item that could not be written marks its
    student's folder as broken, so that the loss is reported to this student.
    """
    levels = _levels_above_the_class(found)
    entries = Counter(item.parts[: levels + 1] for item in found)
    shares: dict[tuple[str, ...], Unpacker] = {}
    for item in found:
        key = item.parts[: levels + 1]
        share = shares.setdefault(key, Unpacker(Quota(MAX_STUDENT_BYTES)))
        refusals, broken = share.refusals, len(share.broken)
        if entries[key] > MAX_ENTRIES or quota.entries_left <= 0:
            share.refuse("/".join((name, *key)), TOO_MANY)
        else:
            quota.entries_left -= 1
            before = share.quota.bytes_left = min(share.quota.bytes_left, quota.bytes_left)
            share.write_item(opened, item, into, name, _OF_A_CLASS)
            quota.bytes_left -= before - share.quota.bytes_left
        if share.refusals > refusals and len(share.broken) == broken and len(item.parts) > len(key):
            _record_loss(into.joinpath(*key), share.last_refusal.message, done.broken)
    for share in shares.values():
        done.broken.update(share.broken)
        done.refused.extend(share.unreadable)


def _record_loss(folder: Path, message: str, broken: dict[Path, str]) -> None:
    """Create the folder, and record that something in it is missing."""
    if ".." in folder.parts:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    # The name is too long, and no learning system would have written it.
    except (OSError, ValueError) as error:
        why_not(error)
        return
    before = broken.get(folder, "")
    if message not in before:
        broken[folder] = f"{before} {message}".strip()


def _levels_above_the_class(found: list[Item]) -> int:
    """Return the number of outer folders that contain only the next one; the students are below the last."""
    paths = [item.parts for item in found if not item.refused]
    for level in range(MAX_DEPTH):
        below = {path[level] for path in paths if len(path) > level and not is_skipped(path[level])}
        if len(below) != 1 or any(len(path) == level + 1 for path in paths):
            return level
    return 0
