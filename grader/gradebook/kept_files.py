"""The instructor's roster, policy and marks by hand are kept beside the results: the next run finds them there."""

from collections.abc import Mapping
from pathlib import Path

from grader.base.files import write_whole

ROSTER, POLICY, OVERRIDES = "roster.csv", "policy.toml", "overrides.csv"


def chosen(out: Path, given: Mapping[str, Path | None]) -> dict[str, Path | None]:
    """For each of these files the one that was given, else the one that an earlier run kept, else none."""
    found: dict[str, Path | None] = {}
    for name, path in given.items():
        kept = out / name
        found[name] = path if path is not None else kept if kept.is_file() else None
    return found


def keep(out: Path, files: Mapping[str, Path | None]) -> None:
    """Keep these files; they have been read, so they are what they should be.

    Raises:
        OSError: they cannot be written.
    """
    for name, path in files.items():
        kept = out / name
        if path is not None and not (kept.exists() and kept.samefile(path)):
            write_whole(kept, path.read_bytes())
