"""One folder for all temporary files of a grading process, and the end of those that killed ones left behind.

/tmp/hanstep.xxxxxxxx/     locked as long as its process lives, however that ends
/tmp/hanstep-xxxxxxxx/     of a sandbox without isolation, of a notebook that runs: a day old, it is nobody's
"""

import functools
import os
import re
import stat
import tempfile
import time
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path

from grader.base.removal import remove_tree

_LOCKED, _UNLOCKED = "hanstep.", "hanstep-"
_NAME = re.compile(r"hanstep[.-][a-z0-9_]{8}")
_OLD_SECONDS = {_LOCKED: 60.0, _UNLOCKED: 86_400.0}
"""Younger ones are left alone: between its making and its locking a folder is nobody's for a moment."""
_LONGEST = 55
"""Bytes of the path above it: sockets stand in it, whose paths may have a hundred."""
_AFTER_MULTIPROCESSING = -200
"""Priority at exit: below that of the removal of multiprocessing's own folder, which lies in ours."""


@functools.cache
def own_temporary_folder() -> Path:
    """Have everything temporary of this process, and of those it starts, in one folder that goes with the process.

    What earlier processes left because they were killed is removed.

    Raises:
        OSError: no folder can be made.
    """
    base = Path(tempfile.gettempdir())
    if len(os.fsencode(base)) > _LONGEST:
        base = Path("/tmp")
    for place in {base, Path("/dev/shm")}:
        remove_left_behind(place)
    folder = tempfile.mkdtemp(prefix=_LOCKED, dir=base)
    _locked(os.open(folder, os.O_RDONLY))  # until the process ends
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    Finalize(None, remove_tree, args=(folder,), exitpriority=_AFTER_MULTIPROCESSING)
    return Path(folder)


def remove_left_behind(place: Path) -> None:
    """Remove this user's folders in `place` whose process has gone; what is not clearly such a folder stays."""
    with suppress(OSError), os.scandir(place) as listing:
        names = [entry.name for entry in listing if _NAME.fullmatch(entry.name)]
        for name in names:
            with suppress(OSError):
                _remove_if_left(place / name)


def _remove_if_left(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(opened)
        age = time.time() - status.st_mtime
        old = age > _OLD_SECONDS[folder.name[: len(_LOCKED)]]
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
        if old and ours and _locked(opened):
            remove_tree(folder)
    finally:
        os.close(opened)


def _locked(folder: int) -> bool:
    """Lock an open folder; whether nobody else has."""
    import fcntl

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
