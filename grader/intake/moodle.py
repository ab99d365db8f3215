"""Moodle's "Download all submissions": a folder `Name_12345_assignsubmission_file` for each student, or loose files.

The names are those that `mod_assign\\downloader` writes; the number is the one after `Participant` in the worksheet.
"""

import re
from collections import defaultdict
from pathlib import Path

from grader.intake.handover import Entry, Handover, mostly

_NAME = re.compile(
    r"(?P<name>.+)_(?P<user>\d+)_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<file>.+)|_)?", re.DOTALL
)


def read(folder: Path, found: list[Entry]) -> list[Handover]:
    """Students of a Moodle download; nobody where it is none."""
    named = [(entry, match) for entry in found if (match := _NAME.fullmatch(entry.name))]
    if not mostly(len(named), found):
        return []
    students: dict[str, list[tuple[Entry, re.Match[str]]]] = defaultdict(list)
    for entry, match in named:
        students[match["user"]].append((entry, match))
    return [
        Handover(
            key=user,
            name=parts[0][1]["name"],
            parts=tuple(
                ("" if entry.is_folder else match["file"] or f"{match['kind']}.html", entry.path)
                for entry, match in parts
            ),
            moodle_id=user,
        )
        for user, parts in students.items()
    ]
