"""Grader's side of the fork server: starts it, talks to its children, and kills them at the limit.

Nothing a child writes is trusted: its bytes are counted, and each question gets at most one frame as an answer.
"""

import math
import os
import selectors
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from grader.errors import HanstepError
from grader.observe.trace import MAX_TRACE_BYTES
from grader.sandbox import bubblewrap, cgroups
from grader.sandbox.endings import WAITED, Ended, ServerGone, Status, Unasked
from grader.sandbox.forked import ForkedServer
from grader.sandbox.inside import frames
from grader.sandbox.inside.isolation import Bounds
from grader.sandbox.inside.setting import Setting

_START_SECONDS = 300.0  # import torch, for several servers at once, from a slow disk
_FORK_SECONDS = 60.0  # until the child is ready: milliseconds, or CUDA's start
_END_SECONDS = 10.0  # until a killed child is gone
_CHUNK = 2**16
_TOOK_TOO_MUCH: dict[str, Status] = {"memory": "memory", "time": "timeout"}
_TOO_MANY = {"threads": "너무 많은 스레드", "processes": "너무 많은 프로세스"}
_MAIN = "from grader.sandbox.inside.server import main; main()"


class SandboxUnavailable(HanstepError):
    """Submissions cannot be isolated here."""


@dataclass(frozen=True)
class Limits:
    """What one exercise may take."""

    seconds: float = 20.0
    """By the clock on the wall: for code that sleeps, or waits for what never comes."""
    cpu_seconds: float = 10.0
    """Processor time of all its threads, which does not depend on what else the machine does."""
    memory_bytes: int = 2 * 2**30
    """Beyond what the warmed server already has."""
    output_bytes: int = 2**20
    """What it prints."""
    trace_bytes: int = MAX_TRACE_BYTES


class Server:
    """The process that forks, and the control socket to it."""

    def __init__(
        self,
        isolate: bool,
        device: str,
        setting: Setting,
        extra: Path | None,
        *,
        memory_bytes: int,
        forked: bool = False,
    ) -> None:
        self._warm = False
        with ExitStack() as stack:
            # Inside bubblewrap /tmp is the server's own.
            home = "/tmp" if isolate else stack.enter_context(tempfile.TemporaryDirectory(prefix="hanstep-"))
            self._errors = stack.enter_context(tempfile.TemporaryFile())
            self.control, inside = socket.socketpair()
            stack.callback(self.control.close)
            command = bubblewrap.python(bubblewrap.search_path(isolate=isolate), _MAIN)
            if isolate:
                command = [*bubblewrap.isolated(device, extra), *command]
                command = cgroups.limited(command, memory_bytes, stack)
            with inside:
                self._process = (
                    ForkedServer(inside, self._errors, home, device)
                    if forked
                    else subprocess.Popen(
                        command,
                        stdin=inside.fileno(),
                        stdout=subprocess.DEVNULL,
                        stderr=self._errors,
                        cwd=home,
                        env=bubblewrap.environment(device, home),
                        start_new_session=True,  # Ctrl-C is ours, not the server's
                    )
                )
            self.ended = self._end_seen_by(stack)
            frames.send(self.control, asdict(setting))
            self._resources = stack.pop_all()

    def _end_seen_by(self, stack: ExitStack) -> int | None:
        """A file that can be read when the process has ended; None where the system has no such thing.

        Bubblewrap's outermost process is not the one at the other end of the control socket.
        """
        with suppress(AttributeError, OSError):
            ended = os.pidfd_open(self._process.pid)
            stack.callback(os.close, ended)
            return ended
        return None

    @property
    def alive(self) -> bool:
        """Whether it runs; something outside may have killed it between two jobs."""
        return self._process.poll() is None

    def ready(self) -> None:
        """Wait until torch is warm.

        Raises:
            SandboxUnavailable: it ended instead.
        """
        if self._warm:
            return
        self.control.settimeout(_START_SECONDS)
        try:
            frames.receive(self.control)
        except (EOFError, OSError) as error:
            self._process.kill()
            self._process.wait()
            self._errors.seek(0)
            last = self._errors.read().decode("utf-8", "replace").strip().splitlines()[-3:]
            raise SandboxUnavailable(
                "\n".join(["샌드박스 서버가 시작되지 않았어요. grader doctor로 확인해 보세요.", *last])
            ) from error
        self._warm = True

    def close(self) -> None:
        """Close the control socket, at which the server ends."""
        self.control.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._resources.close()


