"""Group work: all members get the grade and the page; a group that does not fit is listed, and nobody gets a zero."""

from pathlib import Path

import pytest

from grader.base.tables import TableError
from grader.intake.groups import read_class_list
from grader.intake.receive import Received, receive
from tests.intake.downloads import CODE, packed, write

NAMES = ("train_step",)
MOODLE = {
    "1조_5004_assignsubmission_file/hw.py": CODE,
    "2조_5007_assignsubmission_file/hw.py": CODE,
    "기본 모둠_assignsubmission_file/hw.py": CODE,
}
"""As `downloader.php` names teams: the group's own number, none for those who are in no group."""
CANVAS = {"1조_101_9001_hw.py": CODE, "불꽃팀_LATE_104_9002_hw.py": CODE, "정민_108_9003_hw.py": CODE}
"""As `content_zipper.rb`: the group's name in lower case without spaces, the number of one of its members."""
ROSTER = """학번,이름,분반,조,canvas id
20191234,김하늘,A,1조,101
20191235,이서준,A,1,102
20201001,박지우,A,2조,103
20201777,김하늘,A,불꽃 팀,104
00123456,남궁민수,A,불꽃 팀,105
20190001,정민,A,,108
"""


def received(
    tmp_path: Path, files: dict[str, str], roster: str = ROSTER, groups: str | None = None
) -> Received:
    folder = write(tmp_path / "download", files)
    tmp_path.mkdir(exist_ok=True)
    for name, text in (("roster.csv", roster), ("groups.csv", groups)):
        if text is not None:
            (tmp_path / name).write_text(text, encoding="utf-8")
    read = read_class_list((tmp_path / "roster.csv",), None if groups is None else tmp_path / "groups.csv")
    return receive(folder, read, NAMES)


def ids(found: Received) -> list[str]:
    """The students whose work was found, in the order of the results."""
    assert {s.student for s in found.submissions} == set(found.people)
    return sorted(person.id for person in found.people.values() if person.id)


def test_all_members_of_moodles_groups_get_the_work(tmp_path: Path) -> None:
    found = received(tmp_path, MOODLE)
    assert ids(found) == ["20190001", "20191234", "20191235", "20201001"]
    assert all(submission.files for submission in found.submissions)
    assert [person.id for person in found.absent] == ["20201777", "00123456"]
    assert {p.moodle_id for p in found.people.values()} == {""}, "the number is the group's"
    assert any("1조 (5004) (김하늘, 이서준)" in line for line in found.notes)
    by_name = {s.student: s for s in found.submissions}
    assert by_name["20191235_이서준"].notes == ("모둠 '1조'의 제출물이에요. 함께 낸 사람: 김하늘, 이서준.",)
    assert found.copies == ("20191235_이서준",)


