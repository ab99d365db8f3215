"""What runs below a process, as /proc tells it."""

import time
from pathlib import Path


def descendants(pid: int) -> list[int]:
    """Process ids below `pid`."""
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [found for child in children for found in (child, *descendants(child))]


def parent(pid: int) -> int:
    """Who started it, or took it over; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def alive(pid: int) -> bool:
    """Whether it runs; what is dead and only waits to be noticed does not."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def left_of(family: list[int]) -> list[str]:
    """Who still runs after fifteen seconds, by its place in the family, and what it is doing.

    An end is noticed within 0.04 s, also beside six endless loops, but a machine that stands still for seconds delays
    it. Whoever is really left goes on for longer than this: the kernel ends it only after 20 s of processor time.
    """
    deadline = time.monotonic() + 15
    while any(map(alive, family)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return [f"{place}: {_doing(pid)}" for place, pid in enumerate(family) if alive(pid)]


def _doing(pid: int) -> str:
    try:
        folder = Path(f"/proc/{pid}")
        return f"{(folder / 'stat').read_text()} in {(folder / 'wchan').read_text()}"
    except OSError:
        return "gone by now"


def command(pid: int) -> str:
    """Its command line; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""
