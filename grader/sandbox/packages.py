"""Decide which installed packages a submission can import in the sandbox.

It can import the packages that the course declares as its dependencies, with those of the extra `frameworks`, those
that an instructor adds, and the dependencies of all these. Others are hidden, because they may contain an answer: for
example, some packages implement SAM, which an exercise asks for. Files and folders of `site-packages` are hidden as a
whole, so a package that shares a folder with an allowed one, as namespace packages do (`google/`), stays visible.
`bubblewrap.py _package_masks` hides what `undeclared_entries` lists.

To allow one more package that holds no answer, grade with `--package NAME`; or declare it as a dependency in
`pyproject.toml`, pin it in `constraints.txt` and install the course again, because the dependencies are read from what
is installed. To forbid one that is declared, take its entries out of `declared` in `undeclared_entries`.
"""

import functools
import json
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
    """Return the files and folders of packages in a packages folder that belong to no declared package.

    The sandbox hides these entries. The list is empty, so that nothing is hidden, if the dependencies of the course are
    unknown (`knows_dependencies`).

    Args:
        site: a folder of installed packages (`site-packages`).
        added_packages: names of further distributions that submissions may use.
    """
    if not knows_dependencies():
        return []
    declared = _entries_with_dependencies(_COURSE_DISTRIBUTION)
    declared = declared.union(*map(_entries_with_dependencies, added_packages))
    hidden = [path for path in site.iterdir() if path.name not in declared and _is_of_a_package(path)]
    # The bytecode of a module that is one file lies here, beside that of others, and can be loaded from here.
    modules = {name.partition(".")[0] for name in declared}
    compiled = site.glob("__pycache__/*.pyc")
    return sorted([*hidden, *(path for path in compiled if path.name.partition(".")[0] not in modules)])


def knows_dependencies() -> bool:
    """Return True if the course itself is installed; not if it is only run from a checkout of its repository."""
    return bool(_entries_with_dependencies(_COURSE_DISTRIBUTION))


def is_installed(name: str) -> bool:
    """Return True if a distribution of this name, as pip calls it, is installed."""
    try:
        metadata.distribution(name)
    except (metadata.PackageNotFoundError, ValueError):  # ValueError: an empty name
        return False
    return True


def editable_source(name: str) -> str | None:
    """Return the URL of the folder from which a distribution is imported, if it was installed with `pip install -e`.

    Such a folder does not exist in the sandbox. None if the distribution's modules were copied to `site-packages`.

    Args:
        name: name of an installed distribution.
    """
    origin = json.loads(metadata.distribution(name).read_text("direct_url.json") or "{}")
    return str(origin["url"]) if origin.get("dir_info", {}).get("editable") else None


def _is_of_a_package(path: Path) -> bool:
    """Return True for a folder of modules or of metadata, and for a file of a module or with metadata."""
    suffixes = (".py", ".so", ".pyc", ".egg-info")
    return path.name != "__pycache__" if path.is_dir() else path.suffix in suffixes


@functools.cache
def _entries_with_dependencies(distribution: str) -> frozenset[str]:
    """Return the names of what a distribution and all its dependencies put in `site-packages` (`_own_entries`)."""
    course_extras = frozenset({_LESSON_EXTRA}) if distribution == _COURSE_DISTRIBUTION else frozenset()
    pending = [_Dependency(distribution, course_extras)]
    seen: set[_Dependency] = set()
    names: set[str] = set()
    while pending:
        required_name, extras = pending.pop()
        name = canonicalize_name(required_name)  # different spellings name the same distribution
        if _Dependency(name, extras) in seen:
            continue
        seen.add(_Dependency(name, extras))
        try:
            installed = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        names |= _own_entries(installed, name)
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
            named = re.match(r"[\w.-]+", line)
            _, _, marker_text = line.partition(";")
            if named is not None and "extra" not in marker_text:
                found.append(_Dependency(named[0], frozenset()))
            continue
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
            found.append(_Dependency(requirement.name, frozenset(requirement.extras)))
    return found


def _own_entries(distribution: metadata.Distribution, name: str) -> set[str]:
    """Return the names of the files and folders that a distribution puts directly in `site-packages`.

    Args:
        distribution: metadata of an installed package.
        name: its canonical name. If it lists neither its files nor its modules, it is taken to install one module that
            is named like it.
    """
    record = distribution.read_text("RECORD")
    if record is not None:
        return {line.partition(",")[0].strip('"').partition("/")[0] for line in record.splitlines()}
    listed = distribution.read_text("top_level.txt")  # Debian's packages have no RECORD
    modules = {module.lower() for module in listed.split()} if listed else {name.replace("-", "_")}
    site = Path(str(distribution.locate_file("")))
    return {
        path.name
        for path in site.iterdir()
        # An extension module is called `module.cpython-311-x86_64-linux-gnu.so`.
        if path.name.partition(".")[0].lower() in modules or _is_metadata_of(path, name)
    }


def _is_metadata_of(path: Path, name: str) -> bool:
    """Return True if this is the metadata of the distribution with this canonical name: `Name-1.0.egg-info`."""
    stem = path.name.removesuffix(path.suffix).partition("-")[0]
    return path.suffix in (".egg-info", ".dist-info") and canonicalize_name(stem) == name