def test_as_the_archive_itself(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text(ROSTER, encoding="utf-8")
    (tmp_path / "t.zip").write_bytes(packed(MOODLE))
    found = receive(tmp_path / "t.zip", read_class_list((tmp_path / "roster.csv",), None), NAMES)
    assert len(ids(found)) == 4


def test_teammates_of_who_handed_in_for_a_canvas_group(tmp_path: Path) -> None:
    found = received(tmp_path, CANVAS)
    assert ids(found) == ["00123456", "20190001", "20191234", "20191235", "20201777"]
    assert sorted(found.late) == ["00123456_남궁민수", "20201777_김하늘"], "late for all of them"
    assert {p.id: p.canvas_id for p in found.people.values()}["00123456"] == "105"
    assert not found.absent_in_doubt
    assert [person.id for person in found.absent] == ["20201001"]


def test_the_worksheet_of_a_team_assignment_tells_the_groups(tmp_path: Path) -> None:
    """The column Group of `gradingtable.php`; the default group has a name there."""
    sheet = """식별자,전체 이름,id 번호,상태,그룹,성적
참가자5004,김하늘,20191234,제출함,1조,
참가자5007,이서준,20191235,제출함,1조,
참가자5008,박지우,20201001,제출함,2조,
참가자5009,정민,20190001,제출함,기본 모둠,
"""
    found = received(tmp_path, MOODLE, sheet)
    assert ids(found) == ["20190001", "20191234", "20191235", "20201001"]
    numbers = {p.id: p.moodle_id for p in found.people.values()}
    assert numbers["20191235"] == "5007", "the participant's own, though group 2 has the same number"


def test_a_group_has_the_time_at_which_one_of_them_handed_in(tmp_path: Path) -> None:
    """The worksheet tells it only of the one who did; the others are as late as that one, or as early."""
    sheet = """식별자,전체 이름,id 번호,상태,그룹,성적,마지막 수정됨(제출)
참가자5004,김하늘,20191234,제출함,1조,,"2026년 3월 21일 토요일, 오전 9:18"
참가자5007,이서준,20191235,제출 안 됨,1조,,-
참가자5008,박지우,20201001,제출함,2조,,"2026년 3월 20일 금요일, 오후 9:00"
"""
    found = received(tmp_path, MOODLE, sheet)
    times = {found.people[label].id: time for label, time in found.handed_in.items()}
    assert times["20191235"] == times["20191234"] == "2026년 3월 21일 토요일, 오전 9:18"
    assert times["20201001"] == "2026년 3월 20일 금요일, 오후 9:00"


GROUPS = """name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id
"하늘, 김",101,20191234,hn,A,1조,55,
"서준, 이",102,20191235,sj,B,1조,55,
"누구, 나",999,29999999,nn,A,1조,55,
"""


def test_a_list_of_groups_beside_the_roster(tmp_path: Path) -> None:
    """Canvas' export of groups; somebody who is not in the roster is told, not made up."""
    roster = "학번,이름,분반\n20191234,김하늘,A\n20191235,이서준,B\n20201001,박지우,A\n"
    found = received(tmp_path, {"1조_101_9001_hw.py": CODE}, roster, GROUPS)
    assert ids(found) == ["20191234", "20191235"], "the system's groups may span sections"
    assert any("4번째 줄 '나 누구'" in line or "4번째 줄 '누구, 나'" in line for line in found.notes)


@pytest.mark.parametrize(
    "groups",
    [
        "학번,조\n20191234,1조\n20191235,1조\n",
        "이름,모둠\n이서준,1조\n20191234,1조\n".replace("20191234,1조\n", ""),
        '모둠,구성원\n1조,"20191234, 이서준"\n',
        "팀명,조원\n제 1 조,20191234/이서준\n",
    ],
)
def test_lists_of_groups_as_people_write_them(groups: str, tmp_path: Path) -> None:
    roster = "학번,이름\n20191234,김하늘\n20191235,이서준\n20201777,김하늘\n"
    assert "20191235" in ids(received(tmp_path, MOODLE, roster, groups))


def test_somebody_in_two_groups_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"한 학생이 두 모둠에 있어요: .* 3번째 줄: 20191234 김하늘"):
        received(tmp_path, MOODLE, ROSTER, "학번,조\n20191234,1조\n20191234,2조\n")


def test_what_does_not_fit_is_listed_and_never_matched(tmp_path: Path) -> None:
    """An unknown group: those who may be its members are no absentees who get a zero."""
    found = received(tmp_path, {**CANVAS, "9조_103_9004_hw.py": CODE})
    assert "20201001" not in ids(found)
    assert set(found.absent_in_doubt) == {"20201001"}
    assert any("누구와도 짝짓지 않은 제출물: 9조 (103)" in line for line in found.notes)
    assert any("0점을 주지 않고 비워 둬요" in line for line in found.notes)


def test_the_number_of_somebody_outside_the_group_contradicts_its_name(tmp_path: Path) -> None:
    found = received(tmp_path, {"1조_104_9001_hw.py": CODE, "정민_108_9002_hw.py": CODE})
    assert ids(found) == ["20190001"]
    assert any("1조 (104, 명단에는 김하늘 104)" in line for line in found.notes)


def test_one_number_in_two_sections_is_two_groups(tmp_path: Path) -> None:
    roster = "학번,이름,분반,조\n20191234,김하늘,A,1\n20191235,이서준,B,1\n20190001,정민,A,2\n"
    files = {"1조_5_assignsubmission_file/hw.py": CODE, "2조_6_assignsubmission_file/hw.py": CODE}
    found = received(tmp_path / "a", files, roster)
    assert ids(found) == ["20190001"]
    assert any("1조 (5) (김하늘 A, 이서준 B)" in line for line in found.notes)
    told = received(tmp_path / "b", files, roster, "학번,조\n20191234,1\n20191235,1\n20190001,2\n")
    assert ids(told) == ["20190001", "20191234", "20191235"], (
        "a list without sections has one group of each number"
    )


