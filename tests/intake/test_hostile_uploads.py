"""One upload ends no class: beside each that is made to, two honest students are read, and nothing stays behind."""

import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

from grader.base.removal import remove_tree
from grader.intake.receive import Received, receive
from grader.intake.roster import read_roster
from tests.intake import downloads, hostile
from tests.places import ROOT

NAMES = ("train_step",)
HONEST = downloads.CODE
MOST_SECONDS = 60
ROSTER = "학번,이름\n20240001,김하늘\n20240002,이서준\n20240009,나쁜이\n"

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits of processes")


@cache
def made(kind: str) -> bytes:
    return hostile.ZIPS[kind]()


def canvas(folder: Path, upload: bytes) -> Path:
    files = {"김하늘_1_10_hw.py": HONEST, "나쁜이_9_90_hw.zip": upload, "이서준_2_20_hw.py": HONEST}
    return downloads.write(folder, files)


def moodle(folder: Path, upload: bytes) -> Path:
    files = {
        "김하늘_20001_assignsubmission_file/hw.py": HONEST,
        "나쁜이_20009_assignsubmission_file/hw.zip": upload,
        "이서준_20002_assignsubmission_file/hw.zip": downloads.packed({"hw.py": HONEST}),
    }
    return downloads.write(folder, files)


def class_archive(folder: Path, upload: bytes) -> Path:
    folder.mkdir()
    path = folder / "submissions.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("김하늘_1_10_hw.py", HONEST)
        archive.writestr("나쁜이_9_90_hw.zip", upload)
        archive.writestr("이서준_2_20_hw.py", HONEST)
    return path


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing stays in the temporary folder, whatever came."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    left = os.listdir(place)
    assert remove_tree(tmp_path)
    assert left == []


def received(source: Path, tmp_path: Path) -> Received:
    """What is received, in time, and the honest ones are whole."""
    (tmp_path / "roster.csv").write_text(ROSTER)
    begun = time.monotonic()
    found = receive(source, read_roster(tmp_path / "roster.csv"), NAMES)
    assert time.monotonic() - begun < MOST_SECONDS
    by_name = {person.name: student for student, person in found.people.items()}
    for name in ("김하늘", "이서준"):
        submission = next(s for s in found.submissions if s.student == by_name[name])
        assert not submission.unreadable
        assert submission.source_for("train_step") is not None
    return found


def said_of_the_bad_one(found: Received) -> str:
    (bad,) = [s for s in found.submissions if "나쁜이" in s.student]
    return " ".join(problem.message for problem in bad.unreadable)


@pytest.mark.parametrize(
    "shape",
    [
        canvas,
        pytest.param(moodle, marks=pytest.mark.full),
        pytest.param(class_archive, marks=pytest.mark.full),
    ],
)
@pytest.mark.parametrize("kind", hostile.ZIPS)
def test_an_upload_costs_nobody_else(kind: str, shape: Callable[[Path, bytes], Path], tmp_path: Path) -> None:
    said = said_of_the_bad_one(received(shape(tmp_path / "class", made(kind)), tmp_path))
    if kind != "one name":  # odd, but each of them can be read
        assert said.endswith("요.")


@pytest.mark.parametrize("levels", [600, 3_000])
def test_a_deep_folder_costs_nobody_else(levels: int, tmp_path: Path) -> None:
    """In a download that somebody unpacked, and in a plain class folder."""
    folder = moodle(tmp_path / "class", b"")
    hostile.deep_folder(folder / "나쁜이_20009_assignsubmission_file" / "d", levels)
    assert "겹보다 깊어요" in said_of_the_bad_one(received(folder, tmp_path))
    plain = downloads.write(tmp_path / "plain", {"김하늘.py": HONEST, "이서준/hw.py": HONEST})
    hostile.deep_folder(plain / "나쁜이", levels)
    assert "겹보다 깊어요" in said_of_the_bad_one(received(plain, tmp_path))


@pytest.mark.parametrize("wrapper", ["", "past/"])
def test_what_a_class_archive_cannot_give_is_said_of_whom_it_belongs_to(wrapper: str, tmp_path: Path) -> None:
    """The student is graded as unreadable, not forgotten, where nothing of theirs could be unpacked."""
    path = tmp_path / "submissions.zip"
    bad = f"{wrapper}나쁜이_20009_assignsubmission_file/"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{wrapper}김하늘_20001_assignsubmission_file/hw.py", HONEST)
        archive.writestr(bad + "d/" * 700 + "hw.py", HONEST)
        archive.writestr(f"{wrapper}이서준_20002_assignsubmission_file/hw.py", HONEST)
    assert "겹보다 깊어요" in said_of_the_bad_one(received(path, tmp_path))


@pytest.mark.parametrize(
    ("names", "content", "what"),
    [
        pytest.param(
            [f"{number}.py" for number in range(22)],
            b"#" * (19 * 2**20),
            "MB",
            marks=pytest.mark.full,
            id="bytes",
        ),
        pytest.param([f"{number}.txt" for number in range(21_000)], b"", "너무 많이", id="entries"),
    ],
)
def test_one_student_does_not_use_up_the_whole_class(
    names: list[str], content: bytes, what: str, tmp_path: Path
) -> None:
    """In the archive of a class each has a share of bytes and of entries."""
    path = tmp_path / "submissions.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(f"나쁜이_20009_assignsubmission_file/{name}", content)
        archive.writestr("김하늘_20001_assignsubmission_file/hw.py", HONEST)
        archive.writestr("이서준_20002_assignsubmission_file/hw.py", HONEST)
    assert what in said_of_the_bad_one(received(path, tmp_path))


# ---- the whole way -------------------------------------------------------------------------------


def graded(tmp_path: Path, out: str) -> str:
    """What a run of the command says, which ends well and leaves nothing."""
    begun = time.monotonic()
    run = subprocess.run(
        [sys.executable, "-m", "grader", "grade", "class", "--lesson", "1", "--sandbox", "none", "--out", out],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path / "t"), "COLUMNS": "200"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "Traceback" not in run.stderr, run.stderr
    assert run.returncode == 0, run.stderr
    assert time.monotonic() - begun < MOST_SECONDS * len(hostile.ZIPS)
    assert os.listdir(tmp_path / "t") == []
    return run.stdout


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_class_with_all_of_them_is_graded_twice() -> None:
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as short:  # sockets cannot stand in a long path
        place = Path(short)
        (place / "t").mkdir()
        downloads.write(place / "class", {f"나쁜이{n}_2{n:04}_assignsubmission_file/hw.zip": made(kind)
                                          for n, kind in enumerate(hostile.ZIPS)})  # fmt: skip
        for name, number in (("김하늘", 20101), ("이서준", 20102)):
            code = "def zero_gradients(model):\n    for p in model.parameters():\n        p.grad = None\n"
            downloads.write(place / "class", {f"{name}_{number}_assignsubmission_file/hw.py": code})
        hostile.deep_folder(place / "class" / "나쁜이99_20099_assignsubmission_file", 600)
        first = graded(place, "one")
        second = graded(place, "two")
        assert remove_tree(place / "class")
    for said in (first, second):
        assert f"{len(hostile.ZIPS) + 3}명" in said
        assert said.count("나쁜이") >= len(hostile.ZIPS)
