"""Files for Canvas and Moodle, read back as their own importers read them."""

import codecs
import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from grader.base.csv_cells import with_cells
from grader.base.errors import HanstepError
from grader.base.tables import read_table
from grader.course.feedback import Absent, ClassResult, Person
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
    filled = fill_canvas_export(rows(final()), tmp_path / "grades.csv", "HW 1 (7)")
    lines = read(filled.text)
    assert lines[0] == read(export.removeprefix("\ufeff"))[0]
    assert [line[6] for line in lines[1:]] == ["Manual Posting", "100", "90", "60", "5"]
    assert [line[7] for line in lines[3:]] == ["3", "4", "6"]
    assert "구두 시험" in lines[3][5]
    assert filled.left_out == ("누구", "박지우")
    with pytest.raises(HanstepError, match=r"HW 1 \(7\), HW 2 \(8\)"):
        fill_canvas_export(rows(final()), tmp_path / "grades.csv", None)
    with pytest.raises(HanstepError, match="'HW 3' 열이 없어요"):
        fill_canvas_export(rows(final()), tmp_path / "grades.csv", "HW 3")


def test_the_only_assignment_needs_no_name(tmp_path: Path) -> None:
    header = "Student,ID,SIS User ID,SIS Login ID,Section,HW,Final Score"
    export = f"{header}\nPoints Possible,,,,,100,(read only)\n김,101,,,,,\n"
    (tmp_path / "grades.csv").write_text(export, encoding="utf-8")
    filled = fill_canvas_export(rows(final()), tmp_path / "grades.csv", None)
    assert read(filled.text)[2][5] == "90"


GRADEBOOK = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,교수 메모,과제 1 (777),과제 2 (778),Override Score,"
    "Assignments Current Points,Final Score\n"
    ",,,,,,Manual Posting,,,(read only),(read only)\n"
    "    Points Possible,,,,,,100.00,10.00,,(read only),(read only)\n"
    '"김, 하늘",101,,hn,A,,{},7.5,,,\n"이, 서준",999,20240002,,B,,{},7.5,,,\n"박, 지우",103,,,B,,{},,,,\n'
    '"Student, Test",990,,abcdef,A,,,,,,\n'
)
"""As `gradebook_exporter.rb` writes it: a column of the teacher's own, and columns that Canvas computes."""


def template(tmp_path: Path, *scores: str) -> Path:
    (tmp_path / "grades.csv").write_text(GRADEBOOK.format(*scores), encoding="utf-8")
    return tmp_path / "grades.csv"


def test_scores_that_are_there_and_excused_students_stay(tmp_path: Path) -> None:
    """`EX` and 88 stay unless everything is to be overwritten; both are listed with the new score."""
    path = template(tmp_path, "88", "ex", "N/A")
    absent_too = rows(marked(graded.a_class(), Rules(Policy(out_of=100, missing="zero")), graded.KNOWN))
    kept = fill_canvas_export(absent_too, path, "과제 1 (777)")
    assert [line[6] for line in read(kept.text)[3:]] == ["88", "ex", "N/A", ""]
    assert [(c.who, c.old, c.new, bool(c.kept)) for c in kept.changes] == [
        ("김, 하늘 20240001", "88", "75", True),
        ("이, 서준 20240002", "ex", "60", True),
        ("박, 지우 20240003", "N/A", "0", True),
    ]
    replaced = fill_canvas_export(absent_too, path, "과제 1 (777)", overwrite=True)
    assert [line[6] for line in read(replaced.text)[3:]] == ["75", "60", "N/A", ""]
    assert [line[7:] for line in read(replaced.text)] == [line[7:] for line in read(kept.text)]
    assert [c.kept for c in replaced.changes] == ["", "", "과제를 받지 않은 학생(N/A)"]


def test_equal_scores_are_no_change(tmp_path: Path) -> None:
    filled = fill_canvas_export(rows(final()), template(tmp_path, "90.00", '"60,0"', ""), "과제 1 (777)")
    assert filled.changes == ()
    assert [line[6] for line in read(filled.text)[3:5]] == ["90.00", "60,0"]


@pytest.mark.parametrize(
    "column",
    ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "교수 메모", "Override Score",
     "Assignments Current Points", "Final Score"],
)  # fmt: skip
def test_a_column_that_is_no_assignment_is_refused(column: str, tmp_path: Path) -> None:
    with pytest.raises(HanstepError) as error:
        fill_canvas_export(rows(final()), template(tmp_path, "", "", ""), column)
    assert f"'{column}' 열은 과제의 점수가 아니라서" in str(error.value)
    assert "과제 1 (777), 과제 2 (778)" in str(error.value)


