"""Talk to one child of the sandbox's server, from the grader's side, and have it killed when it exceeds a limit.

Nothing that a child writes is trusted: its bytes are counted, and each question gets at most one frame as an answer.
"""

import math
import os
import selectors
import signal
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Literal

from grader.observe.trace import MAX_TRACE_BYTES
from grader.sandbox.inside import frames
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.parcels import Parcels, pack
from grader.sandbox.server_process import SandboxUnavailable, Server

Status = Literal["ran", "timeout", "memory", "crashed", "output"]
"""Status of one exercise's run: `crashed` means that the process died, `output` that it printed too much."""
WAITED = "기다리기만 함"
"""Detail of a timeout by wall time: the code waited rather than computed."""
_FORK_SECONDS = 60.0
"""Time to wait until a child is ready; it takes milliseconds, or as long as CUDA takes to start."""
_END_SECONDS = 10.0
"""Time to wait until a killed child is gone."""
_CHUNK_BYTES = 2**16
_MAX_ACT_CHARS = 40
"""Maximum characters kept of the name of a suspicious act."""
_STATUS_OF_REASON: dict[str, Status] = {"memory": "memory", "time": "timeout"}
"""Reason for which the server killed a child -> the status that says so. Other reasons have the status `crashed`."""
_DETAIL_OF_REASON = {"threads": "너무 많은 스레드", "processes": "너무 많은 프로세스"}
"""Reason for which the server killed a child -> the detail that says so."""


class Ended(Exception):
    """The child ended, or was ended, before it had answered. `detail` is Korean."""

    def __init__(self, status: Status, detail: str = "") -> None:
        super().__init__(status, detail)
        self.status, self.detail = status, detail


class UnexpectedFrame(Ended):
    """The child sent a frame that nobody had asked for: a forged one, perhaps from a program it executed earlier."""

    def __init__(self) -> None:
        super().__init__("crashed", "요청하지 않은 응답")


class ServerGone(Ended):
    """Something outside killed the server or the keeper that watches the child; nothing that a child does can."""

    def __init__(self) -> None:
        super().__init__("crashed")


@dataclass(frozen=True)
class Limits:
    """Resource limits of a child, which plays all exercises of a submission.

    Times, printed output and the size of the trace are limited for each exercise anew; memory is limited for the whole
    child. Executing a file, before its exercises are played, has the same times. `isolation.Bounds` are what the kernel
    and the server enforce on the child.
    """

    seconds: float = 20.0
    """Wall time: for code that sleeps, or waits for something that never comes."""
    cpu_seconds: float = 10.0
    """Processor time of all threads; unlike wall time, it does not depend on what else the machine does."""
    memory_bytes: int = 2 * 2**30
    """Memory beyond what the warmed server already holds."""
    output_bytes: int = 2**20
    """Printed output."""
    trace_bytes: int = MAX_TRACE_BYTES
    """Size of the serialized trace."""


