"""Make hidden packages look as if they were not installed, for code that asks without importing them.

`bubblewrap.py _package_masks` covers the files of a hidden package, and the folder of its metadata, with a stand-in
(`assets/absent_package`). That makes an import fail, but libraries also ask `importlib.util.find_spec("ray")` or
`importlib.metadata.version("ray")`, and would then use a package that is not there. Here both find no stand-in.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import DistributionFinder, PathDistribution
from pathlib import Path
from types import ModuleType

_STAND_IN = Path(__file__).resolve().parents[3] / "absent_package" / "__init__.py"
"""The stand-in, where `bubblewrap.py bwrap_command` binds it once more; without isolation, there is no such file."""
_EVERYTHING = DistributionFinder.Context()
"""Stands for a search for all installed packages."""


def leave_out_stand_ins() -> None:
    """Let imports and searches for metadata find no stand-in from now on; without isolation, change nothing."""
    if _STAND_IN.is_file():
        sys.meta_path[:] = [_InstalledFinder if finder is PathFinder else finder for finder in sys.meta_path]


class _InstalledFinder(PathFinder):
    """Finds what Python's own finder finds in `sys.path`, except for stand-ins."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load a module; None if there is none, or only a stand-in. Python calls this for an import."""
        spec = super().find_spec(fullname, path, target)
        # Below a package, which has a `path`, nothing is covered.
        return None if path is None and spec is not None and _is_stand_in(spec.origin) else spec

    @classmethod
    def find_distributions(
        cls, context: DistributionFinder.Context = _EVERYTHING
    ) -> Iterable[PathDistribution]:
        """Return the metadata of installed packages. `importlib.metadata` calls this."""
        stand_in = _STAND_IN.read_text(encoding="utf-8")
        found = super().find_distributions(context)
        return (distribution for distribution in found if distribution.read_text("__init__.py") != stand_in)


def _is_stand_in(origin: str | None) -> bool:
    """Return True if a module's file is the stand-in, which is bound to many places."""
    return origin is not None and os.path.isfile(origin) and os.path.samefile(origin, _STAND_IN)
