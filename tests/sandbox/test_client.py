"""The grader's side of a child, where the child's side is played by the test: every byte comes when the test says."""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from grader.sandbox import client
from grader.sandbox.client import Child, Limits
from grader.sandbox.inside import protocol
from grader.sandbox.no_answer import ONLY_WAITED, NoAnswer, UnexpectedFrame

LIMITS = Limits(seconds=20.0)
ANSWER = {"exercise": "first"}


class PlayedChild:
    """A `Child`, and the other ends of its connections. Every driver counts as sent."""

    def __init__(self) -> None:
        self.control, self._servers_end = socket.socketpair()
        self.end_descriptor = None
        self.child = Child(self, LIMITS, 2, _Parcels())  # type: ignore[arg-type]
        self.child._sent_modules.add("driver")
        channel, self._output = protocol.receive_trusted(self._servers_end, max_fds=2).fds
        self.channel = socket.socket(fileno=channel)

    def plays(self, *answers: bytes) -> None:
        """Read as many requests in a thread, and write the bytes that belong to each."""

        def play() -> None:
            with suppress(OSError, EOFError):  # the test is over
                for data in answers:
                    protocol.receive_trusted(self.channel)
                    self.channel.sendall(data)

        threading.Thread(target=play, daemon=True).start()

    def close(self) -> None:
        for connection in (self.control, self._servers_end, self.channel):
            connection.close()
        os.close(self._output)
        self.child.close()


class _Parcels:
    def modules_for(self, _exercise: str) -> tuple[str, ...]:
        return ("driver",)


@pytest.fixture
def played() -> Iterator[PlayedChild]:
    made = PlayedChild()
    yield made
    made.close()


def frame(header: dict[str, Any], body: bytes = b"") -> bytes:
    text = json.dumps(header).encode()
    return struct.pack(">II", len(text), len(body)) + text + body


def set_clock(monkeypatch: pytest.MonkeyPatch, monotonic: Callable[[], float]) -> None:
    monkeypatch.setattr(client, "time", SimpleNamespace(monotonic=monotonic))


LOADED, FIRST = frame({"event": "loaded"}), frame(ANSWER, b"trace")


def test_an_act_told_after_the_answer_costs_nothing(played: PlayedChild) -> None:
    """A thread, or a `__del__`, acts on; the exercise after it is played, and the act is told of its file."""
    act = frame({"event": "suspicious_act", "act": "sys._getframe", "line": 3, "program": 1})
    played.plays(LOADED, FIRST + act, frame({"exercise": "second"}, b"trace"))
    played.child.load("one file")
    assert played.child.play("first", 1) == b"trace"
    assert played.child.play("second", 1) == b"trace"
    assert played.child.suspicious_acts == {"one file": [("sys._getframe", 3)]}


def test_an_act_told_after_the_answer_is_none_of_the_next_file(played: PlayedChild) -> None:
    act = frame({"event": "suspicious_act", "act": "sys._getframe", "line": 3, "program": 1})
    played.plays(LOADED, FIRST + act, LOADED)
    played.child.load("one file")
    played.child.play("first", 1)
    played.child.load("another file")
    assert played.child.suspicious_acts == {"one file": [("sys._getframe", 3)]}


def test_acts_are_counted_for_the_program_that_did_them(played: PlayedChild) -> None:
    """A thread of the first file acts on when the text of the second one was sent, but has not been loaded yet."""
    acts = [
        frame({"event": "suspicious_act", "act": "sys._getframe", "line": line, "program": program})
        for program in (1, 2)
        for line in range(20)
    ]
    played.plays(LOADED, b"".join(acts[:20]) + LOADED + b"".join(acts[20:]), FIRST)
    played.child.load("one file")
    played.child.load("another file")
    assert played.child.play("first", 1) == b"trace"
    assert {text: len(acts) for text, acts in played.child.suspicious_acts.items()} == {
        "one file": 20,
        "another file": 20,
    }


@pytest.mark.parametrize("program", [None, 0, 2, "1"])
def test_an_act_of_no_program_is_forged(played: PlayedChild, program: object) -> None:
    act = frame({"event": "suspicious_act", "act": "sys._getframe", "line": 3, "program": program})
    played.plays(LOADED, act + FIRST)
    played.child.load("one file")
    with pytest.raises(UnexpectedFrame):
        played.child.play("first", 1)


@pytest.mark.parametrize("piece", [0, 9], ids=["at once", "its end after the request"])
def test_an_answer_before_the_request_is_forged(
    played: PlayedChild, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    """Also if it is only begun before: the request is not sent before the rest has come."""
    monkeypatch.setattr(client, "_RECEIVE_SECONDS", 0.1, raising=False)
    forged = frame({"exercise": "second"}, b"forged")
    played.plays(LOADED, FIRST + forged[: piece or None], forged[piece or None :])
    played.child.load("one file")
    played.child.play("first", 1)
    with pytest.raises(NoAnswer) as raised:
        played.child.play("second", 1)
    assert isinstance(raised.value, UnexpectedFrame) or piece


def test_acts_have_an_end(played: PlayedChild) -> None:
    """Also those told after the answer: more than an honest child tells are forged."""
    act = frame({"event": "suspicious_act", "act": "sys._getframe", "line": 3, "program": 1})
    played.plays(LOADED, FIRST + act * 21)
    played.child.load("one file")
    played.child.play("first", 1)
    with pytest.raises(UnexpectedFrame):
        played.child.play("second", 1)


@pytest.mark.parametrize(("late", "is_received"), [(0.5, True), (100.0, False)])
def test_a_trace_that_has_begun_to_arrive_is_received(
    played: PlayedChild, monkeypatch: pytest.MonkeyPatch, late: float, is_received: bool
) -> None:
    """The time is up when the first piece has come. The rest is not waited for for ever."""
    trace = b"x" * 2**20
    played.plays(LOADED, frame(ANSWER, trace))
    played.child.load("one file")
    # It is asked for the deadline, the first look, the second, and the deadline of the rest.
    passes = iter([0.0, 0.0, *[LIMITS.seconds + 0.1] * 2])
    set_clock(monkeypatch, lambda: next(passes, LIMITS.seconds + 0.1 + late))
    if is_received:
        assert played.child.play("first", 1) == trace
    else:
        with pytest.raises(NoAnswer) as raised:
            played.child.play("first", 1)
        assert (raised.value.status, raised.value.detail) == ("timeout", ONLY_WAITED)


def test_an_answer_that_has_come_counts_however_late_it_is_looked_at(
    played: PlayedChild, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grader itself had no processor until the time was up."""
    played.plays(LOADED)
    played.child.load("one file")
    times = iter([0.0])

    def now() -> float:
        """The time; when it is asked for again, the child has answered, and all its time has passed."""
        if (begun := next(times, None)) is not None:
            return begun
        with suppress(BlockingIOError):
            protocol.receive_trusted(played.channel)
            played.channel.setblocking(False)
            played.channel.sendall(FIRST)
        return LIMITS.seconds + 1

    set_clock(monkeypatch, now)
    assert played.child.play("first", 1) == b"trace"
