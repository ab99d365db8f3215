"""Tell why a child will not answer a request: what it did, or what happened to it, as a status and a detail.

`client.py Child` raises a `NoAnswer`; `sandbox.py Sandbox` and `attempts.py Attempts` catch it. Either the grader has
noticed something itself, such as too much output, or the server has reported that the child has ended: then
`no_answer_for` makes the exception of the report. Example: a child that the server killed for its 100 threads becomes
`NoAnswer("crashed", "너무 많은 스레드")`.

To add a reason for which the server kills a child, add it to `_STATUS_OF_REASON` or `_DETAIL_OF_REASON`.
"""

import math
import os
import signal
from typing import Literal

from grader.sandbox.inside import protocol

Status = Literal["ran", "timeout", "memory", "crashed", "output"]
"""How the run of one exercise ended:

    ran: it was played to the end, even if the submission raised an exception.
    timeout: the wall time or the processor time was used up.
    memory: the memory was used up.
    crashed: the process died, had too many threads or processes, or sent what no honest child sends.
    output: it printed too much.
"""
ONLY_WAITED = "기다리기만 함"
"""Detail of a timeout by wall time: processor time was left, because the code waited, or the machine was busy."""
CUT_OFF = "밖에서 멈춤"
"""Detail of a crash for which the machine is probably to blame; see `CutOff`."""
_STATUS_OF_REASON: dict[protocol.KillReason, Status] = {"memory": "memory", "time": "timeout"}
"""Reason for which the server killed a child -> the status of the exercise that was being played.

Only the reasons that have a status of their own; for the others, the status is `crashed`."""
_DETAIL_OF_REASON: dict[protocol.KillReason, str] = {
    "threads": "너무 많은 스레드",
    "processes": "너무 많은 프로세스",
}
"""Reason for which the server killed a child -> the detail beside the status `crashed`.

The reasons that are not in `_STATUS_OF_REASON`, except `requested`: only `Child.close` causes that one, and then nobody
waits for an answer any more."""
SERVER_GONE: protocol.Header = {}
"""Stands for the server's report of a child's end if there will never be one, because the server is gone itself."""


class NoAnswer(Exception):
    """The child will not answer: it has ended, or it still runs but has done something for which it must be closed."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status, detail)
        self.status = status
        """The status of the exercise that was being played; never `ran`."""
        self.detail = detail
        """A few Korean words, or a signal's name; see `sandbox.py Outcome.detail`."""


class UnexpectedFrame(NoAnswer):
    """The child sent a frame that is neither the answer to a request nor the report of an act: a program forged it."""

    def __init__(self) -> None:
        super().__init__("crashed", "요청하지 않은 응답")


class CutOff(NoAnswer):
    """The child was killed from outside, or was not ready in time: the machine is probably to blame, so try again.

    The kernel kills processes when the machine's memory runs short, or that of the sandbox's cgroup. A child that is
    not isolated, or runs on a GPU, can also kill itself like this.
    """

    def __init__(self) -> None:
        super().__init__("crashed", CUT_OFF)


class ServerGone(CutOff):
    """The server or the child's keeper was killed: from outside, or by a child that is not isolated."""


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
    if not isinstance(status, int):  # the keeper, which reports it, was killed, or the server itself
        return ServerGone()
    if not os.WIFSIGNALED(status):
        return NoAnswer("crashed", f"종료 코드 {os.WEXITSTATUS(status)}")
    # The kernel counts whole seconds of processor time.
    is_out_of_time = report.get("cpu", 0.0) >= math.floor(lifetime_cpu_seconds)
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
