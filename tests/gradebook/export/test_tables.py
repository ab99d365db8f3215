"""Files for Canvas and Moodle, read back as their own importers read them."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.course.feedback import ClassResult
from grader.gradebook.export.canvas import canvas_csv, fill_canvas_export
from grader.gradebook.export.moodle import HEADER, fill_moodle_worksheet, moodle_csv
from grader.gradebook.export.rows import rows
from grader.gradebook.marking import Rules, marked
from grader.gradebook.overrides import Override
from grader.gradebook.policy import Policy
from tests.gradebook import graded


def final(out_of: float | None = 100) -> ClassResult:
    """The class with marks, one of them by hand."""
    by_hand = (Override(2, "20240001", "", 90, "구두 시험"),) if out_of == 100 else ()
    return marked(graded.a_class(), Rules(Policy(out_of=out_of), by_hand), graded.KNOWN)


def read(text: str, delimiter: str = ",") -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


# ---- Canvas ------------------------------------------------------------------------------------------


def imported_by_canvas(text: str, users: dict[str, str]) -> dict[str, str]:
    """Grades by Canvas' user id, as `gradebook_importer.rb` finds them.

    Args:
        text: the file.
        users: Canvas' id by SIS id.
    """
    header, *lines = read(text)
    assert len(header) > 3
    assert "Student" in header[0]
    assert "ID" in header[1]
    assert (header[2], header[3], header[4]) == ("SIS User ID", "SIS Login ID", "Section")
    assert "Points Possible" in lines[0][0]
    float(lines[0][5])
    grades = {}
    for line in lines[1:]:
        assert len(line) == len(header)
        user = line[1] or users[line[2]]
        assert user not in grades, "a student stands in one line"
        grades[user] = line[5]
        if line[5]:
            float(line[5])
    return grades


def test_canvas_takes_what_is_made_from_its_download() -> None:
    text, left_out = canvas_csv(rows(final()), "과제 1 (777)")
    assert read(text)[0][5:] == ["과제 1 (777)"]
    assert read(text)[1] == ["    Points Possible", "", "", "", "", "100"]
    assert imported_by_canvas(text, {}) == {"101": "90", "102": "60", "103": ""}
    assert left_out == ("누구",), "who has no number would be made a new student"


def test_canvas_own_export_is_filled_in_and_otherwise_as_it_was(tmp_path: Path) -> None:
    export = (
        "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Notes,HW 1 (7),HW 2 (8),Final Score\r\n"
        ",,,,,,Manual Posting,,\r\n"
        "    Points Possible,,,,,,100,10,(read only)\r\n"
        '"김, 하늘",101,,hn,A,,,3,50\r\n"이, 서준",999,20240002,,B,,,4,60\r\n"없, 음",998,x,y,B,,5,6,7\r\n'
    )
    (tmp_path / "grades.csv").write_text(export, encoding="utf-8")
    text, left_out = fill_canvas_export(rows(final()), tmp_path / "grades.csv", "HW 1 (7)")
    lines = read(text)
    assert lines[0] == read(export.removeprefix("\ufeff"))[0]
    assert [line[6] for line in lines[1:]] == ["Manual Posting", "100", "90", "60", "5"]
    assert [line[7] for line in lines[3:]] == ["3", "4", "6"]
    assert "구두 시험" in lines[3][5]
    assert left_out == ("누구", "박지우")
    with pytest.raises(HanstepError, match=r"HW 1 \(7\), HW 2 \(8\)"):
        fill_canvas_export(rows(final()), tmp_path / "grades.csv", None)
    with pytest.raises(HanstepError, match="'HW 3' 열이 없어요"):
        fill_canvas_export(rows(final()), tmp_path / "grades.csv", "HW 3")


def test_the_only_assignment_needs_no_name(tmp_path: Path) -> None:
    header = "Student,ID,SIS User ID,SIS Login ID,Section,HW,Final Score"
    export = f"{header}\nPoints Possible,,,,,9,(read only)\n김,101,,,,,\n"
    (tmp_path / "grades.csv").write_text(export, encoding="utf-8")
    text, _ = fill_canvas_export(rows(final()), tmp_path / "grades.csv", None)
    assert read(text)[2][5] == "90"


@pytest.mark.parametrize("filled", [fill_canvas_export, fill_moodle_worksheet])
def test_a_file_of_something_else_is_refused(filled: type, tmp_path: Path) -> None:
    for data in (b"a,b\n1,2\n", b"", b"\xff\xff", b"PK\x03\x04\0\0"):
        (tmp_path / "x.csv").write_bytes(data)
        with pytest.raises(HanstepError):
            filled(rows(final()), tmp_path / "x.csv", None)


# ---- Moodle ------------------------------------------------------------------------------------------


def imported_by_moodle(text: str) -> dict[str, tuple[str, str]]:
    """Grade and feedback by participant, as `importgradeslib.php` finds them: the titles must be these very words."""
    header, *lines = read(text)
    id_at, grade_at = header.index("Identifier"), header.index("Grade")
    assert "Last modified (grade)" in header
    found = {}
    for line in lines:
        assert line[id_at].startswith("Participant ")
        number = line[id_at][len("Participant ") :]
        found[number] = (line[grade_at], line[header.index("Feedback comments")])
    return found


def test_moodle_takes_a_worksheet_that_is_made_from_its_download() -> None:
    text, left_out = moodle_csv(rows(final()))
    assert tuple(read(text)[0]) == HEADER
    found = imported_by_moodle(text)
    assert {number: grade for number, (grade, _) in found.items()} == {"201": "90", "202": "60"}
    assert "구두 시험" in found["201"][1]
    assert left_out == ("누구", "박지우")


def test_moodles_worksheet_is_filled_in_in_its_own_language(tmp_path: Path) -> None:
    sheet = (
        "식별자;성명;이메일 주소;상태;성적;최고 성적;최종 수정 (성적);피드백 댓글\n"
        "참가자 201;김하늘;hn@x.kr;제출함;;100,00;-;\n참가자 555;이서준;SJ@x.kr;제출함;;100,00;-;\n"
        "참가자 777;없음;no@x.kr;제출 안 함;;100,00;-;\n"
    )
    (tmp_path / "sheet.csv").write_bytes(sheet.encode("cp949"))
    text, left_out = fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None)
    lines = read(text, ";")
    assert [line[4] for line in lines] == ["성적", "90", "60", ""]
    assert [line[0] for line in lines] == ["식별자", "참가자 201", "참가자 555", "참가자 777"]
    assert "구두 시험" in lines[1][7]
    assert left_out == ("누구", "박지우")


def test_a_mark_that_moodle_would_pass_over_in_silence_is_refused(tmp_path: Path) -> None:
    sheet = "Identifier,Full name,Grade,Maximum Grade,Last modified (grade)\nParticipant 201,x,,10.00,-\n"
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    with pytest.raises(HanstepError, match="out_of = 10"):
        fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None)


def test_feedback_is_no_markup_in_moodle() -> None:
    by_hand = (Override(2, "20240001", "", 90, "<script>alert(1)</script>"),)
    result = marked(graded.a_class(), Rules(Policy(out_of=100), by_hand), graded.KNOWN)
    assert "<script>" not in moodle_csv(rows(result))[0]


# ---- both --------------------------------------------------------------------------------------------


def test_no_cell_is_a_formula() -> None:
    """The student who is called `=1+1` is shown, not calculated."""
    for text in (canvas_csv(rows(final()), "과제")[0], moodle_csv(rows(final()))[0]):
        cells = [cell for line in read(text) for cell in line]
        assert not [
            cell
            for cell in cells
            if cell.startswith(("=", "+", "@")) or (cell.startswith("-") and cell != "-")
        ]
        assert "'=1+1" in cells


def test_without_a_policy_the_points_are_the_mark() -> None:
    text, _ = canvas_csv(rows(graded.a_class()), "과제")
    assert imported_by_canvas(text, {}) == {"101": "15", "102": "12", "103": ""}


@pytest.mark.full
def test_ten_thousand_students_are_a_matter_of_seconds() -> None:
    one = graded.student("s", (4, 6, 10))
    many = tuple(
        replace(one, student=f"s{n}", person=replace(graded.HANEUL, id=str(n), canvas_id=str(n)))
        for n in range(10_000)
    )
    text, left_out = canvas_csv(rows(replace(graded.a_class(), submissions=many)), "과제")
    assert len(read(text)) == 10_000 + 3
    assert left_out == ()
