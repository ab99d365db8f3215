"""Recognise which learning system made a download. The system with the most distinctive names is tried first."""

from dataclasses import dataclass
from pathlib import Path

from grader.intake import canvas, github_classroom, google_classroom, gradescope, moodle
from grader.intake.handover import Entry, Handover, Reader, entries
from grader.submission.find_files import is_skipped

_DEEPEST = 3
"""Levels of folders to look into; archives often wrap everything in one outer folder."""


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
    others: tuple[str, ...]
    """Names of files and folders that belong to no handover."""


def recognise(folder: Path) -> Download | None:
    """Recognise the download in a folder, or in the only folder within it; None if no known system made it.

    Raises:
        IntakeError: the download is recognised but broken.
        OSError: the folder cannot be listed.
    """
    for _ in range(_DEEPEST):
        found = entries(folder)
        for system in SYSTEMS:
            handovers = system.read(folder, found)
            if handovers:
                return Download(system.name, tuple(handovers), _names_of_others(found, handovers))
        seen = [entry for entry in found if not is_skipped(entry.name)]
        if len(seen) != 1 or not seen[0].is_folder:
            return None
        folder = seen[0].path
    return None


def _names_of_others(found: list[Entry], handovers: list[Handover]) -> tuple[str, ...]:
    taken = {path for h in handovers for path in (*h.earlier, *(path for _, path in h.parts))}
    return tuple(entry.name for entry in found if entry.path not in taken and entry.could_be_handed_in)
