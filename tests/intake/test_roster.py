"""Rosters as Excel saves them, and those that cannot be used: a Korean line each, no traceback."""

import io
from datetime import datetime, time
from pathlib import Path

import pytest
from openpyxl import Workbook, load_workbook

from grader.base.tables import TableError
from grader.intake.roster import name_keys, read_roster

TEXT = "학번,이름,분반\r\n20240001,김하늘,A\r\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode("cp949"),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.replace(",", "\t").encode("utf-16"),
        TEXT.replace(",", ";").encode(),
        b"\n\n" + TEXT.encode(),
        (TEXT + "\r\n,,\r\n").encode(),
    ],
)
def test_however_it_was_saved(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(data)
    (person,) = read_roster(tmp_path / "roster.csv").people
    assert (person.id, person.name, person.section) == ("20240001", "김하늘", "A")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "줄이 없어요"),
        (b"\xff\xff\xff", "글자를 읽을 수 없어요"),
        (b"a,b\0\n1,2\n", "NUL"),
        ("이름,분반\n김하늘,A\n".encode(), "학번(id)"),
        ("학번,이름\n1,김\n1,이\n".encode(), "겹쳐요"),
        ("학번,이름\n,김\n".encode(), "학생이 없어요"),
        (f'학번,이름\n1,"{"x" * 200_000}"\n'.encode(), "CSV가 아니에요"),
    ],
)
def test_what_cannot_be_used_is_said(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(data)
    with pytest.raises(TableError) as error:
        read_roster(tmp_path / "roster.csv")
    assert said in str(error.value)


@pytest.mark.parametrize("row", ["합계,60,,", "총원,60,,명", ",60,,계"])
def test_a_count_below_the_students_is_nobody(row: str, tmp_path: Path) -> None:
    """Some portals write it into the column of student numbers."""
    (tmp_path / "roster.csv").write_text(
        f"순번,학번,이름,비고\n1,20201001,박지우,\n{row}\n", encoding="utf-8"
    )
    assert [person.id for person in read_roster(tmp_path / "roster.csv").people] == ["20201001"]


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "none.csv", tmp_path):
        with pytest.raises(TableError, match="명단 파일을 읽을 수 없어요"):
            read_roster(path)


PORTAL = """2026학년도 1학기 출석부,,,
"교과목: 딥러닝, 01분반",담당: 김교수,,
,,,
번호,학 번,성 명,분반,학과/학년,E-mail
1,00123456,남궁민수,A,컴공/3,a@u.kr
2,20201001,박지우,A,컴공/3,
,합계,2명,,,
"""
"""As Korean portals write it: a title, the teacher, spaces in the columns' titles, a sum below."""


