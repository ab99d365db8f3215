"""The learning systems whose downloads are recognised: a reader each, the one with the most telling names first."""

from dataclasses import dataclass
from pathlib import Path

from grader.intake import canvas, github_classroom, google_classroom, gradescope, moodle
from grader.intake.handover import Entry, Handover, Reader, entries
from grader.submission.find_files import is_skipped

_DEEPEST = 3
"""Archives often hold one folder that holds the rest."""


@dataclass(frozen=True)
class System:
    """A learning system."""

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
    """Names of what is nobody's."""


def recognise(folder: Path) -> Download | None:
    """The download in a folder, or in the only folder within it; None for a folder that no system made.

    Raises:
        IntakeError: it is one, but broken.
        OSError: the folder cannot be listed.
    """
    for _ in range(_DEEPEST):
        found = entries(folder)
        for system in SYSTEMS:
            handovers = system.read(folder, found)
            if handovers:
                return Download(system.name, tuple(handovers), _others(found, handovers))
        seen = [entry for entry in found if not is_skipped(entry.name)]
        if len(seen) != 1 or not seen[0].is_folder:
            return None
        folder = seen[0].path
    return None


def _others(found: list[Entry], handovers: list[Handover]) -> tuple[str, ...]:
    taken = {path for h in handovers for path in (*h.earlier, *(path for _, path in h.parts))}
    return tuple(entry.name for entry in found if entry.path not in taken and entry.could_be_handed_in)
