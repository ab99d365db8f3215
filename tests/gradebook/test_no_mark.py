"""A submission that could not be read, and a deadline that is still open, give no zero anywhere."""

import csv
import io
import json
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.course.feedback import Absent, CheckResult, ClassResult, SubmissionResult, Unread
from grader.gradebook.export.canvas import canvas_csv, fill_canvas_export
from grader.gradebook.export.github import classroom_notices, step_summary
from grader.gradebook.export.junit import junit_xml
from grader.gradebook.export.moodle import fill_moodle_worksheet, moodle_csv
from grader.gradebook.export.rows import rows
from grader.gradebook.marking import Rules, marked
from grader.gradebook.policy import Policy
from grader.report.class_page import class_page
from grader.report.results import from_json, to_json
from grader.report.write_report import gradebook_csv, gradescope, write_report
from tests.gradebook import graded
from tests.gradebook.test_marking import rules
from tests.report import samples
from tests.report.parsed import Parsed

COMMAND = "grader grade class --out report --changed-only"
BY_MARCH_20 = 'missing = "zero"\n[late]\ndeadline = 2026-03-20T23:59:00\n'


def unread(of: SubmissionResult, *exercises: str) -> SubmissionResult:
    """The submission, with these exercises in a file that could not be read."""
    return replace(
        of,
        feedbacks=tuple(
            replace(f, status="unreadable", checks=(CheckResult("나머지", f.max_score, False),))
            if f.exercise in exercises
            else f
            for f in of.feedbacks
        ),
        unread=(Unread("hw.7z", "7-Zip 압축 파일이에요. 풀어서 내 주세요."),),
    )


def a_class(*exercises: str) -> ClassResult:
    """Three students; the second one's file could not be read."""
    first, second, third = graded.a_class().submissions
    broken = unread(replace(second, late=False), *(exercises or graded.EXERCISES))
    return replace(graded.a_class(), submissions=(first, broken, third), regrade=COMMAND)


RULES = Rules(Policy(out_of=100))
BOTH = pytest.mark.parametrize("used", [RULES, Rules()], ids=["policy", "no policy"])


@pytest.mark.parametrize("exercises", [graded.EXERCISES, ("train",)], ids=["all", "one of three"])
def test_what_was_not_read_has_no_mark(exercises: tuple[str, ...]) -> None:
    result = marked(a_class(*exercises), RULES, graded.KNOWN)
    assert [s.mark is None for s in result.submissions] == [False, True, False]
    assert from_json(to_json(result)) == result


def test_a_mark_by_hand_is_one(tmp_path: Path) -> None:
    table = "학번,연습,점수,까닭\n20240002,전체,7,직접 읽음\n"
    second = marked(a_class(), rules(tmp_path, "", table), graded.KNOWN).submissions[1]
    assert second.mark is not None
    assert second.mark.score == 7
    part = "학번,연습,점수,까닭\n20240002,train,5,직접 읽음\n"
    second = marked(a_class("train"), rules(tmp_path, "", part), graded.KNOWN).submissions[1]
    assert second.mark is not None
    assert second.mark.score == 2 + 5
    assert marked(a_class(), rules(tmp_path, "", part), graded.KNOWN).submissions[1].mark is None
    more = "학번,연습,점수,까닭\n20240002,전체,+1,토론\n"
    assert marked(a_class(), rules(tmp_path, "", more), graded.KNOWN).submissions[1].mark is None


def test_what_was_given_so_far_is_told_while_the_mark_waits(tmp_path: Path) -> None:
    table = "학번,연습,점수,까닭\n20240002,train,5,직접 읽음\n"
    result = marked(a_class(), rules(tmp_path, "", table), graded.KNOWN)
    assert [s.comments for s in result.submissions if s.mark is not None] == [(), ()]
    (said,) = result.submissions[1].comments
    assert said.exercise == "train"
    assert re.fullmatch(r"5/\d+점을 직접 주었어요\. 직접 읽음", said.text)
    assert marked(result, rules(tmp_path, "", table), graded.KNOWN) == result, "told once, however often"
    write_report(tmp_path / "out", result, samples.course())
    page = Parsed((tmp_path / "out/feedback/20240002_이서준.html").read_text(encoding="utf-8")).text
    assert "직접 주었어요. 직접 읽음" in page
    assert "아직 점수가 없어요" in page


def test_an_exercise_that_does_not_count_may_stay_unread(tmp_path: Path) -> None:
    used = rules(tmp_path, '[drop]\nexercises = ["train"]\n')
    second = marked(a_class("train"), used, graded.KNOWN).submissions[1]
    assert second.mark is not None
    assert second.mark.score == 2


@BOTH
def test_systems_get_no_line_for_it(used: Rules) -> None:
    found = rows(marked(a_class(), used, graded.KNOWN))
    for text, left_out in (canvas_csv(found, "과제 1 (777)"), moodle_csv(found)):
        assert "김하늘" in text
        assert "=1+1" not in text
        assert left_out[0] == "누구"
        assert "20240002_이서준" not in left_out


