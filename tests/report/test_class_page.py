"""The page of the class as text: what it says, and that nothing in it can run but its own script."""

import base64
import hashlib
import re
from dataclasses import replace
from datetime import datetime

import pytest

from grader.base.file_names import file_names
from grader.course.feedback import Absent, ClassResult, Diagnosis, Person, SubmissionResult
from grader.course.marks import ExerciseMark, Mark
from grader.report.class_page import class_page
from tests.report import samples
from tests.report.parsed import Parsed

WHEN = datetime(2026, 3, 2, 9, 30)


def page_of(result: ClassResult) -> str:
    names = file_names([s.student for s in result.submissions])
    return class_page(result, samples.course(), names, WHEN)


def parsed(page: str) -> Parsed:
    return Parsed(re.sub(r"<script>.*</script>", "", page.removeprefix("<!doctype html>"), flags=re.DOTALL))


def class_of(*students: SubmissionResult) -> ClassResult:
    return ClassResult(7, "cpu", "bwrap", students)


def test_only_the_pages_own_script_may_run() -> None:
    """The policy names the script by its hash, so that no other text is ever run, wherever it comes from."""
    page = page_of(samples.small_class())
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    mark = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'")
    assert re.findall(r"script-src ([^;]*);", policy) == [f"'sha256-{mark}'"]
    # A string that becomes code or markup would need no script element of its own.
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|Function\(|fetch\(", script
    )


def test_the_script_does_not_depend_on_the_class() -> None:
    scripts = {
        re.findall(r"<script>(.*?)</script>", page_of(r), flags=re.DOTALL)[0]
        for r in (samples.small_class(), samples.large_class(5))
    }
    assert len(scripts) == 1


def test_a_mark_stands_with_its_reason_and_what_was_measured() -> None:
    """Also of who is in the roster and handed in nothing."""
    first, *others = samples.small_class().submissions
    marked = replace(first, mark=Mark(91.5, 100.0, reasons=("하루 늦어서 10%를 뺐어요.",)))
    absent = Absent(Person("20240099", "빈자리"), Mark(0.0, 100.0, reasons=("내지 않았어요.",)))
    result = replace(class_of(marked, *others), absent=(absent,))
    page = page_of(result)
    assert "최종 점수</th>" in page
    assert f"91.5<small>채점 {first.score:g}</small>" in page
    assert page.count("하루 늦어서 10%를 뺐어요.") == 1
    assert "명단에 있지만 내지 않은 학생 1명" in page
    assert "빈자리" in page
    assert "최종 점수</th>" not in page_of(class_of(first, *others))


def test_nothing_a_student_wrote_is_markup() -> None:
    """A name, a line, an error: none can end an element, an attribute, or the script."""
    for nasty in (
        samples.NASTY,
        '"><img src=x onerror=alert(1)>',
        "</script><script>alert(1)</script>",
        "' onclick='x",
    ):
        named = replace(samples.MISSING_ZERO_GRAD, source_line=nasty)
        wrong = replace(samples.named_mistake(), diagnosis=Diagnosis((named,)), source_line=nasty)
        raised = replace(samples.raised(), error=nasty, source_line=nasty, message=nasty)
        student = SubmissionResult(nasty, (wrong, raised, samples.hostile()), scrutiny=(nasty,))
        page = page_of(class_of(student))
        assert page.count("<script") == page.count("</script") == 1
        read = parsed(page)
        assert not [a for a in read.attributes if a.startswith("on")]
        assert "img" not in read.tags
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", page)


def test_the_map_tells_who_and_shows_the_line() -> None:
    page = page_of(samples.large_class(8))
    (cell,) = re.findall(
        r'<div popover id="at\d+"[^>]*>\n<h4[^>]*><code[^>]*>opt\.zero_grad\(\)</code>.*?\n</div>\n',
        page,
        re.DOTALL,
    )
    text = parsed(cell).text
    for told in (
        "train_step · 4명 · missing-zero-grad",
        "opt.step() # 한 걸음",
        "4명이 이렇게 썼어요",
        "7번째 줄 · 코드 셀 3",
    ):
        assert told in text
    assert len(re.findall(r'<a href="feedback/[^"]+#train_step">', cell)) == 4
    (number,) = re.findall(r'popovertarget="(at\d+)" popovertargetaction="hide"', cell)
    assert page.count(f'popovertarget="{number}"') == 2  # the cell of the map, and the button that closes it


def test_names_of_a_huge_class_are_cut_and_the_rest_is_counted() -> None:
    page = page_of(class_of(*(SubmissionResult(f"s{i}", (samples.named_mistake(),)) for i in range(130))))
    assert page.count("#train_step") == 100 + 130
    assert re.search(r"그 밖에 <span[^>]*>30</span>명이 더 있어요", page)
    assert "130명" in page


def test_rare_mistakes_are_folded_and_none_is_lost() -> None:
    """Eighty different mistakes must not push the students off the screen."""
    made = []
    for number in range(30):
        named = replace(samples.MISSING_ZERO_GRAD, ids=(f"mistake-{number}",), titles=(f"실수 {number}.",))
        made.append(replace(samples.named_mistake(), exercise=f"e{number}", diagnosis=Diagnosis((named,))))
    page = page_of(class_of(SubmissionResult("x", tuple(made))))
    rows = re.findall(r'<th role="rowheader" scope="row">실수 \d+\.', page)
    assert len(rows) == len(set(rows)) == 30
    assert page.split("나머지 실수")[0].count('scope="row">실수') == 8
    assert "나머지 실수 22가지" in page
    parsed(page)


def test_lessons_that_nobody_began_are_folded() -> None:
    page = page_of(samples.large_class(8))
    assert "아무도 시작하지 않은 레슨 1개" in page
    folded = re.findall(r"<details.*?</details>", page, re.DOTALL)
    assert any("amp_step, resume" in one for one in folded)
    assert 'id="map-01"' in page
    assert 'id="map-02"' not in page
    assert "만점은 28점이에요" in page  # not the points of the lesson nobody began
    assert ">레슨 01</th>" in page
    assert ">레슨 02</th>" not in page


def test_a_row_shows_every_exercise_and_says_it_in_words() -> None:
    """Marks in colour mean nothing to who hears the page: beside them stands how often each occurs."""
    page = page_of(class_of(samples.typical("김하윤")))
    (row,) = re.findall(r"<tbody role=\"rowgroup\">\n<tr role=\"row\" data-at.*?</tr>", page, re.DOTALL)
    assert "".join(re.findall(r"<i class=\"\w+\">(.)</i>", row)) == "✗✗✗✗✓✗!"
    assert "실패 4, 통과 1, 예외 1, 시간 초과 1" in row
    assert 'aria-hidden="true"' in row


def test_exercises_that_the_policy_drops_for_everybody_are_not_on_the_page() -> None:
    """Nobody was to do them: no empty column, nobody kept from having passed everything."""
    passed = samples.passed_all("가")
    dropped = passed.feedbacks[0].exercise
    missing = replace(passed.feedbacks[0], status="missing")
    marks = tuple(ExerciseMark(f.exercise, 1.0, 1.0, dropped=f.exercise == dropped) for f in passed.feedbacks)
    student = replace(
        passed, feedbacks=(missing, *passed.feedbacks[1:]), mark=Mark(100.0, 100.0, marks, ("까닭",))
    )
    page = page_of(class_of(student, replace(student, student="나")))
    assert "모두 통과2명" in parsed(page).text
    assert f">{dropped}<" not in page
    one = replace(student, student="다", mark=Mark(100.0, 100.0))
    assert "모두 통과3명" in parsed(page_of(class_of(student, student, one))).text
    kept = tuple(replace(mark, dropped=False) for mark in marks)
    other = replace(student, student="라", mark=Mark(80.0, 100.0, kept))
    assert "모두 통과0명" in parsed(page_of(class_of(student, other))).text, (
        "one's own lowest is not everybody's"
    )


def test_who_needs_a_look_is_listed_first() -> None:
    result = class_of(
        samples.typical("가"), samples.all_of("나", "missing"), samples.all_of("다", "unreadable")
    )
    read = parsed(page_of(result)).text
    assert "채점하지 못한 제출 1개" in read
    assert "답안을 내지 않은 학생 1명나" in read
    assert read.index("답안을 내지 않은 학생") < read.index("연습 문제마다")


@pytest.mark.parametrize("status", ["missing", "unreadable", "timeout"])
def test_a_class_without_answers_has_a_page(status: str) -> None:
    page = page_of(class_of(samples.all_of("가", status), samples.all_of("나", status)))
    assert ("무엇부터 다시 설명할까요?" in page) == (status == "timeout")
    assert ("실수 지도" in page) == (status == "timeout")
    assert "학생별 점수" in page
    parsed(page)


def test_a_class_that_passed_everything_has_nothing_to_teach_again() -> None:
    page = page_of(class_of(samples.passed_all("가"), samples.passed_all("나")))
    assert "여러 명이 함께 막힌 곳은 없으니" in page
    assert "틀린 답안이 없어요" in page
    parsed(page)


def test_points_in_parts_are_in_bins_that_say_so() -> None:
    """`0–4점` would leave 4.5 points nowhere."""
    assert "<span>0–4점</span>" in page_of(samples.large_class(4))
    checks = tuple(replace(c, points=4.5) for c in samples.checks(True, False, False))
    page = page_of(class_of(SubmissionResult("가", (replace(samples.named_mistake(), checks=checks),))))
    assert "<span>4–6점 미만</span>" in page


def test_what_was_not_graded_is_listed_and_who_may_have_handed_it_in() -> None:
    absent = Absent(
        Person("20240099", "빈자리"),
        in_doubt=True,
        doubt="채점하지 않은 것이 이 학생의 것일 수 있어요: 빈자리.py",
    )
    page = page_of(
        replace(class_of(*samples.small_class().submissions), absent=(absent,), skipped=("빈자리.py",))
    )
    assert "채점하지 않은 파일 1개" in page
    assert "0점을 주지 않고 비워 두었어요: 채점하지 않은 것이" in page


def test_what_is_odd_about_a_submission_stands_beside_its_name() -> None:
    """Code that did not come to its end, and what is known about files without any answer."""
    slow = SubmissionResult("느린이", (samples.stopped("timeout"),))
    text = replace(samples.all_of("글쓴이", "missing"), notes=("읽지 않은 것: 최종_진짜최종.txt",))
    page = page_of(class_of(slow, text, samples.typical("가")))
    halted, nothing = (
        page.partition(f"<summary>{label} ")[2].partition("</details>")[0]
        for label in ("코드가 끝까지 실행되지 않은 학생", "답안을 내지 않은 학생")
    )
    assert "느린이" in halted
    assert "시간 초과" in halted
    assert "최종_진짜최종.txt" in nothing
