"""Keep the instructor's roster, policy and marks by hand beside the results, so that the next run finds them there."""

from collections.abc import Mapping
from pathlib import Path

from grader.base.files import write_whole

ROSTER, POLICY, OVERRIDES = "roster.csv", "policy.toml", "overrides.csv"


def chosen(out: Path, given: Mapping[str, Path | None]) -> dict[str, Path | None]:
    """Return for each file name the given path, else the copy kept by an earlier run, else None."""
    found: dict[str, Path | None] = {}
    for name, path in given.items():
        kept = out / name
        found[name] = path if path is not None else kept if kept.is_file() else None
    return found


def keep(out: Path, files: Mapping[str, Path | None]) -> None:
    """Copy these files into `out`. Call it after they have been read without an error.

    Raises:
        OSError: a file cannot be written.
    """
    for name, path in files.items():
        kept = out / name
        if path is not None and not (kept.exists() and kept.samefile(path)):
            write_whole(kept, path.read_bytes())
