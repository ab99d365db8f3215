"""Talk to one child of the sandbox's server, from the grader's side, and have it killed when it exceeds a limit.

`sandbox.py` makes a `Child` for the exercises of a submission, and one for many attempts (`attempts.py`). Program texts
and drivers go in. The bytes of traces come out, which the caller has to read by `trace_bounds.py read_bounded`; or a
`NoAnswer` is raised, which tells why there is no trace (`no_answer.py`).

A child executes a submission, so nothing that it writes is trusted. Its bytes are counted, and a frame that does not
answer the current request counts as forged. Only reports of suspicious acts may come besides, at any time: a thread of
the submission may act before the answer or after it.

A child's processor time is limited in three ways, of which the first two are counted from outside the child:

    its whole life      the kernel (RLIMIT_CPU)     `Limits.cpu_seconds` for each of its `requests`
    each request        the server                  `Limits.cpu_seconds`, sent by `_request` before the request
    each attempt        the child itself (a timer)  `cpu_seconds` of `play_attempt`, sent in the request

The kernel's limit needs nobody to watch the child, but cannot be set anew for each request. An attempt has a limit of
its own because many attempts share one child.

To add a limit, see "A limit" in grader/ADDING.md. To add a request, add a method like `Child.play`, and its answer in
`inside/child.py _serve_requests`. To add a message that answers nothing, receive it in `Child._note_suspicious_act`.
"""

import os
import selectors
import socket
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from grader.observe.trace import MAX_TRACE_BYTES
from grader.sandbox.inside import protocol
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.suspicious_acts import MAX_ACT_REPORTS
from grader.sandbox.no_answer import (
    ONLY_WAITED,
    SERVER_GONE,
    UNREADABLE_ANSWER,
    CutOff,
    NoAnswer,
    UnexpectedFrame,
    no_answer_for,
)
from grader.sandbox.parcels import ParcelContents, pack_parcel
from grader.sandbox.server_process import SandboxUnavailable, ServerProcess

_FORK_SECONDS = 300.0
"""Maximum time until a forked child is ready: usually milliseconds, but CUDA takes seconds. A busy machine may take far
longer."""
_SEND_SECONDS = 60.0
"""Maximum time until a frame that is larger than the socket's buffer is sent: a child that is stopped takes no more of
it. A smaller frame is sent at once."""
_RECEIVE_SECONDS = 10.0
"""Maximum time to receive the rest of a frame that has begun to arrive when the time for it is up.

A large trace comes in many pieces, and it is no fault of the submission if the grader gets no processor meanwhile."""
_END_SECONDS = 10.0
"""Maximum time until the server confirms that a child is gone."""
_CHUNK_BYTES = 2**16
"""Maximum number of bytes to read at once."""
_MAX_ACT_CHARS = 40
"""Maximum characters kept of the name of a suspicious act."""


class SuspiciousAct(NamedTuple):
    """Something that a submission did and that an instructor should look at; see `inside/suspicious_acts.py`."""

    act: str
    """Name of the act: `sys._getframe`."""
    line: int
    """Line of the submission."""


@dataclass(frozen=True)
class Limits:
    """The limits of a child that its caller chooses, whoever enforces them.

    Memory is limited for its whole life, everything else anew for each request: to execute a file, to unpack a driver,
    or to play an exercise or an attempt. Processor time is limited for its whole life, too (see the module).
    """

    seconds: float = 20.0
    """Wall time, for code that sleeps or waits for something that never comes."""
    cpu_seconds: float = 10.0
    """Processor time of all threads (see the module); unlike wall time, it does not depend on what else the machine
    does."""
    memory_bytes: int = 2 * 2**30
    """Memory beyond what the warmed server already holds, in bytes."""
    output_bytes: int = 2**20
    """Printed output, in bytes."""
    trace_bytes: int = MAX_TRACE_BYTES
    """Size of the serialized trace, in bytes."""


