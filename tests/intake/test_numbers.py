"""A number that stands in a name is believed only where the name agrees: in doubt nobody gets anybody's marks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.feedback import Person
from grader.gradebook.export.moodle import fill_moodle_worksheet, moodle_csv
from grader.gradebook.export.rows import Row
from grader.intake.agreement import agree, is_group, is_placeholder_name
from grader.intake.handover import Handover
from grader.intake.match import match
from grader.intake.receive import Received, receive
from grader.intake.roster import Roster, read_roster
from tests.intake.downloads import CODE, packed, write

WORKSHEET = """Identifier,Full name,ID number,Email address,Status,Grade
Participant 5000,김하늘,20191234,a@u.kr,Submitted for grading,
Participant 5004,남궁민수,00123456,b@u.kr,Submitted for grading,
Participant 5007,Ha-neul Lee,2021E005,c@u.kr,No submission,
"""
TEAMS = {
    "1조_5004_assignsubmission_file/hw.py": CODE,
    "2조_5007_assignsubmission_file/hw.py": CODE,
    "기본 모둠_assignsubmission_file/hw.py": CODE,
}
NAMES = ("train_step",)


def received(tmp_path: Path, files: dict[str, str], roster: str | None = WORKSHEET) -> Received:
    folder = write(tmp_path / "download", files)
    if roster is None:
        return receive(folder, None, NAMES)
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    return receive(folder, read_roster(tmp_path / "roster.csv"), NAMES)


def numbers(found: Received) -> dict[str, tuple[str, str, str]]:
    return {label: (p.id, p.canvas_id, p.moodle_id) for label, p in found.people.items()}


def moodle(*names: str) -> dict[str, str]:
    return {f"{name}_assignsubmission_file/hw.py": CODE for name in names}


# ---- groups ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("roster", [WORKSHEET, None])
def test_no_group_of_moodles_is_a_participant(tmp_path: Path, roster: str | None) -> None:
    found = received(tmp_path, TEAMS, roster)
    assert numbers(found) == dict.fromkeys(("1조", "2조", "기본 모둠"), ("", "", ""))
    (line,) = (line for line in found.notes if "모둠" in line and "1조" in line)
    assert "2조" in line
    assert "기본 모둠" in line
    assert line.endswith("주세요.")


def test_the_default_groups_folder_tells_that_all_are_groups(tmp_path: Path) -> None:
    """Only a group has no number, and an assignment is handed in by groups or by persons."""
    files = moodle("불꽃_5004", "김하늘_5000", "Default group")
    assert set(numbers(received(tmp_path, files, None)).values()) == {("", "", "")}


def test_a_group_with_any_name_is_no_participant(tmp_path: Path) -> None:
    found = received(tmp_path, moodle("불꽃_5004", "Team Seven_5007"))
    assert set(numbers(found).values()) == {("", "", "")}
    said = "\n".join(found.notes)
    assert "불꽃 (5004, 명단에는 남궁민수 5004)" in said
    assert "Team Seven (5007, 명단에는 Ha-neul Lee 5007)" in said
    assert [p.name for p in found.absent] == ["김하늘"], "of the others nobody knows"


def test_canvas_groups_are_not_their_submitters(tmp_path: Path) -> None:
    roster = "학번,이름,canvas id\n20191234,김하늘,101\n20191235,이서준,102\n"
    files = {"1조_101_9001_hw.py": CODE, "불꽃_102_9002_hw.py": CODE}
    assert set(numbers(received(tmp_path, files, roster)).values()) == {("", "", "")}


@pytest.mark.parametrize(
    "name", ["1조", "제 2 조", "3팀", "Team 4", "group A", "Group-12", "모둠 2", "그룹1", "B팀", "Gruppe 3"]
)
def test_names_of_groups(name: str) -> None:
    assert is_group(name)


@pytest.mark.parametrize(
    "name", ["조민수", "조 민", "김하늘", "Jo Min", "Team Kim", "모둠이", "조", "1", "Group", ""]
)
def test_names_of_persons(name: str) -> None:
    assert not is_group(name)


# ---- numbers and names -------------------------------------------------------------------------------


def test_a_number_and_another_students_name_are_nobodys(tmp_path: Path) -> None:
    found = received(tmp_path, moodle("남궁민수_5000", "김하늘_9999"))
    assert {ids[0] for ids in numbers(found).values()} == {""}
    assert {ids[2] for ids in numbers(found).values()} == {""}, (
        "an export would bring the marks to a stranger"
    )
    said = "\n".join(found.notes)
    assert "남궁민수 (5000, 명단에는 김하늘 5000)" in said
    assert "김하늘 (9999, 명단에는 김하늘 5000)" in said


@pytest.mark.parametrize(
    "name",
    ["김하늘", "김 하늘", "하늘 김", "하늘", "김하늘 Grace", "u101 김하늘", "Haneul Kim", "KIM, Ha-neul", "Participant",
     "참가자", "gimhaneul"],
)  # fmt: skip
def test_one_person_written_in_many_ways(name: str, tmp_path: Path) -> None:
    found = received(tmp_path, moodle(f"{name}_5000"))
    assert [ids[0] for ids in numbers(found).values()] == ["20191234"]


@pytest.mark.parametrize("name", ["이하늘", "Haneul Lee", "Grace Kim", "Minsu Kim", "김", "5000 팀"])
def test_persons_that_are_not_taken_for_another(name: str, tmp_path: Path) -> None:
    found = received(tmp_path, moodle(f"{name}_5000"))
    assert [ids[0] for ids in numbers(found).values()] == [""]


def test_a_column_tells_the_systems_names(tmp_path: Path) -> None:
    """English names in the system, Korean ones in the roster: the note says which column to add."""
    roster = "학번,이름,moodle id\n20191234,김하늘,5000\n20191235,이서준,5001\n"
    found = received(tmp_path, moodle("Grace Kim_5000", "James_5001"), roster)
    assert [ids[0] for ids in numbers(found).values()] == ["", ""]
    assert any("'시스템 이름' 열" in line for line in found.notes)
    named = "학번,이름,moodle id,시스템 이름\n20191234,김하늘,5000,Grace Kim\n20191235,이서준,5001,James\n"
    (tmp_path / "again").mkdir()
    found = received(tmp_path / "again", moodle("Grace Kim_5000", "James_5001"), named)
    assert sorted(ids[0] for ids in numbers(found).values()) == ["20191234", "20191235"]
    assert not any("시스템 이름" in line for line in found.notes)


def test_the_systems_name_is_enough_without_a_number(tmp_path: Path) -> None:
    roster = "학번,이름,system name\n20191234,김하늘,Grace Kim\n"
    found = received(tmp_path, {"Grace Kim - hw.py": CODE, "Somebody - hw.py": CODE}, roster)
    assert "20191234" in {ids[0] for ids in numbers(found).values()}


def test_a_roster_without_that_name_believes_the_number(tmp_path: Path) -> None:
    roster = "학번,이름,moodle id\n20191234,,5000\n20191235,이서준,5001\n"
    found = received(tmp_path, moodle("김하늘_5000"), roster)
    assert [ids[0] for ids in numbers(found).values()] == ["20191234"]


@pytest.mark.parametrize(
    ("label", "id_"),
    [
        ("20191234_hw", "20191234"),
        ("20191234_과제 제출", "20191234"),
        ("김하늘_20191234", "20191234"),
        ("20191234_이서준", ""),
        ("이서준 20191234 hw", ""),
        ("3조_20191234", ""),
        ("3조_20191234_김하늘", "20191234"),
        ("김하늘_이서준_20191234", "20191234"),
        ("20191234김하늘", "20191234"),
        ("20191234김하늘과제1", "20191234"),
        ("과제1_20191234김하늘최종", "20191234"),
        ("김하늘20191234", "20191234"),
        ("hw20191234", "20191234"),
        ("20191234이서준", ""),
        ("20191234이서준과제", ""),
        ("이서준20191234", ""),
        ("2019123", ""),
        ("201912345김하늘", ""),
        ("20991299_김하늘", ""),
        ("김하늘_20260320", "20191234"),
    ],
)
def test_labels_of_a_plain_folder(label: str, id_: str, tmp_path: Path) -> None:
    roster = "학번,이름\n20191234,김하늘\n20191235,이서준\n"
    found = received(tmp_path, {f"{label}/hw.py": CODE, "x/hw.py": CODE}, roster)
    assert found.people.get(label, Person()).id == id_


@pytest.mark.parametrize("number", ["2020-12345", "202012345"])
@pytest.mark.parametrize(
    ("label", "id_"),
    [
        ("2020-12345_김하늘", True),
        ("202012345김하늘", True),
        ("2020-12345", True),
        ("2020-12345 이서준", False),
    ],
)
def test_numbers_with_hyphens(label: str, id_: bool, number: str, tmp_path: Path) -> None:
    roster = f"학번,이름\n{number},김하늘\n2020-12346,이서준\n2020-12347,김하늘\n"
    found = received(tmp_path, {f"{label}/hw.py": CODE, "x/hw.py": CODE}, roster)
    assert found.people.get(label, Person()).id == (number if id_ else "")


def test_a_name_in_google_classroom_that_holds_anothers_number(tmp_path: Path) -> None:
    roster = "학번,이름\n20191234,김하늘\n20191235,이서준\n"
    files = {"20191234 이서준 - hw.py": CODE, "20191235 - hw.py": CODE}
    found = received(tmp_path, files, roster)
    assert sorted(ids[0] for ids in numbers(found).values()) == ["", "20191235"]


def test_one_name_and_a_number_in_the_name_of_a_file(tmp_path: Path) -> None:
    """Moodle packs a folder for each student; the number stands in the file's own name, however deep."""
    roster = "학번,이름\n202319264,송유준\n202415101,송유준\n202415102,송유준\n"
    files = {
        "송유준_1234556_assignsubmission_file_/과제1_202319264.ipynb": "{}",
        "송유준_1234557_assignsubmission_file_/hw/202415101/hw.py": CODE,
        "송유준_1234558_assignsubmission_file_/hw/송유준202415102.py": CODE,
    }
    found = received(tmp_path, files, roster)
    by_number = {person.moodle_id: person.id for person in found.people.values()}
    assert by_number == {"1234556": "202319264", "1234557": "", "1234558": "202415102"}


