r"""Read Moodle's "Download all submissions": a folder `Name_12345_assignsubmission_file` per student, or loose files.

`mod_assign\downloader` writes these names; the number is the one after `Participant` in the worksheet. If groups hand
in, name and number are the group's, and students in no group share a folder without a number.
"""

import re
from collections import defaultdict
from pathlib import Path

from grader.intake.handover import Entry, Handover, most_match

_REST = r"_assignsubmission_(?P<kind>file|onlinetext)(?:_(?P<file>.+)|_)?"
_NAME = re.compile(rf"(?P<name>.+)_(?P<user>\d+){_REST}", re.DOTALL)
_DEFAULT_GROUP = re.compile(rf"(?P<name>[^_]+)(?P<user>){_REST}", re.DOTALL)
"""Matches the folder without a number; its name has no `_` because Moodle replaces those by spaces."""


def user_of(entry: Entry) -> str:
    """Return the student or group whose entry Moodle gave its name; empty if Moodle did not name it."""
    found = _NAME.fullmatch(entry.name) or _DEFAULT_GROUP.fullmatch(entry.name)
    return (found["user"] or found["name"]) if found else ""


def read(folder: Path, found: list[Entry]) -> list[Handover]:
    """Return the students of a Moodle download; empty if it is none."""
    named = [
        (entry, match)
        for entry in found
        if (match := _NAME.fullmatch(entry.name) or _DEFAULT_GROUP.fullmatch(entry.name))
    ]
    if not most_match(len(named), found):
        return []
    # An assignment is either for groups or for single students.
    by_groups = any(not match["user"] for _, match in named)
    students: dict[str, list[tuple[Entry, re.Match[str]]]] = defaultdict(list)
    for entry, match in named:
        students[match["user"] or f"group {match['name']}"].append((entry, match))
    return [
        Handover(
            key=key,
            name=parts[0][1]["name"],
            parts=tuple(
                ("" if entry.is_folder else match["file"] or f"{match['kind']}.html", entry.path)
                for entry, match in parts
            ),
            moodle_id=parts[0][1]["user"],
            is_group=by_groups,
        )
        for key, parts in students.items()
    ]
