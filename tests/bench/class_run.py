"""One run of a program with everything it starts: how long it took, and what it took."""

import ctypes
import os
import resource
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.sandbox.processes import descendants

_EVERY = 0.5  # seconds between two looks at the memory
_CHILD_SUBREAPER = (
    36  # from <linux/prctl.h>: orphans become ours, so that their processor time is counted too
)


@dataclass(frozen=True)
class Took:
    """What one run took."""

    seconds: float
    """By the clock."""
    cpu: float
    """Processor seconds of all its processes."""
    peak: float
    """Most memory (GiB) of all its processes at once; what several share counts once."""
    first: float
    """Seconds until `ready` was true; `seconds` where it never was."""


def run(command: Sequence[str], ready: Callable[[], bool] = lambda: False, **options: object) -> Took:
    """Run a command, and watch it.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    ctypes.CDLL(None).prctl(_CHILD_SUBREAPER, 1, 0, 0, 0)
    before, started = _cpu(), time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)  # type: ignore[call-overload]
    seen: dict[str, float] = {"peak": 0.0}

    def watch() -> None:
        looked = 0.0
        while process.returncode is None:
            if "first" not in seen and ready():
                seen["first"] = time.perf_counter() - started
            if time.perf_counter() - looked > _EVERY:
                seen["peak"] = max(seen["peak"], _memory(process.pid))
                looked = time.perf_counter()
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    said = process.communicate()[0]
    seconds = time.perf_counter() - started
    watcher.join()
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command, said)
    return Took(seconds, _cpu() - before, seen["peak"], seen.get("first", seconds))


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(pid: int) -> float:
    """GiB of a process and all below it, each page divided by how many of the machine's processes share it."""
    total = 0
    for one in (pid, *descendants(pid)):
        with suppress(OSError):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text(encoding="ascii").splitlines()
            total += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total / 2**20