class Child:
    """One fork: what is said to it, and how it ended."""

    def __init__(self, server: Server, limits: Limits, exercises: int) -> None:
        self._control, self._limits = server.control, limits
        self._printed = 0
        self._attempts = 0
        self._last_output = b""
        self._gone: dict[str, Any] | None = None
        self._reader = frames.Reader(limits.trace_bytes)
        self._selector = selectors.DefaultSelector()
        self.loaded = False
        self._cpu_seconds = limits.cpu_seconds * exercises
        bounds = Bounds(limits.memory_bytes, self._cpu_seconds)
        self._channel, inside = socket.socketpair()
        self._output, output = os.pipe()
        with inside:
            try:
                fds = (inside.fileno(), output)
                with suppress(OSError):  # a server that is gone is noticed at the first wait
                    frames.send(self._control, {"op": "fork", "bounds": asdict(bounds)}, fds=fds)
            finally:
                os.close(output)
        os.set_blocking(self._output, False)
        self._server_ended = server.ended
        for source in (self._channel, self._output, self._control, self._server_ended):
            if source is not None:
                self._selector.register(source, selectors.EVENT_READ)

    def load(self, source: str) -> None:
        """Have the submission's text executed as a module.

        Raises:
            SandboxUnavailable: the child ended before it had seen anything of the submission.
        """
        self.begin()
        self._say({"op": "load"}, source.encode("utf-8", "surrogatepass"), timed=True)
        self._expect({"event": "loaded"}, self._limits.seconds)
        self.loaded = True

    def begin(self) -> None:
        """Wait until it is ready for a first question.

        Raises:
            SandboxUnavailable: it ended before.
        """
        try:
            self._expect({"event": "ready"}, _FORK_SECONDS)
        except Ended as end:
            if not self._gone:  # the server went too, or nothing answers
                raise
            lines = self._last_output.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise SandboxUnavailable(
                "\n".join(["제출물을 격리해서 실행하지 못했어요. grader doctor로 확인해 보세요.", *lines])
            ) from end

    def play(self, exercise: str, seed: int) -> bytes:
        """Have one exercise played; return the bytes of its trace, not yet read."""
        return self._ask({"op": "play", "exercise": exercise, "seed": seed})

    def attempt(
        self, exercise: str, scenario: str, seed: int, source: str | None, *, cpu_seconds: float
    ) -> bytes:
        """Have one scenario played, with this text executed anew before (None: with the text of the last attempt)."""
        self._attempts += 1
        header = {"op": "attempt", "exercise": exercise, "seed": seed, "only": [scenario]}
        header["number"] = self._attempts  # or a forged answer would leave the true one to the next question
        text = b"" if source is None else source.encode("utf-8", "surrogatepass")
        return self._ask({**header, "cpu_seconds": cpu_seconds}, text)

    def _ask(self, question: frames.Header, body: bytes = b"") -> bytes:
        self._printed = 0
        if self._reader.pending:
            raise Unasked  # only forged frames come unasked
        self._say(question, body, timed=True)
        answer: frames.Header = {key: question[key] for key in ("exercise", "number") if key in question}
        return self._expect(answer, self._limits.seconds)

    def close(self) -> bool:
        """Kill what is left of the child; return whether the server has confirmed its end."""
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

    def _say(self, header: frames.Header, body: bytes = b"", *, timed: bool = False) -> None:
        self._channel.settimeout(_FORK_SECONDS)
        with suppress(OSError):  # a child that is gone is noticed at the next wait
            if timed:  # from now on
                frames.send(self._control, {"op": "question", "cpu_seconds": self._limits.cpu_seconds})
            frames.send(self._channel, header, body)

    def _expect(self, answer: frames.Header, seconds: float) -> bytes:
        """Wait for the one frame that may come now.

        Raises:
            Ended: the child ended, or has to.
        """
        deadline = time.monotonic() + seconds
        while True:
            frame = self._next_frame()
            if frame is not None:
                self._read_output()  # everything printed before the frame is in the pipe by now
            if self._printed > self._limits.output_bytes:
                raise Ended("output")
            if frame is not None:
                header, body = frame
                if header != answer:
                    raise Unasked
                return body
            if self._gone is not None:
                raise self._why_gone(self._gone)
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                raise Ended("timeout", WAITED)
            for key, _ in self._selector.select(remaining):
                self._read(key.fileobj)

    def _next_frame(self) -> tuple[frames.Header, bytes] | None:
        try:
            return self._reader.next()
        except frames.FrameError as error:
            raise Ended("crashed", "읽을 수 없는 답") from error

    def _read(self, source: Any) -> None:
        if source is self._control:
            try:
                self._gone, _, _ = frames.receive(self._control)
            except (EOFError, OSError):
                self._gone = {}
            self._read_channel()  # its last words
        elif source == self._server_ended:
            self._gone = {}
        elif source is self._channel:
            self._read_channel(once=True)
        else:
            self._read_output(once=True)

    def _read_channel(self, *, once: bool = False) -> None:
        self._channel.setblocking(False)
        while not self._reader.overfull:
            try:
                data = self._channel.recv(_CHUNK)
            except OSError:  # nothing there
                return
            if not data:
                self._forget(self._channel)
                return
            self._reader.feed(data)
            if once:
                return

    def _read_output(self, *, once: bool = False) -> None:
        while self._printed <= self._limits.output_bytes:
            try:
                data = os.read(self._output, _CHUNK)
            except OSError:
                return
            if not data:
                self._forget(self._output)
                return
            self._printed += len(data)
            self._last_output = data
            if once:
                return

    def _forget(self, source: Any) -> None:
        with suppress(KeyError):
            self._selector.unregister(source)

    def _why_gone(self, gone: dict[str, Any]) -> Ended:
        """What ended a child that nobody told to end."""
        reason, status = gone.get("reason"), gone.get("status")
        if reason in _TOOK_TOO_MUCH:
            return Ended(_TOOK_TOO_MUCH[reason])
        if reason in _TOO_MANY:
            return Ended("crashed", _TOO_MANY[reason])
        if not isinstance(status, int):
            return ServerGone()
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number in (signal.SIGKILL, signal.SIGXCPU):
                # We did not send this signal, and nothing inside the child's PID namespace can. So its processor time
                # is over, or the kernel ran out of memory.
                out_of_time = gone.get("cpu", 0.0) >= math.floor(self._cpu_seconds)
                return Ended("timeout" if out_of_time else "memory")
            return Ended("crashed", _signal_name(number))
        return Ended("crashed", f"종료 코드 {os.WEXITSTATUS(status)}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