class Child:
    """One forked child of the server: send it work, read its answers, and find out how it ended."""

    def __init__(self, server: Server, limits: Limits, exercises: int, parcels: Parcels) -> None:
        """Ask the server to fork; `begin` waits for the child.

        Args:
            server: the running server.
            limits: the limits.
            exercises: number of exercises to be played; it multiplies the processor time that the kernel allows.
            parcels: what the exercises' parcels contain.
        """
        self._control, self._limits, self._parcels = server.control, limits, parcels
        self._brought: set[str] = set()
        """Names of the modules of `grader.exercises` that the child has received."""
        self._printed = 0
        """Bytes printed since the last question."""
        self._attempts = 0
        self._last_output = b""
        self._gone: dict[str, Any] | None = None
        """The server's message that the child has ended; empty if the server is gone itself; None while both live."""
        self._reader = frames.Reader(limits.trace_bytes)
        self._selector = selectors.DefaultSelector()
        self.source: str | None = None
        """Program text that is loaded; None before the first `load`, and while a `load` is going on or has failed."""
        self._executed = ""
        """Program text that was sent last, whose acts are reported."""
        self.reached: dict[str, list[tuple[str, int]]] = {}
        """For each program text, the acts noticed by `inside.reaching` while it ran, as (act, line)."""
        self._cpu_seconds = limits.cpu_seconds * exercises
        bounds = Bounds(memory_bytes=limits.memory_bytes, cpu_seconds=self._cpu_seconds)
        self._channel, inside = socket.socketpair()
        self._output, output = os.pipe()
        with inside:
            try:
                fds = (inside.fileno(), output)
                with suppress(OSError):  # that the server is gone is noticed at the first wait
                    frames.send(self._control, {"op": "fork", "bounds": asdict(bounds)}, fds=fds)
            finally:
                os.close(output)
        os.set_blocking(self._output, False)
        self._server_ended = server.ended
        for source in (self._channel, self._output, self._control, self._server_ended):
            if source is not None:
                self._selector.register(source, selectors.EVENT_READ)

    def load(self, source: str) -> None:
        """Have a file's text executed as a module.

        Raises:
            Ended: the child ended, or must be ended.
        """
        self.source, self._executed = None, source
        self._send({"op": "load"}, source.encode("utf-8", "surrogatepass"), timed=True)
        self._wait_for({"event": "loaded"}, self._limits.seconds)
        self.source = source

    def begin(self) -> None:
        """Wait until the child is ready for its first question.

        Raises:
            SandboxUnavailable: the child ended before.
            Ended: the server is gone, or nothing answers.
        """
        try:
            self._wait_for({"event": "ready"}, _FORK_SECONDS)
        except Ended as end:
            if not self._gone:  # the server is gone too, or nothing answers
                raise
            lines = self._last_output.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise SandboxUnavailable(
                "\n".join(["제출물을 격리해서 실행하지 못했어요. grader doctor로 확인해 보세요.", *lines])
            ) from end

    def play(self, exercise: str, seed: int) -> bytes:
        """Have one exercise played; return the bytes of its trace, not yet checked.

        Raises:
            Ended: the child ended, or must be ended.
        """
        self._send_driver(exercise)
        return self._request({"op": "play", "exercise": exercise, "seed": seed})

    def attempt(
        self, exercise: str, scenario: str, seed: int, source: str | None, *, cpu_seconds: float
    ) -> bytes:
        """Have one scenario played by an attempt; return the bytes of its trace, not yet checked.

        Args:
            exercise: name of the exercise.
            scenario: name of the scenario.
            seed: seed of the scenario.
            source: its text, which is executed first; None: the text of the last attempt is still loaded.
            cpu_seconds: limit of processor time.

        Raises:
            Ended: the child ended, or must be ended.
        """
        self._send_driver(exercise)
        self._attempts += 1
        header = {"op": "attempt", "exercise": exercise, "seed": seed, "only": [scenario]}
        # The answer must carry the same number. Otherwise, after a forged answer to this attempt, the true answer could
        # be taken for the answer to the next attempt.
        header["number"] = self._attempts
        text = b"" if source is None else source.encode("utf-8", "surrogatepass")
        return self._request({**header, "cpu_seconds": cpu_seconds}, text)

    def _send_driver(self, exercise: str) -> None:
        """Send the exercise's driver and the modules that it needs, unless the driver was sent before.

        Modules that the child has received already are left out.
        """
        modules = self._parcels.modules(exercise)
        if modules[-1] not in self._brought:
            self._send({"op": "bring", "exercise": exercise}, pack(modules, without=self._brought))
            self._brought.update(modules)

    def _request(self, question: frames.Header, body: bytes = b"") -> bytes:
        """Send a question and return the body of its answer."""
        self._printed = 0
        if self._reader.pending:
            raise UnexpectedFrame  # an honest child writes nothing between questions
        self._send(question, body, timed=True)
        answer: frames.Header = {key: question[key] for key in ("exercise", "number") if key in question}
        return self._wait_for(answer, self._limits.seconds)

    @property
    def used_cpu_seconds(self) -> float:
        """Processor time in seconds that the child used, once it is closed; 0.0 before, or if the server is gone."""
        return float((self._gone or {}).get("cpu", 0.0))

    def close(self) -> bool:
        """Kill what is left of the child; return True if the server has confirmed its end."""
        try:
            if self._gone is None:
                self._control.settimeout(_END_SECONDS)
                frames.send(self._control, {"op": "kill"})
                self._gone, _, _ = frames.receive(self._control)
            return self._gone.get("event") == "gone"
        except (EOFError, OSError, ValueError):
            return False
        finally:
            self._selector.close()
            self._channel.close()
            os.close(self._output)

    def _send(self, header: frames.Header, body: bytes = b"", *, timed: bool = False) -> None:
        """Send a frame to the child; with `timed`, tell the server to limit the child's processor time from now on."""
        self._channel.settimeout(_FORK_SECONDS)
        with suppress(OSError):  # that the child is gone is noticed at the next wait
            if timed:  # tell the server that processor time counts from now on
                frames.send(self._control, {"op": "question", "cpu_seconds": self._limits.cpu_seconds})
            frames.send(self._channel, header, body)

    def _wait_for(self, answer: frames.Header, seconds: float) -> bytes:
        """Wait for the frame with the header `answer`, at most `seconds`, and return its body.

        Raises:
            Ended: the child ended, or exceeded a limit, or sent another frame.
        """
        deadline = time.monotonic() + seconds
        while True:
            frame = self._next_frame()
            if frame is not None:
                self._read_output()  # output printed before the frame is in the pipe by now
            if self._printed > self._limits.output_bytes:
                raise Ended("output")
            if frame is not None:
                header, body = frame
                if header == answer:
                    return body
                self._note_reached(header)
                continue
            if self._gone is not None:
                raise self._why_gone(self._gone)
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Ended("timeout", WAITED)
            for key, _ in self._selector.select(remaining):
                self._read(key.fileobj)

    def _note_reached(self, header: frames.Header) -> None:
        """Note a report of `inside.reaching`, which may come at any time.

        Raises:
            UnexpectedFrame: the frame is anything else, or there are too many reports.
        """
        act, line = header.get("act"), header.get("line")
        known = header.get("event") == "reached" and isinstance(act, str) and isinstance(line, int)
        if not known or sum(map(len, self.reached.values())) >= frames.MAX_REACHED:
            raise UnexpectedFrame
        self.reached.setdefault(self._executed, []).append((str(act)[:_MAX_ACT_CHARS], int(line or 0)))

    def _next_frame(self) -> tuple[frames.Header, bytes] | None:
        """Return the next complete frame from the child; None if there is none yet."""
        try:
            return self._reader.next()
        except frames.FrameError as error:
            raise Ended("crashed", "읽을 수 없는 답") from error

    def _read(self, source: Any) -> None:
        """Read from one of the selected sources, and note if it tells that the child or server is gone."""
        if source is self._control:
            try:
                self._gone, _, _ = frames.receive(self._control)
            except (EOFError, OSError):
                self._gone = {}
            self._read_channel()  # what the child wrote before it ended
        elif source == self._server_ended:
            self._gone = {}
        elif source is self._channel:
            self._read_channel(once=True)
        else:
            self._read_output(once=True)

    def _read_channel(self, *, once: bool = False) -> None:
        """Read frames from the child until nothing is left; with `once`, at most one piece."""
        self._channel.setblocking(False)
        while not self._reader.overfull:
            try:
                data = self._channel.recv(_CHUNK_BYTES)
            except OSError:  # nothing there
                return
            if not data:
                self._unregister(self._channel)
                return
            self._reader.feed(data)
            if once:
                return

    def _read_output(self, *, once: bool = False) -> None:
        """Read and count what the child printed until nothing is left; with `once`, at most one piece."""
        while self._printed <= self._limits.output_bytes:
            try:
                data = os.read(self._output, _CHUNK_BYTES)
            except OSError:
                return
            if not data:
                self._unregister(self._output)
                return
            self._printed += len(data)
            self._last_output = data
            if once:
                return

    def _unregister(self, source: Any) -> None:
        with suppress(KeyError):
            self._selector.unregister(source)

    def _why_gone(self, gone: dict[str, Any]) -> Ended:
        """Return why the child ended without being told to, from the server's last message about it."""
        reason, status = gone.get("reason"), gone.get("status")
        if reason in _STATUS_OF_REASON:
            return Ended(_STATUS_OF_REASON[reason])
        if reason in _DETAIL_OF_REASON:
            return Ended("crashed", _DETAIL_OF_REASON[reason])
        if not isinstance(status, int):
            return ServerGone()
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number in (signal.SIGKILL, signal.SIGXCPU):
                # We did not send this signal, and nothing inside the child's PID namespace can. So either its processor
                # time is used up, or the kernel ran out of memory.
                out_of_time = gone.get("cpu", 0.0) >= math.floor(self._cpu_seconds)
                return Ended("timeout" if out_of_time else "memory")
            return Ended("crashed", _signal_name(number))
        return Ended("crashed", f"종료 코드 {os.WEXITSTATUS(status)}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
