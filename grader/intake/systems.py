"""Recognise which learning system made a download. The system with the most distinctive names is tried first.

A folder may hold what several systems made: one class on Moodle and on Canvas.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.intake import canvas, github_classroom, google_classroom, gradescope, moodle
from grader.intake.handover import Entry, Handover, Reader, entries, most_match
from grader.submission.find_files import is_skipped

_DEEPEST = 3
"""Levels of folders to look into; archives often wrap everything in one outer folder."""


_FEWEST = 2
"""Students without whom names like Canvas' are not taken for Canvas': `hw_01_02_step.py` is anybody's."""


@dataclass(frozen=True)
class System:
    """A learning system and the reader of its downloads."""

    name: str
    read: Reader


SYSTEMS = (
    System("Gradescope", gradescope.read),
    System("Moodle", moodle.read),
    System("Canvas", canvas.read),
    System("GitHub Classroom", github_classroom.read),
    System("Google Classroom", google_classroom.read),
)


@dataclass(frozen=True)
class Download:
    """A recognised download."""

    system: str
    handovers: tuple[Handover, ...]
    others: tuple[Entry, ...]
    """Files and folders that belong to no handover, and may be somebody's work."""


def recognise(folder: Path, left_out: Collection[Path] = ()) -> Download | None:
    """Recognise the download in a folder, or in the only folder within it; None if no known system made it.

    Args:
        folder: the folder.
        left_out: what in it is not to be looked at.

    Raises:
        IntakeError: the download is recognised but broken.
        OSError: the folder cannot be listed.
    """
    for _ in range(_DEEPEST):
        found = [entry for entry in entries(folder) if entry.path not in left_out]
        if parts := _read(folder, found):
            return joined([Download(name, tuple(handovers), ()) for name, handovers in parts], found)
        seen = [entry for entry in found if not is_skipped(entry.name)]
        if len(seen) != 1 or not seen[0].is_folder:
            return None
        folder = seen[0].path
    return None


def joined(downloads: Sequence[Download], found: Sequence[Entry]) -> Download:
    """Return several downloads as one.

    Args:
        downloads: at least one; a number of a student in one of them may be somebody else's in the next.
        found: entries beside them, of which those that belong to nobody are kept.
    """
    handovers = [
        replace(handover, key=f"{number} {handover.key}") if number else handover
        for number, download in enumerate(downloads)
        for handover in download.handovers
    ]
    names = list(dict.fromkeys(download.system for download in downloads))
    taken = _taken(handovers)
    others = [entry for entry in found if entry.path not in taken and entry.could_be_handed_in]
    return Download(
        "·".join(names),
        tuple(handovers),
        (*others, *(one for download in downloads for one in download.others)),
    )


def looks_packed(names: Collection[str]) -> bool:
    """Return True if a folder with these entries, or an archive, is itself a download of Moodle or Canvas.

    Those of several students are needed: one student's own files may be named as if Canvas had named them.
    """
    as_files = [Entry(name, Path(name), is_folder=False) for name in names]
    users = {user for entry in as_files for user in (moodle.user_of(entry), canvas.user_of(entry)) if user}
    named = [entry for entry in as_files if moodle.user_of(entry) or canvas.user_of(entry)]
    return len(users) >= _FEWEST and most_match(len(named), as_files)


def _read(folder: Path, found: list[Entry]) -> list[tuple[str, list[Handover]]]:
    """Return the handovers by system: of the one that made most of the entries, and of others that made some."""
    of_moodle = [entry for entry in found if moodle.user_of(entry)]
    of_canvas = [entry for entry in found if canvas.user_of(entry)]
    first = next(((system.name, read) for system in SYSTEMS if (read := system.read(folder, found))), None)
    if first is None and of_moodle and most_match(len(of_moodle) + len(of_canvas), found):
        first = "Moodle", moodle.read(folder, of_moodle)  # neither has the majority alone
    if first is None:
        return []
    taken = _taken(first[1])
    parts = [first]
    for name, reads, named, fewest in (
        ("Moodle", moodle.read, of_moodle, 1),
        ("Canvas", canvas.read, of_canvas, _FEWEST),
    ):
        handovers = reads(folder, [entry for entry in named if entry.path not in taken])
        if len(handovers) >= fewest:
            parts.append((name, handovers))
            taken |= _taken(handovers)
    return parts


def _taken(handovers: Sequence[Handover]) -> set[Path]:
    """Return the files and folders that belong to somebody."""
    return {path for h in handovers for path in (*h.earlier, *(path for _, path in h.parts))}
