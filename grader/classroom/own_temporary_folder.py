"""Give a grading process a temporary folder of its own, and remove folders that killed processes left behind.

/tmp/hanstep.xxxxxxxx/    folder of a grading process, which is locked as long as the process lives, however it ends
/tmp/hanstep-xxxxxxxx/    any other temporary folder of ours, such as that of uploads, of a sandbox without isolation,
                          of a drill, of a notebook that authors run, or of checkpoints; in a grading process, most of
                          them lie in its own folder

Folders of the second kind count as abandoned if they are a day old and not locked. Those that may be used for more than
a day have to be locked, by `base.folders_in_use.lock_folder`.
"""

import functools
import os
import re
import tempfile
import time
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path

from grader.base.folders_in_use import lock_folder, try_lock
from grader.base.package import TEMPORARY_PREFIX
from grader.base.removal import remove_tree

_OWN_PREFIX = "hanstep."
"""Beginning of the name of a grading process's own folder."""
_MIN_AGE_SECONDS = {_OWN_PREFIX: 60.0, TEMPORARY_PREFIX: 86_400.0}
"""By the beginning of its name, the minimum age of a folder that is removed: the seconds since an entry directly in it
was last added, renamed or removed. Even a grading process's own folder is left alone for a minute, because it is not
locked yet for a moment after it is created."""
_NAME = re.compile(rf"({'|'.join(map(re.escape, _MIN_AGE_SECONDS))})[a-z0-9_]{{8}}")
_MAX_PARENT_BYTES = 55
"""Maximum bytes of the path of the parent folder: sockets lie in our folder, and their paths may have about a hundred
bytes."""
_AFTER_MULTIPROCESSING = -200
"""Priority at exit, below that with which multiprocessing removes its own folder, which lies in ours."""


@functools.cache
def move_into_own_temporary_folder() -> Path:
    """Make a folder the default for temporary files of this process, and of those it starts, and return it.

    It lies in the usual temporary folder, or in /tmp if the path of that is too long. It is removed when the process
    ends; if the process is killed, by a later one. Abandoned folders are removed now. Further calls only return the
    folder.

    Raises:
        OSError: no folder can be created.
    """
    usual = Path(tempfile.gettempdir())
    parent = usual if len(os.fsencode(usual)) <= _MAX_PARENT_BYTES else Path("/tmp")
    # Drivers' checkpoints lie in /dev/shm (`exercises/fixtures/checkpoints.py`).
    for place in {usual, parent, Path("/dev/shm")}:
        remove_abandoned_folders(place)
    folder = tempfile.mkdtemp(prefix=_OWN_PREFIX, dir=parent)
    lock_folder(folder)  # its descriptor is never closed, so that the lock lasts until the process ends
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    Finalize(None, remove_tree, args=(folder,), exitpriority=_AFTER_MULTIPROCESSING)
    return Path(folder)


def remove_abandoned_folders(place: Path) -> None:
    """Remove our folders in `place` that are this user's, old enough and not in use; leave all others."""
    with suppress(OSError), os.scandir(place) as listing:
        found = [match for entry in listing if (match := _NAME.fullmatch(entry.name)) is not None]
        for match in found:
            with suppress(OSError):
                _remove_if_abandoned(place / match[0], _MIN_AGE_SECONDS[match[1]])


def _remove_if_abandoned(folder: Path, min_age: float) -> None:
    """Remove a folder if it is this user's, at least `min_age` seconds old and not locked.

    Raises:
        OSError: it is no folder, or cannot be opened.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        is_old = time.time() - status.st_mtime > min_age
        if is_old and status.st_uid == os.geteuid() and try_lock(descriptor):
            remove_tree(folder)
    finally:
        os.close(descriptor)
