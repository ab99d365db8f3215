"""The main job on the sample class: every intended mistake is named, nobody is robbed, nobody gets a gift.

It is graded three times (module-scoped fixtures): all students with one seed; every twelfth of them with it once more;
and every twelfth with another seed, in bad company that no repository should carry. Where `.ci/run` has graded the
whole class already, as README's command for teachers does, its report is the first of the three.
"""

import csv
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from grader.course.reading import load_course
from tests.places import ROOT

CLASS = ROOT / "assets" / "sample_class"
MANIFEST: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("sample_class.toml").read_text(encoding="utf-8")
)
COURSE = load_course()
WRITTEN_FOR = frozenset(MANIFEST.pop("exercises"))
EXERCISES = {name: exercise for name, exercise in COURSE.exercises.items() if name in WRITTEN_FOR}
"""Those that the class was written for: what has come to the course since is missing everywhere, and says nothing."""
COVERED = {"01": (4, 50), "02": (3, 40), "03": (6, 30), "04": (6, 30)}
"""By lesson: different ids that every exercise must have, and that all of them together must have."""
WITH_ANOTHER_SEED = sorted({*sorted(MANIFEST)[::12], "s07_조하은"})
"""The last one is somebody's neighbour there (`test_link_to_a_neighbour_earns_nothing`)."""
HOSTILE = tuple(student for student, entry in MANIFEST.items() if entry["kind"] == "hostile")

pytestmark = [pytest.mark.full, pytest.mark.sandbox, pytest.mark.timeout(1200)]


@dataclass(frozen=True)
class Expected:
    """What one exercise of one student must come to."""

    statuses: frozenset[str]
    mistakes: list[str]

    @classmethod
    def of(cls, student: str, exercise: str) -> "Expected":
        entry = MANIFEST[student]
        rest = entry.get("rest", {})
        by_lesson = {"01": rest} if isinstance(rest, str) else rest
        default = by_lesson.get("*") or by_lesson.get(EXERCISES[exercise].lesson, "missing")
        statuses, *mistakes = str(entry.get(exercise, default)).split()
        return cls(frozenset(statuses.split("/")), mistakes)


@dataclass(frozen=True)
class Graded:
    """A report folder."""

    folder: Path
    said: str
    results: dict[str, Any] = field(repr=False)

    @property
    def students(self) -> dict[str, dict[str, Any]]:
        return {entry["student"]: entry for entry in self.results["submissions"]}

    def exercises(self, student: str, lesson: str | None = None) -> list[dict[str, Any]]:
        """Those of one lesson, or of all."""
        return [e for e in self.students[student]["exercises"] if lesson in (None, e["lesson"])]

    def exercise(self, student: str, name: str) -> dict[str, Any]:
        return next(entry for entry in self.exercises(student) if entry["exercise"] == name)

    def page(self, student: str) -> str:
        return (self.folder / "feedback" / f"{student}.html").read_text(encoding="utf-8")