class Child:
    """One forked child of the server: send it requests, read its answers, and find out how it ended.

    Call `wait_until_ready` first and `close` last, whatever happens between them.
    """

    def __init__(self, server: ServerProcess, limits: Limits, requests: int, parcels: ParcelContents) -> None:
        """Ask the server to fork, without waiting for the child.

        Args:
            server: the warm server.
            limits: the limits that this child must keep.
            requests: number of files to be loaded, drivers to be unpacked and exercises to be played, each of which
                may use `limits.cpu_seconds` of processor time; 1 if all requests share that.
            parcels: knows the modules of each exercise's parcel.
        """
        self._control, self._limits, self._parcels = server.control, limits, parcels
        self._sent_modules: set[str] = set()
        """Names of the modules of `grader.exercises` that the child has received."""
        self._printed = 0
        """Bytes printed since the last request."""
        self._attempt_count = 0
        """Number of attempts sent so far."""
        self._last_output = b""
        """The latest piece of printed output."""
        self._end_message: protocol.Header | None = None
        """The server's message that the child has ended; `SERVER_GONE` if the server is gone; None while both live."""
        self._reader = protocol.FrameReader(limits.trace_bytes)
        self._selector = selectors.DefaultSelector()
        self.source: str | None = None
        """Program text of the last `load` if that succeeded; None before the first, and while one is going on."""
        self._programs: list[str] = []
        """The program texts that were sent. A reported act has the number of its program, counted from 1."""
        self._act_counts: Counter[int] = Counter()
        """Number of a program -> the number of acts reported of it."""
        self.suspicious_acts: dict[str, list[SuspiciousAct]] = {}
        """Program text -> the acts that `inside/suspicious_acts.py` reported while it ran."""
        self._lifetime_cpu_seconds = limits.cpu_seconds * requests
        """Limit of the child's processor time in its whole life; the kernel ends it at the next whole second."""
        self._channel, child_channel = socket.socketpair()
        """Carries frames to and from the child."""
        self._output, child_output = os.pipe()
        """Descriptor from which the child's printed output is read."""
        os.set_blocking(self._output, False)
        self._server_end_descriptor = server.end_descriptor
        """Descriptor that becomes readable when the server ends; None if the server has none."""
        self._ask_to_fork(child_channel, child_output)
        for readable in (self._channel, self._output, self._control, self._server_end_descriptor):
            if readable is not None:
                self._selector.register(readable, selectors.EVENT_READ)

    def _ask_to_fork(self, child_channel: socket.socket, child_output: int) -> None:
        """Ask the server to fork, hand over the child's ends of the socket and of the pipe, and close them here."""
        bounds = Bounds(memory_bytes=self._limits.memory_bytes, cpu_seconds=self._lifetime_cpu_seconds)
        with child_channel:
            try:
                fds = (child_channel.fileno(), child_output)
                with suppress(OSError):  # `wait_until_ready` will notice that the server is gone
                    protocol.send(self._control, {"op": "fork", "bounds": asdict(bounds)}, fds=fds)
            finally:
                os.close(child_output)

    def wait_until_ready(self) -> None:
        """Wait until the child is ready for its first request.

        Raises:
            SandboxUnavailable: the child ended before it was ready: it could not be isolated, or CUDA did not start.
            CutOff: the child or the server was killed, or the child is not ready in time. Nothing of the submission has
                run yet, so it is not to blame.
        """
        try:
            self._wait_for({"event": "ready"}, _FORK_SECONDS)
        except CutOff:
            raise
        except NoAnswer as no_answer:
            if self._end_message is None:
                raise CutOff from no_answer
            lines = self._last_output.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise SandboxUnavailable(
                "\n".join(["제출물을 격리해서 실행하지 못했어요. grader doctor로 확인해 보세요.", *lines])
            ) from no_answer

    def load(self, source: str) -> None:
        """Have the text of a file executed as a module. Exceptions that it raises are left for `play` to report.

        Raises:
            NoAnswer: the child has ended, or must be closed.
        """
        self.source = None
        self._request({"op": "load"}, {"event": "loaded"}, program=source)
        self.source = source

    def play(self, exercise: str, seed: int) -> bytes:
        """Have one exercise played; return the bytes of its trace, not yet checked.

        Raises:
            NoAnswer: the child has ended, or must be closed.
        """
        self._send_driver(exercise)
        return self._request({"op": "play", "exercise": exercise, "seed": seed}, {"exercise": exercise})

    def play_attempt(
        self, exercise: str, scenario: str, seed: int, source: str | None, *, cpu_seconds: float
    ) -> bytes:
        """Have one scenario played by an attempt; return the bytes of its trace, not yet checked.

        Args:
            exercise: name of the exercise.
            scenario: name of the scenario.
            seed: seed of the scenario.
            source: text of the attempt, which is executed first; None: the text of the last attempt is still loaded.
            cpu_seconds: limit of processor time for executing the text and for this play together.

        Raises:
            NoAnswer: the child has ended, or must be closed.
        """
        self._send_driver(exercise)
        self._attempt_count += 1
        header = {"op": "attempt", "exercise": exercise, "seed": seed, "only": [scenario]}
        # The answer must carry the same number. Otherwise, after a forged answer to this attempt, the true answer could
        # be taken for the answer to the next attempt.
        header["number"] = self._attempt_count
        header["cpu_seconds"] = cpu_seconds
        return self._request(header, {"exercise": exercise, "number": self._attempt_count}, program=source)

    @property
    def used_cpu_seconds(self) -> float:
        """Processor time that the child used; 0.0 as long as the server has not reported its end."""
        return float((self._end_message or {}).get("cpu", 0.0))

    def close(self) -> bool:
        """Kill the child if it still runs; return True if the server has confirmed that it is gone.

        If this returns False, the server is lost: it is gone, or does not answer.
        """
        try:
            if self._end_message is None:
                self._control.settimeout(_END_SECONDS)
                protocol.send(self._control, {"op": "kill"})
                self._end_message = protocol.receive_trusted(self._control).header
            return self._end_message.get("event") == "gone"
        except (EOFError, OSError, ValueError):
            return False
        finally:
            self._selector.close()
            self._channel.close()
            os.close(self._output)

    def _send_driver(self, exercise: str) -> None:
        """Send the driver of an exercise with the modules that it needs, leaving out what the child has already.

        Wait until the child has unpacked them, so that this costs no time of the exercise that is played next.

        Raises:
            NoAnswer: the child has ended, or must be closed.
        """
        modules = self._parcels.modules_for(exercise)  # the driver is the last of them
        if modules[-1] not in self._sent_modules:
            parcel = pack_parcel(modules, already_sent=self._sent_modules)
            self._request({"op": "unpack", "exercise": exercise}, {"event": "unpacked"}, body=parcel)
            self._sent_modules.update(modules)

    def _request(
        self,
        header: protocol.Header,
        answer: protocol.Header,
        *,
        program: str | None = None,
        body: bytes = b"",
    ) -> bytes:
        """Send a request to the child, and return the body of its answer. The limits of requests are counted anew.

        Args:
            header: header of the request.
            answer: header that the answer must have.
            program: program text that the request loads, sent as its body; None if it loads none.
            body: body of a request that loads no program.

        Raises:
            NoAnswer: the child has ended, or must be closed.
        """
        self._printed = 0
        self._note_late_acts()
        if program is not None:
            body = _encoded(program)
            self._programs.append(program)
        self._channel.settimeout(_SEND_SECONDS)
        with suppress(OSError):  # `_wait_for` will notice that the child or the server is gone
            protocol.send(self._control, {"op": "request", "cpu_seconds": self._limits.cpu_seconds})
            protocol.send(self._channel, header, body)
        return self._wait_for(answer, self._limits.seconds)

    def _wait_for(self, answer: protocol.Header, seconds: float) -> bytes:
        """Wait at most `seconds` for the frame with the header `answer`, and return its body.

        Raises:
            NoAnswer: the child or the server has ended, or the child exceeded a limit or sent an unexpected frame.
        """
        deadline = time.monotonic() + seconds
        while True:
            frame = self._receive_frame(deadline)
            if frame.header == answer:
                return frame.body
            self._note_suspicious_act(frame.header)

    def _note_late_acts(self) -> None:
        """Note the suspicious acts that were reported after the last answer, by a thread or a `__del__` for example.

        Raises:
            UnexpectedFrame: there is something else: an honest child waits for the next request.
            NoAnswer: the child or the server has ended, or the rest of a frame does not come.
        """
        self._read_channel()
        while self._reader.has_pending_bytes:
            self._note_suspicious_act(self._receive_frame(time.monotonic()).header)

    def _receive_frame(self, deadline: float) -> protocol.Frame:
        """Wait for the next frame from the child, and return it.

        A frame that has arrived counts even if the child has ended meanwhile, or the deadline has passed.

        Args:
            deadline: time of `time.monotonic()` until which the frame must begin to arrive. The rest of it may take
                `_RECEIVE_SECONDS` more.

        Raises:
            NoAnswer: the frame does not come, or the child printed too much.
        """
        may_extend = True
        while (frame := self._next_frame()) is None:
            if self._end_message is not None:
                raise no_answer_for(self._end_message, self._lifetime_cpu_seconds)
            remaining = deadline - time.monotonic()
            for key, _ in self._selector.select(max(0.0, remaining)):
                self._read_from(key.fileobj)
            if remaining > 0 or self._end_message is not None:
                continue
            # That was a last look, in case the grader itself had no processor to look in time.
            if not self._reader.has_pending_bytes or not may_extend:
                raise NoAnswer("timeout", ONLY_WAITED)
            deadline, may_extend = time.monotonic() + _RECEIVE_SECONDS, False
        return frame

    def _note_suspicious_act(self, header: protocol.Header) -> None:
        """Note a report of `sandbox.inside.suspicious_acts`.

        Raises:
            UnexpectedFrame: the frame is no such report, or there are more than an unmodified child sends.
        """
        act, line, program = (header.get(key) for key in ("act", "line", "program"))
        if header.get("event") != "suspicious_act" or not isinstance(act, str) or not isinstance(line, int):
            raise UnexpectedFrame
        if not isinstance(program, int) or not 1 <= program <= len(self._programs):
            raise UnexpectedFrame
        self._act_counts[program] += 1
        if self._act_counts[program] > MAX_ACT_REPORTS:
            raise UnexpectedFrame
        acts = self.suspicious_acts.setdefault(self._programs[program - 1], [])
        acts.append(SuspiciousAct(act[:_MAX_ACT_CHARS], int(line)))

    def _next_frame(self) -> protocol.Frame | None:
        """Return the next complete frame from the child; None if there is none yet.

        Raises:
            NoAnswer: what the child wrote is no frame, or the child printed too much.
        """
        try:
            frame = self._reader.next_frame()
        except protocol.FrameError as error:
            raise NoAnswer("crashed", UNREADABLE_ANSWER) from error
        if frame is not None:
            self._read_output()  # what was printed before the frame was sent is in the pipe by now
        if self._printed > self._limits.output_bytes:
            raise NoAnswer("output")
        return frame

    def _read_from(self, readable: Any) -> None:
        """Read from what the selector found readable, and note if that shows that the child or server is gone."""
        if readable is self._control:
            try:
                self._end_message = protocol.receive_trusted(self._control).header
            except (EOFError, OSError):
                self._end_message = SERVER_GONE
            self._read_channel()  # what the child wrote before it ended
        elif readable == self._server_end_descriptor:
            self._end_message = SERVER_GONE
        elif readable is self._channel:
            self._read_channel(once=True)
        else:
            self._read_output(once=True)

    def _read_channel(self, *, once: bool = False) -> None:
        """Pass what the child wrote to the frame reader, as long as that has room; with `once`, one piece at most.

        Use `once` between two looks at the clock: a child that lives could write faster than this reads. Without
        `once`, this ends when the reader has as much as the largest frame.
        """
        self._channel.setblocking(False)
        while not self._reader.is_overfull:
            try:
                data = self._channel.recv(_CHUNK_BYTES)
            except OSError:  # nothing to read
                return
            if not data:
                self._unregister(self._channel)
                return
            self._reader.feed(data)
            if once:
                return

    def _read_output(self, *, once: bool = False) -> None:
        """Count what the child printed, up to the limit; with `once`, one piece at most (see `_read_channel`)."""
        while self._printed <= self._limits.output_bytes:
            try:
                data = os.read(self._output, _CHUNK_BYTES)
            except OSError:  # nothing to read
                return
            if not data:
                self._unregister(self._output)
                return
            self._printed += len(data)
            self._last_output = data
            if once:
                return

    def _unregister(self, closed: Any) -> None:
        """Stop watching a socket or pipe whose other end the child has closed: it would count as readable for ever."""
        with suppress(KeyError):  # it was unregistered before
            self._selector.unregister(closed)


def _encoded(source: str) -> bytes:
    """Return a program text in UTF-8; a file may hold lone surrogates, which plain UTF-8 refuses."""
    return source.encode("utf-8", "surrogatepass")
