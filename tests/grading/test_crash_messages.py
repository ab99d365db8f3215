"""Each reason for a crash has a message that fits it."""

import pytest

from grader.grading.grade_submission import _crash_message
from grader.judging.messages import CUT_OFF_MESSAGE, STATUS_MESSAGES
from grader.sandbox import no_answer


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        (no_answer.CUT_OFF, CUT_OFF_MESSAGE),
        (no_answer.TOO_MANY_THREADS, "스레드가 너무 많아져서 멈췄어요. "),
        (no_answer.TOO_MANY_PROCESSES, "프로세스가 너무 많아져서 멈췄어요. "),
        *((detail, "채점기가 실행 결과를 읽지 못했어요. ") for detail in no_answer.UNREADABLE_DETAILS),
        ("종료 코드 3", f"{STATUS_MESSAGES['crashed']} (종료 코드 3)"),
        ("", STATUS_MESSAGES["crashed"]),
    ],
)
def test_a_crash_is_told_with_its_reason(detail: str, message: str) -> None:
    assert _crash_message(detail).startswith(message)


def test_what_the_server_kills_for_is_not_told_as_the_end_of_a_process() -> None:
    for detail in no_answer._DETAIL_OF_REASON.values():
        assert STATUS_MESSAGES["crashed"] not in _crash_message(detail)
