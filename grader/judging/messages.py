"""Compose `Feedback.message`, the one-line Korean summary in results.json.

A message that contains the exception ends in `Feedback.error`: `report/words.headline` cuts that off.
"""

from grader.course.feedback import Diagnosis, Feedback, FirstDifference, Status
from grader.judging.judge import Verdict
from grader.observe.wording import one_of

STATUS_MESSAGES: dict[Status, str] = {
    "passed": "통과했어요.",
    "failed": "정답과 다른 곳이 있어요.",
    "error": "코드에서 예외가 났어요.",
    "timeout": "제한 시간 안에 끝나지 않았어요.",
    "memory": "메모리를 너무 많이 썼어요. 텐서를 쌓아 두는 곳이 있는지 확인해 보세요.",
    "crashed": "실행하던 프로세스가 강제로 끝났어요. 프로세스를 끝내는 코드가 있는지 확인해 보세요.",
    "output": "출력이 너무 많아요. 반복문 안의 `print`를 지워 주세요.",
    "missing": "제출물에 이 함수가 없어요.",
    "unreadable": "파일을 읽을 수 없어요.",
}
"""Beginning of the message for each status, one or two sentences; the exception or a detail may follow it.

For `timeout`, `unreadable` and syntax errors (`error`) it is only the default: the rooms `grading` and `submission`,
which know more precisely what happened, pass another message to `feedback_without_trace`.
"""
NOT_BEGUN_MESSAGE = "아직 시작하지 않았어요. 함수 안을 채운 다음 다시 확인해 보세요."
"""Message for a function whose body the learner has not begun to write."""
SIGNATURE_PLACE = "함수의 첫 줄"
"""`FirstDifference.what` if the two values are signatures: the function takes other arguments than it should."""


def signature_message(complaint: str, error: str | None) -> str:
    """Return the message for a function that takes other arguments than the exercise says.

    Args:
        complaint: Korean sentence that says how the arguments differ, without its full stop.
        error: the exception as in `Feedback.error`; None if the function did not raise.
    """
    return f"{complaint}." if error is None else f"{complaint}. {error}"


def time_limit_message(seconds: float) -> str:
    """Return the message for code that ran longer than its limit.

    The limit is processor time in the sandbox, and wall time in a notebook or `grader check`.
    """
    return f"{seconds:g}초 안에 끝나지 않아 멈췄어요. 끝나지 않는 반복이 있는지 확인해 보세요."


def only_waited_message(seconds: float) -> str:
    """Return the message for code that reached its limit of wall time, but not that of processor time.

    Such code waits, for example in `sleep`, or it never ends and the machine is so busy that it got little time.
    """
    return (
        f"{seconds:g}초를 기다려도 끝나지 않아 멈췄어요. "
        "끝나지 않는 반복이나, `sleep`과 입력처럼 기다리기만 하는 곳이 있는지 확인해 보세요."
    )


def no_time_left_message(seconds: float) -> str:
    """Return the message for an exercise that was not played, because its submission had used up its time."""
    return f"앞의 연습 문제들이 제출물 하나의 제한 시간 {seconds:g}초를 다 써서 실행하지 못했어요."


def message_for(verdict: Verdict, diagnosis: Diagnosis) -> str:
    """Return the message for a function that was played.

    It tells the first of these that there is: the named mistakes, the exception, the first difference, the status. A
    leftover `raise NotImplementedError` has a message of its own.
    """
    if diagnosis.mistakes:
        titles_of_each = [mistake.titles for mistake in diagnosis.mistakes]
        if len(titles_of_each) == 1:
            titles = one_of(titles_of_each[0])
        else:  # in quotation marks, because a title is a whole sentence
            titles = " 그리고 ".join(map(_quoted, titles_of_each))
        return f"{titles} (그 밖에 다른 점이 더 있어요)" if diagnosis.unexplained else titles
    failure = verdict.failure
    if failure is not None and failure.own and failure.type == "NotImplementedError":
        return "`raise NotImplementedError` 줄이 남아 있어요. 다 썼으면 그 줄을 지우고 다시 확인해 보세요."
    if failure is not None:
        return f"{STATUS_MESSAGES[verdict.status]} {failure.type}: {failure.message}"
    first = diagnosis.first_difference
    return STATUS_MESSAGES[verdict.status] if first is None else _in_one_line(first)


def message_without_mistakes(feedback: Feedback) -> str:
    """Return what the message of this feedback would be if it named no mistakes."""
    first = feedback.diagnosis.first_difference
    if feedback.error is not None:
        return f"{STATUS_MESSAGES[feedback.status]} {feedback.error}"
    return STATUS_MESSAGES[feedback.status] if first is None else _in_one_line(first)


def _quoted(titles: tuple[str, ...]) -> str:
    """Return the titles of mistakes that behave alike, each in quotation marks."""
    return f"「{titles[0]}」" if len(titles) == 1 else one_of(titles)


def _in_one_line(first: FirstDifference) -> str:
    """Return a first difference as `SGD · 첫 번째 반환값 · 내 코드: 0.3 · 정답: 0.4`."""
    what = first.what if first.tensor is None else f"{first.what} · {first.tensor}"
    return f"{first.scenario} · {what} · 내 코드: {first.got} · 정답: {first.expected}"
