"""Read Google Classroom's folder of an assignment in Drive: `Name - file.ipynb`, with ` (1)` if handed in again."""

import re
from collections import defaultdict
from pathlib import Path

from grader.base.names import natural
from grader.intake.handover import Entry, Handover, most_match

_NAME = re.compile(r"(?P<name>\S(?:.*?\S)?) - (?P<file>.+)", re.DOTALL)
_AGAIN = re.compile(r"(?P<stem>.+?) ?\((?P<number>\d+)\)(?P<suffix>\.\w+)", re.DOTALL)


def read(folder: Path, found: list[Entry]) -> list[Handover]:
    """Return the students of a Google Classroom folder; empty if it is none."""
    named = [
        (entry, match)
        for entry in found
        if not entry.is_folder and entry.holds_code and (match := _NAME.fullmatch(entry.name))
    ]
    if not most_match(len(named), found):
        return []
    students: dict[str, dict[str, list[tuple[int, str, Path]]]] = defaultdict(lambda: defaultdict(list))
    for entry, match in named:
        again = _AGAIN.fullmatch(match["file"])
        file = again["stem"] + again["suffix"] if again else match["file"]
        number = int(again["number"]) if again else 0
        students[match["name"].strip()][file].append((number, match["file"], entry.path))
    return [
        _handover(name, files) for name, files in sorted(students.items(), key=lambda item: natural(item[0]))
    ]


def _handover(name: str, files: dict[str, list[tuple[int, str, Path]]]) -> Handover:
    latest, earlier = [], []
    for file, attempts in files.items():
        ordered = sorted(attempts)
        latest.append((file, ordered[-1][2]))
        earlier += [path for _, _, path in ordered[:-1]]
    return Handover(key=name, name=name, parts=tuple(latest), earlier=tuple(earlier))
