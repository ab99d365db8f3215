"""Define `Handover`, the files one student handed in, which the readers of all learning systems return."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.names import display_name, listed
from grader.submission.file_forms import is_source
from grader.submission.find_files import ARCHIVES, MAX_DEPTH, MAX_ENTRIES, is_skipped


class IntakeError(HanstepError):
    """A download contains no class, or is broken; the message is Korean and says what to do."""


@dataclass(frozen=True)
class Handover:
    """Files that one student or group handed in, as a learning system's download shows them."""

    key: str
    """Identifies the handover within the download."""
    name: str
    """Name of the student or group, as the system writes it."""
    parts: tuple[tuple[str, Path], ...]
    """Name within the student's folder (empty: the folder's content itself), and path of the file or folder."""
    ids: tuple[str, ...] = ()
    """Values by which the roster may know the student: number, login, address."""
    canvas_id: str = ""
    moodle_id: str = ""
    late: bool = False
    handed_in: str = ""
    is_group: bool = False
    """True if several students handed it in together; the system's number is then the group's."""
    earlier: tuple[Path, ...] = ()
    """Superseded files: earlier versions of those in `parts`."""

    @property
    def number(self) -> str:
        """The system's own number for the student; empty if it tells none."""
        return self.canvas_id or self.moodle_id

    def file_names(self) -> list[str]:
        """Return the names of the files handed in, those in folders included."""
        found = [name for name, _ in self.parts if name]
        for _, path in self.parts:
            found += islice(_names_below(path), MAX_ENTRIES)
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Korean lines for instructor and student."""
        names = [display_name(path.name) for path in self.earlier]
        return (f"다시 낸 파일은 마지막 것만 채점했어요. 그 전에 낸 것: {listed(names)}",) if names else ()


def _names_below(folder: Path) -> Iterator[str]:
    """Yield the names of the files in a folder, as deep as is read; follows no link, and a file has none."""
    for place, folders, files in os.walk(folder):
        if len(Path(place).relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        yield from map(display_name, files)


@dataclass(frozen=True)
class Entry:
    """A file or folder directly in a download's folder."""

    name: str
    """Name for display; names that a Korean Windows packed are decoded."""
    path: Path
    is_folder: bool

    @property
    def could_be_handed_in(self) -> bool:
        """True if it may be somebody's work: a folder, or a file named like a notebook, a program or an archive."""
        return not is_skipped(self.name) and (self.is_folder or self.holds_code)

    @property
    def holds_code(self) -> bool:
        """True if it is named like a notebook, a program or an archive."""
        return is_source(self.name) or self.name.lower().endswith(ARCHIVES)


Reader = Callable[[Path, list[Entry]], list[Handover]]
"""Reads the download of one system; an empty list means that it is not from that system."""


def is_made_by_programs(name: str) -> bool:
    """Return True for names that programs make, such as `._name` or caches.

    Other names that begin with a dot may be a student's: `.김하늘_123_…`.
    """
    return name.startswith("._") or (is_skipped(name) and not name.startswith("."))


def entries(folder: Path) -> list[Entry]:
    """Return a folder's entries by name, without those that programs make (macOS' own files, caches).

    Raises:
        OSError: the folder cannot be listed.
    """
    with os.scandir(folder) as listing:
        found = [
            Entry(display_name(e.name), Path(e.path), e.is_dir(follow_symlinks=False))
            for e in listing
            if not is_made_by_programs(e.name)
        ]
    return sorted(found, key=lambda entry: entry.name)


def most_match(matched: int, all_entries: list[Entry]) -> bool:
    """Return True if more than half of the entries that may be work match a system's naming.

    Not all need to match: an instructor may have added a file or two.
    """
    return matched > 0 and 2 * matched > sum(entry.could_be_handed_in for entry in all_entries)