# ---- on the way back ---------------------------------------------------------------------------------


def test_a_worksheet_takes_no_marks_of_a_team(tmp_path: Path) -> None:
    """Graded without a roster: the worksheet is the first to tell whose the number is."""
    (tmp_path / "sheet.csv").write_text(WORKSHEET, encoding="utf-8")
    rows = [Row("불꽃", Person(name="불꽃", moodle_id="5004"), 3.0, 4.0),
            Row("김하늘", Person(name="김하늘", moodle_id="5000"), 4.0, 4.0)]  # fmt: skip
    filled = fill_moodle_worksheet(rows, tmp_path / "sheet.csv", None)
    assert filled.left_out == ("불꽃",)
    assert [line.rsplit(",", 1)[-1] for line in filled.text.splitlines()] == ["Grade", "4", "", ""]


def test_teams_are_left_out_of_a_new_worksheet(tmp_path: Path) -> None:
    found = received(tmp_path, TEAMS, None)
    rows = [Row(label, person, 4.0, 4.0) for label, person in found.people.items()]
    text, left_out = moodle_csv(rows)
    assert "Participant" not in text
    assert set(left_out) == set(found.people)


def test_as_the_archive_itself(tmp_path: Path) -> None:
    (tmp_path / "t.zip").write_bytes(packed(TEAMS))
    assert set(numbers(receive(tmp_path / "t.zip", None, NAMES))) == {"1조", "2조", "기본 모둠"}


