"""Find the script's own line on the stack: frames of torch, of other libraries and of this room are skipped."""

import os
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType, FrameType

_HERE = str(Path(__file__).resolve().parent)
_LIBRARIES = tuple(
    {str(Path(path).resolve()) for key in ("stdlib", "platstdlib") if (path := sysconfig.get_path(key))}
)
_INSTALLED = ("site-packages", "dist-packages")
_MOST_CALLERS = 5
_DEEPEST = 400
"""Frames above this depth are not looked at."""


@dataclass(frozen=True, slots=True)
class Place:
    """A line of the learner's code."""

    file: str
    line: int
    function: str = ""


@cache
def is_own(file: str) -> bool:
    """Return True if a code object's file is the learner's: a script, its modules or a notebook cell."""
    if file.startswith("<"):
        return file.startswith(("<ipython-input", "<stdin"))
    path = Path(file)
    if any(part in _INSTALLED for part in path.parts):
        return False
    whole = str(path.resolve())
    return not whole.startswith((_HERE, *_LIBRARIES, *_installed()))


@cache
def _installed() -> tuple[str, ...]:
    """Return folders on the path into which pip installed something: `pip install --target` names them freely."""
    return tuple(
        str(Path(folder).resolve()) + os.sep
        for folder in sys.path
        if folder and next(Path(folder).glob("*.dist-info"), None)
    )


def cell_of(file: str) -> str | None:
    """Return the number of the notebook cell that a code object's file is, as `[2]`; None if it is none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    named = None if shell is None else shell.compile.format_code_name(file)
    return None if named is None else str(named[1]).removeprefix("In")


def own_frames(start: FrameType | None = None) -> list[FrameType]:
    """Return the frames of the learner's code, innermost first."""
    frame = start or sys._getframe(1)
    found = []
    for _ in range(_DEEPEST):
        if is_own(frame.f_code.co_filename):
            found.append(frame)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return found


def own_place() -> Place | None:
    """Return the innermost line of the learner's code that is running; None if there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_own(frame.f_code.co_filename):
            return place_of(frame.f_code, frame.f_lineno)
        frame = frame.f_back
    return None


def callers() -> tuple[Place, ...]:
    """Return the learner's lines that led to the running one, innermost first, without it."""
    return tuple(place_of(one.f_code, one.f_lineno) for one in own_frames()[1:_MOST_CALLERS])


def place_of(code: CodeType, line: int | None) -> Place:
    """Return the place of a line in a code object."""
    return Place(code.co_filename, line or code.co_firstlineno, code.co_name)
