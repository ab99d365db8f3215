"""Sample programs: files, and edits of files.

`tests/<kind>/<exercise>/<name>.py` (or `.ipynb`) is a program. Its first lines may say what is expected of it, as
`# key: value`. `edits.toml` beside it lists programs that differ from another one in a few places only:

    [base.name]                                    # `base`: a file of this folder, or of tests/accepted/<exercise>
    expect = "no-division"                         # each key is a first line; those of the base are left out
    edits = [["find", "replace"], ["find", ""]]    # one after another; `find` stands exactly once
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from tests.places import TESTS

KINDS = ("accepted", "rejected", "first_tries", "unlisted", "placed")
_HEADER = re.compile(r"(?:# [a-z]+:.*\n)*")


@dataclass(frozen=True)
class Sample:
    """One sample program; an edited one is called `base.name`."""

    kind: str
    exercise: str
    name: str
    text: str = field(repr=False)
    suffix: str = ".py"
    base: "Sample | None" = field(default=None, repr=False)
    edits: int = 0

    def __str__(self) -> str:
        return f"{self.exercise}/{self.name}"

    @property
    def header(self) -> dict[str, str]:
        """Keys and values of the first lines."""
        lines = _header(self.text).splitlines()
        return {key: value.strip() for key, _, value in (line[2:].partition(":") for line in lines)}

    def write(self, folder: Path) -> Path:
        """Write the program to a file of its name, in a folder named after its exercise."""
        path = folder / self.exercise / f"{self.name}{self.suffix}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        return path


@cache
def samples(kind: str, exercise: str = "*") -> tuple[Sample, ...]:
    """Return the samples of a kind, of one exercise or of all, sorted by exercise and name."""
    if exercise == "*":
        folders = sorted(path.name for path in (TESTS / kind).iterdir() if path.is_dir())
        return tuple(sample for folder in folders for sample in samples(kind, folder))
    folder = TESTS / kind / exercise
    files = [path for path in sorted(folder.glob("*")) if path.suffix in {".py", ".ipynb"}]
    found = [Sample(kind, exercise, path.stem, path.read_text("utf-8"), path.suffix) for path in files]
    if (folder / "edits.toml").exists():
        found += _edited(kind, exercise, {sample.name: sample for sample in found})
    return tuple(sorted(found, key=lambda sample: sample.name))


def sample(kind: str, exercise: str, name: str) -> Sample:
    """Return one sample."""
    (found,) = (sample for sample in samples(kind, exercise) if sample.name == name)
    return found


def edited(text: str, edits: list[list[str]], header: Mapping[str, str]) -> str:
    """Return a program with other first lines and its edits made."""
    text = text.removeprefix(_header(text))
    for find, replace in edits:
        if text.count(find) != 1:
            raise ValueError(f"stands {text.count(find)} times, not once: {find!r}")
        text = text.replace(find, replace)
    return "".join(f"# {key}: {value}\n" for key, value in header.items()) + text


def _edited(kind: str, exercise: str, files: Mapping[str, Sample]) -> list[Sample]:
    path, found = TESTS / kind / exercise / "edits.toml", []
    accepted = {} if kind == "accepted" else {sample.name: sample for sample in samples("accepted", exercise)}
    for base, programs in tomllib.loads(path.read_text("utf-8")).items():
        bases = [among[base] for among in (files, accepted) if base in among]
        if len(bases) != 1:
            raise ValueError(f"{path}: {base} is {'no program' if not bases else 'in both folders'}")
        for name, row in programs.items():
            header = {key: value for key, value in row.items() if key != "edits"}
            try:
                text = edited(bases[0].text, row["edits"], header)
            except ValueError as error:
                raise ValueError(f"{path}: {base}.{name}: {error}") from None
            sample = Sample(kind, exercise, f"{base}.{name}", text, base=bases[0], edits=len(row["edits"]))
            found.append(sample)
    return found


def _header(text: str) -> str:
    found = _HEADER.match(text)
    return found[0] if found else ""