def test_two_columns_of_one_title_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text("Student,ID,Section,HW,HW\nPoints Possible,,,1,1\n김,101,A,,\n", encoding="utf-8")
    with pytest.raises(HanstepError, match="'HW' 열이 2개"):
        fill_canvas_export(rows(final()), path, "HW")


def test_canvas_with_first_and_last_names(tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    path.write_text(
        "LastName,FirstName,ID,SIS Login ID,Section,과제 1 (777)\n    Points Possible,,,,,100\n김,하늘,101,,A,\n",
        encoding="utf-8",
    )
    assert read(fill_canvas_export(rows(final()), path, None).text)[2][5] == "90"


def test_an_excused_student_is_excused_in_canvas_and_blank_in_moodle(tmp_path: Path) -> None:
    by_hand = (Override(2, "20240001", "", None, "병가"),)
    found = rows(marked(graded.a_class(), Rules(Policy(out_of=100), by_hand), graded.KNOWN))
    filled = fill_canvas_export(found, template(tmp_path, "", "", ""), "과제 1 (777)")
    assert read(filled.text)[3][6] == "EX"
    assert imported_by_moodle(moodle_csv(found)[0])["201"] == ("", "전체: 면제예요. 병가")


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
    filled = fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None)
    lines = read(filled.text, ";")
    assert [line[4] for line in lines] == ["성적", "90", "60", ""]
    assert [line[0] for line in lines] == ["식별자", "참가자 201", "참가자 555", "참가자 777"]
    assert "구두 시험" in lines[1][7]
    assert filled.left_out == ("누구", "박지우")
    assert (
        filled.data.decode("utf-8-sig") == filled.text
    )  # as Moodle reads it, and Excel, which has saved cp949
    assert filled.data.startswith(codecs.BOM_UTF8)


KOREAN_SHEET = (
    "식별자,전체 이름,id 번호,이메일 주소,상태,성적,최대 성적,Grade can be changed,마지막 수정됨(제출),"
    "마지막 수정됨(성적),피드백 코멘트\n"
    "참가자5000,김하늘,20240001,u@u.kr,채점을 위해 제출되었습니다.,{},100.00,예,"
    '"2026년 3월 20일 금요일, 오후 11:50",-,\n'
    "참가자5001,이서준,20240002,v@u.kr,채점을 위해 제출되었습니다.,,100.00,아니오,-,-,\n"
)
"""In the words of the language pack ko, in which no space precedes the participant's number."""


def test_a_korean_moodle_gets_grades_and_reasons_by_student_number(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(KOREAN_SHEET.format(""), encoding="utf-8")
    filled = fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None)
    first, second = read(filled.text)[1:]
    assert (first[5], first[10]) == ("90", "전체 90점을 직접 주었어요. 구두 시험")
    assert (second[5], second[10]) == ("", ""), "Moodle takes no grade where it says so"
    assert [(c.old, c.new, c.kept) for c in filled.changes] == [
        ("", "90", ""),
        ("", "60", "Moodle에서 잠긴 성적"),
    ]


def test_a_grade_in_moodle_stays_unless_told(tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(KOREAN_SHEET.format("88.00"), encoding="utf-8")
    for overwrite, grade in ((False, "88.00"), (True, "90")):
        filled = fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None, overwrite=overwrite)
        assert read(filled.text)[1][5] == grade


def test_moodles_number_of_another_assignment_is_not_believed(tmp_path: Path) -> None:
    """Participants are numbered anew in each assignment; the student number and the name are not."""
    sheet = "Identifier,Full name,ID number,Grade\nParticipant 201,박지우,20240003,\nParticipant 7,김하늘,20240001,\n"
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    filled = fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None)
    assert [line[3] for line in read(filled.text)[1:]] == ["", "90"]


@pytest.mark.parametrize("column", ["id 번호", "전체 이름", "최대 성적", "피드백 코멘트"])
def test_a_column_that_is_no_grade_is_refused_in_moodle(column: str, tmp_path: Path) -> None:
    (tmp_path / "sheet.csv").write_text(KOREAN_SHEET.format(""), encoding="utf-8")
    with pytest.raises(HanstepError, match="성적이 아니라서 적지 않았어요"):
        fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", column)


