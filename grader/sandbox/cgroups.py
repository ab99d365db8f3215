"""Limits that the kernel keeps for a whole sandbox, with all it makes the kernel allocate: cgroup v2, where it is lent.

    …/session.scope/            lent to us: `systemd-run --user --scope -p Delegate=yes grader grade …`, or root
        hanstep-main/           grader and its workers: who has processes cannot divide what it has
        hanstep-PID-xxxxxxxx/   one sandbox, with its limits

Everything here is in addition: where it cannot be had, resource limits and the server's watch go on alone.
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
_WARMED_BYTES = 2 * 2**30
"""The server itself, with the files that it has in memory."""
_ENTER = 'echo 0 > "$0" && exec "$@"'
"""For `sh -c`: the shell goes in, and becomes the command. Whatever that forks is in there too."""

Lack = Literal["", "none", "controllers", "not-lent"]


@dataclass(frozen=True)
class Found:
    """Whether sandboxes can get a cgroup of their own."""

    lack: Lack
    base: Path | None = None
    """Where theirs are made."""
    detail: str = ""


def own_group(
    mounts: Path = Path("/proc/self/mountinfo"), groups: Path = Path("/proc/self/cgroup")
) -> Path | None:
    """The folder of this process's cgroup v2; None where there is none."""
    with suppress(OSError, StopIteration, IndexError):
        path = next(line[3:] for line in groups.read_text().splitlines() if line.startswith("0::"))
        for line in mounts.read_text().splitlines():
            fields, _, system = line.partition(" - ")
            if system.split()[0] == "cgroup2":
                return Path(fields.split()[4], path.lstrip("/"))
    return None


def divide(own: Path | None) -> Found:
    """Make room for sandboxes below this process's own cgroup; this process moves into a part of it.

    Processes that it starts from now on find the place with `place_for_sandboxes`.
    """
    if own is None or not (own / "cgroup.procs").exists():
        return Found("none")
    if own.name == _MAIN:
        return Found("", own.parent)
    offered = (own / "cgroup.controllers").read_text().split()
    missing = [name for name in _CONTROLLERS if name not in offered]
    if missing:
        return Found("controllers", detail=", ".join(missing))
    main = own / _MAIN
    try:
        main.mkdir(exist_ok=True)
        (main / "cgroup.procs").write_text("0")
        (own / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in _CONTROLLERS))
    except OSError as error:  # not ours to divide, or the shell that started us is in it too
        with suppress(OSError):
            (own / "cgroup.procs").write_text("0")
            main.rmdir()
        return Found("not-lent", detail=error.strerror or str(error))
    _remove_left_behind(own)
    return Found("", own)


def place_for_sandboxes(own: Path | None) -> Path | None:
    """Where `divide`, in this process or the one that started it, has made room; None where it has not."""
    return own.parent if own is not None and own.name == _MAIN else None


def limited(command: Sequence[str], memory_bytes: int, resources: ExitStack) -> list[str]:
    """A sandbox's command in a cgroup of its own; as it is where that cannot be had, or is refused after all.

    Args:
        command: what starts the sandbox.
        memory_bytes: what a submission may take; the group gets twice as much, for what is watched in no other way.
        resources: at whose end the group goes.
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
        """Make it.

        Args:
            place: see `place_for_sandboxes`.
            memory_bytes: everything together, with files in memory and what the kernel keeps for it.
            processes: with their threads.

        Raises:
            OSError: the kernel refused it.
        """
        self.path = place / f"hanstep-{os.getpid()}-{secrets.token_hex(4)}"
        self.path.mkdir()
        limits = {"memory.max": memory_bytes, "pids.max": processes, "cpu.max": "100000 100000"}
        for name, value in limits.items():
            (self.path / name).write_text(str(value))
        with suppress(OSError):  # a kernel without swap has no such file
            (self.path / "memory.swap.max").write_text("0")

    def entering(self, command: Sequence[str]) -> list[str]:
        """The command, run in here from its first instruction on."""
        return ["/bin/sh", "-c", _ENTER, str(self.path / "cgroup.procs"), *command]

    def close(self) -> None:
        """Kill what is left in it, and remove it; what cannot be removed yet, the next run removes."""
        with suppress(OSError):  # before Linux 5.14 there is no such file
            (self.path / "cgroup.kill").write_text("1")
        deadline = time.monotonic() + _END_SECONDS
        while not _removed(self.path) and time.monotonic() < deadline:
            time.sleep(0.01)


def _removed(group: Path) -> bool:
    try:
        group.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # a process in it is not gone yet
        return False
    return True


def _remove_left_behind(place: Path) -> None:
    """Sandboxes whose grader was killed: their processes end by themselves, their cgroups do not."""
    for group in place.iterdir():
        found = _SANDBOX.fullmatch(group.name)
        if found and not Path("/proc", found[1]).exists():
            with suppress(OSError):
                (group / "cgroup.kill").write_text("1")
            _removed(group)