@BOTH
def test_a_template_keeps_what_it_has(used: Rules, tmp_path: Path) -> None:
    found = rows(marked(a_class(), used, graded.KNOWN))
    full = found[0].max_score
    canvas = tmp_path / "canvas.csv"
    canvas.write_text(
        f"Student,ID,SIS User ID,SIS Login ID,Section,과제 1 (777)\n    Points Possible,,,,,{full:g}\n"
        "김하늘,101,20240001,hn,A,\n=1+1,102,20240002,,B,3\n",
        encoding="utf-8",
    )
    filled = fill_canvas_export(found, canvas, None, overwrite=True)
    assert list(csv.reader(io.StringIO(filled.text)))[3][-1] == "3"
    assert [change.who for change in filled.changes] == ["김하늘 20240001"]
    moodle = tmp_path / "moodle.csv"
    moodle.write_text(
        "Identifier,Full name,Email address,Status,Grade,Maximum Grade,Feedback comments\n"
        f"Participant 202,=1+1,sj@x.kr,Submitted,-,{full:g},\n",
        encoding="utf-8",
    )
    text = fill_moodle_worksheet(found, moodle, None, overwrite=True).text
    assert next(csv.DictReader(io.StringIO(text)))["Grade"] == "-"


@BOTH
def test_no_other_output_has_a_zero_for_it(used: Rules) -> None:
    result = marked(a_class(), used, graded.KNOWN)
    table = {row["학생"]: row for row in csv.DictReader(io.StringIO(gradebook_csv(result, samples.course())))}
    row = table["20240002_이서준"]
    assert (row["점수"], row["최종 점수"], row["01_train_step"]) == ("", "", "")
    assert "hw.7z" in row["최종 점수의 까닭"]
    assert "| 20240002\\_이서준 | — |" in step_summary(result)
    totals = json.loads(
        classroom_notices(result).splitlines()[1].partition("::notice ")[2].partition("::")[2]
    )
    assert totals["maxPoints"] == (200 if used is RULES else 40)
    assert '<property name="mark" value="ungraded" />' in junit_xml(result)
    document = gradescope(result.submissions[1])
    assert "점수가 아니에요" in document["output"]
    page = class_page(result, samples.course(), ["a", "b", "c"], datetime(2026, 3, 1))
    row = page.partition('href="feedback/b.html">20240002_이서준</a></th>')[2]
    assert Parsed(row.partition("</td>")[0] + "</td>").text == "—"


def test_one_student_alone_gets_no_points_in_github() -> None:
    alone = replace(a_class(), submissions=a_class().submissions[1:2], absent=())
    said = classroom_notices(alone)
    assert "Points" not in said
    assert said.startswith("::warning")
    assert "hw.7z" in said


def test_the_students_page_says_so(tmp_path: Path) -> None:
    write_report(tmp_path, marked(a_class(), RULES, graded.KNOWN), samples.course())
    page = Parsed((tmp_path / "feedback" / "20240002_이서준.html").read_text(encoding="utf-8"))
    assert "아직 점수가 없어요" in page.text
    assert "0 / " not in page.text


def test_mark_and_exports_tell_how_many_and_what_to_do(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report"
    write_report(report, a_class(), samples.course())
    (tmp_path / "policy.toml").write_text("out_of = 100\n")
    for arguments in (
        ("mark", report, "--policy", tmp_path / "policy.toml"),
        *(("export", report, "--to", to) for to in ("canvas", "moodle", "junit", "github")),
    ):
        assert run(list(map(str, arguments))) == 0
        printed = capfd.readouterr()
        said = printed.out + printed.err
        assert "1명" in said
        assert "20240002_이서준" in said
        assert COMMAND in said


# ---- deadlines ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "extensions", "zero"),
    [
        ("2026-03-20T12:00", None, False),
        ("2026-03-21T12:00", None, True),
        ("2026-03-21T12:00", "학번,마감\n20240003,2026-03-25 23:59\n", False),
        ("2026-03-26T00:00", "학번,마감\n20240003,2026-03-25 23:59\n", True),
        ("2026-03-21T12:00", "학번,마감\n20240001,2026-03-25 23:59\n", True),
    ],
)
def test_nothing_handed_in_is_zero_only_after_the_deadline(
    now: str, extensions: str | None, zero: bool, tmp_path: Path
) -> None:
    used = rules(tmp_path, BY_MARCH_20, None, extensions)
    (absent,) = marked(graded.a_class(), used, graded.KNOWN, now=datetime.fromisoformat(now)).absent
    assert (absent.mark is not None) == zero
    assert bool(absent.open_until) != zero
    if zero:
        assert absent.mark is not None
        assert absent.mark.score == 0


def test_an_open_deadline_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "report"
    write_report(report, graded.a_class(), samples.course())
    (tmp_path / "policy.toml").write_text('missing = "zero"\n')
    (tmp_path / "extensions.csv").write_text("학번,마감\n20240003,2999-03-25 23:59\n")
    given = ("--policy", tmp_path / "policy.toml", "--extensions", tmp_path / "extensions.csv")
    assert run(["mark", str(report), *map(str, given)]) == 0
    assert "20240003 박지우 (2999-03-25 23:59)" in capfd.readouterr().out
    result = from_json((report / "results.json").read_bytes())
    assert result.absent[0] == Absent(graded.JIWOO, open_until="2999-03-25 23:59")
    assert "2999-03-25 23:59" in Parsed((report / "index.html").read_text(encoding="utf-8")).text
