"""Which installed packages a submission finds: those that the course declares, and what these need.

Other packages may hold an answer: some implement SAM.
"""

import functools
import re
from importlib import metadata
from pathlib import Path

_COURSE = "hanstep"
_EXTRA = "frameworks"
"""Of the course's optional packages, those that lessons use."""


def undeclared(site: Path) -> list[Path]:
    """What lies in a folder of packages and belongs to none that is declared; nothing where that cannot be known.

    (A checkout that is not installed says nothing about what it needs.)
    """
    known = _declared()
    if not known:
        return []
    return sorted(path for path in site.iterdir() if path.name not in known and _can_be_imported(path))


def _can_be_imported(path: Path) -> bool:
    return (path.is_dir() and path.name != "__pycache__") or path.suffix in (".py", ".so", ".pyc")


@functools.cache
def _declared() -> frozenset[str]:
    """Names of the files and folders, at the top of a folder of packages, of the declared distributions."""
    waiting, found, names = [_COURSE], set(), set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in found:
            continue
        found.add(name)
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # needed on other platforms only
            continue
        names |= _at_the_top(distribution, name)
        waiting += _needed(distribution, extra=_EXTRA if name == _COURSE else None)
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