@pytest.mark.parametrize(
    "text",
    [
        PORTAL,
        PORTAL.replace(",", ";").replace('"교과목: 딥러닝; 01분반"', '"교과목: 딥러닝, 01분반"'),
        PORTAL.split("\n", 3)[3],
        PORTAL.split("\n", 3)[3].replace("학 번", "학번(Student ID)").replace("성 명", "성명*"),
        "sep=;\n학생번호;학생명;분반;이메일\n00123456.0;남궁민수;A;a@u.kr\n20201001.0;박지우;A;\n",
        "학생 번호,학생 이름,반,이메일 주소\n'00123456,남궁민수,A,a@u.kr\n20201001,박지우,A,\n",
        '학번,이름,수강반,메일\n"=""00123456""",남궁민수,A,a@u.kr\n２０２０１００１,박지우,A,\n',
        "성,이름,id 번호,이메일 주소,분반\n남궁,민수,00123456,a@u.kr,A\n박,지우,20201001,,A\n",  # Moodle's participants
    ],
)
def test_rosters_of_portals_excel_and_pandas(text: str, tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_bytes(text.encode("cp949"))
    people = [(p.id, p.name, p.section, p.email) for p in read_roster(tmp_path / "roster.csv").people]
    assert people == [("00123456", "남궁민수", "A", "a@u.kr"), ("20201001", "박지우", "A", "")]


@pytest.mark.parametrize(
    ("header", "record"),
    [
        (
            "Identifier,Full name,ID number,Email address,Status,Group,Grade,Last modified (submission)",
            "Participant 5000",
        ),
        ("식별자,전체 이름,id 번호,이메일 주소,상태,그룹,성적,마지막 수정됨(제출)", "참가자5000"),
        ("식별자,사용자 성명,ID 번호,이메일 주소,상태,그룹,성적,마지막 수정됨(제출)", "참가자 5000"),
        ("식별자,성명,학번,이메일 주소,상태,그룹,성적,마지막 수정됨(제출)", "참여자5000"),
        ("참여자 번호,성명,학번,이메일 주소,상태,그룹,성적,마지막 수정됨(제출)", "참여자5000"),
        ("번호,성명,학번,이메일 주소,상태,그룹,성적,마지막 수정됨(제출)", "Participant 5000"),
    ],
)  # fmt: skip
def test_moodles_worksheet_in_both_languages(header: str, record: str, tmp_path: Path) -> None:
    """The titles of language packs en and ko; who handed in nothing has a hyphen for a time."""
    lines = (
        f'{record},김하늘,20191234,a@u.kr,제출함,1조,,"2026년 3월 20일 금요일, 오후 11:50"',
        f"{record}1,이서준,20191235,b@u.kr,제출 안 함,기본 모둠,,-",
    )
    (tmp_path / "sheet.csv").write_text("\n".join((header, *lines)), encoding="utf-8")
    roster = read_roster(tmp_path / "sheet.csv")
    first = roster.people[0]
    assert (first.id, first.name, first.moodle_id, first.group) == ("20191234", "김하늘", "5000", "1조")
    assert roster.handed_in == {"20191234": "2026년 3월 20일 금요일, 오후 11:50"}
    assert roster.groups_are_systems


def test_identifiers_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    """Each of them, by the title of their column; numbers of students that stand under such a title are none."""
    path = tmp_path / "sheet.csv"
    path.write_text(
        "식별자,성명,학번\n참가자 5000,김하늘,20191234\n#5001,이서준,20191235\n", encoding="utf-8"
    )
    roster = read_roster(path)
    assert [person.moodle_id for person in roster.people] == ["", ""]
    (told,) = roster.notes
    assert "'식별자' 열에서 Moodle의 번호를 읽지 못했어요: #5001" in told
    path.write_text("identifier,name\ns20191234,김하늘\n", encoding="utf-8")
    assert read_roster(path).notes == ()


@pytest.mark.parametrize(
    "title", ["제출 시각", "제출시간", "최종 제출 일시", "제출 완료 시각(KST)", "Submitted At", "Submission date/time",
              "타임스탬프", "Last modified (submission)"],
)  # fmt: skip
def test_the_time_of_handing_in_by_whatever_title(title: str, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(f"학번,이름,제출 마감 시각,{title}\n1,a,x,2026-03-20 23:50\n", encoding="utf-8")
    assert read_roster(path).handed_in == {"1": "2026-03-20 23:50"}


def test_two_times_of_handing_in_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("학번,이름,첫 제출 시각,끝 제출 시각\n1,a,x,y\n", encoding="utf-8")
    with pytest.raises(TableError, match=r"여럿이에요: .*: 첫 제출 시각, 끝 제출 시각"):
        read_roster(path)


def test_who_has_no_number_is_told(tmp_path: Path) -> None:
    (tmp_path / "roster.csv").write_text("학번,이름\n,교환학생\n20201001,박지우\n,합계\n", encoding="utf-8")
    (line,) = read_roster(tmp_path / "roster.csv").notes
    assert "2번째 줄 '교환학생'" in line
    assert "합계" not in line


def test_canvas_gradebook_and_canvas_groups(tmp_path: Path) -> None:
    """`gradebook_exporter.rb` with and without numbers of the university, and the export of a set of groups."""
    texts = {
        "Student,ID,SIS User ID,SIS Login ID,Section,HW (7)\nPoints Possible,,,,,10\n"
        "김하늘,101,20191234,hn,A,\n": "20191234",
        "Student,ID,SIS Login ID,Section,HW (7)\n    Points Possible,,,,10\n김하늘,101,hn,A,\n": "hn",
        "LastName,FirstName,ID,SIS Login ID,Section,HW (7)\n김,하늘,101,hn,A,\n": "hn",
        "name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id\n"
        "김하늘,101,20191234,hn,A,불꽃 팀,55,\n": "20191234",
    }  # fmt: skip
    for text, number in texts.items():
        (tmp_path / "roster.csv").write_text(text, encoding="utf-8")
        (person,) = read_roster(tmp_path / "roster.csv").people
        assert (person.id, person.name, person.canvas_id, person.login, person.section) == (
            number, "김하늘", "101", "hn", "A",
        )  # fmt: skip
    assert person.group == "불꽃 팀"


@pytest.mark.parametrize("number", ["2.021E+08", "2.02E+7", "2E+07", "1.23456E+5"])
def test_numbers_that_excel_has_rounded_are_refused_with_their_rows(number: str, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(f"학번,이름\n2021E005,이하늘\n{number},김하늘\n", encoding="utf-8")
    with pytest.raises(TableError) as error:
        read_roster(path)
    assert f"3번째 줄 '{number}'" in str(error.value)
    assert "2021E005" not in str(error.value)
    assert "Excel이 학번을 수로 바꾸면서" in str(error.value)


def workbook(path: Path, **sheets: list[list[object]]) -> Path:
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


ROWS: list[list[object]] = [["2026학년도 출석부"], [], ["학 번", "성 명", "제출 시각"],
        [20201001, "박지우", datetime(2026, 3, 20, 23, 50)], ["00123456", "남궁민수", None]]  # fmt: skip


def test_a_workbook_is_read_like_a_table(tmp_path: Path) -> None:
    """Whatever its name; a number that the sheet shows with zeros in front keeps them."""
    path = workbook(tmp_path / "roster.csv", 명단=ROWS)
    book = load_workbook(io.BytesIO(path.read_bytes()))
    book.active["A6"] = 7  # type: ignore[index]
    book.active["A6"].number_format = "00000000"  # type: ignore[index, union-attr]
    book.active["B6"] = "한결"  # type: ignore[index]
    book.save(path)
    roster = read_roster(path)
    assert [(p.id, p.name) for p in roster.people] == [
        ("20201001", "박지우"), ("00123456", "남궁민수"), ("00000007", "한결"),
    ]  # fmt: skip
    assert roster.handed_in == {"20201001": "2026-03-20 23:50:00"}


def test_a_day_alone_is_no_midnight(tmp_path: Path) -> None:
    """Neither in Excel, which keeps a day as midnight, nor where the time stands in a column of its own."""
    rows: list[list[object]] = [["학번", "이름", "제출일", "제출 시간"],
            [1, "a", datetime(2026, 3, 20), time(23, 50)], [2, "b", datetime(2026, 3, 20), None]]  # fmt: skip
    path = workbook(tmp_path / "roster.xlsx", 명단=rows)
    book = load_workbook(path)
    for cell in ("C2", "C3"):
        book.active[cell].number_format = "yyyy-mm-dd"  # type: ignore[index, union-attr]
    book.save(path)
    assert read_roster(path).handed_in == {"1": "2026-03-20 23:50:00", "2": "2026-03-20"}


def test_the_sheet_that_is_meant(tmp_path: Path) -> None:
    """A list of attendance repeats the students; a second class does not, and is not left out silently."""
    same = workbook(
        tmp_path / "a.xlsx",
        안내=[["읽어 주세요"], ["x"]],
        명단=ROWS,
        출석=[["학번", "이름"], [20201001, "박지우"]],
    )
    assert len(read_roster(same).people) == 2
    two = workbook(tmp_path / "b.xlsx", A반=ROWS, B반=[["학번", "이름"], [20209999, "최유나"]])
    with pytest.raises(TableError, match="시트가 여럿이라 어느 것을 읽을지 모르겠어요: A반, B반"):
        read_roster(two)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"PK\x03\x04" + b"0" * 100, "Excel 파일이 깨져서 열 수 없어요"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100, "옛 Excel 형식(.xls)"),
        ("<html><p>로그인해 주세요</p></html>".encode(), "표가 없는 웹 페이지(HTML)"),
    ],
)
def test_what_excel_saved_otherwise_is_said(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "roster.xlsx").write_bytes(data)
    with pytest.raises(TableError) as error:
        read_roster(tmp_path / "roster.xlsx")
    assert said in str(error.value)
    assert "저장해 주세요" in str(error.value)


