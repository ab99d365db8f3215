"""Show warnings of torch at the script's line: they name the caller of a function, which is a wrapper of this room."""

import warnings
from pathlib import Path
from typing import TextIO

from grader.scripts.places import own_place

_HERE = str(Path(__file__).resolve().parent)
_OF_THE_WATCH = "Using `torch.compile(module)` when there are global hooks"
"""Such hooks are ours, and nothing is compiled while they are on."""


class OwnWarnings:
    """Puts a function before the one that shows warnings."""

    def __init__(self) -> None:
        self._before = warnings.showwarning

    def begin(self) -> None:
        """Show warnings so from now on."""
        self._before = warnings.showwarning
        warnings.showwarning = self._show

    def end(self) -> None:
        """Let them be shown as before, unless the script has put its own function there."""
        if warnings.showwarning == self._show:
            warnings.showwarning = self._before

    def _show(
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if str(message).startswith(_OF_THE_WATCH):
            return
        place = own_place() if filename.startswith(_HERE) else None
        if place is not None:
            filename, lineno = place.file, place.line
        self._before(message, category, filename, lineno, file, line)
