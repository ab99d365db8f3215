"""Which installed packages a submission finds: those that the course declares, those that an instructor adds, and what
these need.

Other packages may hold an answer: some implement SAM.
"""

import functools
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

_COURSE = "hanstep"
_EXTRA = "frameworks"
"""Of the course's optional packages, those that lessons use."""


def undeclared(site: Path, added: Sequence[str] = ()) -> list[Path]:
    """What lies in a folder of packages and belongs to none that is declared; nothing where that cannot be known.

    (A checkout that is not installed says nothing about what it needs.)

    Args:
        site: the folder.
        added: names of distributions that submissions may use as well.
    """
    known = _tops(_COURSE)
    if not known:
        return []
    known = known.union(*map(_tops, added))
    return sorted(path for path in site.iterdir() if path.name not in known and _can_be_imported(path))


def _can_be_imported(path: Path) -> bool:
    return (path.is_dir() and path.name != "__pycache__") or path.suffix in (".py", ".so", ".pyc")


def is_installed(name: str) -> bool:
    """Whether there is a distribution of this name, as pip calls it."""
    try:
        metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):  # ValueError: an empty name
        return False
    return True


@functools.cache
def _tops(distribution: str) -> frozenset[str]:
    """Names of the files and folders, at the top of a folder of packages, of a distribution and of what it needs."""
    waiting, found, names = [distribution], set(), set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        try:
            there = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # needed on other platforms only
            continue
        names |= _at_the_top(there, name)
        waiting += _needed(there, extra=_EXTRA if name == _COURSE else None)
    return frozenset(names)


def _needed(distribution: metadata.Distribution, *, extra: str | None) -> list[str]:
    names = []
    for requirement in distribution.requires or ():
        asked = re.search(r"""extra\s*==\s*['"]([^'"]+)""", requirement)
        name = re.match(r"[\w.-]+", requirement)
        if name is not None and (asked is None or asked[1] == extra):
            names.append(name[0])
    return names


def _at_the_top(distribution: metadata.Distribution, name: str) -> set[str]:
    record = distribution.read_text("RECORD")
    if record is not None:
        return {line.partition(",")[0].strip('"').partition("/")[0] for line in record.splitlines()}
    listed = distribution.read_text("top_level.txt")  # as Debian installs
    tops = listed.split() if listed is not None else [name.replace("-", "_")]
    return {entry for top in tops for entry in (top, f"{top}.py")}
