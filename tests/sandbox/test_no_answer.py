"""What is told of a child that ended: each reason has its words, and what the machine did is not the learner's."""

import signal
from typing import get_args

import pytest

from grader.sandbox.inside.protocol import Header, KillReason
from grader.sandbox.no_answer import (
    _DETAIL_OF_REASON,
    _STATUS_OF_REASON,
    CUT_OFF,
    SERVER_GONE,
    CutOff,
    NoAnswer,
    ServerGone,
    no_answer_for,
)

EXITED_WITH_3 = 3 << 8


def test_each_reason_for_killing_a_child_is_reported() -> None:
    """One that is forgotten would be reported as the end that it led to, SIGKILL: as if the machine were to blame."""
    assert not _STATUS_OF_REASON.keys() & _DETAIL_OF_REASON.keys()
    assert {*_STATUS_OF_REASON, *_DETAIL_OF_REASON} == {*get_args(KillReason)} - {"requested"}


@pytest.mark.parametrize(
    ("report", "kind", "status", "detail"),
    [
        ({"reason": None, "status": signal.SIGKILL, "cpu": 9.9}, CutOff, "crashed", CUT_OFF),
        ({"reason": None, "status": signal.SIGKILL, "cpu": 10.1}, CutOff, "crashed", CUT_OFF),
        ({"reason": None, "status": signal.SIGKILL, "cpu": 10.9}, NoAnswer, "timeout", ""),
        ({"reason": None, "status": signal.SIGXCPU, "cpu": 11.2}, NoAnswer, "timeout", ""),
        ({"reason": None, "status": signal.SIGXCPU, "cpu": 0.1}, NoAnswer, "crashed", "SIGXCPU"),
        ({"reason": None, "status": signal.SIGSEGV, "cpu": 10.0}, NoAnswer, "crashed", "SIGSEGV"),
        ({"reason": None, "status": EXITED_WITH_3, "cpu": 0.1}, NoAnswer, "crashed", "종료 코드 3"),
        ({"reason": "memory", "status": signal.SIGKILL, "cpu": 0.1}, NoAnswer, "memory", ""),
        ({"reason": "threads", "status": None, "cpu": 0.0}, NoAnswer, "crashed", "너무 많은 스레드"),
        ({"reason": None, "status": None, "cpu": 0.0}, ServerGone, "crashed", CUT_OFF),
        (SERVER_GONE, ServerGone, "crashed", CUT_OFF),
    ],
)
def test_how_a_child_ended_is_told(report: Header, kind: type[NoAnswer], status: str, detail: str) -> None:
    """Its limit was 10.5 s of processor time; the kernel ends it at the next whole second, which is 11."""
    told = no_answer_for(report, 10.5)
    assert (type(told), told.status, told.detail) == (kind, status, detail)