def test_two_groups_of_one_number_get_nothing_of_each_other(tmp_path: Path) -> None:
    """`1조` and `Team 1` cannot both be the roster's first group."""
    files = {"1조_5_assignsubmission_file/hw.py": CODE, "Team 1_6_assignsubmission_file/hw.py": CODE}
    assert ids(received(tmp_path, files, ROSTER.replace("1조", "1"))) == []


def test_a_member_who_also_handed_in_alone_is_in_doubt_and_the_others_are_not(tmp_path: Path) -> None:
    found = received(tmp_path, {"1조_101_9001_hw.py": CODE, "이서준_102_9002_hw.py": CODE})
    assert ids(found) == ["20191234"]
    assert [person.id for person in found.absent if person.id == "20191235"] == []


def test_a_group_with_a_persons_name_is_nobodys(tmp_path: Path) -> None:
    roster = ROSTER.replace("불꽃 팀", "정민")
    found = received(tmp_path, {"정민_7_assignsubmission_file/hw.py": CODE}, roster)
    assert ids(found) == []


@pytest.mark.parametrize("label", ["1조", "1조_과제", "hw1 1조 최종", "제1조", "불꽃팀"])
def test_a_plain_folder_of_groups(label: str, tmp_path: Path) -> None:
    found = received(tmp_path, {f"{label}/hw.py": CODE, "정민/hw.py": CODE})
    members = ["00123456", "20201777"] if label == "불꽃팀" else ["20191234", "20191235"]
    assert ids(found) == sorted(["20190001", *members])


def test_a_plain_folder_of_a_member_stays_the_members(tmp_path: Path) -> None:
    """Perhaps the group's, perhaps not: the others get nothing, and no zero either."""
    found = received(tmp_path, {"1조_이서준/hw.py": CODE, "3조_20190001_정민/hw.py": CODE})
    assert ids(found) == ["20190001", "20191235"]
    assert set(found.absent_in_doubt) == {"20191234"}
    assert any("한 사람만 낸 제출물: 1조_이서준." in line for line in found.notes)


SINGLE = {"김하늘_101_9001_hw.py": CODE, "박지우_103_9002_hw.py": CODE, "정민_108_9003_hw.py": CODE}


def test_one_of_each_group_handed_in_under_ones_own_name(tmp_path: Path) -> None:
    """A list of groups for this work makes it the group's; the roster's column alone makes it doubtful."""
    groups = ROSTER.replace("조,canvas id", "조,x")
    shared = received(tmp_path / "a", SINGLE, ROSTER, groups)
    assert ids(shared) == ["20190001", "20191234", "20191235", "20201001"]
    assert shared.copies == ("20191235_이서준",)
    doubtful = received(tmp_path / "b", SINGLE)
    assert ids(doubtful) == ["20190001", "20191234", "20201001"]
    assert set(doubtful.absent_in_doubt) == {"20191235"}
    assert {person.id for person in doubtful.absent} == {"20191235", "20201777", "00123456"}


def test_the_only_group_of_a_class_is_in_doubt_too(tmp_path: Path) -> None:
    """One handed in for three: the two others must not get a zero without a word."""
    roster = ROSTER.replace("2조", "").replace("불꽃 팀", "")
    found = received(tmp_path, SINGLE, roster)
    assert ids(found) == ["20190001", "20191234", "20201001"]
    assert set(found.absent_in_doubt) == {"20191235"}
    assert any("한 사람만 낸 제출물: 김하늘 (101)" in line for line in found.notes)


def test_groups_in_the_roster_change_nothing_where_students_hand_in_alone(tmp_path: Path) -> None:
    found = received(tmp_path, {**SINGLE, "이서준_102_9004_hw.py": CODE})
    assert ids(found) == ["20190001", "20191234", "20191235", "20201001"]
    assert found.copies == ()
    assert not found.absent_in_doubt
