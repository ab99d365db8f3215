"""A folder of submissions: who is a student in it, and what each is called."""

import os
import unicodedata
from contextlib import contextmanager
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.report import plain_text
from grader.submission.class_folder import hidden_entries_note, read_class
from tests.submission.samples import EXERCISES, STEP, make, names


def test_students_are_folders_and_files(tmp_path):
    """Each folder and each source file directly in the class is a student, in natural order."""
    make(tmp_path, "s10/hw.py", "s2.ipynb", "s1.PY", "roster.csv", ".hidden/x.py", "__MACOSX/x.py")
    (tmp_path / "empty").mkdir()
    assert [s.student for s in read_class(tmp_path, EXERCISES)] == ["empty", "s1", "s2", "s10"]


def test_who_hides_behind_a_dot_is_told_to_the_instructor(tmp_path):
    """What programs put there is not."""
    make(tmp_path, "kim.py", ".lee/hw.py", ".park.ipynb", ".git/x.py", "._kim.py", ".roster.csv")
    assert "않은 것: .lee, .park.ipynb. 학생" in hidden_entries_note(tmp_path)
    make(tmp_path, "clean/kim.py")
    assert hidden_entries_note(tmp_path / "clean") == hidden_entries_note(tmp_path / "nowhere") == ""


def test_one_bad_file_costs_only_itself(tmp_path):
    """The other files of the student, and the other students, are read."""
    make(tmp_path, "kim/a.py", "lee/hw.py")
    (tmp_path / "kim/b.ipynb").write_text("{")
    kim, lee = read_class(tmp_path, EXERCISES)
    assert names(kim) == ["a.py"]
    assert [u.name for u in kim.unreadable] == ["b.ipynb"]
    assert names(lee) == ["hw.py"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [("nope", "폴더가 없어요"), ("file.py", "폴더가 아니에요"), ("empty", "빈 폴더"), ("zips", "kim.docx")],
)
def test_a_class_that_is_none_says_so(tmp_path, path, expected):
    """A wrong path, a file, an empty folder and a folder of archives each get their own line."""
    make(tmp_path, "file.py", "zips/kim.docx")
    (tmp_path / "empty").mkdir()
    with pytest.raises(HanstepError, match=expected) as caught:
        read_class(tmp_path / path, EXERCISES)
    assert str(tmp_path / path) in str(caught.value)


def test_students_keep_distinct_names(tmp_path):
    """Two students whose names differ in the suffix only do not overwrite each other's results."""
    make(tmp_path, "kim/hw.py", "kim.py", "kim.ipynb", "lee.py")
    assert [s.student for s in read_class(tmp_path, EXERCISES)] == ["kim", "kim.ipynb", "kim.py", "lee"]


def test_names_that_look_alike_stay_distinct(tmp_path):
    """Hangul composed and decomposed are two folders to the file system and one name to the eye."""
    for form in ("NFC", "NFD"):
        (tmp_path / unicodedata.normalize(form, "김철수")).mkdir()
    assert [s.student for s in read_class(tmp_path, EXERCISES)] == ["김철수", "김철수 (2)"]


TWINS = ["{}", "{} ", "{}\xa0", "{}\u3164", "\u2800{}", "{}\u115f", "\ufe0f{}"]


@pytest.mark.parametrize("suffix", ["", ".py"])
@pytest.mark.parametrize("backwards", [False, True])
def test_the_plain_one_of_twins_keeps_its_name(tmp_path, monkeypatch, suffix, backwards):
    """Nobody takes a classmate's row by white space, invisible letters or a lucky place in the folder."""
    name = "20251017_최민준"
    raw = [twin.format(name) + suffix for twin in TWINS] + [unicodedata.normalize("NFD", name) + suffix]
    for one in raw:
        make(tmp_path, one if suffix else f"{one}/hw.py", content=f"NAME = {one!a}\n")
    scandir = os.scandir

    @contextmanager
    def ordered(path):
        with scandir(path) as listing:
            yield iter(sorted(listing, key=lambda entry: entry.name, reverse=backwards))

    monkeypatch.setattr(os, "scandir", ordered)
    submissions = {s.student: s for s in read_class(tmp_path, EXERCISES)}
    assert list(submissions) == [name, *(f"{name} ({i})" for i in range(2, len(raw) + 1))]
    assert [plain_text.one_line(student) for student in submissions] == list(submissions)
    held = [s.files[0].text.strip() for s in submissions.values()]
    assert held == [f"NAME = {one!a}" for one in [raw[0], *sorted(raw[1:], key=os.fsencode)]]
    notes = [s.notes[0] for s in submissions.values()]
    assert notes[0].endswith(f": {raw[0]}")
    assert any(note.endswith(f": {name}\\x20{suffix}") for note in notes)
    assert any(note.endswith(f": {name}\\xa0{suffix}") for note in notes)
    assert len(set(notes)) == len(notes)


def test_a_number_in_a_name_is_not_taken_by_a_twin(tmp_path):
    """A student who is really called so keeps the name."""
    make(tmp_path, "kim/hw.py", "kim /hw.py", "kim (2).py")
    kim, really, twin = read_class(tmp_path, EXERCISES)
    assert [kim.student, really.student, twin.student] == ["kim", "kim (2)", "kim (3)"]
    assert [s.notes != () for s in (kim, really, twin)] == [True, False, True]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\u3164", "\\u3164"),
        ("\u2800\xa0.py", "\\u2800\\xa0"),
        ("  ", "\\x20\\x20"),
        ("a  b ", "a b"),
        ("가" * 80, "가" * 80),
    ],
)
def test_no_name_is_invisible(tmp_path, raw, shown):
    """A name of characters that show nothing would be an empty row in the gradebook."""
    make(tmp_path, raw if raw.endswith(".py") else f"{raw}/hw.py")
    (submission,) = read_class(tmp_path, EXERCISES)
    assert submission.student == shown


def test_long_names_differ_where_they_are_shown(tmp_path):
    """Escapes make a name longer than a table's cell, in which all would look alike."""
    for end in (b"a", b"b"):
        os.mkdir(os.fsencode(tmp_path) + b"/" + b"\xff" * 200 + end)
    students = [s.student for s in read_class(tmp_path, EXERCISES)]
    assert len({plain_text.one_line(student) for student in students}) == 2


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("김철수".encode("cp949"), "김철수"),
        (unicodedata.normalize("NFD", "김철수").encode(), "김철수"),
        (b"a\nb\x1b[2J", "a\\nb\\x1b[2J"),
        (b"\xff\xff", "\\xff\\xff"),
        ("a\u202eb".encode(), "a\\u202eb"),
    ],
)
def test_odd_names_can_be_written_anywhere(tmp_path, raw, shown):
    """Names packed on Windows or a Mac come out as Hangul; no name can break a report or a terminal."""
    os.mkdir(os.fsencode(tmp_path) + b"/" + raw)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw + b"/" + raw + b".py")).write_text(STEP)
    (submission,) = read_class(tmp_path, EXERCISES)
    assert submission.student == shown
    assert names(submission) == [f"{shown}.py"]