def grade(submissions: Path, out: Path, seed: int) -> Graded:
    """Run the command as an instructor does."""
    arguments = ["grade", str(submissions), "--out", str(out), "--seed", str(seed)]
    done = subprocess.run(
        [sys.executable, "-m", "grader", *arguments],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=1000,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr, done.stderr
    return report_in(out, done.stdout)


def report_in(folder: Path, said: str) -> Graded:
    return Graded(folder, said, json.loads((folder / "results.json").read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Graded]:
    if given := os.environ.get("HANSTEP_SAMPLE_REPORT"):
        yield report_in(Path(given), Path(given, "terminal.txt").read_text(encoding="utf-8"))
        return
    before = fingerprints(CLASS)
    yield grade(CLASS, tmp_path_factory.mktemp("first") / "report", 7)
    assert fingerprints(CLASS) == before, "grading changed what was handed in"


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Some, in other company: nobody's result depends on who else is in the class."""
    folder = tmp_path_factory.mktemp("again") / "class"
    copy(sorted(CLASS.iterdir())[::12], folder)
    return grade(folder, folder.with_name("report"), 7)


@pytest.fixture(scope="module")
def in_bad_company(tmp_path_factory: pytest.TempPathFactory) -> Graded:
    """Another seed, and students whose files are too large, not there, somebody else's or oddly named."""
    folder = tmp_path_factory.mktemp("company") / "class"
    copy([path for path in CLASS.iterdir() if path.stem in WITH_ANOTHER_SEED], folder)
    (folder / "s90_빈폴더").mkdir()
    large = folder / "s91_큰파일" / "hw1.py"
    large.parent.mkdir()
    with large.open("wb") as file:
        file.write(CLASS.joinpath("s07_조하은", "week1.py").read_bytes())
        file.truncate(101 * 2**20)
    thief = folder / "s92_정답링크"
    thief.mkdir()
    (thief / "01_five_line_step.py").symlink_to(COURSE.parts[0].source)
    copier = folder / "s93_옆자리링크"
    copier.mkdir()
    (copier / "hw.py").symlink_to(folder / "s07_조하은" / "week1.py")
    mac = folder / unicodedata.normalize("NFD", "s94_맥북")
    mac.mkdir()
    name = unicodedata.normalize("NFD", "과제.py")
    (mac / name).write_bytes(CLASS.joinpath("20251017_최민준.py").read_bytes())
    (folder / "s95_폴더에_권한없음").mkdir()
    (folder / "s95_폴더에_권한없음").chmod(0)
    try:
        return grade(folder, folder.parent / "report", 20260301)
    finally:
        (folder / "s95_폴더에_권한없음").chmod(0o755)


def copy(handed_in: Iterable[Path], folder: Path) -> None:
    folder.mkdir()
    for path in handed_in:
        if path.is_dir():
            shutil.copytree(path, folder / path.name, symlinks=True)
        else:
            shutil.copy2(path, folder / path.name)


def fingerprints(folder: Path) -> dict[str, str]:
    """Hash of every file, target of every link."""
    return {
        str(path.relative_to(folder)): os.readlink(path)
        if path.is_symlink()
        else hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_symlink() or path.is_file()
    }


def without_seconds(document: Any) -> Any:
    if isinstance(document, dict):
        return {key: without_seconds(value) for key, value in document.items() if key != "seconds"}
    return [without_seconds(item) for item in document] if isinstance(document, list) else document


def differences(graded: Graded, student: str) -> list[str]:
    """What the report says of a student and the manifest does not."""
    wrong = []
    for name in EXERCISES:
        expected, got = Expected.of(student, name), graded.exercise(student, name)
        as_expected = got["status"] in expected.statuses
        if MANIFEST[student]["kind"] != "hostile":
            as_expected = as_expected and got["mistakes"] == expected.mistakes
        if not as_expected:
            wrong.append(
                f"{name}: {'/'.join(sorted(expected.statuses))} {expected.mistakes} expected,"
                f" got {got['status']} {got['mistakes']} ({got['message']})"
            )
    return wrong


# ---- the class itself ----------------------------------------------------------------------------


def test_manifest_describes_the_class() -> None:
    """Everybody in the folder is in the manifest, and the class is as mixed as it claims to be."""
    handed_in = {
        path.name if path.is_dir() else path.stem for path in CLASS.iterdir() if path.name != "README.md"
    }
    assert handed_in == set(MANIFEST)
    kinds = Counter(entry["kind"] for entry in MANIFEST.values())
    assert len(MANIFEST) >= 60
    minimum = {"right": 9, "wrong": 13, "pairs": 4, "unlisted": 3, "errors": 3, "input": 7, "hostile": 12}
    assert all(kinds[kind] >= number for kind, number in minimum.items()), kinds
    size = sum(path.stat().st_size for path in CLASS.rglob("*") if path.is_file() and not path.is_symlink())
    assert size < 2**20


def test_manifest_speaks_of_known_exercises_and_mistakes() -> None:
    for student, entry in MANIFEST.items():
        assert set(entry) <= {"kind", "about", "rest", "partly", *WRITTEN_FOR}, student
        for name, exercise in EXERCISES.items():
            ids = {one for joined in Expected.of(student, name).mistakes for one in joined.split("|")}
            assert ids <= {mistake.id for mistake in exercise.mistakes}, f"{student}/{name}"


# ---- results -------------------------------------------------------------------------------------


@pytest.mark.parametrize("student", MANIFEST)
def test_student_is_graded_as_intended(graded: Graded, student: str) -> None:
    wrong = differences(graded, student)
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("student", HOSTILE)
def test_hostile_submission_gets_no_point_it_did_not_earn(
    graded: Graded, in_bad_company: Graded, student: str
) -> None:
    """Points come from exercises that were meant to pass, and from the honest part of those in `partly`."""
    partly = MANIFEST[student].get("partly", ())
    for report in (graded, in_bad_company) if student in WITH_ANOTHER_SEED else (graded,):
        for exercise in EXERCISES.values():
            got = report.exercise(student, exercise.name)
            if Expected.of(student, exercise.name).statuses == {"passed"}:
                continue
            assert got["status"] != "passed", exercise.name
            assert got["score"] < exercise.max_score if exercise.name in partly else got["score"] == 0, got
        passed = {e["exercise"]: e["score"] for e in report.students[student]["exercises"] if e["score"]}
        assert report.students[student]["score"] == sum(passed.values())


def test_hostile_submissions_left_nothing_behind(graded: Graded, in_bad_company: Graded) -> None:
    """What one of them tries to write everywhere is nowhere, and the grader's own files are as they were."""
    name = "hanstep_sample_mark"
    places = ["/etc", "/usr", "/var/tmp", "/var/lib", "/opt", "/srv", "/root", "/home", "/dev/shm"]
    for place in (*map(Path, places), Path.home(), ROOT, ROOT.parent, Path(sys.prefix), ROOT / "grader"):
        assert not (place / f"{name}.txt").exists(), place
    for path in (ROOT / "grader").rglob("*.py"):
        assert name not in path.read_text(encoding="utf-8"), path
    for path in in_bad_company.folder.parent.joinpath("class").rglob("*"):
        if path.is_file() and path.suffix == ".py" and path.stat().st_size < 2**20:
            assert name.encode() not in path.read_bytes(), path
    for report in (graded, in_bad_company):
        assert not list(report.folder.parent.rglob(f"{name}*"))


def test_scores_add_up(graded: Graded) -> None:
    counted = [exercise for lesson in COURSE.lessons for exercise in lesson.counted]
    full = sum(exercise.max_score for exercise in counted)
    for student, entry in graded.students.items():
        assert entry["max_score"] == full
        assert entry["score"] == sum(e["score"] for e in entry["exercises"])
        assert [e["exercise"] for e in graded.exercises(student)] == [e.name for e in counted], student
        for got, exercise in zip(graded.exercises(student), counted, strict=True):
            assert got["max_score"] == exercise.max_score
            assert (got["status"] == "passed") == (got["score"] == exercise.max_score), (student, got)


@pytest.mark.parametrize("lesson", [lesson.id for lesson in COURSE.lessons if lesson.id in COVERED])
def test_every_listed_id_that_mistakes_can_have_alone_occurs_widely(lesson: str) -> None:
    """The class covers the catalogue: many different ids, in all functions of a lesson."""
    seen = {exercise.name: set[str]() for exercise in COURSE.lesson(lesson).counted}
    for student in MANIFEST:
        for name, ids in seen.items():
            ids.update(*(joined.split("|") for joined in Expected.of(student, name).mistakes))
    of_each, of_all = COVERED[lesson]
    assert all(len(ids) >= of_each for ids in seen.values()), seen
    assert len(set().union(*seen.values())) >= of_all


# ---- the same again, and with another seed ---------------------------------------------------------


def test_same_seed_gives_the_same_results(graded: Graded, again: Graded) -> None:
    assert len(again.students) >= 5
    for student, entry in again.students.items():
        assert without_seconds(entry) == without_seconds(graded.students[student])
    first, second = (
        (g.folder / "gradebook.csv").read_text(encoding="utf-8").splitlines() for g in (graded, again)
    )
    assert set(second) <= set(first)


@pytest.mark.parametrize("student", WITH_ANOTHER_SEED)
def test_another_seed_gives_the_same_statuses_and_mistakes(in_bad_company: Graded, student: str) -> None:
    wrong = differences(in_bad_company, student)
    assert not wrong, "\n".join(wrong)


# ---- bad input that no repository should carry -----------------------------------------------------


@pytest.mark.parametrize(
    ("student", "status", "words"),
    [
        ("s90_빈폴더", "missing", "없어요"),
        ("s91_큰파일", "unreadable", "101.0 MB"),
        ("s92_정답링크", "unreadable", "링크"),
        ("s94_맥북", "passed", "통과"),
        ("s95_폴더에_권한없음", "unreadable", "권한"),
    ],
)
def test_bad_input_is_a_graded_result(in_bad_company: Graded, student: str, status: str, words: str) -> None:
    if student.startswith("s95") and os.geteuid() == 0:
        pytest.skip("root may read everything")
    exercises = in_bad_company.exercises(student, "01")
    assert {e["status"] for e in exercises} == {status}
    assert words in exercises[0]["message"]


def test_link_to_a_neighbour_earns_nothing(in_bad_company: Graded) -> None:
    assert in_bad_company.students["s93_옆자리링크"]["score"] == 0


# ---- the report ------------------------------------------------------------------------------------


def test_everybody_is_in_the_report(graded: Graded) -> None:
    assert set(graded.students) == set(MANIFEST)
    with (graded.folder / "gradebook.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert {row[0] for row in rows[1:]} == set(MANIFEST)
    unread = {
        student
        for student, entry in graded.students.items()
        if any(one["status"] == "unreadable" for one in entry["exercises"])
    }
    assert unread
    assert {row[0] for row in rows[1:] if not row[1]} == unread, "what could not be read has no score"
    assert {row[0]: float(row[1]) for row in rows[1:] if row[1]} == {
        student: entry["score"] for student, entry in graded.students.items() if student not in unread
    }
    index = (graded.folder / "index.html").read_text(encoding="utf-8")
    for student in MANIFEST:
        assert student in index
        assert student in graded.page(student)
        scores = json.loads(
            (graded.folder / "gradescope" / student / "results.json").read_text(encoding="utf-8")
        )
        assert scores["tests"]


def test_terminal_shows_the_table_and_where_to_look(graded: Graded) -> None:
    assert "index.html" in graded.said
    assert "시드 7" in graded.said
    assert "s31_표예린" in graded.said  # the weakest are listed


def test_feedback_names_the_mistake_and_shows_the_line(graded: Graded) -> None:
    page = graded.page("s09_장예준")
    assert "opt.zero_grad()" in page
    assert "loss.backward()" in page
    line = graded.exercise("s09_장예준", "train_step")["line"]
    assert line is not None


def test_feedback_says_which_of_two_files_counted(graded: Graded) -> None:
    page = graded.page("s30_심재원")
    assert "hw1_최종.py" in page
    assert "마지막 파일" in page


def test_feedback_of_a_notebook_without_tags_points_at_its_cell(graded: Graded) -> None:
    """A line is useful only with its cell; s10's tags were lost."""
    page = graded.page("s10_임수아")
    assert "셀" in page


def test_missing_names_are_said_to_come_from_the_notebook(graded: Graded) -> None:
    assert "device" in graded.exercise("s27_허준", "train_step")["message"]
    assert "criterion" in graded.exercise("s27_허준", "fit")["message"]
    if "seed_everything" in EXERCISES:
        assert "gen" in graded.exercise("s27_허준", "seed_everything")["message"]


def test_message_of_an_untouched_starter_says_so(graded: Graded) -> None:
    assert "아직 시작하지 않았어요" in graded.exercise("s08_윤지호", "accumulate")["message"]


def test_nothing_hostile_reaches_a_page(graded: Graded) -> None:
    """Pages carry no script of a student's."""
    for student in MANIFEST:
        page = graded.page(student).lower()
        assert "<script" not in page
        assert "javascript:" not in page
