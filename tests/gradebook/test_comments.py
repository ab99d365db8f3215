"""Comments of the instructor, and changes of marks that add up: read by line, shown in every output."""

import json
from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.cli.class_inputs import read_rules
from grader.course.feedback import ClassResult
from grader.course.marks import Comment
from grader.course.reading import load_course
from grader.gradebook.export.github import step_summary
from grader.gradebook.export.junit import junit_xml
from grader.gradebook.export.moodle import moodle_csv
from grader.gradebook.export.rows import rows
from grader.gradebook.marking import marked
from grader.report.results import from_json, to_json
from grader.report.write_report import write_report
from tests.gradebook import graded

HEADER = "학번,연습,점수,까닭\n"


def after(tmp_path: Path, overrides: str = "", comments: str = "") -> ClassResult:
    paths = []
    for name, text in (("overrides.csv", overrides), ("comments.csv", comments)):
        (tmp_path / name).write_text(text, encoding="utf-8")
        paths.append(tmp_path / name if text else None)
    return marked(graded.a_class(), read_rules(None, paths[0], None, paths[1]), graded.KNOWN)


def test_changes_of_one_mark_add_up_in_any_order(tmp_path: Path) -> None:
    """The rubric of an evening: +1 for everybody with a mistake, −0.5 for a group, held only in the end."""
    lines = ("20240001,train,+9,부분 점수\n", "20240001,train,-0.5,주석이 없음\n")
    found = [after(tmp_path, HEADER + first + second) for first, second in (lines, lines[::-1])]
    marks = [result.submissions[0].mark for result in found]
    assert [mark.score for mark in marks if mark is not None] == [15 + 5 - 0, 15 + 5 - 0]
    mark = marks[0]
    assert mark is not None
    assert mark.reasons == (
        "train: 9점 가운데 5점만 더해 10/10점이에요. 부분 점수",
        "train: 0.5점을 빼도 10/10점 그대로예요. 주석이 없음",
    )
    assert next(e for e in mark.exercises if e.exercise == "train").reason == "부분 점수 / 주석이 없음"


@pytest.mark.parametrize("second", ["3,x", "면제,x"])
def test_a_fixed_mark_and_a_change_are_still_two_marks(second: str, tmp_path: Path) -> None:
    with pytest.raises(HanstepError, match="2번째 줄에 같은 학생의 점수가 또 있어요"):
        after(tmp_path, f"{HEADER}20240001,train,+1,y\n20240001,train,{second}\n")


def test_a_name_that_a_spreadsheet_would_calculate_is_found(tmp_path: Path) -> None:
    result = after(tmp_path, "이름,연습,점수,까닭\n'=1+1,train,+1,y\n", "이름,코멘트\n'=1+1,수고했어요\n")
    (one,) = [s for s in result.submissions if s.person == graded.SEOJUN]
    assert one.comments == (Comment("", "수고했어요"),)
    assert one.mark is not None
    assert one.mark.reasons


def test_comments_stand_in_every_output(tmp_path: Path) -> None:
    """And change no points: without a policy there is no mark, as before."""
    said = "학번,연습,코멘트\n20240001,train,<b>주석</b>이 좋아요\n20240001,전체,=수고했어요\n"
    said += "20240003,,다음에는 내 주세요\n"
    result = after(tmp_path, comments=said)
    first = result.submissions[0]
    assert first.mark is None
    assert first.comments == (Comment("train", "<b>주석</b>이 좋아요"), Comment("", "=수고했어요"))
    assert result.absent[0].comments == (Comment("", "다음에는 내 주세요"),)
    assert from_json(to_json(result)) == result
    write_report(tmp_path / "out", result, load_course())
    page = next((tmp_path / "out" / "feedback").glob("20240001*.html")).read_text(encoding="utf-8")
    assert "&lt;b&gt;주석&lt;/b&gt;이 좋아요" in page
    assert "=수고했어요" in page
    table = (tmp_path / "out" / "gradebook.csv").read_text(encoding="utf-8-sig")
    assert "train: <b>주석</b>이 좋아요 / =수고했어요" in table
    assert "다음에는 내 주세요" in table
    scored = next((tmp_path / "out" / "gradescope").glob("20240001*/results.json"))
    assert "train: <b>주석</b>이 좋아요" in json.loads(scored.read_text(encoding="utf-8"))["output"]
    assert "&lt;b&gt;주석" in moodle_csv(rows(result))[0]
    assert "수고했어요" in step_summary(result)
    assert "수고했어요" in junit_xml(result)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("학번,연습\n20240001,train\n", "열이 없어요: 코멘트"),
        ("학번,연습,코멘트\n999,train,x\n", "2번째 줄: 이 학생을 찾지 못했어요: '999'"),
        ("학번,연습,코멘트\n20240001,nosuch,x\n", "2번째 줄: 채점한 연습 문제가 아니에요: 'nosuch'"),
    ],
)
def test_a_comment_that_fits_nobody_is_said_with_its_line(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(HanstepError) as error:
        after(tmp_path, comments=text)
    assert said in str(error.value)
