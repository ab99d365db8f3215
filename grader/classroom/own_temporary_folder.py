"""Put all temporary files of a grading process into one folder, and remove folders that killed processes left behind.

/tmp/hanstep.xxxxxxxx/     folder of a grading process; locked as long as the process lives, however it ends
/tmp/hanstep-xxxxxxxx/     folder of a sandbox without isolation, or of a running notebook; not locked, so it counts as
                           abandoned after a day
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
"""Minimum age in seconds at which a folder is removed, by kind. Even a folder of the locked kind is left alone for a
minute, because it is not locked yet for a moment after it is created."""
_LONGEST = 55
"""Maximum bytes of the path of the parent folder: sockets lie in our folder, and their paths may have about a hundred
bytes."""
_AFTER_MULTIPROCESSING = -200
"""Priority at exit, below that with which multiprocessing removes its own folder, which lies in ours."""


@functools.cache
def own_temporary_folder() -> Path:
    """Direct all temporary files of this process, and of those it starts, to one folder, and return it.

    The folder is removed when the process ends. Folders left behind by killed processes are removed now.

    Raises:
        OSError: no folder can be created.
    """
    base = Path(tempfile.gettempdir())
    if len(os.fsencode(base)) > _LONGEST:
        base = Path("/tmp")
    for place in {base, Path("/dev/shm")}:
        remove_left_behind(place)
    folder = tempfile.mkdtemp(prefix=_LOCKED, dir=base)
    _locked(os.open(folder, os.O_RDONLY))  # never closed, so that the lock lasts until the process ends
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    Finalize(None, remove_tree, args=(folder,), exitpriority=_AFTER_MULTIPROCESSING)
    return Path(folder)


def remove_left_behind(place: Path) -> None:
    """Remove this user's folders in `place` whose process is gone; leave anything that is not clearly such a folder."""
    with suppress(OSError), os.scandir(place) as listing:
        names = [entry.name for entry in listing if _NAME.fullmatch(entry.name)]
        for name in names:
            with suppress(OSError):
                _remove_if_left(place / name)


def _remove_if_left(folder: Path) -> None:
    """Remove a folder if it is old enough, ours and not locked."""
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
    """Lock an open folder; return False if another process has locked it."""
    import fcntl

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
