"""Tell why a child will not answer a request: what it did, or what happened to it, as a status and a detail.

`client.py Child` raises a `NoAnswer`; `sandbox.py Sandbox` and `attempts.py Attempts` catch it. Either the grader has
noticed something itself, such as too much output, or the server has reported that the child has ended: then
`no_answer_for` makes the exception of the report. Example: a child that the server killed for its many threads becomes
`NoAnswer("crashed", TOO_MANY_THREADS)`. `grading/grade_submission.py` makes a message of the status and the detail.

"A reason why there is no answer" in grader/ADDING.md says how to add one.
"""

import os
import signal
from typing import Literal

from grader.sandbox.inside import protocol
from grader.sandbox.inside.isolation import kernel_cpu_seconds

Status = Literal["ran", "timeout", "memory", "crashed", "output"]
"""How the play of one exercise ended:

    ran: it was played to the end, even if the submission raised an exception.
    timeout: the wall time or the processor time was used up.
    memory: the memory was used up.
    crashed: the process died, was killed from outside, was not ready in time, had too many threads or processes, or
        sent what an unmodified child does not send, or something that cannot be read.
    output: it printed too much.
"""
ONLY_WAITED = "기다리기만 함"
"""Detail of a timeout by wall time: processor time was left, because the code waited, or the machine was busy."""
CUT_OFF = "밖에서 멈춤"
"""Detail of a crash for which the machine is probably to blame; see `CutOff`."""
TOO_MANY_THREADS, TOO_MANY_PROCESSES = "너무 많은 스레드", "너무 많은 프로세스"
"""Details of crashes for which the server killed the child."""
UNREADABLE_ANSWER, UNEXPECTED_ANSWER, UNREADABLE_TRACE = (
    "읽을 수 없는 답",
    "요청하지 않은 응답",
    "읽을 수 없는 기록",
)
"""Details of crashes where the child sent something that is no frame, not the answer, or an answer without a trace."""
UNREADABLE_DETAILS = (UNREADABLE_ANSWER, UNEXPECTED_ANSWER, UNREADABLE_TRACE)
_STATUS_OF_REASON: dict[protocol.KillReason, Status] = {"memory": "memory", "time": "timeout"}
"""Reason for which the server killed a child -> the status of the exercise that was being played.

Only the reasons that have a status of their own; for the others, the status is `crashed`."""
_DETAIL_OF_REASON: dict[protocol.KillReason, str] = {
    "threads": TOO_MANY_THREADS,
    "processes": TOO_MANY_PROCESSES,
}
"""Reason for which the server killed a child -> the detail beside the status `crashed`.

The reasons that are not in `_STATUS_OF_REASON`, except `requested`: only `Child.close` causes that one, and then nobody
waits for an answer any more."""
_CPU_ACCURACY = 0.5
"""Maximum difference, in seconds, between the processor time by which the kernel ends a child, which it counts in
ticks of its clock, and that which it reports afterwards."""
SERVER_GONE: protocol.Header = {}
"""Stands for the server's report of a child's end if there will never be one, because the server is gone itself."""


class NoAnswer(Exception):
    """The child will not answer: it has ended, or it still runs but has done something for which it must be closed."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status, detail)
        self.status = status
        """The status of the exercise that was being played; never `ran`."""
        self.detail = detail
        """What the status does not say. With `timeout`, `ONLY_WAITED` if the wall time ran out, and empty if the
        processor time did. With `crashed`, one of the constants above, `종료 코드 3`, or a signal: `SIGSEGV`, or
        `signal 40` if it has no name. Else empty."""


class UnexpectedFrame(NoAnswer):
    """The child sent a frame that an unmodified child does not send, so a program forged it.

    It is neither the answer to a request nor the report of an act, or the report of one act too many.
    """

    def __init__(self) -> None:
        super().__init__("crashed", UNEXPECTED_ANSWER)


class CutOff(NoAnswer):
    """The child was killed from outside, or was not ready in time: the machine is probably to blame, so try again.

    The kernel kills processes when the machine's memory runs short, or that of the sandbox's cgroup. A child that is
    not isolated, or runs on a GPU, can also kill itself like this.
    """

    def __init__(self) -> None:
        super().__init__("crashed", CUT_OFF)


class ServerGone(CutOff):
    """The server is lost, or the child's keeper was killed: from outside, or by a child that is not isolated.

    If it was only the keeper, the server lives on.
    """


def no_answer_for(report: protocol.Header, lifetime_cpu_seconds: float) -> NoAnswer:
    """Return the exception to raise for the server's report that a child has ended, or for `SERVER_GONE`.

    Args:
        report: the header of the event `gone`, see `inside/server.py`.
        lifetime_cpu_seconds: limit of the child's processor time in its whole life.
    """
    reason, status = report.get("reason"), report.get("status")
    if reason in _STATUS_OF_REASON:
        return NoAnswer(_STATUS_OF_REASON[reason])
    if reason in _DETAIL_OF_REASON:
        return NoAnswer("crashed", _DETAIL_OF_REASON[reason])
    if not isinstance(
        status, int
    ):  # the server is gone, or the keeper was killed before it reported the child's end
        return ServerGone()
    if not os.WIFSIGNALED(status):
        return NoAnswer("crashed", f"종료 코드 {os.WEXITSTATUS(status)}")
    is_out_of_time = report.get("cpu", 0.0) >= kernel_cpu_seconds(lifetime_cpu_seconds) - _CPU_ACCURACY
    return _ended_by_signal(os.WTERMSIG(status), is_out_of_time)


def _ended_by_signal(number: int, is_out_of_time: bool) -> NoAnswer:
    """Return the exception to raise for a child that a signal ended, without the server's doing.

    Args:
        number: number of the signal.
        is_out_of_time: the child had used up the processor time for its whole life.
    """
    if number in (signal.SIGKILL, signal.SIGXCPU) and is_out_of_time:
        return NoAnswer("timeout")
    if number == signal.SIGKILL:
        # Not the server: when memory is used up, that gives its reason. Not an isolated child on the CPU, the first
        # process of its PID namespace: it cannot send this signal to itself.
        return CutOff()
    try:
        return NoAnswer("crashed", signal.Signals(number).name)
    except ValueError:  # a signal without a name
        return NoAnswer("crashed", f"signal {number}")
