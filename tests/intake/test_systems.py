"""Downloads of learning systems are recognised, and a plain class folder is not taken for one."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from grader.course.feedback import Person
from grader.intake.handover import IntakeError
from grader.intake.receive import Received, receive
from grader.intake.roster import read_roster
from grader.intake.systems import recognise
from grader.submission.find_files import is_skipped
from tests.intake import downloads
from tests.places import ROOT

NAMES = ("train_step", "sgd_update")
EVERY = {
    "Canvas": downloads.CANVAS,
    "Moodle": downloads.MOODLE,
    "Google Classroom": downloads.GOOGLE,
    "GitHub Classroom": downloads.GITHUB,
    "Gradescope": downloads.GRADESCOPE,
}


def received(tmp_path: Path, files: Mapping[str, str | bytes], roster: str = downloads.ROSTER) -> Received:
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8")
    folder = downloads.write(tmp_path / "download", files)
    return receive(folder, read_roster(tmp_path / "roster.csv"), NAMES)


def people(found: Received) -> dict[str, str]:
    return {student: person.id for student, person in found.people.items()}


def test_attempts_with_equal_numbers_are_ordered_by_their_names(tmp_path: Path) -> None:
    """`hw-1` stands before `hw.ipynb` in the alphabet, and the older file was graded."""
    names = [f"김하늘_10001_90001_hw{attempt}.py" for attempt in ("", "-1", "-2", "-10")]
    files = {name: f"attempt = {number}" for number, name in enumerate(names)}
    others = {name: text for name, text in downloads.CANVAS.items() if "_10001_" not in name}
    (mine,) = [s for s in received(tmp_path, others | files).submissions if s.student == "20240001_김하늘"]
    assert [file.text for file in mine.files] == ["attempt = 3\n"]


@pytest.mark.parametrize("system", EVERY)
def test_each_system_is_recognised_as_a_folder_and_as_the_archive_itself(system: str, tmp_path: Path) -> None:
    folder = downloads.write(tmp_path / "folder", EVERY[system])
    archive = tmp_path / "download.zip"
    archive.write_bytes(downloads.packed(EVERY[system]))
    found = receive(folder, None, NAMES)
    unpacked = receive(archive, None, NAMES)
    assert found.notes[0].startswith(f"{system}에서 내려받은 폴더로 알아보았어요")
    assert [s.student for s in found.submissions] == [s.student for s in unpacked.submissions]
    assert [[f.text for f in s.files] for s in found.submissions] == [
        [f.text for f in s.files] for s in unpacked.submissions
    ]


def test_canvas_names_ids_lateness_and_attempts(tmp_path: Path) -> None:
    found = received(tmp_path, downloads.CANVAS)
    by_name = {s.student: s for s in found.submissions}
    assert people(found) == {
        "20240001_김하늘": "20240001",
        "20240002_이서준": "20240002",
        "20240003_박지우": "20240003",
        "10003_kimhaneul": "",
        "10005_최수아": "",
    }
    assert found.people["20240001_김하늘"].canvas_id == "10001"
    assert found.late == {"20240002_이서준"}
    again = by_name["20240002_이서준"]
    assert [f.name for f in again.files] == ["hw1.py"]
    assert "attempt" not in again.files[0].text
    assert "이서준_LATE_10002_90002_hw1.py" in again.notes[0]
    assert [f.name for f in by_name["20240003_박지우"].files] == ["part-1.py", "part-2.py"], (
        "no attempts: two files"
    )
    assert [f.name for f in by_name["10003_kimhaneul"].files] == [
        "homework/homework/hw1.py",
        "homework/homework/more/a.py",
    ]
    assert "essay.pdf" in by_name["10005_최수아"].notes[0]
    assert [p.id for p in found.absent] == ["20240004"]
    said = "\n".join(found.notes)
    assert "명단에서 찾지 못한 제출물: kimhaneul (10003), 최수아 (10005)" in said
    assert "제출물이 없는 학생: 20240004 정도윤" in said
    assert "채점하지 않은 것" not in said, "earlier attempts are somebody's"


def test_people_who_are_not_named_are_counted_as_people(tmp_path: Path) -> None:
    rows = "".join(f"2024{n:04},학생{n}\n" for n in range(9))
    (tmp_path / "roster.csv").write_text(f"학번,이름\n{rows}", encoding="utf-8")
    folder = tmp_path / "class"
    (folder / "20240000_학생0").mkdir(parents=True)
    (folder / "20240000_학생0" / "hw.py").write_text("a = 1\n", encoding="utf-8")
    found = receive(folder, read_roster(tmp_path / "roster.csv"), ("train_step",))
    assert any(note.endswith("20240005 학생5 외 3명") for note in found.notes)


def test_canvas_writes_the_family_name_first(tmp_path: Path) -> None:
    roster = 'id,name\n77001,Haneul Kim\n77002,"Lee, Seo Jun"\n'
    files = {"kimhaneul_1_2_hw.py": downloads.CODE, "leeseojun_3_4_hw.py": downloads.CODE}
    assert people(received(tmp_path, files, roster)) == {
        "77001_Haneul Kim": "77001",
        "77002_Lee, Seo Jun": "77002",
    }


def test_anonymous_canvas_submissions_stay_apart(tmp_path: Path) -> None:
    files = {"anon_x7Yz1_55_hw.py": downloads.CODE, "LATE_anon_ab123_56_hw.py": downloads.CODE}
    found = receive(downloads.write(tmp_path / "d", files), None, NAMES)
    assert [s.student for s in found.submissions] == ["anon_ab123", "anon_x7Yz1"]
    assert found.late == {"anon_ab123"}


def test_moodle_folders_and_loose_files(tmp_path: Path) -> None:
    found = received(tmp_path, downloads.MOODLE)
    assert people(found) == {
        k: k.split("_")[0] for k in ("20240001_김하늘", "20240002_이서준", "20240003_박지우")
    }
    assert found.people["20240002_이서준"].moodle_id == "20002"
    files = {s.student: [f.name for f in s.files] for s in found.submissions}
    assert files["20240002_이서준"] == ["deep/hw1.py"]


def test_google_classroom_takes_the_last_copy(tmp_path: Path) -> None:
    found = received(tmp_path, downloads.GOOGLE)
    by_name = {s.student: s for s in found.submissions}
    assert "attempt" not in by_name["20240001_김하늘"].files[0].text
    assert by_name["20240002_이서준"].files[0].name == "01_five_line_step.py"
    assert "Ha-neul Kim" in by_name


def test_github_logins_may_hold_hyphens(tmp_path: Path) -> None:
    found = received(tmp_path, downloads.GITHUB)
    assert people(found) == {"20240001_김하늘": "20240001", "20240002_이서준": "20240002"}


def test_a_gradescope_group_is_graded_for_each_member(tmp_path: Path) -> None:
    found = received(tmp_path, downloads.GRADESCOPE)
    assert sorted(people(found).values()) == ["20240001", "20240002", "20240003"]
    assert found.handed_in["20240001_김하늘"].startswith("2026-03-21T08:30:00")


def test_broken_gradescope_metadata_is_said_in_korean(tmp_path: Path) -> None:
    files = {**downloads.GRADESCOPE, "assignment_42_export/submission_metadata.yml": "a: [" * 3000}
    with pytest.raises(IntakeError, match="내보내기를 다시 받아 주세요"):
        received(tmp_path, files)


def test_a_file_that_fits_nobody_is_listed(tmp_path: Path) -> None:
    found = received(tmp_path, {**downloads.CANVAS, "answers.ipynb": "{}"})
    assert any("채점하지 않은 것: answers.ipynb" in line for line in found.notes)


def test_the_sample_class_is_no_download() -> None:
    assert recognise(ROOT / "assets" / "sample_class") is None


def test_a_plain_class_folder_is_matched_by_number_or_name(tmp_path: Path) -> None:
    files = {
        "20240001_whatever.py": downloads.CODE,
        "s02_이서준/hw.py": downloads.CODE,
        "누구.py": downloads.CODE,
    }
    found = received(tmp_path, files)
    assert people(found) == {"20240001_whatever": "20240001", "s02_이서준": "20240002"}
    assert any("찾지 못한 제출물: 누구" in line for line in found.notes)


# ---- twins -------------------------------------------------------------------------------------------

TWINS = "학번,이름\n20240001,김하늘\n20240002,김하늘\n20240003,이서준\n"


def test_twins_are_told_apart_by_a_number_in_a_file_name_or_not_at_all(tmp_path: Path) -> None:
    """In doubt nobody is taken for somebody else."""
    unknown = {"김하늘_1_11_hw.py": downloads.CODE, "김하늘_2_12_hw.py": downloads.CODE}
    (tmp_path / "a").mkdir()
    found = received(tmp_path / "a", unknown, TWINS)
    assert set(people(found).values()) == {""}
    assert len(found.submissions) == 2
    assert any("이름이 같은 학생이 여럿이라" in line for line in found.notes)
    assert [p.name for p in found.absent] == ["이서준"], "a twin who may have handed in is not called absent"
    (tmp_path / "b").mkdir()
    numbered = {"김하늘_1_11_20240002_hw.py": downloads.CODE, "김하늘_2_12_20240001_hw.py": downloads.CODE}
    found = received(tmp_path / "b", numbered, TWINS)
    assert {p.canvas_id: p.id for p in found.people.values()} == {"1": "20240002", "2": "20240001"}


def test_canvas_own_gradebook_is_a_roster_that_tells_twins_apart(tmp_path: Path) -> None:
    roster = (
        "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,HW (7)\r\n    Points Possible,,,,,10\r\n"
        '"김, 하늘",1,20240001,hn1,A,\r\n"김, 하늘",2,20240002,hn2,B,\r\n"Student, Test",3,,x,A,\r\n'
        '"학생, 테스트",4,,y,A,\r\n'
    )
    files = {"김하늘_1_11_hw.py": downloads.CODE, "김하늘_2_12_hw.py": downloads.CODE}
    found = received(tmp_path, files, roster)
    assert {p.id: (p.canvas_id, p.section, p.login) for p in found.people.values()} == {
        "20240001": ("1", "A", "hn1"),
        "20240002": ("2", "B", "hn2"),
    }
    assert found.absent == ()


def test_moodles_worksheet_is_a_roster_too(tmp_path: Path) -> None:
    roster = (
        "Identifier,Full name,Email address,Status,Grade\n"
        "Participant 20001,김 하늘,a@x.kr,Submitted,\nParticipant 20002,이서준,b@x.kr,Submitted,\n"
    )
    found = received(tmp_path, downloads.MOODLE, roster)
    assert found.people["a@x.kr_김 하늘"] == Person("a@x.kr", "김 하늘", email="a@x.kr", moodle_id="20001")


def test_two_entries_of_one_student_are_not_merged(tmp_path: Path) -> None:
    files = {"20240001_a.py": downloads.CODE, "20240001_b.py": downloads.CODE}
    found = received(tmp_path, files)
    assert people(found) == {}
    assert any("둘 이상 짝지어져서" in line for line in found.notes)


# ---- hostile names -----------------------------------------------------------------------------------

HOSTILE = (
    "\u3164",  # shows nothing
    "node_modules",
    "__pycache__",
    "..",
    "=1+1",
    "a\u202eb",
    "CON",
    "\u1100\u1175\u11b7",  # decomposed
    "가" * 60,
    "두  칸",
    "e\u0301",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_costs_anybody_the_result(name: str, tmp_path: Path) -> None:
    files = {
        f"canvas/{name}_1_2_hw.py": downloads.CODE,
        "canvas/lee_3_4_hw.py": downloads.CODE,
        f"moodle/{name}_5_assignsubmission_file/hw.py": downloads.CODE,
        f"google/{name} - hw.py": downloads.CODE,
        f"github/{name}/.git/HEAD": "",
        f"github/{name}/hw.py": downloads.CODE,
        "github/lee/.git/HEAD": "",
    }
    downloads.write(tmp_path, files)
    for system, count in (("canvas", 2), ("moodle", 1), ("google", 1), ("github", 2)):
        if system == "github" and is_skipped(name):
            continue  # GitHub makes no such names: a folder of this name is nobody's
        found = receive(tmp_path / system, None, NAMES)
        assert len(found.submissions) == len(found.people) == count, system
        assert {s.student for s in found.submissions} == set(found.people)
        assert sum(len(s.files) for s in found.submissions) >= 1


def test_names_in_gradescopes_metadata_steer_no_terminal(tmp_path: Path) -> None:
    metadata = 'submission_1:\n  :submitters:\n  - :name: "\\e[2J\\u202ekim"\n    :sid: "../../x"\n'
    files = {"e/submission_metadata.yml": metadata, "e/submission_1/hw.py": downloads.CODE}
    found = receive(downloads.write(tmp_path / "d", files), None, NAMES)
    ((label, person),) = found.people.items()
    assert "/" not in label
    assert "\x1b" not in person.name
    assert found.submissions[0].files


def test_a_gradescope_group_is_not_told_that_it_shares_a_file(tmp_path: Path) -> None:
    found = received(tmp_path, downloads.GRADESCOPE)
    assert not [note for s in found.submissions for note in s.notes]


def test_what_macos_adds_is_nobodys(tmp_path: Path) -> None:
    files = {
        "d/김하늘_1_2_hw.py": downloads.CODE,
        "d/._김하늘_1_2_hw.py": "\0",
        "d/.DS_Store": "",
        "__MACOSX/d/x": "",
    }
    (tmp_path / "d.zip").write_bytes(downloads.packed(files))
    for source in (downloads.write(tmp_path / "folder", files), tmp_path / "d.zip"):
        (submission,) = receive(source, None, NAMES).submissions
        assert [f.name for f in submission.files] == ["hw.py"]


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    for student in ("a", "b", "c"):
        (tmp_path / f"{student}.py").write_text("def train_step(): ...\n")
    found = receive(tmp_path, None, NAMES, lambda *how_far: told.append(how_far))
    assert [submission.student for submission in found.submissions] == ["a", "b", "c"]
    assert told == [("제출물 읽기", done, 3) for done in range(4)]
