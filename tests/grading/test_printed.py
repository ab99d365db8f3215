"""What a learner's function prints is folded under its card: in a notebook, at the terminal, and when it is graded."""

import contextlib
import copy
import io
import sys
from pathlib import Path

import pytest

from grader.course.course import Course
from grader.course.feedback import ClassResult, Feedback, SubmissionResult
from grader.course.reading import load_course
from grader.grading.in_process import play_and_judge
from grader.grading.own_file import OwnFile
from grader.judging.learner_code import LearnerCode
from grader.judging.solution import exercise_source
from grader.observe.printed import MAX_CHARS, KeptOutput, Printed, copied_output
from grader.observe.program import load_program
from grader.report.html import feedback_html
from grader.report.results import from_json, to_json
from grader.report.text import feedback_text


@pytest.fixture(scope="module")
def course() -> Course:
    return load_course()


def printing(course: Course, statement: str) -> str:
    """Return the solution of `train_step` with a statement before its last line."""
    text = exercise_source(course.exercise("train_step"))
    assert text.count("    loss.backward()\n") == 1
    return text.replace("    loss.backward()\n", f"    loss.backward()\n    {statement}\n")


def in_kernel(course: Course, statement: str) -> Feedback:
    text = printing(course, statement)
    return play_and_judge(course.exercise("train_step"), load_program(text), LearnerCode(text))[0]


def in_process_of_its_own(course: Course, statement: str, folder: Path) -> Feedback:
    """Check as `grader check` does; `grader grade` plays and judges in the same way."""
    file = folder / "answer.py"
    file.write_text("import torch\n" + printing(course, statement), encoding="utf-8")
    (feedback,) = OwnFile(file, course).check((course.exercise("train_step"),))
    return feedback


LINES = "[print('손실', k) for k in range(27)]"


@pytest.mark.parametrize("kernel", [True, False])
def test_three_lines_are_shown_and_the_rest_is_folded(
    course: Course, tmp_path: Path, capsys: pytest.CaptureFixture[str], kernel: bool
) -> None:
    """Output of one scenario, once, and none of it above the card."""
    feedback = in_kernel(course, LINES) if kernel else in_process_of_its_own(course, LINES, tmp_path)
    assert capsys.readouterr().out == ""
    text, html = feedback_text(feedback), feedback_html(feedback)
    shown = [line.strip() for line in text.splitlines()]
    assert [line for line in shown if line.startswith("손실 ")][:3] == ["손실 0", "손실 1", "손실 2"]
    assert "손실 3" not in text
    assert f"나머지 {feedback.printed.lines - 3}줄" in shown
    folded = html[html.index("<summary", html.index("내 함수가 출력한 것")) :]
    assert f"나머지 {feedback.printed.lines - 3}줄</summary>" in folded
    assert "손실 3" in folded
    assert "손실 3" not in html.removesuffix(folded)


def test_the_output_is_that_of_a_scenario_that_went_wrong(course: Course) -> None:
    """The learner reads it to find the mistake; it is about the first scenario only if that is one."""
    text = exercise_source(course.exercise("train_step"))
    text = text.replace("    loss.backward()\n", "    loss.backward()\n    print(type(opt).__name__)\n")
    text = text.replace("    opt.step()\n", "    if 'Adam' not in type(opt).__name__:\n        opt.step()\n")
    feedback, _ = play_and_judge(course.exercise("train_step"), load_program(text), LearnerCode(text))
    assert feedback.status == "failed"
    assert feedback.diagnosis.first_difference is not None
    assert feedback.printed_in == feedback.diagnosis.first_difference.scenario


def test_nothing_printed_is_nothing_shown(course: Course) -> None:
    for statement in ("pass", "print()"):
        feedback = in_kernel(course, statement)
        assert feedback.printed is None
        assert "출력한 것" not in feedback_text(feedback) + feedback_html(feedback)


@pytest.mark.parametrize(
    "statement",
    [
        "print('가' * 10**7)",
        "print('x<script>\\n' * 10**6)",
        "print('\\x1b[2J\\x07\\u202e', chr(0xD800).encode('utf-8', 'replace'), '</pre><script>x()</script>')",
        "print('\\r'.join(f'{k}%' for k in range(100)))",
        "import sys; sys.stdout.write(str('손실 ') * 10**5)",
    ],
    ids=["one-long-line", "a-million-lines", "control-characters", "carriage-returns", "written"],
)
def test_hostile_output_is_harmless(course: Course, statement: str) -> None:
    """However much it is and whatever is in it, the card stays short and steers nothing."""
    feedback = in_kernel(course, statement)
    assert [c.title for c in feedback.checks if not c.passed] in (
        [],
        ["반환값: 업데이트하기 전의 손실"],
    )
    assert len(feedback.printed.text) <= MAX_CHARS
    text, html = feedback_text(feedback), feedback_html(feedback)
    assert len(html) < 3 * MAX_CHARS + 8000
    assert not set(text + html) & {"\x1b", "\x07", "\r", "\u202e"}
    assert "<script" not in html
    assert all(len(line) < 200 for line in text.splitlines())


def test_results_keep_the_output(course: Course, tmp_path: Path) -> None:
    feedback = in_process_of_its_own(course, LINES, tmp_path)
    result = ClassResult(1, "cpu", "none", (SubmissionResult("kim", (feedback,)),))
    (read,) = from_json(to_json(result)).submissions
    assert feedback_html(read.feedbacks[0]) == feedback_html(feedback)


def test_a_process_without_output_prints_nothing_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """`print` does nothing where `sys.stdout` is None, as in a program without a console."""
    monkeypatch.setattr(sys, "stdout", None)
    with copied_output() as output:
        print("손실", flush=True)
    assert output.printed() == Printed("손실\n", 1)


def test_lines_that_are_written_at_once_are_kept_too() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as stream, copied_output() as output:
        sys.stdout.writelines(["손실 1\n", "손실 2"])
    assert output.printed() == Printed("손실 1\n손실 2", 2)
    assert stream.getvalue() == "손실 1\n손실 2"


def test_the_stream_can_be_copied() -> None:
    assert isinstance(copy.copy(KeptOutput(None)), KeptOutput)
