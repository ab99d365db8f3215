"""Word `Feedback.message`, the one-line Korean summary in results.json.

`assess` asks for the message of a function that was played (`played_message`). For one that was not, or not to its end,
the modules of `grading/` call `assess.feedback_without_trace`, mostly with a message: that for another reason is added
here, beside `time_limit_message`. For one that is missing, they pass none; for code that does not parse,
`assess.feedback_on_syntax_error` passes the complaint. The cards are worded in `report/words.py`.

`report/words.py` reads messages. Unless the status is `passed` or `failed`, or a cause is named, `headline` makes the
first sentence, up to the first full stop that a space follows, the card's headline, and the rest the text below it; an
exception that ends the message is cut off. `next_step` advises on loops where the message of a timeout has
`ENDLESS_LOOP`, and on what ends a process where the message of a crash has `ENDS_THE_PROCESS`.
"""

from dataclasses import replace

from grader.course.feedback import Diagnosis, Feedback, FirstDifference, Status
from grader.observe.wording import ENDLESS_LOOP, ENDS_THE_PROCESS, one_of

STATUS_MESSAGES: dict[Status, str] = {
    "passed": "통과했어요.",
    "failed": "정답과 다른 곳이 있어요.",
    "error": "코드에서 예외가 났어요.",
    "timeout": "제한 시간 안에 끝나지 않았어요.",
    "memory": "메모리를 너무 많이 썼어요. 텐서를 쌓아 두는 곳이 있는지 확인해 보세요.",
    "crashed": f"실행하던 프로세스가 강제로 끝났어요. {ENDS_THE_PROCESS}",
    "output": "출력이 너무 많아요. 반복문 안의 `print`를 지워 주세요.",
    "missing": "제출물에 이 함수가 없어요.",
    "unreadable": "파일을 읽을 수 없어요.",
}
"""The usual message of each status, one or two sentences; an exception or a detail may follow it.

Where nothing better is known, it is the whole message, or the text before an exception (`played_message`). It is also
the default of `assess.py feedback_without_trace`, whose callers often know more and pass another message. They always
do for `timeout` (one of those below) and `unreadable` (the files and their faults).
"""
CUT_OFF_MESSAGE = (
    "실행이 끝나기 전에 밖에서 멈췄어요. 코드 때문이 아니라 컴퓨터의 메모리가 모자라서 그랬을 수 있어요. "
    "다시 확인하거나 채점해 주세요."
)
"""Message for code that was being played when its submission was cut off again (`sandbox/no_answer.py CutOff`)."""
TOO_MANY_THREADS_MESSAGE = (
    "스레드가 너무 많아져서 멈췄어요. 반복할 때마다 스레드를 새로 만드는 곳이 있는지 확인해 보세요."
)
TOO_MANY_PROCESSES_MESSAGE = (
    "프로세스가 너무 많아져서 멈췄어요. `os.fork()`를 되풀이하거나 `multiprocessing`으로 프로세스를 여럿 시작하는 곳이 "
    "있는지 확인해 보세요."
)
UNREADABLE_MESSAGE = (
    "채점기가 실행 결과를 읽지 못했어요. 열린 파일을 모두 닫거나, 직접 열지 않은 파일 번호에 쓰거나, 채점기의 기록을 "
    "고치는 코드가 있는지 확인해 보세요."
)
"""Message for code after which what the child sent could not be read as an answer or a trace. The detail follows."""
NOT_BEGUN_MESSAGE = "아직 시작하지 않았어요. 함수 안을 채운 다음 다시 확인해 보세요."
"""Message for a function whose body the learner has not begun to write."""


def with_diagnosis(feedback: Feedback, diagnosis: Diagnosis) -> Feedback:
    """Return the feedback with another diagnosis, and with the message for it; the function must have been played."""
    message = played_message(feedback.status, diagnosis, error=feedback.error, raised=feedback.raised)
    return replace(feedback, diagnosis=diagnosis, message=message)


def without_mistakes(feedback: Feedback) -> Feedback:
    """Return the feedback without its named mistakes, and without what they leave unexplained."""
    diagnosis = feedback.diagnosis
    return with_diagnosis(
        feedback,
        replace(diagnosis, mistakes=(), unexplained=(), unexplained_checks=(), exception_apart=False),
    )


def played_message(status: Status, diagnosis: Diagnosis, *, error: str | None, raised: bool) -> str:
    """Return the message for a function that was played; for one that is not begun, `assess` puts another in its place.

    It tells the first that is known of these: the named mistakes (with an exception that they do not explain), a
    signature that differs (with the exception), the exception (or that the starter's `raise`, which has no text, is
    left), the first difference, the status. The rest of a diagnosis, such as a repair, is left to cards.

    Args:
        status: the function's status.
        diagnosis: why it is wrong.
        error: see `Feedback`.
        raised: see `Feedback`.
    """
    first = diagnosis.first_difference
    shown_error = " ".join((error or "").split())
    if diagnosis.mistakes:
        message = _titles_of_mistakes(diagnosis, shown_error)
    elif diagnosis.signature:
        message = f"{diagnosis.signature}. {shown_error}"
    elif raised and shown_error == "NotImplementedError:":
        message = "`raise NotImplementedError` 줄이 남아 있어요. 다 썼으면 그 줄을 지우고 다시 확인해 보세요."
    elif shown_error:
        message = f"{STATUS_MESSAGES[status]} {shown_error}"
    else:
        message = STATUS_MESSAGES[status] if first is None else _difference_in_one_line(first)
    return " ".join(message.splitlines()).strip()


def time_limit_message(seconds: float) -> str:
    """Return the message for code that ran on until its time was used up.

    It is processor time where a sandbox plays the code, and wall time where `grading/in_process.py` does.
    """
    return f"{seconds:g}초 안에 끝나지 않아 멈췄어요. {ENDLESS_LOOP}"


def only_waited_message(seconds: float) -> str:
    """Return the message for code that reached its limit of wall time, but used little processor time.

    Such code waits, as in `sleep`, or the machine is so busy that it got little of it.
    """
    return (
        f"{seconds:g}초를 기다려도 끝나지 않아 멈췄어요. "
        "끝나지 않는 반복, 또는 `time.sleep()`이나 `input()`처럼 기다리기만 하는 곳이 있는지 확인해 보세요."
    )


def no_time_left_message(seconds: float) -> str:
    """Return the message for an exercise that was not played, because those before it used up the submission's time."""
    return f"앞의 연습 문제들이 제출물 하나의 제한 시간 {seconds:g}초를 다 써서 실행하지 못했어요."


def _titles_of_mistakes(diagnosis: Diagnosis, error: str) -> str:
    """Return the titles of the named mistakes, joined as in `report/words.py summary`, and what they leave unexplained.

    That is the exception, or else a remark.
    """
    titles = " + ".join(one_of(mistake.titles) for mistake in diagnosis.mistakes)
    if diagnosis.exception_apart and error:
        return f"예외가 나요. 그리고 {titles}. {error}"
    return f"{titles} (그 밖에 다른 점이 더 있어요)" if diagnosis.unexplained else titles


def _difference_in_one_line(first: FirstDifference) -> str:
    """Return a first difference in one line: `SGD · 반환값 · 내 코드: 0.3 · 정답: 0.4`."""
    what = first.what if first.tensor is None else f"{first.what} · {first.tensor}"
    return f"{first.scenario} · {what} · 내 코드: {first.got} · 정답: {first.expected}"
