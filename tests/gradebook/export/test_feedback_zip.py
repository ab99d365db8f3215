"""Zips of pages, read as Canvas and Moodle read them: each file finds its student, and no other."""

import io
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.cli.main import run
from grader.course.feedback import ClassResult, Person
from grader.course.reading import load_course
from grader.gradebook.export.feedback_zip import canvas_feedback, moodle_feedback
from grader.report.write_report import write_report
from tests.gradebook import graded

DOWNLOAD = (
    "kimhaneul_101_5001_hw.ipynb",
    "kimhaneul_101_5003_hw-1.ipynb",
    "leeseojun_LATE_102_5002_hw.py",
    "a.txt",
)


def as_moodle_reads(name: str) -> tuple[str, str, str]:
    """`is_valid_filename_for_import` of Moodle up to 4.0, which is the stricter one: participant, plugin, file."""
    assert not name.startswith((".", "~"))
    _, participant, *plugin, file = name.split("_", 4)
    assert participant.isdigit()
    return participant, "_".join(plugin), file


def as_canvas_reads(name: str) -> tuple[str, str]:
    """`infer_comment_context_from_filename`: user and file handed in."""
    assert not name.startswith("._")
    assert not name.rsplit("_", maxsplit=1)[-1].startswith("link")
    user, file, *_ = [part for part in name.split("_") if re.fullmatch(r"\d+", part)]
    return user, file


@pytest.fixture
def result() -> ClassResult:
    """Names with what separates the parts of a file name."""
    made = graded.a_class()
    first, second, third = made.submissions
    return replace(made, submissions=(first, replace(second, student="~12_34_a/b"), third))


@pytest.fixture
def report(tmp_path: Path, result: ClassResult) -> Path:
    write_report(tmp_path / "report", result, load_course())
    return tmp_path / "report"


def test_moodle_finds_each_student(report: Path, result: ClassResult) -> None:
    made = moodle_feedback(report, result)
    archive = zipfile.ZipFile(io.BytesIO(made.data))
    read = {as_moodle_reads(name)[0]: name for name in archive.namelist()}
    assert {as_moodle_reads(name)[1:] for name in archive.namelist()} == {
        ("assignfeedback_file", "feedback.html")
    }
    assert set(read) == {"201", "202"}
    assert "20240001_김하늘" in archive.read(read["201"]).decode()
    assert made.left_out == ("누구",)
    assert moodle_feedback(report, result).data == made.data


@pytest.mark.parametrize("packed", [True, False])
def test_canvas_finds_each_student_by_what_was_handed_in(
    packed: bool, report: Path, result: ClassResult, tmp_path: Path
) -> None:
    download = tmp_path / "submissions.zip"
    if packed:
        with zipfile.ZipFile(download, "w") as archive:
            for name in DOWNLOAD:
                archive.writestr(name, "x")
    else:
        download = tmp_path / "submissions"
        download.mkdir()
        for name in DOWNLOAD:
            (download / name).write_text("x")
    made = canvas_feedback(report, result, download)
    names = zipfile.ZipFile(io.BytesIO(made.data)).namelist()
    assert sorted(map(as_canvas_reads, names)) == [("101", "5003"), ("102", "5002")]
    assert made.pages == 2


def test_a_number_of_a_group_gets_nobodys_page(report: Path, result: ClassResult) -> None:
    """Its members would read each other's marks."""
    first, second, third = result.submissions
    assert first.person
    both = replace(result, submissions=(first, replace(second, person=replace(first.person, id="2")), third))
    made = moodle_feedback(report, both)
    assert made.pages == 0
    assert len(made.left_out) == 3


def test_what_cannot_be_zipped_is_told(report: Path, result: ClassResult, tmp_path: Path) -> None:
    nobody = replace(result, submissions=tuple(replace(s, person=Person()) for s in result.submissions))
    with pytest.raises(HanstepError, match="참가자 번호"):
        moodle_feedback(report, nobody)
    (tmp_path / "x.zip").write_bytes(b"PK")
    with pytest.raises(HanstepError, match="열 수 없는 파일"):
        canvas_feedback(report, result, tmp_path / "x.zip")
    with pytest.raises(HanstepError, match="제출물 다운로드"):
        canvas_feedback(report, result, report / "feedback")


def test_the_command_writes_the_zip(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["export", str(report), "--to", "moodle-feedback"]) == 0
    assert zipfile.is_zipfile(report / "moodle-feedback.zip")
    said = capsys.readouterr()
    assert "2명의 페이지" in said.out
    assert "누구" in said.err
    assert run(["export", str(report), "--to", "canvas-feedback"]) == HanstepError.status
    assert "--template submissions.zip" in capsys.readouterr().err
