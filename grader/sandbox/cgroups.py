"""Put each sandbox into a cgroup (v2) of its own, so that the kernel limits it as a whole.

A cgroup's limits also count memory that the kernel allocates for the sandbox, which no resource limit does. It needs a
cgroup that is delegated to us:

    …/session.scope/            delegated: `systemd-run --user --scope -p Delegate=yes grader grade …`, or root
        hanstep-main/           the grader and its workers: a cgroup with processes in it cannot have limited children
        hanstep-PID-xxxxxxxx/   one sandbox, with its limits; PID is the process that started it

Cgroups are an addition: where they are not available, resource limits and the server's own watch work alone.
"""

import logging
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
"""Name of the grader's own cgroup."""
_SANDBOX = re.compile(r"hanstep-(\d+)-[0-9a-f]{8}")
"""Name of a sandbox's cgroup, with the id of the process that started it."""
_REMOVAL_SECONDS = 2.0
"""Time to wait until the killed processes of a cgroup are gone, so that it can be removed."""
_SERVER_BYTES = 2 * 2**30
"""Memory allowed for the warmed server itself, including the files that the kernel caches for it: torch's libraries
alone may take half a GiB."""
_ENTER = 'echo 0 > "$0" && exec "$@"'
"""Script for `sh -c`: the shell enters the cgroup, then becomes the command, so that all its forks are in there too.

What follows the script on the shell's command line is `$0`, the path of the cgroup's file `cgroup.procs` (0 stands for
the process that writes it), and `$@`, the command.
"""

Missing = Literal["cgroup", "controllers", "delegation"]


@dataclass(frozen=True)
class Preparation:
    """The result of `prepare`: where sandboxes can get cgroups of their own, or why they cannot."""

    missing: Missing | None
    """What they cannot do without: cgroups v2, some controllers, or a cgroup that is delegated to us; None if nothing
    is missing."""
    parent: Path | None = None
    """Cgroup in which those of the sandboxes are created; None if something is missing."""
    detail: str = ""
    """The missing controllers, or the kernel's error message; empty otherwise."""


def own_cgroup(
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


def prepare(own: Path | None) -> Preparation:
    """Move this process into a child of its cgroup, so that the cgroup can have limited children, and say if it can.

    Processes that this one starts from now on are in the same child, from which `parent_for_sandboxes` finds the
    cgroup. If it does not work, this process stays where it was. Cgroups that a killed grader left are removed.

    Args:
        own: this process's cgroup, see `own_cgroup`.
    """
    if own is None or not (own / "cgroup.procs").exists():
        return Preparation("cgroup")
    if own.name == _MAIN:  # this process, or the one that started it, has prepared the parent already
        return Preparation(None, own.parent)
    offered = (own / "cgroup.controllers").read_text().split()
    missing = [name for name in _CONTROLLERS if name not in offered]
    if missing:
        return Preparation("controllers", detail=", ".join(missing))
    main = own / _MAIN
    try:
        main.mkdir(exist_ok=True)
        (main / "cgroup.procs").write_text("0")
        (own / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
    except OSError as error:
        # It is not delegated to us, or another process (the shell that started us) is in it.
        with suppress(OSError):
            (own / "cgroup.procs").write_text("0")
            main.rmdir()
        return Preparation("delegation", detail=error.strerror or str(error))
    _remove_left_behind(own)
    return Preparation(None, own)


def parent_for_sandboxes(own: Path | None) -> Path | None:
    """Return the cgroup that `prepare` prepared, in this process or the one that started it; None if it did not."""
    return own.parent if own is not None and own.name == _MAIN else None


def wrap_in_cgroup(command: Sequence[str], memory_bytes: int, resources: ExitStack) -> list[str]:
    """Return a command that starts a sandbox in a new cgroup with limits.

    If nothing was prepared, or the kernel refuses the cgroup, it is the given command; a refusal is logged.

    Args:
        command: the command that starts the sandbox.
        memory_bytes: limit of a submission. The cgroup gets twice as much, because it also counts memory that nothing
            else watches, plus what the warmed server needs.
        resources: the cgroup is removed when this closes.
    """
    parent = parent_for_sandboxes(own_cgroup())
    if parent is None:
        return [*command]
    # Twice what one child may have, so that the server's own count of a child's threads, which says why, comes first.
    processes = 2 * isolation.max_threads()
    try:
        group = Group(parent, memory_bytes=_SERVER_BYTES + 2 * memory_bytes, processes=processes)
    except OSError as error:
        logging.getLogger(__name__).warning(
            "no cgroup for a sandbox, so only its processes are limited: %s", error
        )
        return [*command]
    resources.callback(group.close)
    return group.wrap(command)


class Group:
    """The cgroup of one sandbox."""

    def __init__(self, parent: Path, *, memory_bytes: int, processes: int) -> None:
        """Create the cgroup and set its limits.

        Args:
            parent: the parent cgroup, see `parent_for_sandboxes`.
            memory_bytes: maximum memory of everything in it, including cached files and the kernel's own structures.
            processes: maximum number of processes and threads together.

        Raises:
            OSError: the kernel refused the cgroup or a limit; nothing is left of it.
        """
        self.path = parent / f"hanstep-{os.getpid()}-{secrets.token_hex(4)}"
        self.path.mkdir()
        # One core: microseconds of processor time, and the period in which they may be used.
        limits = {"memory.max": memory_bytes, "pids.max": processes, "cpu.max": "100000 100000"}
        try:
            for name, value in limits.items():
                (self.path / name).write_text(str(value))
        except OSError:
            self.path.rmdir()
            raise
        with suppress(OSError):  # a kernel without swap has no such file
            (self.path / "memory.swap.max").write_text("0")

    def wrap(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs `command` in this cgroup from its first instruction on."""
        return ["/bin/sh", "-c", _ENTER, str(self.path / "cgroup.procs"), *command]

    def close(self) -> None:
        """Kill the processes left in the cgroup and remove it.

        If they are not gone within 2 seconds, the cgroup stays, and the `prepare` of a later grader removes it.
        """
        with suppress(OSError):  # before Linux 5.14 there is no such file
            (self.path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + _REMOVAL_SECONDS
        while not _try_to_remove(self.path) and time.monotonic() < deadline:
            time.sleep(0.01)


def _try_to_remove(group: Path) -> bool:
    """Remove a cgroup if no process is in it; return True if it is gone."""
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # a process in it has not ended yet
        return False
    return True


def _remove_left_behind(parent: Path) -> None:
    """Remove the cgroups of sandboxes whose grader was killed, and end what still runs in them.

    A sandbox ends with its grader, but its cgroup does not.
    """
    for group in parent.iterdir():
        found = _SANDBOX.fullmatch(group.name)
        if found and not Path("/proc", found[1]).exists():
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
            _try_to_remove(group)
