"""Put each sandbox into a cgroup (v2) of its own, so that the kernel limits it as a whole.

A cgroup's limits also count memory that the kernel allocates for the sandbox, which no resource limit does. It needs a
cgroup that is delegated to us:

    …/session.scope/            delegated: `systemd-run --user --scope -p Delegate=yes grader grade …`, or root
        hanstep-main/           the grader and its workers: a cgroup with processes in it cannot have limited children
        hanstep-PID-xxxxxxxx/   one sandbox, with its limits

Cgroups are an addition: where they are not available, resource limits and the server's own watch work alone.
"""

import os
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from grader.sandbox.inside import isolation

_CONTROLLERS = ("memory", "pids", "cpu")
_MAIN = "hanstep-main"
_SANDBOX = re.compile(r"hanstep-(\d+)-[0-9a-f]{8}")
_END_SECONDS = 2.0
"""Time to wait until a cgroup is empty and can be removed."""
_WARMED_BYTES = 2 * 2**30
"""Memory allowed for the server itself, including cached files."""
_ENTER = 'echo 0 > "$0" && exec "$@"'
"""Script for `sh -c`: the shell enters the cgroup, then becomes the command, so that all its forks are in there too."""

Lack = Literal["", "none", "controllers", "not-lent"]


@dataclass(frozen=True)
class Delegation:
    """The answer to whether sandboxes can get cgroups of their own."""

    lack: Lack
    """Missing condition; empty if nothing is missing."""
    base: Path | None = None
    """Cgroup in which those of the sandboxes are created; None if something is missing."""
    detail: str = ""


def own_group(
    mounts: Path = Path("/proc/self/mountinfo"), groups: Path = Path("/proc/self/cgroup")
) -> Path | None:
    """Return the folder of this process's cgroup v2; None if there is none."""
    with suppress(OSError, StopIteration, IndexError):
        path = next(line[3:] for line in groups.read_text().splitlines() if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            fields, _, system = line.partition(" - ")
            if system.split()[0] == "cgroup2":
                return Path(fields.split()[4], path.lstrip("/"))
    return None


def prepare(own: Path | None) -> Delegation:
    """Prepare this process's cgroup `own` for sandboxes below it, and move this process into a child of it.

    Processes started from now on find the prepared cgroup with `place_for_sandboxes`.
    """
    if own is None or not (own / "cgroup.procs").exists():
        return Delegation("none")
    if own.name == _MAIN:
        return Delegation("", own.parent)
    offered = (own / "cgroup.controllers").read_text().split()
    missing = [name for name in _CONTROLLERS if name not in offered]
    if missing:
        return Delegation("controllers", detail=", ".join(missing))
    main = own / _MAIN
    try:
        main.mkdir(exist_ok=True)
        (main / "cgroup.procs").write_text("0")
        (own / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
    # It is not delegated to us, or another process (the shell that started us) is in it
    except OSError as error:
        with suppress(OSError):
            (own / "cgroup.procs").write_text("0")
            main.rmdir()
        return Delegation("not-lent", detail=error.strerror or str(error))
    _remove_left_behind(own)
    return Delegation("", own)


def place_for_sandboxes(own: Path | None) -> Path | None:
    """Return the cgroup that `prepare` prepared, in this process or the one that started it; None if it did not."""
    return own.parent if own is not None and own.name == _MAIN else None


def limited(command: Sequence[str], memory_bytes: int, resources: ExitStack) -> list[str]:
    """Return a sandbox's command changed to run in a cgroup of its own; unchanged if no cgroup can be created.

    Args:
        command: the command that starts the sandbox.
        memory_bytes: limit of a submission. The cgroup gets twice as much, because it also counts memory that nothing
            else watches, plus what the warmed server needs.
        resources: the cgroup is removed when this closes.
    """
    place = place_for_sandboxes(own_group())
    if place is None:
        return [*command]
    most, processes = _WARMED_BYTES + 2 * memory_bytes, 2 * isolation.max_threads()
    try:
        group = Group(place, memory_bytes=most, processes=processes)
    except OSError:
        return [*command]
    resources.callback(group.close)
    return group.entering(command)


class Group:
    """The cgroup of one sandbox."""

    def __init__(self, place: Path, *, memory_bytes: int, processes: int) -> None:
        """Create the cgroup and set its limits.

        Args:
            place: the parent cgroup, see `place_for_sandboxes`.
            memory_bytes: maximum memory of everything in it, including cached files and the kernel's own structures.
            processes: maximum number of processes and threads together.

        Raises:
            OSError: the kernel refused it.
        """
        self.path = place / f"hanstep-{os.getpid()}-{secrets.token_hex(4)}"
        self.path.mkdir()
        # One core: microseconds of processor time, and the period in which they may be used.
        limits = {"memory.max": memory_bytes, "pids.max": processes, "cpu.max": "100000 100000"}
        for name, value in limits.items():
            (self.path / name).write_text(str(value))
        with suppress(OSError):  # a kernel without swap has no such file
            (self.path / "memory.swap.max").write_text("0")

    def entering(self, command: Sequence[str]) -> list[str]:
        """Return the command changed to run in this cgroup from its first instruction on."""
        return ["/bin/sh", "-c", _ENTER, str(self.path / "cgroup.procs"), *command]

    def close(self) -> None:
        """Kill the processes left in the cgroup and remove it; if that fails in time, the next run removes it."""
        with suppress(OSError):  # before Linux 5.14 there is no such file
            (self.path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + _END_SECONDS
        while not _removed(self.path) and time.monotonic() < deadline:
            time.sleep(0.01)


def _removed(group: Path) -> bool:
    """Remove the cgroup; return True if it is gone."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # a process in it has not ended yet
        return False
    return True


def _remove_left_behind(place: Path) -> None:
    """Remove the cgroups of sandboxes whose grader was killed: the processes end by themselves, cgroups do not."""
    for group in place.iterdir():
        found = _SANDBOX.fullmatch(group.name)
        if found and not Path("/proc", found[1]).exists():
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
            _removed(group)
