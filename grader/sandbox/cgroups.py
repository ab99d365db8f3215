"""Put each sandbox into a cgroup (v2) of its own, so that the kernel limits it as a whole.

A cgroup's limits also count memory that the kernel allocates for the sandbox's processes, which no resource limit does.
To create cgroups, we need a parent cgroup that is delegated to us, that is, one in which we may create others:

    …/session.scope/            the parent, e.g. of `systemd-run --user --scope -p Delegate=yes grader grade …`;
                                root needs no delegation
        hanstep-main/           the grader and its workers
        hanstep-PID-xxxxxxxx/   one sandbox, with its limits; PID is the process that started it

The grader moves from the parent into `hanstep-main`, because a cgroup that holds processes cannot have limited
children.

`cli/grade.py` begins with `enter_prepared_parent`; then `server_process.py` calls `wrap_in_cgroup` for each server.
Where cgroups are not available, the resource limits of each child and the checks of the server must do. What cgroups do
not count, such as open files, is limited in each child only (`inside/isolation.py`).

To add a limit of the whole sandbox, write it into another file of the cgroup, in `SandboxCgroup.__init__`.
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
"""Parts of the kernel that enforce the limits; the parent must be allowed to use them."""
_GRADER_NAME = "hanstep-main"
"""Name of the cgroup of the grader and its workers."""
_SANDBOX_NAME = re.compile(r"hanstep-(\d+)-[0-9a-f]{8}")
"""Name of a sandbox's cgroup, with the id of the process that started it."""
_REMOVAL_SECONDS = 2.0
"""Maximum time until the killed processes of a cgroup are gone; before that, it cannot be removed."""
_SERVER_BYTES = 2 * 2**30
"""Memory allowed for the warmed server itself, including the files that the kernel caches for it.

Torch's libraries alone may take half a GiB of such cached files."""
_ENTER_SCRIPT = 'echo 0 > "$0" && exec "$@"'
"""Script of `sh -c SCRIPT PROCS_FILE COMMAND…`: the shell enters the cgroup, then becomes the command.

`$0` is PROCS_FILE, the cgroup's `cgroup.procs`, and `$@` is COMMAND. Writing 0 into PROCS_FILE moves the process that
writes. Whatever the command starts is then in the cgroup too.
"""

Missing = Literal["cgroup", "controllers", "delegation"]
"""What sandboxes would need to get cgroups: cgroups v2, all of `_CONTROLLERS`, or a parent that is delegated to us."""


@dataclass(frozen=True)
class Preparation:
    """The result of `enter_prepared_parent`: where sandboxes can get cgroups of their own, or why they cannot."""

    missing: Missing | None
    """What is missing; None if sandboxes can get cgroups."""
    parent: Path | None = None
    """Cgroup in which the cgroups of sandboxes are created; None if something is missing."""
    detail: str = ""
    """The missing controllers, or the kernel's error message; empty otherwise."""

    @classmethod
    def succeeded(cls, parent: Path) -> "Preparation":
        """Return the result if sandboxes can get cgroups below `parent`."""
        return cls(None, parent)

    @classmethod
    def failed(cls, missing: Missing, detail: str = "") -> "Preparation":
        """Return the result if sandboxes cannot get cgroups."""
        return cls(missing, detail=detail)


def own_cgroup(
    mounts: Path = Path("/proc/self/mountinfo"), memberships: Path = Path("/proc/self/cgroup")
) -> Path | None:
    """Return the folder of this process's cgroup v2; None if there is none.

    Args:
        mounts: file that lists the mounted file systems.
        memberships: file that lists this process's cgroups.
    """
    with suppress(OSError, StopIteration, IndexError):
        # The line `0::/user.slice/…` is that of version 2; lines such as `4:memory:/jobs` are those of version 1.
        lines = memberships.read_text().splitlines()
        path = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            mount, _, filesystem = line.partition(" - ")
            if filesystem.split()[0] == "cgroup2":
                mount_point = mount.split()[4]
                return Path(mount_point, path.lstrip("/"))
    return None


