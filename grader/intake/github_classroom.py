"""Read clones of GitHub Classroom: `gh classroom clone student-repos` makes `homework-submissions/homework-login/`.

Nothing here runs git: a repository's own settings can name commands that git would run.
"""

import os
from itertools import takewhile
from pathlib import Path

from grader.intake.handover import Entry, Handover, most_match

_PARENT = "-submissions"


def read(folder: Path, found: list[Entry]) -> list[Handover]:
    """Return the students whose repositories are cloned side by side; empty if it is no such folder."""
    homework = folder.name.removesuffix(_PARENT) + "-" if folder.name.endswith(_PARENT) else "\0"
    clones = [
        entry
        for entry in found
        if entry.is_folder and (entry.name.startswith(homework) or os.path.exists(entry.path / ".git"))
    ]
    if not most_match(len(clones), found):
        return []
    prefix = _prefix(folder, [entry.name for entry in clones])
    return [
        Handover(
            key=entry.name,
            name=entry.name.removeprefix(prefix),
            parts=(("", entry.path),),
            ids=(entry.name.removeprefix(prefix), *_possible_logins(entry.name)),
        )
        for entry in clones
    ]


def _prefix(folder: Path, names: list[str]) -> str:
    """Return the part before the login that all clones share: the homework's name and a hyphen; empty if unknown."""
    homework = folder.name.removesuffix(_PARENT) + "-"
    if folder.name.endswith(_PARENT) and all(name.startswith(homework) for name in names):
        return homework
    if len(names) < 2:
        return ""
    same = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    return "".join(letters[0] for letters in same).rpartition("-")[0] + "-"


def _possible_logins(name: str) -> list[str]:
    """Return the possible logins, the longest first; both the login and the homework's name may contain hyphens."""
    parts = name.split("-")
    return ["-".join(parts[start:]) for start in range(1, len(parts))]
