"""One command removes everything that a report's folder knows of one student, and nothing of the others."""

from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.cli.desk import rules_in
from grader.cli.instructor import mark_again
from grader.cli.main import run
from grader.course.feedback import Absent, Person
from grader.report.results import from_json
from tests.classroom.desk.running import desk_over, write_class
from tests.report import samples

LINES = "학번,이름,분반\n20260000,김하늘,A\n20260001,이바다,A\n20269999,박없음,B\n"

WORKSHEET = (
    "Identifier,Full name,Email address\nParticipant 5,김하늘,sky@x.kr\nParticipant 6,이바다,sea@x.kr\n"
)


@pytest.fixture
def report(tmp_path: Path) -> Path:
    result = samples.large_class(4)
    first, second, *others = result.submissions
    first = replace(first, person=Person("20260000", "김하늘", email="sky@x.kr"))
    second = replace(second, person=Person("20260001", "이바다"), notes=("함께 낸 사람: 김하늘, 이바다.",))
    absent = (Absent(Person("20269999", "박없음")),)
    result = replace(result, submissions=(first, second, *others), absent=absent)
    out = tmp_path / "report"
    write_class(out, result, tmp_path / "work")
    (out / "roster.csv").write_text(LINES, encoding="utf-8")
    (out / "roster-2.csv").write_text(WORKSHEET, encoding="utf-8")
    (out / "graded.jsonl").write_text(
        "".join(f'{{"student": "{s.student}", "seal": "0"}}\n' for s in result.submissions), encoding="utf-8"
    )
    (out / "canvas.csv").write_text("김하늘", encoding="utf-8")
    desk = desk_over(out)
    desk.judge(
        {
            "exercise": "train_step",
            "scope": "mistake",
            "target": "missing-zero-grad",
            "score": "+1",
            "text": "x",
        }
    )
    desk.judge({"exercise": "train_step", "scope": "mistake", "target": "missing-zero-grad", "text": "y"})
    mark_again(out, {})
    return out


def everything(report: Path) -> str:
    files = [path for path in report.rglob("*") if path.is_file()]
    return "\n".join(str(path) + path.read_text(encoding="utf-8") for path in files)


def test_nothing_of_the_student_is_left_and_everything_of_the_others(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    label = from_json((report / "results.json").read_bytes()).submissions[0].student
    others = {p.name for p in (report / "feedback").iterdir()} - {f"{label}.html"}
    assert run(["desk", str(report), "--forget", "20260000"]) == 0
    left = everything(report)
    for word in ("김하늘", "20260000", label, "sky@x.kr"):
        assert word not in left
    assert {p.name for p in (report / "feedback").iterdir()} == others
    assert "함께 낸 사람: ○○○, 이바다." in left
    assert "sea@x.kr" in (report / "roster-2.csv").read_text(encoding="utf-8")
    assert (report / "overrides.csv").read_text(encoding="utf-8").count("+1") == 1
    assert len((report / "answers.jsonl").read_text(encoding="utf-8").splitlines()) == 3
    rules_in(report)
    mark_again(report, {})
    assert "남은 파일" not in capsys.readouterr().err
    assert desk_over(report).undo()["undone"] == "comment"


def test_somebody_who_handed_in_nothing_is_removed_too(report: Path) -> None:
    assert run(["desk", str(report), "--forget", "박없음"]) == 0
    assert "박없음" not in everything(report)
    assert "20269999" not in everything(report)
    assert len(from_json((report / "results.json").read_bytes()).submissions) == 4


def test_what_still_names_the_student_is_told(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (report / "메모.txt").write_text("20260000과 면담", encoding="utf-8")
    assert run(["desk", str(report), "--forget", "20260000"]) == 0
    assert "메모.txt" in capsys.readouterr().err


def test_a_student_who_is_nobody_or_several_removes_nothing(
    report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = everything(report)
    assert run(["desk", str(report), "--forget", "99"]) == HanstepError.status
    assert "찾지 못했어요" in capsys.readouterr().err
    assert everything(report) == before


def test_drafts_that_name_the_student_are_removed(report: Path) -> None:
    """Of two drafts, that about the student goes, and that of a group stays."""
    desk = desk_over(report)
    desk.drafts.keep({"key": "student 1", "draft": {"text": "다시 보기", "title": "20260000 김하늘"}})
    desk.drafts.keep({"key": "fit 2", "draft": {"text": "모두에게", "title": "통과"}})
    assert run(["desk", str(report), "--forget", "20260000"]) == 0
    assert [*desk.drafts.all()] == ["fit 2"]