def enter_prepared_parent(current: Path | None) -> Preparation:
    """Make this process's cgroup the parent of sandboxes' cgroups, and move this process into `hanstep-main` below it.

    Processes that this one starts later are in `hanstep-main` too. There are three outcomes:
    - this process is in `hanstep-main` already: nothing is done;
    - sandboxes cannot get cgroups: this process is where it was before, and the result says what is missing;
    - sandboxes can get them: cgroups that a killed grader left behind are removed, with what runs in them.

    Args:
        current: this process's cgroup, see `own_cgroup`; None if there is none.
    """
    if current is None or not (current / "cgroup.procs").exists():
        return Preparation.failed("cgroup")
    if find_prepared_parent(current) is not None:
        return Preparation.succeeded(current.parent)
    parent = current
    offered = (parent / "cgroup.controllers").read_text().split()
    missing = [name for name in _CONTROLLERS if name not in offered]
    if missing:
        return Preparation.failed("controllers", ", ".join(missing))
    grader = parent / _GRADER_NAME
    try:
        grader.mkdir(exist_ok=True)
        (grader / "cgroup.procs").write_text("0")
        (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
    except OSError as error:
        # The parent is not delegated to us, or another process, such as the shell that started us, is in it too.
        # So go back.
        with suppress(OSError):
            (parent / "cgroup.procs").write_text("0")
            grader.rmdir()
        return Preparation.failed("delegation", error.strerror or str(error))
    _remove_abandoned_cgroups(parent)
    return Preparation.succeeded(parent)


def find_prepared_parent(current: Path | None) -> Path | None:
    """Return the parent cgroup that this process, or the one that started it, has prepared; None if there is none.

    Args:
        current: this process's cgroup, see `own_cgroup`; None if there is none.
    """
    return current.parent if current is not None and current.name == _GRADER_NAME else None


def wrap_in_cgroup(command: Sequence[str], memory_bytes: int, resources: ExitStack) -> list[str]:
    """Create a cgroup with limits, and return a command that starts a sandbox in it.

    If no parent was prepared, or the kernel refuses the cgroup, return the command unchanged. A refusal is logged.

    Args:
        command: the command that starts the sandbox.
        memory_bytes: memory limit of one child (`client.Limits`). The cgroup gets more: what the warmed server needs,
            and twice the child's limit, because a cgroup also counts cached files and the kernel's structures.
        resources: the cgroup is removed when this closes.
    """
    parent = find_prepared_parent(own_cgroup())
    if parent is None:
        return [*command]
    # Twice the threads that the server allows a child, so that usually the server, which can report the reason, notices
    # too many threads before the kernel refuses one.
    max_tasks = 2 * isolation.max_threads()
    try:
        cgroup = SandboxCgroup(parent, memory_bytes=_SERVER_BYTES + 2 * memory_bytes, max_tasks=max_tasks)
    except OSError as error:
        logging.getLogger(__name__).warning(
            "no cgroup for a sandbox, so only its processes are limited: %s", error
        )
        return [*command]
    resources.callback(cgroup.close)
    return cgroup.wrap(command)


class SandboxCgroup:
    """The cgroup of one sandbox, made by the constructor and removed by `close`."""

    def __init__(self, parent: Path, *, memory_bytes: int, max_tasks: int) -> None:
        """Create the cgroup and set its limits.

        Args:
            parent: the parent cgroup, see `find_prepared_parent`.
            memory_bytes: maximum memory of everything in it, including cached files and the kernel's own structures.
            max_tasks: maximum number of processes and threads together, which the kernel calls tasks.

        Raises:
            OSError: the kernel refused the cgroup or a limit; nothing is left of it.
        """
        self.path = parent / f"hanstep-{os.getpid()}-{secrets.token_hex(4)}"
        self.path.mkdir()
        # cpu.max: microseconds of processor time in each period, and the period; two equal numbers allow one core.
        limits = {"memory.max": memory_bytes, "pids.max": max_tasks, "cpu.max": "100000 100000"}
        try:
            for name, value in limits.items():
                (self.path / name).write_text(str(value))
        except OSError:
            self.path.rmdir()
            raise
        with suppress(OSError):  # a kernel without swap has no such file, and then nothing to limit
            (self.path / "memory.swap.max").write_text("0")

    def wrap(self, command: Sequence[str]) -> list[str]:
        """Return a command that runs `command` in this cgroup from its first instruction on."""
        return ["/bin/sh", "-c", _ENTER_SCRIPT, str(self.path / "cgroup.procs"), *command]

    def close(self) -> None:
        """Kill the processes left in the cgroup and remove it.

        If they are not gone after `_REMOVAL_SECONDS`, the cgroup stays. A later grader tries again, in
        `enter_prepared_parent`.
        """
        with suppress(OSError):  # before Linux 5.14 there is no such file
            (self.path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + _REMOVAL_SECONDS
        while not _try_to_remove(self.path) and time.monotonic() < deadline:
            time.sleep(0.01)


def _try_to_remove(cgroup: Path) -> bool:
    """Remove a cgroup if no process is in it; return True if it is gone."""
    try:
        cgroup.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # a process in it has not ended yet
        return False
    return True


def _remove_abandoned_cgroups(parent: Path) -> None:
    """Kill what still runs in sandboxes' cgroups whose grader no longer exists, and try to remove these cgroups.

    A cgroup in which a process has not ended yet stays; the next grader tries again.
    """
    for cgroup in parent.iterdir():
        found = _SANDBOX_NAME.fullmatch(cgroup.name)
        if found and not Path("/proc", found[1]).exists():
            with suppress(OSError):
                (cgroup / "cgroup.kill").write_text("1")
            _try_to_remove(cgroup)
