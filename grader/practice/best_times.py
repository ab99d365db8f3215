"""Keep the drill's best times in a small JSON file of their own in the user's data folder, apart from the progress."""

import os
from contextlib import suppress
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct

from grader.base.files import open_regular, write_whole
from grader.paths import user_folder

_MOST_BYTES = 2**20
"""Maximum bytes read from the file."""
_DAY = 86_400.0
_MOST_RECENT = 5


class Best(Struct, frozen=True):
    """The fastest right answer to one exercise."""

    seconds: float
    on: date
    tries: int = 1
    """Number of right answers so far, slower ones included."""
    recent: tuple[float, ...] = ()
    """Seconds of the last right answers, the newest last; files of version 0.2.0 have none."""


class BestTimes:
    """The best time of every exercise that was ever drilled to a right answer. No file error stops a drill."""

    def __init__(self) -> None:
        """Read the file. One that cannot be read is set aside, not overwritten."""
        self.set_aside: Path | None = None
        """Where an unreadable file was moved to; None if there was none, or if it could not be moved."""
        self.of: dict[str, Best] = {}
        path = self.path()
        try:
            self.of = _read(path)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, RecursionError):  # msgspec's errors are ValueErrors
            self.set_aside = _put_aside(path)

    @staticmethod
    def path() -> Path:
        """Return the path of the file."""
        return user_folder() / "drill.json"

    def record(self, exercise: str, seconds: float) -> Best | None:
        """Record a right answer: count it, and keep its time if it is the best.

        Returns:
            The best before this one; None for the first right answer.
        """
        before = self.of.get(exercise)
        best = this = Best(seconds, date.today(), recent=(seconds,))
        if before is not None:
            best = msgspec.structs.replace(
                this if seconds < before.seconds else before,
                tries=before.tries + 1,
                recent=(*before.recent, seconds)[-_MOST_RECENT:],
            )
        self.of[exercise] = best
        with suppress(OSError):  # in a read-only home, the drill goes on without a record
            write_whole(self.path(), msgspec.json.encode(self.of))
        return before


def _read(path: Path) -> dict[str, Best]:
    """Return the kept times; raise ValueError if one of them is impossible."""
    with os.fdopen(open_regular(path), "rb") as file:
        found = msgspec.json.decode(file.read(_MOST_BYTES + 1), type=dict[str, Best])
    for name, best in found.items():
        if not 0 < best.seconds < 365 * _DAY or best.tries < 1:
            raise ValueError(f"no time of a drill: {name!r}, {best}")
    return found


def _put_aside(path: Path) -> Path | None:
    """Rename the file to a free name and return that; None if it cannot be renamed."""
    number = 1
    while (aside := path.with_name(f"drill.unreadable-{number}.json")).exists():
        number += 1
    try:
        return path.rename(aside)
    except OSError:
        return None