def test_a_name_is_known_in_every_order() -> None:
    assert name_keys("Kim, Ha-neul") & name_keys("haneul kim")
    assert name_keys("김 하늘") & name_keys("김하늘")
    assert name_keys("김하늘") & name_keys("\u1100\u1175\u11b7하늘"), "decomposed by macOS"
    assert not name_keys("김하늘") & name_keys("김하늬")


def test_numbers_of_thousands_of_digits_are_only_long_names(tmp_path: Path) -> None:
    """Python reads no number of more than 4,300 digits; here none is read as one."""
    long = "9" * 5_000
    for header in ("학번,이름,제출 시각", "Identifier,Full name,Email address", "학번,이름,분반"):
        path = tmp_path / "roster.csv"
        path.write_text(f"{header}\n{long},{long},{long}\nParticipant {long},b,c\n")
        assert all(len(person.id) < 300 for person in read_roster(path).people)
    path.write_text(f"{long},이름\n1,a\n")
    with pytest.raises(TableError) as error:
        read_roster(path)
    assert len(str(error.value)) < 600


_ROWS = "<tr><td>20240001</td><td>김&nbsp;하늘</td><td>A</td></tr><tr><td>20240002<td>이서준<td>B"
_PORTAL = f"""<meta http-equiv=Content-Type content="text/html; charset=euc-kr">
<style>td {{ mso-number-format:"\\@" }}</style>
<table><tr><td>메뉴</td></tr></table>
<table border=1><tr><th colspan=3>2026학년도 1학기 출석부</th></tr>
<tr><th>학 번</th><th>성 명</th><th>분반</th></tr>{_ROWS}</table>"""
_XML_2003 = """<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet"
 xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Styles><Style ss:ID="s1"/></Styles><Worksheet ss:Name="a"><Table>
<Row><Cell><Data ss:Type="String">학번</Data></Cell><Cell><Data ss:Type="String">이름</Data></Cell>
<Cell ss:Index="4"><Data ss:Type="String">분반</Data></Cell></Row>
<Row><Cell><Data ss:Type="String">20240001</Data></Cell><Cell><Data ss:Type="String">김 하늘</Data></Cell>
<Cell ss:Index="4"><Data>A</Data></Cell></Row>
<Row><Cell><Data ss:Type="Number">20240002</Data></Cell><Cell><Data>이서준</Data></Cell><Cell/>
<Cell><Data>B</Data></Cell></Row>
</Table></Worksheet></Workbook>"""
_SPANNING = (
    "<html><table><tr><th>분반<th>학번<th>이름</tr><tr><td rowspan=1>A<td>20240001<td>김 하늘"
    "<tr><td rowspan='999999999999'>B</td><td>20240002</td><td>이<b>서</b>준</td></tr></table></html>"
)


@pytest.mark.parametrize(
    "data",
    [
        _PORTAL.encode("cp949"),
        _PORTAL.encode(),
        _PORTAL.encode("utf-16"),
        f"<html><body>{_PORTAL}".encode("utf-8-sig"),
        _XML_2003.encode(),
        _SPANNING.encode(),
    ],
    ids=["cp949", "utf-8", "utf-16", "page", "Excel 2003", "spans"],
)
def test_a_web_page_that_portals_save_as_xls(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "roster.xls"
    path.write_bytes(data)
    people = read_roster(path).people
    assert [(p.id, p.name, p.section) for p in people] == [
        ("20240001", "김 하늘", "A"),
        ("20240002", "이서준", "B"),
    ]
