"""What could not be read stands in a queue of its own, in all three places; its zeros are not a class's zeros."""

import io
import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest
from rich.console import Console

from grader.cli.class_inputs import tell_marks
from grader.course.feedback import ClassResult, SubmissionResult, Unread
from grader.course.marks import Mark
from grader.gradebook.marking import Rules
from grader.report import words
from grader.report.class_page import class_page
from grader.report.class_table import class_table
from grader.report.results import from_json, to_json
from tests.report import samples
from tests.report.parsed import Parsed

COMMAND = "grader grade class --out report --changed-only"
BROKEN = replace(
    samples.all_of("최서연", "unreadable"),
    unread=(Unread("hw.7z", "7-Zip 압축 파일이에요. 풀어서 내 주세요."),),
)


def _result(*submissions: SubmissionResult) -> ClassResult:
    return ClassResult(7, "cpu", "bwrap", submissions, regrade=COMMAND)


RESULT = _result(samples.passed_all("김하늘"), BROKEN)


def _printed(result: ClassResult) -> str:
    console = Console(file=io.StringIO(), width=100, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(class_table(result, width=100))
    return captured.get()


def test_the_terminal_lists_them_below_the_table() -> None:
    before, queue = _printed(RESULT).split("채점하지 못한 제출 1개")
    assert "최서연" not in before
    assert "1명 · 평균" in before
    for part in ("최서연", "hw.7z: 7-Zip 압축 파일이에요.", COMMAND):
        assert part in queue


def test_a_class_of_nothing_else_has_no_average() -> None:
    printed = _printed(_result(BROKEN))
    assert "채점하지 못한 제출 1개" in printed
    assert "평균" not in printed


def test_results_name_file_reason_and_command() -> None:
    document = json.loads(to_json(RESULT))
    assert document["ungraded"] == [
        {"student": "최서연", "file": "hw.7z", "reason": BROKEN.unread[0].reason, "command": COMMAND}
    ]
    assert from_json(to_json(RESULT)) == RESULT
    old = {key: value for key, value in document.items() if key not in ("ungraded", "regrade")}
    assert from_json(json.dumps(old)).regrade == ""


def test_the_page_counts_them_apart() -> None:
    page = class_page(RESULT, samples.course(), ["a", "b"], datetime(2026, 3, 1))
    read = Parsed(page).text
    assert "채점하지 못한 제출 1개" in read
    assert COMMAND in read
    assert "hw.7z" in read
    assert "낸 학생 1명의 채점 점수예요. 채점하지 못한 1명은 뺐어요." in read


def test_a_zero_is_not_in_the_queue() -> None:
    zero = samples.all_of("이서준", "missing")
    assert "채점하지 못한" not in _printed(_result(zero))
    assert json.loads(to_json(_result(zero)))["ungraded"] == []


def test_what_could_not_be_read_has_no_points_beside_it() -> None:
    """It says that there is no mark yet: `0/4` beside that reads like one."""
    assert words.mark_in_points(samples.stopped("unreadable"), "점") == "—"
    assert words.mark_in_points(samples.stopped("timeout"), "점") == "0/4점"


def test_those_marked_by_hand_are_told_apart() -> None:
    result = _result(replace(BROKEN, mark=Mark(2.0, 10.0)), BROKEN)
    assert "채점하지 못한 제출 2개 (0점이 아니에요. 그중 1개에는 점수를 직접 주었어요)" in _printed(result)
    page = class_page(result, samples.course(), ["a", "b"], datetime(2026, 3, 1))
    assert "채점하지 못한 제출 2개 (그중 1개에는 점수를 직접 주었어요)" in Parsed(page).text


def test_the_command_is_printed_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    result = _result(samples.passed_all("김하늘"), BROKEN)
    tell_marks(tmp_path, result, Rules(), has_told_command=True)
    told = capsys.readouterr().out
    assert "위의 명령으로 다시 채점하거나" in told
    assert COMMAND not in told
    tell_marks(tmp_path, result, Rules())
    assert f"점수를 적어 주세요: {COMMAND}" in capsys.readouterr().out
