"""What lies beside a download: files that an instructor added, and another system's download."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.course.feedback import ClassResult, SubmissionResult
from grader.gradebook.marking import Rules, marked
from grader.gradebook.policy import Policy
from grader.intake.receive import Received, enrolled, receive
from grader.intake.roster import read_roster
from grader.report.results import from_json, to_json
from tests.intake.downloads import CODE, packed, write

NAMES = ("train_step",)
ROSTER = """학번,이름,제출 시각
20240001,김하늘,
20240002,이서준,
20240003,박지우,
20240004,정도윤,
20240005,최수아,
20240006,한지민,
"""
MOODLE: Mapping[str, str | bytes] = {
    "김하늘_20001_assignsubmission_file/hw1.py": CODE,
    "이서준_20002_assignsubmission_file/hw1.py": CODE,
}
CANVAS: Mapping[str, str | bytes] = {
    "박지우_10003_90004_hw1.py": CODE,
    "정도윤_10004_90005_hw1.py": CODE,
}


def received(tmp_path: Path, files: Mapping[str, str | bytes], roster: str = ROSTER) -> Received:
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    return receive(write(tmp_path / "class", files), read_roster(tmp_path / "roster.csv"), NAMES)


def who(found: Received) -> list[str]:
    assert not found.unmatched
    return sorted(person.name for person in found.people.values())


def zero_if_missing(found: Received) -> dict[str, float | None]:
    """Return the marks of those who handed in nothing, under a policy that gives them zero."""
    graded = ClassResult(7, "cpu", "bwrap", tuple(SubmissionResult(s.student, ()) for s in found.submissions))
    result = from_json(to_json(marked(enrolled(graded, found), Rules(Policy(missing="zero")), NAMES)))
    assert result.skipped == found.skipped
    return {a.person.name: None if a.mark is None else a.mark.score for a in result.absent}


@pytest.mark.parametrize("download", [MOODLE, CANVAS], ids=["moodle", "canvas"])
@pytest.mark.parametrize("name", ["20240005_최수아.py", "20240005_최수아/hw1.py", "20240005.py"])
def test_what_was_added_under_a_number_is_that_students(
    name: str, download: Mapping[str, str | bytes], tmp_path: Path
) -> None:
    found = received(tmp_path, {**download, name: CODE})
    assert "최수아" in who(found)
    assert len(found.submissions) == len(download) + 1
    (own,) = [s for s in found.submissions if "최수아" in s.student]
    assert [file.text.strip() for file in own.files] == [CODE.strip()]
    assert not found.skipped
    assert any("이름에 적힌 학번으로 짝지은 것" in line for line in found.notes)


@pytest.mark.parametrize(
    ("name", "doubtful"),
    [
        ("최수아.py", {"최수아"}),
        ("20240005_한지민.py", {"최수아", "한지민"}),
        ("최종_최수아/hw1.py", {"최수아"}),
    ],
)
def test_a_file_that_may_be_somebodys_costs_nobody_a_zero(
    name: str, doubtful: set[str], tmp_path: Path
) -> None:
    """A name alone, or one that contradicts the number, is no evidence for a mark, and none for a zero either."""
    found = received(tmp_path, {**MOODLE, name: CODE})
    assert who(found) == ["김하늘", "이서준"]
    assert found.skipped == (name.partition("/")[0],)
    marks = zero_if_missing(found)
    assert {one for one, mark in marks.items() if mark is None} == doubtful
    assert {mark for one, mark in marks.items() if one not in doubtful} == {0.0}
    assert all(found.skipped[0] in why for why in found.absent_in_doubt.values())


def test_a_file_that_nobodys_name_is_in_leaves_zeros(tmp_path: Path) -> None:
    found = received(tmp_path, {**MOODLE, "solution.py": CODE})
    assert found.skipped == ("solution.py",)
    assert set(zero_if_missing(found).values()) == {0.0}


def test_an_added_file_does_not_compete_with_what_was_handed_in(tmp_path: Path) -> None:
    found = received(tmp_path, {**MOODLE, "20240001_김하늘_옛것.py": "old = 1\n"})
    assert who(found) == ["김하늘", "이서준"]
    assert found.skipped == ("20240001_김하늘_옛것.py",)


def test_who_handed_in_by_the_list_and_whose_files_are_gone_gets_no_zero(tmp_path: Path) -> None:
    """A folder deleted by accident; of who never handed in, the worksheet writes a hyphen."""
    roster = (
        "식별자,성명,학번,상태,최종 수정 (제출)\n"
        '참가자 20001,김하늘,20240001,채점을 위해 제출됨,"2026년 11월 20일 금요일, 오후 1:10"\n'
        '참가자 20002,이서준,20240002,채점을 위해 제출됨,"2026년 11월 20일 금요일, 오후 2:11"\n'
        '참가자 20003,박지우,20240003,채점을 위해 제출됨,"2026년 11월 20일 금요일, 오후 3:12"\n'
        "참가자 20004,정도윤,20240004,제출 안 함,-\n"
    )
    found = received(tmp_path, MOODLE, roster)
    assert zero_if_missing(found) == {"박지우": None, "정도윤": 0.0}
    assert "오후 3:12에 낸 것으로 나오는데" in found.absent_in_doubt["20240003"]


@pytest.mark.parametrize(
    ("files", "graded"),
    [
        ({**MOODLE, **CANVAS}, 4),
        ({**MOODLE, **CANVAS, "20240005_최수아.py": CODE}, 5),
        ({**MOODLE, **CANVAS, "20240005_최수아.py": CODE, "20240006_한지민/hw1.py": CODE}, 6),
        ({**CANVAS, "한지민_10006_90007_hw1.py": CODE, **dict([*MOODLE.items()][:1])}, 4),
    ],
)
def test_two_systems_in_one_folder(files: Mapping[str, str | bytes], graded: int, tmp_path: Path) -> None:
    found = received(tmp_path, files)
    assert len(found.submissions) == len(who(found)) == graded
    assert "Moodle" in found.notes[0]
    assert "Canvas" in found.notes[0]


@pytest.mark.parametrize("added", [{}, {"20240005_최수아.py": CODE}])
def test_archives_of_two_systems_in_one_folder(added: Mapping[str, str], tmp_path: Path) -> None:
    """Each as it was downloaded; numbers of one system are no numbers of the other."""
    canvas = {"박지우_20001_90004_hw1.py": CODE, "정도윤_20002_90005_hw1.py": CODE}
    found = received(
        tmp_path, {"딥러닝실습-과제 1-3104.zip": packed(MOODLE), "submissions.zip": packed(canvas), **added}
    )
    assert who(found) == sorted(["김하늘", "이서준", "박지우", "정도윤", *["최수아"][: len(added)]])


def test_downloads_unpacked_side_by_side(tmp_path: Path) -> None:
    files = {f"moodle/{name}": code for name, code in MOODLE.items()}
    files |= {f"canvas/{name}": code for name, code in CANVAS.items()}
    assert who(received(tmp_path, files)) == ["김하늘", "박지우", "이서준", "정도윤"]


def test_a_students_own_archive_is_no_class(tmp_path: Path) -> None:
    mine = packed({"hw_2026_1124_a.py": CODE, "hw_2026_1125_b.py": ""})
    found = received(tmp_path, {"20240001_김하늘.zip": mine, "20240002_이서준.py": CODE})
    assert who(found) == ["김하늘", "이서준"]