def test_letters() -> None:
    assert agree("정민", "Jung Min")
    assert agree("선우 진", "Jin Sunwoo")
    assert agree("박찬호", "Park Chan Ho")
    assert agree("최유나", "Yoona Choi")
    assert not agree("정민", "Team 1")
    assert not agree("김하늘", "Haneul Park")
    assert not agree("Robert Kim", "Minsu Kim")


# ---- whatever the names and numbers ------------------------------------------------------------------

PEOPLE = (
    Person("20191234", "김하늘", canvas_id="101", moodle_id="5000"),
    Person("20191235", "이서준", canvas_id="102", moodle_id="5004"),
    Person("20191236", "김하늘", canvas_id="103"),
    Person("20191237", "Lee, Ha-neul"),
    Person("20191238", "", moodle_id="5007"),
)
NAME = st.sampled_from(
    ["김하늘", "하늘 김", "이서준", "Haneul Kim", "Ha-neul Lee", "1조", "불꽃", "Team B", "Participant", "20191235",
     "김하늘 20191235", "20191234 이서준", "5004"]
)  # fmt: skip
SYSTEMS = ("canvas_id", "moodle_id")
NUMBER = st.sampled_from(["", "101", "102", "103", "5000", "5004", "5007", "9999"])


@given(st.lists(st.tuples(NAME, st.sampled_from(SYSTEMS), NUMBER, st.booleans()), max_size=5))
def test_who_is_matched_has_that_name_and_no_other_number(drawn: list[tuple[str, str, str, bool]]) -> None:
    handovers = [
        Handover(str(n), name, (), is_group=group, **{system: number})  # type: ignore[arg-type]
        for n, (name, system, number, group) in enumerate(drawn)
    ]
    matched = match(handovers, Roster(PEOPLE, {}))
    for handover, (name, system, number, by_group) in zip(handovers, drawn, strict=True):
        person = matched.people[handover.key]
        if person.id:
            own = next(getattr(one, system) for one in PEOPLE if one.id == person.id)
            assert not by_group
            assert not (own and number) or own == number
            assert (
                not person.name or is_placeholder_name(name) or agree(name, person.name) or person.id in name
            )
        elif not by_group and number:
            assert getattr(person, system) in ("", number)
    named = {p.moodle_id: p.name for p in PEOPLE if p.name and p.moodle_id}
    left = [p for p in matched.people.values() if not p.id and p.moodle_id in named]
    assert all(is_placeholder_name(p.name) or agree(p.name, named[p.moodle_id]) for p in left), (
        "a stranger's marks"
    )


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("과제1박지우", "박지우"),
        ("박지우과제최종", "박지우"),
        ("1주차실습박지우_제출", "박지우"),
        ("hw1박지우", "박지우"),
        ("과제이솔", "이솔"),
        ("박지우민", ""),
        ("김박지우", ""),
        ("박지우이솔과제", ""),
        ("과제박지우와이솔", ""),
        ("20249999과제박지우", ""),
    ],
)
def test_a_name_glued_to_words_for_the_work(label: str, name: str, tmp_path: Path) -> None:
    """Any other syllable may be part of the name of somebody who is not in the roster."""
    roster = "학번,이름\n20240001,박지우\n20240002,이솔\n"
    found = received(tmp_path, {f"{label}.py": CODE}, roster)
    assert [person.name for person in found.people.values()] == ([name] if name else [])
