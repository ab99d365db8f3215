"""Put each sandbox into a cgroup (v2) of its own, so that the kernel limits it as a whole.

A cgroup's limits also count memory that the kernel allocates for the sandbox, which no resource limit does. To create
one, we need a parent cgroup that is delegated to us:

    …/session.scope/            the parent: `systemd-run --user --scope -p Delegate=yes grader grade …`, or any for root
        hanstep-main/           the grader and its workers
        hanstep-PID-xxxxxxxx/   one sandbox, with its limits; PID is the process that started it

The grader moves into `hanstep-main` because a cgroup that holds processes cannot have limited children.

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
_GRADER = "hanstep-main"
"""Name of the cgroup of the grader and its workers."""
_SANDBOX = re.compile(r"hanstep-(\d+)-[0-9a-f]{8}")
"""Name of a sandbox's cgroup, with the id of the process that started it."""
_REMOVAL_SECONDS = 2.0
"""Time to wait until the killed processes of a cgroup are gone, so that it can be removed."""
_SERVER_BYTES = 2 * 2**30
"""Memory allowed for the warmed server itself, including the files that the kernel caches for it.

Torch's libraries alone may take half a GiB.
"""
_ENTER = 'echo 0 > "$0" && exec "$@"'
"""Script of `sh -c SCRIPT PROCS_FILE COMMAND…`: the shell enters the cgroup, then becomes the command.

`$0` is PROCS_FILE, the cgroup's `cgroup.procs`, and `$@` is COMMAND. Writing 0 moves the process that writes. All that
the command starts is then in the cgroup too.
"""

Missing = Literal["cgroup", "controllers", "delegation"]
"""What is missing, so that sandboxes get no cgroup: cgroups v2, some controllers, or a delegated parent."""


@dataclass(frozen=True)
class Preparation:
    """The result of `prepare`: where sandboxes can get cgroups of their own, or why they cannot."""

    missing: Missing | None
    """What is missing; None if sandboxes can get cgroups."""
    parent: Path | None = None
    """Cgroup in which the cgroups of sandboxes are created; None if something is missing."""
    detail: str = ""
    """The missing controllers, or the kernel's error message; empty otherwise."""


def own_cgroup(
    mounts: Path = Path("/proc/self/mountinfo"), memberships: Path = Path("/proc/self/cgroup")
) -> Path | None:
    """Return the folder of this process's cgroup v2; None if there is none."""
    with suppress(OSError, StopIteration, IndexError):
        # `0::/user.slice/…` among the lines of version 1, `4:memory:/jobs`
        lines = memberships.read_text().splitlines()
        path = next(line.removeprefix("0::") for line in lines if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            mount, _, filesystem = line.partition(" - ")
            if filesystem.split()[0] == "cgroup2":
                mount_point = mount.split()[4]
                return Path(mount_point, path.lstrip("/"))
    return None


def prepare(current: Path | None) -> Preparation:
    """Move this process into a child of its cgroup, so that sandboxes can get limited cgroups beside that child.

    Processes that this one starts later are in the child too. If sandboxes cannot get cgroups, this process stays where
    it was. Cgroups of sandboxes whose grader was killed are removed.

    Args:
        current: this process's cgroup, see `own_cgroup`; None if there is none.
    """
    if current is None or not (current / "cgroup.procs").exists():
        return Preparation("cgroup")
    if current.name == _GRADER:  # this process, or the one that started it, has prepared the parent already
        return Preparation(None, current.parent)
    parent = current
    offered = (parent / "cgroup.controllers").read_text().split()
    missing = [name for name in _CONTROLLERS if name not in offered]
    if missing:
        return Preparation("controllers", detail=", ".join(missing))
    grader = parent / _GRADER
    try:
        grader.mkdir(exist_ok=True)
        (grader / "cgroup.procs").write_text("0")
        (parent / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
    except OSError as error:
        # The parent is not delegated to us, or another process (the shell that started us) is in it.
        with suppress(OSError):
            (parent / "cgroup.procs").write_text("0")
            grader.rmdir()
        return Preparation("delegation", detail=error.strerror or str(error))
    _remove_left_behind(parent)
    return Preparation(None, parent)


def parent_for_sandboxes(current: Path | None) -> Path | None:
    """Return the parent that `prepare` prepared in this process or in the one that started it; None if there is none.

    Args:
        current: this process's cgroup, see `own_cgroup`; None if there is none.
    """
    return current.parent if current is not None and current.name == _GRADER else None


def wrap_in_cgroup(command: Sequence[str], memory_bytes: int, resources: ExitStack) -> list[str]:
    """Create a cgroup with limits, and return a command that starts a sandbox in it.

    If nothing was prepared, or the kernel refuses the cgroup, `command` is returned as it is; a refusal is logged.

    Args:
        command: the command that starts the sandbox.
        memory_bytes: memory limit of one child (`client.Limits`). The cgroup gets more: what the warmed server needs,
            and twice the child's limit, because a cgroup also counts memory that nothing else watches.
        resources: the cgroup is removed when this closes.
    """
    parent = parent_for_sandboxes(own_cgroup())
    if parent is None:
        return [*command]
    # Twice the threads of one child, so that the server notices too many first: it can report the reason, the kernel's
    # refusal of a thread cannot.
    processes = 2 * isolation.max_threads()
    try:
        group = SandboxCgroup(parent, memory_bytes=_SERVER_BYTES + 2 * memory_bytes, processes=processes)
    except OSError as error:
        logging.getLogger(__name__).warning(
            "no cgroup for a sandbox, so only its processes are limited: %s", error
        )
        return [*command]
    resources.callback(group.close)
    return group.wrap(command)


class SandboxCgroup:
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
        # cpu.max: microseconds of processor time, and the period in which they may be used. Equal, they are one core.
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
    """Kill what still runs in cgroups of sandboxes whose grader is gone, and remove these cgroups.

    A grader that is killed cannot remove them.
    """
    for group in parent.iterdir():
        found = _SANDBOX.fullmatch(group.name)
        if found and not Path("/proc", found[1]).exists():
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
            _try_to_remove(group)