def test_who_handed_in_nothing_is_found_by_address_or_by_a_name_of_ones_own(tmp_path: Path) -> None:
    """A portal's roster tells neither Moodle's number nor an address; the zero must reach the worksheet."""
    sheet = (
        "Identifier,Full name,Email address,Grade\nParticipant 1,박지우,s20240003@x.kr,\n"
        "Participant 2,최지우,choi@x.kr,\nParticipant 3,정민서,a@x.kr,\nParticipant 4,정민서,b@x.kr,\n"
        "Participant 5,한별,s20240003@y.kr,\n"
    )
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    people = [Person("20240003", "박지우"), Person("20240004", "최지우"), Person("20240005", "정민서")]
    absent = tuple(Absent(person) for person in people)
    result = replace(graded.a_class(), absent=absent)
    zeros = marked(result, Rules(Policy(out_of=100, missing="zero")), graded.KNOWN)
    filled = fill_moodle_worksheet(rows(zeros), tmp_path / "sheet.csv", None)
    assert [line[3] for line in read(filled.text)[1:]] == ["0", "0", "", "", ""]
    assert "정민서" in filled.left_out, "two lines have this name"


def test_feedback_is_no_markup_in_moodle() -> None:
    by_hand = (Override(2, "20240001", "", 90, "<script>alert(1)</script>"),)
    result = marked(graded.a_class(), Rules(Policy(out_of=100), by_hand), graded.KNOWN)
    assert "<script>" not in moodle_csv(rows(result))[0]


# ---- both --------------------------------------------------------------------------------------------


CANVAS_OF_100 = "Student,ID,Section,HW (7)\n    Points Possible,,,100\n김,101,A,\n"
MOODLE_OF_100 = "Identifier,Full name,Grade,Maximum grade\nParticipant 201,김하늘,,100.00\n"


@pytest.mark.parametrize(
    ("fill", "sheet"), [(fill_canvas_export, CANVAS_OF_100), (fill_moodle_worksheet, MOODLE_OF_100)]
)
def test_another_full_mark_is_refused_with_the_command_that_mends_it(
    fill: Any, sheet: str, tmp_path: Path
) -> None:
    """20 of 20 points would be 20 of 100."""
    (tmp_path / "sheet.csv").write_text(sheet, encoding="utf-8")
    with pytest.raises(HanstepError) as error:
        fill(rows(graded.a_class()), tmp_path / "sheet.csv", None, report=tmp_path)
    assert "만점은 100점인데 여기 점수는 20점 만점" in str(error.value)
    assert "policy.toml의 맨 위에 out_of = 100" in str(error.value)
    assert str(error.value).endswith(f"grader mark {tmp_path} --policy policy.toml")
    (tmp_path / "policy.toml").touch()
    with pytest.raises(HanstepError, match=rf"{tmp_path}/policy.toml의 맨 위에.*grader mark {tmp_path}$"):
        fill(rows(graded.a_class()), tmp_path / "sheet.csv", None, report=tmp_path)
    assert fill(rows(final()), tmp_path / "sheet.csv", None).changes[0].new == "90"


def test_every_other_byte_of_the_template_stays(tmp_path: Path) -> None:
    """The mark before UTF-8, line ends, quotes and blanks are the system's; only grades and reasons are ours."""
    sheet = (
        "\ufeffIdentifier,Full name,Status,Grade,Maximum grade,Last modified (grade),Feedback comments\r\n"
        'Participant 201,"김하늘", Submitted for grading - ,,100.00,"2026년 11월 18일 수요일, 오후 3:28",\r\n'
        'Participant 999,없음,"줄이\r\n둘 ""인용""",,100.00,-,\r\n\r\nParticipant 202,=1+1,x,,100.00,-'
    ).encode()
    (tmp_path / "sheet.csv").write_bytes(sheet)
    filled = fill_moodle_worksheet(rows(final()), tmp_path / "sheet.csv", None)
    reason = "전체 90점을 직접 주었어요. 구두 시험"
    expected = sheet.replace(b" - ,,100.00", b" - ,90,100.00").replace(
        '오후 3:28",'.encode(), f'오후 3:28",{reason}'.encode()
    )
    late = rows(final())[1].reasons
    assert not late, "nothing to write beside the second mark"
    assert filled.data == expected.replace(b"x,,100.00", b"x,60,100.00")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_cell_is_replaced_wherever_it_stands(end: str, delimiter: str, tmp_path: Path) -> None:
    lines = [["sep=" + delimiter], ["id", "b", "c"], ['" q"""', " y ", "1"], ["s"], [], ["t", '"x\ny"', ""]]
    text = end.join(delimiter.join(line) for line in lines)
    (tmp_path / "x.csv").write_bytes(text.encode())
    table = read_table(tmp_path / "x.csv", "표", ("id",))
    written = with_cells(text, table, {0: {1: f"a{delimiter}b"}, 1: {2: "new", 1: 'a"'}, 2: {2: "z"}})
    lines[2][1], lines[3], lines[5][2] = f'"a{delimiter}b"', ["s", '"a"""', "new"], "z"
    assert written == end.join(delimiter.join(line) for line in lines)


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
