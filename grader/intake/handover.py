"""What one student handed in, as a learning system's download shows it: the noun that all systems' readers share."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from grader.base.decoding import display_name
from grader.base.errors import HanstepError
from grader.base.listing import listed
from grader.submission.find_files import SUFFIXES, is_skipped


class IntakeError(HanstepError):
    """A download that holds no class; the message is Korean and says what to do."""


@dataclass(frozen=True)
class Handover:
    """What one student handed in."""

    key: str
    """What tells it from all others of the download."""
    name: str
    """As the system writes it."""
    parts: tuple[tuple[str, Path], ...]
    """Name within the student's folder (empty: the folder's content itself), and the file or folder."""
    ids: tuple[str, ...] = ()
    """What the roster may know the student by: number, login, address."""
    canvas_id: str = ""
    moodle_id: str = ""
    late: bool = False
    handed_in: str = ""
    is_group: bool = False
    """Whether several students handed it in together; the system's number is then the group's."""
    earlier: tuple[Path, ...] = ()
    """Files that the student handed in again."""

    @property
    def number(self) -> str:
        """The system's own number."""
        return self.canvas_id or self.moodle_id

    @property
    def notes(self) -> tuple[str, ...]:
        """Korean, for the student too."""
        names = [display_name(path.name) for path in self.earlier]
        return (f"다시 낸 파일은 마지막 것만 채점했어요. 그 전에 낸 것: {listed(names)}",) if names else ()


@dataclass(frozen=True)
class Entry:
    """Something directly in a download's folder."""

    name: str
    """As it is shown; names that a Korean Windows packed are decoded."""
    path: Path
    is_folder: bool

    @property
    def could_be_handed_in(self) -> bool:
        """Whether it may be somebody's work: a folder, a notebook, a program, an archive."""
        return not is_skipped(self.name) and (self.is_folder or self.holds_code)

    @property
    def holds_code(self) -> bool:
        """Whether it is called like a notebook, a program or an archive."""
        return self.name.lower().endswith((*SUFFIXES, ".zip"))


Reader = Callable[[Path, list[Entry]], list[Handover]]
"""Reads a download; an empty list says that it is not one of that system."""


def is_nobodys(name: str) -> bool:
    """Whether programs make a name. A name that begins with a dot may be a student's: `.김하늘_123_…`."""
    return name.startswith("._") or (is_skipped(name) and not name.startswith("."))


def entries(folder: Path) -> list[Entry]:
    """What lies in a folder, by name; what no student hands in (macOS' own, caches) is left out.

    Raises:
        OSError: it cannot be listed.
    """
    with os.scandir(folder) as listing:
        found = [
            Entry(display_name(e.name), Path(e.path), e.is_dir(follow_symlinks=False))
            for e in listing
            if not is_nobodys(e.name)
        ]
    return sorted(found, key=lambda entry: entry.name)


def mostly(matched: int, all_entries: list[Entry]) -> bool:
    """Whether enough entries look like a system's own: an instructor may have added a file or two."""
    return matched > 0 and 2 * matched > sum(entry.could_be_handed_in for entry in all_entries)
