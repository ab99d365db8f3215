"""A portal's list and a learning system's, given together, are one roster; what does not fit is told."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from grader.base.errors import HanstepError
from grader.cli.class_inputs import ROSTERS, given_or_kept, keep_files, named_rosters
from grader.cli.main import app
from grader.intake.merge_rosters import read_rosters
from grader.intake.receive import receive
from grader.intake.roster import Roster
from tests.intake.downloads import CODE, write

PORTAL = (
    "2026학년도 2학기 출석부\n번호,분반,학번,이름\n1,A,20240001,김하늘\n2,A,20240002,송유준\n"
    "3,B,20240003,송유준\n4,B,20240004,박지우\n"
)
WORKSHEET = (
    "Identifier,Full name,Email address,Status,Grade,Last modified (submission)\n"
    "Participant 71,김하늘,haneul@x.kr,,,2026-03-20 23:50\n"
    "Participant 72,송유준,s20240002@x.kr,,,2026-03-20 23:51\n"
    "Participant 73,송유준,s20240003@x.kr,,,2026-03-20 23:52\n"
    "Participant 74,Jiwoo Park,p@x.kr,,,-\n"
)


def merged(tmp_path: Path, *texts: str) -> Roster:
    paths = [tmp_path / f"{index}.csv" for index in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    return read_rosters(paths)


def people(roster: Roster) -> dict[str, tuple[str, str, str]]:
    return {p.id: (p.section, p.moodle_id, roster.handed_in.get(p.id, "")) for p in roster.people}


@pytest.mark.parametrize("order", [(PORTAL, WORKSHEET), (WORKSHEET, PORTAL)])
def test_a_portal_and_a_worksheet_in_either_order(order: tuple[str, str], tmp_path: Path) -> None:
    """Matched by name, by the number within the address, and by a name in Latin letters (which is told)."""
    roster = merged(tmp_path, *order)
    assert people(roster) | {"20240004": ()} == {
        "20240001": ("A", "71", "2026-03-20 23:50"),
        "20240002": ("A", "72", "2026-03-20 23:51"),
        "20240003": ("B", "73", "2026-03-20 23:52"),
        "20240004": (),
        "p@x.kr": ("", "74", ""),
    }
    told = "\n".join(roster.notes)
    assert "둘 다에 있는 학생 3명" in told
    assert "에만 있는 학생: 20240004 박지우" in told
    assert "에만 있는 학생: p@x.kr Jiwoo Park" in told


def test_what_differs_in_many_rows_is_counted(tmp_path: Path) -> None:
    """A section after the course's name is the same one; of thirty addresses, one is an example."""
    header, numbers = "학번,이름,분반,이메일\n", range(20240001, 20240031)
    one = header + "".join(f"{number},학생{number},01,{number}@a.kr\n" for number in numbers)
    other = header + "".join(f"{number},학생{number},딥러닝실습-01,{number}@b.kr\n" for number in numbers)
    (line,) = [note for note in merged(tmp_path, one, other).notes if "명단마다 달라서" in note]
    assert "분반" not in line
    assert line.endswith("20240001 학생20240001의 이메일 '20240001@a.kr', '20240001@b.kr' 외 이메일 29개")


def test_whoever_has_two_numbers_of_one_kind_is_two_people(tmp_path: Path) -> None:
    """Lists of two sections are put together; a common name joins nobody."""
    roster = merged(tmp_path, "학번,이름,분반\n20240001,김하늘,A\n", "학번,이름,분반\n20240002,김하늘,B\n")
    assert [(p.id, p.section) for p in roster.people] == [("20240001", "A"), ("20240002", "B")]


def test_what_contradicts_is_told_and_not_taken_over(tmp_path: Path) -> None:
    roster = merged(
        tmp_path,
        "학번,이름,분반,이메일\n20240001,김하늘,A,h@x.kr\n20240002,이서준,A,s@x.kr\n20240003,정민서,A,\n",
        "학번,이름,분반,이메일,moodle id\n20240001,김하늘,B,h@x.kr,7\n20240002,이서준,A,,8\n"
        "20240009,한별,A,S@x.kr,9\n20240003,최수아,A,,10\n",
    )
    told = "\n".join(roster.notes)
    assert "20240001 김하늘의 분반 'A', 'B'" in told
    assert "20240003 최수아 (0.csv에는 정민서)" in told
    assert "1.csv에서 옮기지 않은 학생: 20240002 이서준, 20240009 한별" in told
    by_id = {p.id: p for p in roster.people}
    assert (by_id["20240001"].section, by_id["20240001"].moodle_id) == ("A", "7")
    assert by_id["20240002"].moodle_id == "", "two rows of the other list mean this student"
    assert by_id["20240003"].moodle_id == "", "the number is one student's and the name another's"


def test_two_of_one_name_without_numbers_are_not_guessed(tmp_path: Path) -> None:
    roster = merged(
        tmp_path, PORTAL, "Identifier,Full name,Grade\nParticipant 72,송유준,\nParticipant 73,송유준,\n"
    )
    assert {p.moodle_id for p in roster.people} == {""}
    assert len(roster.people) == 4
    assert any("하나로 정하지 못해서" in note and "송유준" in note for note in roster.notes)


def test_a_class_is_matched_by_both_lists(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "download",
        {f"송유준_{number}_assignsubmission_file_/hw1.py": CODE for number in (72, 73)},
    )
    found = receive(folder, merged(tmp_path, PORTAL, WORKSHEET), ())
    assert {(p.id, p.section) for p in found.people.values()} == {("20240002", "A"), ("20240003", "B")}


def test_all_given_rosters_are_kept_and_used_again_together(tmp_path: Path) -> None:
    out = tmp_path / "report"
    out.mkdir()
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(PORTAL, encoding="utf-8")

    def run(*names: str) -> Mapping[str, Path | None]:
        used = given_or_kept(out, named_rosters([tmp_path / name for name in names]))
        keep_files(out, used)
        return used

    assert [path and path.name for path in run("a.csv", "b.csv").values()] == ["a.csv", "b.csv", None]
    assert [path and path.name for path in run().values()] == [*ROSTERS[:2], None]
    assert [path and path.name for path in run("b.csv").values()] == ["b.csv", None, None]
    assert [path and path.name for path in run().values()] == [ROSTERS[0], None, None], "the second is gone"
    with pytest.raises(HanstepError, match="3개까지"):
        named_rosters([out] * 4)


def test_the_command_takes_several_rosters(tmp_path: Path) -> None:
    """`similar` reads them as `grade` does, and is quick."""
    folder = write(tmp_path / "download", {"김하늘_71_assignsubmission_file_/hw1.py": CODE})
    rosters = []
    for name, text in (("portal.csv", PORTAL), ("sheet.csv", WORKSHEET)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        rosters += ["--roster", str(tmp_path / name)]
    answer = CliRunner().invoke(
        app, ["similar", str(folder), *rosters, "--out", str(tmp_path / "similar.html")]
    )
    assert answer.exit_code == 0, answer.output
