"""Decide which installed packages a submission can import in the sandbox.

It can import the packages that the course declares as its dependencies, those that an instructor adds, and the
dependencies of all these. Every other package is hidden, because it may contain an answer: for example, some packages
implement SAM, which an exercise asks for. This module only lists what to hide: `bubblewrap.py _package_masks` hides it.

To allow one more package, grade with `--package NAME`; or declare it as a dependency in `pyproject.toml` and install
the course again, because the dependencies are read from what is installed.
"""

import functools
import re
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

_COURSE_DISTRIBUTION = "hanstep"
"""Name of the course's own distribution (what pip calls a package)."""
_LESSON_EXTRA = "frameworks"
"""Name of the extra, a group of optional dependencies, that lessons use."""


class _Dependency(NamedTuple):
    """A distribution that is needed."""

    name: str
    extras: frozenset[str]
    """Names of the extras with which it is needed."""


def undeclared_entries(site: Path, added_packages: Sequence[str] = ()) -> list[Path]:
    """Return the importable files and folders in a packages folder that belong to no declared package.

    The sandbox hides these entries. If the course itself is not installed (a bare checkout), its dependencies are
    unknown, so the list is empty and nothing is hidden.

    Args:
        site: a folder of installed packages (`site-packages`).
        added_packages: names of further distributions that submissions may use.
    """
    declared = _entries_with_dependencies(_COURSE_DISTRIBUTION)
    if not declared:
        return []
    declared = declared.union(*map(_entries_with_dependencies, added_packages))
    return sorted(path for path in site.iterdir() if path.name not in declared and _is_importable(path))


def is_installed(name: str) -> bool:
    """Return True if a distribution of this name, as pip calls it, is installed."""
    try:
        metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):  # ValueError: an empty name
        return False
    return True


def _is_importable(path: Path) -> bool:
    """Return True for any folder but `__pycache__`, and for module files."""
    return (path.is_dir() and path.name != "__pycache__") or path.suffix in (".py", ".so", ".pyc")


@functools.cache
def _entries_with_dependencies(distribution: str) -> frozenset[str]:
    """Return the names of the files and folders that a distribution and all its dependencies put in `site-packages`."""
    course_extras = frozenset({_LESSON_EXTRA}) if distribution == _COURSE_DISTRIBUTION else frozenset()
    pending = [_Dependency(distribution, course_extras)]
    seen: set[_Dependency] = set()
    names: set[str] = set()
    while pending:
        spelled, extras = pending.pop()
        name = canonicalize_name(spelled)  # different spellings name the same distribution
        if _Dependency(name, extras) in seen:
            continue
        seen.add(_Dependency(name, extras))
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        names |= _entries_of(installed, name)
        pending += _dependencies(installed, extras)
    return frozenset(names)


def _dependencies(distribution: metadata.Distribution, extras: frozenset[str]) -> list[_Dependency]:
    """Return a distribution's dependencies on this machine.

    Args:
        distribution: metadata of an installed package.
        extras: names of the extras whose optional dependencies are included.
    """
    found = []
    for line in distribution.requires or ():
        try:
            requirement = Requirement(line)
        except InvalidRequirement:  # in an old package: `name>=1.*`
            name = re.match(r"[\w.-]+", line)
            if name is not None and "extra" not in line:
                found.append(_Dependency(name[0], frozenset()))
            continue
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            found.append(_Dependency(requirement.name, frozenset(requirement.extras)))
    return found


def _entries_of(distribution: metadata.Distribution, name: str) -> set[str]:
    """Return the names of the files and folders that a distribution puts directly in `site-packages`.

    Args:
        distribution: metadata of an installed package.
        name: its name. If it does not list what it installs, it is taken to install one package of that name.
    """
    record = distribution.read_text("RECORD")
    if record is not None:
        return {line.partition(",")[0].strip('"').partition("/")[0] for line in record.splitlines()}
    listed = distribution.read_text("top_level.txt")  # Debian's packages have no RECORD
    modules = listed.split() if listed is not None else [name.replace("-", "_")]
    return {entry for module in modules for entry in (module, f"{module}.py")}
