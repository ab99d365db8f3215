"""Decide which installed packages a submission can import in the sandbox.

It can import the packages that the course declares, those that an instructor adds, and their dependencies. All others
are hidden, because they may contain an answer: some packages implement SAM, which lessons ask for.
"""

import functools
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

_COURSE = "hanstep"
_EXTRA = "frameworks"
"""Name of the course's optional dependencies (extra) that lessons use."""


def undeclared_entries(site: Path, added: Sequence[str] = ()) -> list[Path]:
    """Return the importable files and folders in a packages folder that belong to no declared package.

    The sandbox hides these entries. If the course is not installed (a bare checkout), its dependencies are unknown, so
    the list is empty and nothing is hidden.

    Args:
        site: a folder of installed packages (`site-packages`).
        added: names of further distributions that submissions may use.
    """
    declared = _top_level_names(_COURSE)
    if not declared:
        return []
    declared = declared.union(*map(_top_level_names, added))
    return sorted(path for path in site.iterdir() if path.name not in declared and _can_be_imported(path))


def _can_be_imported(path: Path) -> bool:
    return (path.is_dir() and path.name != "__pycache__") or path.suffix in (".py", ".so", ".pyc")


def is_installed(name: str) -> bool:
    """Return True if a distribution of this name, as pip calls it, is installed."""
    try:
        metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):  # ValueError: an empty name
        return False
    return True


@functools.cache
def _top_level_names(distribution: str) -> frozenset[str]:
    """Return the top-level names in `site-packages` of a distribution and all its dependencies."""
    waiting, seen = [distribution], set()
    names: set[str] = set()
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:  # a dependency of other platforms only
            continue
        names |= _installed_names(installed, name)
        waiting += _dependencies(installed, extra=_EXTRA if name == _COURSE else None)
    return frozenset(names)


def _dependencies(distribution: metadata.Distribution, *, extra: str | None) -> list[str]:
    """Return the names of a distribution's dependencies, and of those of one extra (optional dependencies)."""
    names = []
    for requirement in distribution.requires or ():
        needed_for = re.search(r"""extra\s*==\s*['"]([^'"]+)""", requirement)
        name = re.match(r"[\w.-]+", requirement)
        if name is not None and (needed_for is None or needed_for[1] == extra):
            names.append(name[0])
    return names


def _installed_names(distribution: metadata.Distribution, name: str) -> set[str]:
    """Return the names of the top-level files and folders that a distribution installs.

    Args:
        distribution: the distribution.
        name: its name, which is also that of its only package if it does not list what it installs.
    """
    record = distribution.read_text("RECORD")
    if record is not None:
        return {line.partition(",")[0].strip('"').partition("/")[0] for line in record.splitlines()}
    listed = distribution.read_text("top_level.txt")  # Debian's packages have no RECORD
    tops = listed.split() if listed is not None else [name.replace("-", "_")]
    return {entry for top in tops for entry in (top, f"{top}.py")}
