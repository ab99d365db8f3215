"""File names for students."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.base.file_names import file_names, safe_filename
from tests.report.samples import NASTY


@pytest.mark.parametrize(
    "name", ["김하윤", "s01", "Kim Hayun", "20231234_김하윤", "a.b-c", "=1+1", "ㄱ나다 뷁"]
)
def test_ordinary_names_stay(name: str) -> None:
    assert safe_filename(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "a/b",
        "..",
        ".",
        "",
        " ",
        "con",
        "NUL.txt",
        "com1",
        "a\x00b",
        "a\nb",
        "-rf",
        ".ssh",
        "x.",
        "가" * 200,
        NASTY,
        "a\\b",
        "C:x",
        "\u202egpj.exe",
        "\ud800",
        "a%2fb",
        "#a",
        "a?b",
        "<b>",
        "\u200b",
    ],
)
def test_hostile_names_become_one_plain_component(name: str) -> None:
    """A folder name that a student chose writes nothing outside the report and opens everywhere."""
    made = safe_filename(name)
    assert re.fullmatch(r'[^<>:"/\\|?*%#&\x00-\x1f]+', made)
    assert made[0] not in ".- "
    assert made[-1] not in ". "
    assert made.split(".")[0].lower() not in {"con", "nul", "com1"}
    assert 0 < len(made.encode("utf-8")) <= 160
    assert made != name


@given(st.lists(st.text(max_size=40), unique=True, max_size=8))
def test_different_students_never_share_a_file(students: list[str]) -> None:
    """Also where names become equal after cleaning, or differ only in case or in how Hangul is composed."""
    made = file_names(students)
    assert len({unicodedata.normalize("NFC", name).casefold() for name in made}) == len(students)
    assert made == file_names(students)
    assert all("/" not in name and name not in ("", ".", "..") for name in made)


def test_names_equal_after_cleaning_stay_apart() -> None:
    """And each keeps its own, whoever else is in the class."""
    one, other = file_names(["a/b", "a:b"])
    assert one != other
    assert (one, other) == (safe_filename("a/b"), safe_filename("a:b"))
    decomposed = unicodedata.normalize("NFD", "김하윤")
    assert len({n.casefold() for n in file_names(["김하윤", decomposed, "Kim", "kim", "kim"])}) == 5
