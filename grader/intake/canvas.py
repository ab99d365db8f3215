"""Read Canvas' "Download Submissions": files `nameinorder_LATE_userid_fileid_file-1.ipynb`, all in one folder.

Canvas' own `content_zipper.rb` writes these names. In an anonymous assignment the name is missing and the id reads
`anon_x7Yz1`.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from grader.intake.handover import Entry, Handover, most_match

_NAME = re.compile(
    r"(?:(?P<name>.+?)_)??(?P<late>LATE_)?(?P<user>\d+|anon_[0-9A-Za-z]{5})_(?P<file_id>\d+)_(?P<file>.+)",
    re.DOTALL,
)
_ATTEMPT = re.compile(r"(?P<stem>.+?)-(?P<attempt>\d+)(?P<suffix>\.\w+)", re.DOTALL)


def user_of(entry: Entry) -> str:
    """Return the student whose file Canvas may have given its name; empty if it did not."""
    found = None if entry.is_folder else _NAME.fullmatch(entry.name)
    return found["user"] if found else ""


def read(folder: Path, found: list[Entry]) -> list[Handover]:
    """Return the students of a Canvas download; empty if it is none."""
    named = [
        (entry, match) for entry in found if not entry.is_folder and (match := _NAME.fullmatch(entry.name))
    ]
    if not most_match(len(named), found):
        return []
    students: dict[str, list[tuple[Entry, re.Match[str]]]] = defaultdict(list)
    for entry, match in named:
        students[match["user"]].append((entry, match))
    return [_handover(user, files) for user, files in students.items()]


def handed_in_files(names: Iterable[str]) -> dict[str, str]:
    """Return the id of the latest file that each user handed in, by the user's id.

    Args:
        names: names of the files in a download.
    """
    found: dict[str, str] = {}
    for name in names:
        match = _NAME.fullmatch(name)
        if match is not None and match["user"].isdigit():
            user = match["user"]
            found[user] = max(found.get(user, "0"), match["file_id"], key=int)
    return found


def _handover(user: str, files: list[tuple[Entry, re.Match[str]]]) -> Handover:
    # Canvas numbers files in the order in which they come; a copy whose numbers are equal is ordered by its names.
    ordered = sorted(files, key=lambda item: (int(item[1]["file_id"]), _attempt(item[1]["file"])))
    latest, earlier = last_attempts([(match["file"], entry.path) for entry, match in ordered])
    return Handover(
        key=user,
        name=ordered[-1][1]["name"] or user,
        parts=tuple(latest),
        canvas_id=user if user.isdigit() else "",
        late=any(match["late"] for _, match in ordered),
        earlier=tuple(earlier),
    )


def _attempt(name: str) -> int:
    """Return the number that Canvas appended when a file was handed in again: 2 for `hw-2.ipynb`, 0 for `hw.ipynb`."""
    match = _ATTEMPT.fullmatch(name)
    return int(match["attempt"]) if match else 0


def last_attempts(files: list[tuple[str, Path]]) -> tuple[list[tuple[str, Path]], list[Path]]:
    """Separate the last version of each file from earlier ones: of `hw.ipynb`, `hw-1.ipynb`, `hw-2.ipynb` the last.

    Canvas appends a number when a file is handed in again. If the plain name is missing, `part-1.py` and `part-2.py`
    are two different files.

    Args:
        files: name and path of each, the oldest first.

    Returns:
        The last versions by plain name, and the paths of the earlier ones.
    """
    names = {name for name, _ in files}
    again: dict[str, list[tuple[str, Path]]] = defaultdict(list)
    for name, path in files:
        match = _ATTEMPT.fullmatch(name)
        plain = match["stem"] + match["suffix"] if match else name
        again[plain if plain in names else name].append((name, path))
    latest = [(plain, attempts[-1][1]) for plain, attempts in again.items()]
    return latest, [path for attempts in again.values() for _, path in attempts[:-1]]
