"""The report's folder: pages of the class and of each student, CSV, Gradescope files."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import pytest

from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.report import write_report
from grader.report.html import feedback_html
from grader.report.results import to_json
from tests.report import samples
from tests.report.parsed import Parsed

WHEN = datetime(2026, 3, 2, 9, 30)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    write_report.write_report(out, samples.small_class(), samples.course(), when=WHEN)
    return out


def pages(report: Path) -> list[Path]:
    return [report / "index.html", *sorted((report / "feedback").iterdir())]


def test_report_has_the_promised_files(report: Path) -> None:
    students = samples.small_class().submissions
    names = {p.name for p in report.iterdir()}
    assert names == {"results.json", "gradebook.csv", "index.html", "feedback", "gradescope"}
    assert len(list((report / "feedback").glob("*.html"))) == len(students)
    assert len(list((report / "gradescope").glob("*/results.json"))) == len(students)
    assert (report / "feedback" / "김하윤.html").is_file()
    assert (report / "results.json").read_text(encoding="utf-8") == to_json(samples.small_class())


def test_pages_load_nothing_and_run_nothing(report: Path) -> None:
    """A report opens offline, tells nobody that it was opened, and runs no student's script.

    The script of the class page has its test in test_class_page.py.
    """
    for path in pages(report):
        page = path.read_text(encoding="utf-8")
        if path.name == "index.html":
            page = re.sub(r"<script>.*</script>", "", page, flags=re.DOTALL)
        parsed = Parsed(page.removeprefix("<!doctype html>"))
        assert not set(parsed.tags) & {
            "script",
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "svg",
        }
        assert not [a for a in parsed.attributes if a.startswith("on") or a == "src"]
        assert not re.search(r"https?:|@import|url\(", page)
        assert "default-src 'none'" in page
        assert page.startswith('<!doctype html>\n<html lang="ko">')
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)


def test_links_of_the_class_page_lead_to_pages(report: Path) -> None:
    """Also for names that had to be changed or quoted: every link and every anchor is there."""
    index = (report / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="(feedback/[^"#]+)(?:#([\w]+))?"', index))
    assert len({page for page, _ in links}) == len(samples.small_class().submissions)
    for page, anchor in links:
        text = (report / unquote(page)).read_text(encoding="utf-8")
        assert not anchor or f'<section id="{anchor}">' in text


def test_class_page_says_how_it_was_graded(report: Path) -> None:
    text = Parsed((report / "index.html").read_text(encoding="utf-8").removeprefix("<!doctype html>")).text
    for told in (
        "시드 7",
        "장치 cpu",
        "격리 bwrap",
        "2026-03-02 09:30",
        "gradebook.csv",
        "낸 학생 8명의 채점 점수예요. 채점하지 못한 1명은 뺐어요.",
        "15.8 / 28점",
        "9명",
    ):
        assert told in text
    assert "clip-before-backward | no-clip | clip-after-step" in text
    assert "`train_step`" not in text  # set as code
    assert "train_step의 답안을 쓴 7명 가운데 3명이 한 실수인 ‘opt.zero_grad()를 부르지 않았어요’부터" in text


def test_what_is_the_same_for_every_exercise_is_told_once(tmp_path: Path) -> None:
    """A file that cannot be read, and nine exercises in it: one card, and a line for each of the others."""
    submission = samples.all_of("x", "unreadable")
    write_report.write_student(tmp_path, submission, samples.course())
    page = (tmp_path / "feedback" / "x.html").read_text(encoding="utf-8")
    reason = (
        '<span class="soft">읽을 수 없음</span> <span class="soft">lesson01.ipynb: JSON이 아니에요</span>'
    )
    assert page.count(reason) == len(submission.feedbacks) - 1
    assert all(f'id="{f.exercise}"' in page for f in submission.feedbacks)


def test_a_card_that_cannot_be_drawn_costs_only_its_diagnosis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = write_report.feedback_html

    def fails(feedback: Feedback) -> str:
        if feedback.diagnosis.mistakes:
            raise ZeroDivisionError
        return drawn(feedback)

    monkeypatch.setattr(write_report, "feedback_html", fails)
    write_report.write_report(tmp_path, samples.small_class(), samples.course())
    assert (tmp_path / "results.json").is_file()
    page = (tmp_path / "feedback" / "이서준.html").read_text(encoding="utf-8")
    assert samples.named_mistake().exercise in page


def test_student_page_has_every_exercise(report: Path) -> None:
    page = (report / "feedback" / "김하윤.html").read_text(encoding="utf-8")
    for feedback in samples.typical("김하윤").feedbacks:
        assert feedback_html(feedback) in page
    assert "lesson01_final.ipynb" in page
    assert "10 / 28점" in page


def test_one_student_can_be_written_alone(report: Path, tmp_path: Path) -> None:
    """A killed run keeps the pages it wrote: the same bytes as the whole report writes."""
    for submission in samples.small_class().submissions:
        write_report.write_student(tmp_path, submission, samples.course())
    for part in ("feedback", "gradescope"):
        made = {p.relative_to(tmp_path): p.read_bytes() for p in (tmp_path / part).rglob("*") if p.is_file()}
        whole = {p.relative_to(report): p.read_bytes() for p in (report / part).rglob("*") if p.is_file()}
        assert made == whole
        assert made


def test_empty_class_has_a_page(tmp_path: Path) -> None:
    write_report.write_report(tmp_path, ClassResult(1, "cpu", "none", ()), samples.course(), when=WHEN)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "채점한 학생이 없어요" in index
    assert "격리 없음" in index
    assert (tmp_path / "gradebook.csv").stat().st_size > 10


def test_exercises_the_course_no_longer_has_are_still_shown(tmp_path: Path) -> None:
    """--resume after a lesson changed: points do not vanish from the table."""
    feedback = replace(samples.passed(), lesson="09", exercise="gone", title="사라진 문제")
    result = ClassResult(1, "cpu", "none", (SubmissionResult("x", (feedback, samples.passed())),))
    write_report.write_report(tmp_path, result, samples.course(), when=WHEN)
    assert "사라진 문제" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "09_gone" in (tmp_path / "gradebook.csv").read_text(encoding="utf-8-sig")


def test_csv_opens_in_korean_excel(report: Path) -> None:
    """Excel in Korea reads UTF-8 only with a byte order mark, and it runs whatever begins like a formula."""
    raw = (report / "gradebook.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    exercises = list(samples.EXERCISES)
    header = [
        "학생",
        "점수",
        "만점",
        *(f"01_{e}" for e in exercises),
        *(f"01_{e}_상태" for e in exercises),
        "실수",
    ]
    assert rows[0] == header
    assert all(len(row) == len(header) for row in rows)
    by_name = {row[0]: row for row in rows[1:]}
    assert len(by_name) == 9
    assert by_name["김하윤"][:5] == ["김하윤", "10", "28", "1", "3"]
    assert by_name["김하윤"][10:12] == ["실패", "실패"]
    assert "train_step: missing-zero-grad" in by_name["김하윤"][-1]
    assert "'=HYPERLINK(1)" in by_name


@pytest.mark.parametrize("name", ["=1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1"])
def test_no_cell_becomes_a_formula(name: str) -> None:
    result = ClassResult(1, "cpu", "none", (replace(samples.passed_all(name), student=name),))
    rows = list(csv.reader(io.StringIO(write_report.gradebook_csv(result, samples.course()), newline="")))
    assert rows[1][0].startswith("'")
    assert rows[1][0].endswith("1") or "SUM" in rows[1][0]


def test_no_part_of_a_cell_becomes_a_formula() -> None:
    """Where `;` parts columns, as in a German or Russian Excel."""
    result = ClassResult(1, "cpu", "none", (replace(samples.passed_all("x"), student="a;=1+1"),))
    table = write_report.gradebook_csv(result, samples.course())
    rows = list(csv.reader(io.StringIO(table, newline=""), delimiter=";"))
    assert not any(cell.startswith("=") for row in rows for cell in row)


def test_a_quoted_formula_is_another_name() -> None:
    """What keeps `=1` from being calculated must not make it the name of the student called `'=1`."""
    students = tuple(replace(samples.passed_all("x"), student=name) for name in ("=1", "'=1"))
    table = write_report.gradebook_csv(ClassResult(1, "cpu", "none", students), samples.course())
    rows = list(csv.reader(io.StringIO(table, newline="")))
    assert rows[1][0] != rows[2][0]


def test_gradescope_file_adds_up(report: Path) -> None:
    """Gradescope shows what we awarded: the tests' points are the student's points."""
    document = json.loads((report / "gradescope" / "김하윤" / "results.json").read_text(encoding="utf-8"))
    assert document["score"] == sum(t["score"] for t in document["tests"]) == 10
    assert sum(t["max_score"] for t in document["tests"]) == 28
    assert {t["visibility"] for t in document["tests"]} == {"visible"}
    assert {t["output_format"] for t in document["tests"]} == {"text"}
    assert document["tests"][0]["name"] == "한 스텝 (train_step)"
    assert "opt.zero_grad()" in document["tests"][0]["output"]
    assert [t["status"] for t in document["tests"]].count("passed") == 1


def test_a_note_that_many_cards_would_repeat_stands_once_on_top(tmp_path: Path) -> None:
    note = "코드 셀 2의 3번째 줄: pandas를 불러오지 못했어요 (No module named 'pandas')"
    submission = samples.all_of("x", "timeout")
    told = tuple(replace(feedback, notes=(note,)) for feedback in submission.feedbacks)
    write_report.write_student(tmp_path, replace(submission, feedbacks=told), samples.course())
    page = (tmp_path / "feedback" / "x.html").read_text(encoding="utf-8")
    assert page.count("pandas를 불러오지") == 1
    assert page.index("pandas를 불러오지") < page.index("<main>")
