"""Lock temporary folders that are in use, so that no grading run removes them as abandoned.

The operating system releases a lock when the process ends, however that happens. On Windows nothing is locked, because
nothing removes abandoned folders there (`classroom/own_temporary_folder.py` does it elsewhere).
"""

import os
import sys
from pathlib import Path

if sys.platform != "win32":
    import fcntl


def lock_folder(folder: str | Path) -> int | None:
    """Lock a folder until the returned descriptor is closed or the process ends; return None if that fails.

    Processes that are forked meanwhile hold the lock as well.
    """
    if sys.platform == "win32":
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    if try_lock(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def try_lock(descriptor: int) -> bool:
    """Lock an open folder; return False if it is in use, or if its file system has no locks, as on Windows."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
