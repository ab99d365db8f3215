"""Rosters as Excel saves them, and those that cannot be used: a Korean line each, no traceback."""

from pathlib import Path

import pytest

from grader.base.tables import TableError
from grader.intake.roster import name_keys, read_roster

TEXT = "학번,이름,분반\r\n20240001,김하늘,A\r\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode("cp949"),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.replace(",", "\t").encode("utf-16"),
        TEXT.replace(",", ";").encode(),
        b"\n\n" + TEXT.encode(),
        (TEXT + "\r\n,,\r\n").encode(),
    ],
)
def test_however_it_was_saved(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(data)
    (person,) = read_roster(tmp_path / "roster.csv").people
    assert (person.id, person.name, person.section) == ("20240001", "김하늘", "A")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "줄이 없어요"),
        (b"\xff\xff\xff", "글자를 읽을 수 없어요"),
        (b"a,b\0\n1,2\n", "NUL"),
        ("이름,분반\n김하늘,A\n".encode(), "학번(id)"),
        ("학번,이름\n1,김\n1,이\n".encode(), "겹쳐요"),
        ("학번,이름\n,김\n".encode(), "학생이 없어요"),
        (f'학번,이름\n1,"{"x" * 200_000}"\n'.encode(), "CSV가 아니에요"),
    ],
)
def test_what_cannot_be_used_is_said(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(data)
    with pytest.raises(TableError) as error:
        read_roster(tmp_path / "roster.csv")
    assert said in str(error.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(TableError, match="명단 파일을 읽을 수 없어요"):
            read_roster(path)


def test_a_name_is_known_in_every_order() -> None:
    assert name_keys("Kim, Ha-neul") & name_keys("haneul kim")
    assert name_keys("김 하늘") & name_keys("김하늘")
    assert name_keys("김하늘") & name_keys("\u1100\u1175\u11b7하늘"), "decomposed by macOS"
    assert not name_keys("김하늘") & name_keys("김하늬")


def test_numbers_of_thousands_of_digits_are_only_long_names(tmp_path: Path) -> None:
    """Python reads no number of more than 4,300 digits; here none is read as one."""
    long = "9" * 5_000
    for header in ("학번,이름,제출 시각", "Identifier,Full name,Email address", "학번,이름,분반"):
        path = tmp_path / "roster.csv"
        path.write_text(f"{header}\n{long},{long},{long}\nParticipant {long},b,c\n")
        assert all(len(person.id) < 300 for person in read_roster(path).people)
    path.write_text(f"{long},이름\n1,a\n")
    with pytest.raises(TableError) as error:
        read_roster(path)
    assert len(str(error.value)) < 600
