"""A plain class folder as people keep it: folders, files and archives side by side."""

import zipfile
from pathlib import Path

import pytest

from grader.course.feedback import ClassResult, SubmissionResult
from grader.intake.receive import enrolled, receive
from grader.intake.roster import read_roster
from grader.report.results import from_json, to_json
from tests.intake.downloads import write

PROGRAM = "def train_step(model, opt, loss_fn, xb, yb):\n    return 0.0\n"


def test_archives_in_a_plain_class_are_opened_or_told(tmp_path: Path) -> None:
    """Beside folders and files; one that is not opened is nobody's work lost in silence."""
    folder = tmp_path / "class"
    (folder / "나정직").mkdir(parents=True)
    (folder / "김하나.py").write_text(PROGRAM, encoding="utf-8")
    for path in (folder / "다정직.zip", folder / "나정직" / "과제.zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("hw/answer.py", PROGRAM)
    (folder / "깨짐.zip").write_bytes(b"PK\x03\x04 no archive")
    (folder / "라정직.7z").write_bytes(b"7z")
    received = receive(folder, None, ("train_step",))
    files = {s.student: [file.name for file in s.files] for s in received.submissions}
    assert files == {
        "김하나": ["김하나.py"],
        "깨짐": [],
        "나정직": ["과제/hw/answer.py"],
        "다정직": ["다정직/hw/answer.py"],
        "라정직": [],
    }
    unread = {
        s.student: [problem.name for problem in s.unreadable] for s in received.submissions if s.unreadable
    }
    assert unread == {"깨짐": ["깨짐.zip"], "라정직": ["라정직.7z"]}


@pytest.mark.parametrize(
    "name", ["{}_1234{}_assignsubmission_file_/hw1.py", "{}-{}.py"], ids=["moodle", "plain"]
)
def test_results_say_what_belongs_to_nobody_in_the_roster(name: str, tmp_path: Path) -> None:
    """The terminal's lines are gone when it is closed; the class page reads the results."""
    folder = write(
        tmp_path / "class",
        {name.format(who, at): PROGRAM for at, who in enumerate(("김하늘", "송유준", "외부인"), start=11)},
    )
    (tmp_path / "roster.csv").write_text(
        "학번,이름\n20240001,김하늘\n20240002,송유준\n20240003,송유준\n", encoding="utf-8"
    )
    received = receive(folder, read_roster(tmp_path / "roster.csv"), ("train_step",))
    graded = ClassResult(
        7, "cpu", "bwrap", tuple(SubmissionResult(s.student, ()) for s in received.submissions)
    )
    result = from_json(to_json(enrolled(graded, received)))
    told = {
        s.person.name if s.person else s.student.partition("-")[0]: s.unmatched for s in result.submissions
    }
    assert told == {
        "김하늘": "",
        "송유준": "명단에 이름이 같은 학생이 여럿이에요",
        "외부인": "명단에 없어요",
    }
    assert len(result.counted) == 1
    alone = receive(folder, None, ("train_step",))
    assert all(not s.unmatched for s in enrolled(graded, alone).submissions), (
        "without a roster nobody is a stranger"
    )
