"""Random classes: two honest students beside others, in each form in which a class comes, with its tables."""

import io
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from grader.submission.submission import Submission
from tests.fuzz import mutations
from tests.intake.hostile import deep_folder
from tests.places import ROOT
from tests.sample_programs import samples

HONEST = b"def zero_gradients(model):\n    for p in model.parameters():\n        p.grad = None\n"
NAMES = ("김하늘", "이서준")
_MARK = "HONEST = {}\n"
"""Stands in the program of each honest student, whatever a broken roster calls them."""
ROSTER = "학번,이름,분반,github,제출 시각\n" + "".join(
    f"2024000{n},{name},A,login{n},2026-03-2{n}T10:00:00\n"
    for n, name in enumerate((*NAMES, "박지우", "최수아"))
)
POLICY = """out_of = 100
missing = "zero"
timezone = "Asia/Seoul"
[points]
zero_gradients = 10
[drop]
lowest = 1
[late]
deadline = 2026-03-21T23:59:00
per_day = 10
most = 50
[late.sections."A"]
grace_minutes = 30
"""
OVERRIDES = "학번,연습,점수,까닭\n20240000,zero_gradients,1,다시 보았어요\n20240001,전체,5,구술 시험\n"
FORMS = ("canvas", "moodle", "google", "github", "gradescope", "plain")


@dataclass(frozen=True)
class Made:
    """A class, as a command would be given it."""

    form: str
    source: Path
    whole: bool
    """Whether what holds the class is whole: then its honest students must be there."""
    tables: Mapping[str, Path]
    """Roster, policy, overrides, as far as there are any; an honest run may refuse them."""


@cache
def _contents() -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Real notebooks and programs."""
    notebooks = tuple(path.read_bytes() for path in sorted(ROOT.glob("lessons/0[12]_*/*.ipynb")))
    programs = [sample.text.encode() for sample in samples("first_tries")[::5]]
    return notebooks, (HONEST, *programs)


def made(random: Random, place: Path) -> Made:
    """A random class in a folder that is empty."""
    form = random.choice(FORMS)
    folder = place / ("class" if form != "github" else "hw-submissions")
    packed = random.random() < 0.35
    files = _honest(form)
    for number in range(random.choice((1, 1, 2, 4))):
        files.update(_upload(random, form, number))
    whole = True
    if packed:
        source, whole = place / "class.zip", _packed(random, place / "class.zip", files)
    else:
        source = folder
        _written(folder, files)
        if random.random() < 0.1:
            deep_folder(folder / _name(form, "깊이", 90) / "d", random.choice((30, 600, 1_200)))
    tables = {}
    for name, text in (("roster.csv", ROSTER), ("policy.toml", POLICY), ("overrides.csv", OVERRIDES)):
        if random.random() < 0.3:
            tables[name] = place / name
            tables[name].write_bytes(mutations.table(random, text))
    return Made(form, source, whole, tables)


def _name(form: str, name: str, number: int) -> str:
    """What a folder of a student is called; Canvas and Google know files only."""
    return {"moodle": f"{name}_{20_000 + number}_assignsubmission_file", "github": f"hw-login{number}",
            "gradescope": f"submission_{number}"}.get(form, name)  # fmt: skip


def _honest(form: str) -> dict[str, bytes]:
    files = {
        _file(form, name, number, "hw.py"): HONEST + _MARK.format(number).encode()
        for number, name in enumerate(NAMES)
    }
    if form == "gradescope":
        people = [f"submission_{n}:\n  :submitters:\n  - :name: {name}\n    :sid: '2024000{n}'\n"
                  for n, name in enumerate((*NAMES, *(f"나쁜이{n}" for n in range(4))))]  # fmt: skip
        files["submission_metadata.yml"] = b"---\n" + "".join(people).encode()
    return files


def _file(form: str, name: str, number: int, file: str) -> str:
    if form == "canvas":
        return f"{name}_{10_000 + number}_{90_000 + number}_{file}"
    if form == "google":
        return f"{name} - {file}"
    return f"{_name(form, name, number)}/{file}"


def _upload(random: Random, form: str, number: int) -> dict[str, bytes]:
    """What one student hands in: a mutated notebook, program or archive, by a name that fits the form."""
    notebooks, programs = _contents()
    kind = random.choice(("zip", "zip", "ipynb", "py"))
    if kind == "zip":
        contents: Sequence[bytes] = (*programs, mutations.notebook(random, notebooks[0]), b"#" * 2**22, b"")
        data = mutations.zipped(random, contents)
    elif kind == "ipynb":
        data = mutations.notebook(random, random.choice(notebooks))
    else:
        data = mutations.source(random, random.choice(programs))
    return {
        _file(
            form, f"나쁜이{number}", 2 + number, f"hw{random.choice(('', '-1', ' (1)', '나'))}.{kind}"
        ): data
    }


def _written(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def _packed(random: Random, path: Path, files: Mapping[str, bytes]) -> bool:
    """The class as an archive; whether that is whole."""
    file = io.BytesIO()
    wrapper = random.choice(("", "past/"))
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            archive.writestr(wrapper + name, data, random.choice(mutations.METHODS))
    whole = random.random() < 0.6
    data = file.getvalue()
    path.write_bytes(data if whole else mutations.mutated(random, data))
    return whole


def all_honest_are_whole(submissions: Sequence[Submission]) -> bool:
    """Whether every honest student is among these, with all that they handed in and nothing else."""
    whole = [s.files[0].text for s in submissions if len(s.files) == 1 and not s.unreadable]
    return all(any(_MARK.format(number) in text for text in whole) for number in range(len(NAMES)))


def entries(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(os.listdir(folder))
