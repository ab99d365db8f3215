"""Plays variants of a learner's function in a forked child of the notebook, where they can do no harm.

What a variant prints, writes, leaves in memory or never ends stays in the child. One child plays many variants; the
next is forked only after a variant that ended it. Where there is no fork, or after CUDA has started, nothing is played.
"""

import ast
import faulthandler
import gc
import inspect
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

import torch

from grader.course import Exercise
from grader.observe.play import play_scenario
from grader.observe.program import Program
from grader.observe.trace import MAX_TRACE_BYTES, Run, Trace, TraceError, from_bytes, to_bytes

_CHUNK = 2**16
_END_SECONDS = 5.0
_WALL_FOR_CPU = 4.0
"""A variant's processor time decides, which does not depend on what else runs; this many times as long by the clock
is for one that sleeps."""
_TO_BEGIN = 1.0
"""Seconds more for a child's first play, which may import what no play has needed before."""
_MOST_DEATHS = 12
"""A learner should not wait for more variants than these that have to be killed."""


@dataclass(frozen=True)
class Bounds:
    """What variants may take."""

    cpu_seconds: float = 0.5
    """Processor time of one play: ten times what the slowest right one takes."""
    seconds: float = 15.0
    """By the clock on the wall, all plays together."""
    memory_bytes: int = 2**30
    """Beyond what the notebook has already."""
    file_bytes: int = 8 * 2**20
    """Largest file; checkpoints of the checker's own small models are below 1 MiB."""


class ChildProcess:
    """A runner of variants (`grader.repair.search.Runner`); a context manager."""

    def __init__(
        self,
        exercise: Exercise,
        function: Callable[..., Any],
        filename: str,
        *,
        seed: int,
        bounds: Bounds | None = None,
    ) -> None:
        """Nothing is forked before the first play.

        Args:
            exercise: whose scenarios are played.
            function: the learner's function or class: the variants find its globals.
            filename: of the learner's code, as its stack frames say it.
            seed: of the scenarios.
            bounds: what variants may take.
        """
        self._exercise, self._filename, self._seed = exercise, filename, seed
        self._globals = _globals_of(function)
        self._bounds = bounds or Bounds()
        self._left = self._bounds.seconds
        self._deaths = 0
        self._child: int | None = None
        self._begun = False
        self._channel: socket.socket | None = None
        self._folder = tempfile.mkdtemp(prefix="hanstep-")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def usable(self) -> bool:
        """Whether there is anything left that can be played."""
        return can_fork() and self._deaths < _MOST_DEATHS and self._left > 0

    def run(self, text: str, scenario: str) -> Run | None:
        """The run of one scenario with the definition in `text`; None when it did not come to an end."""
        if not self.usable:
            return None
        started = time.monotonic()
        try:
            return self._run(text, scenario)
        finally:
            self._left -= time.monotonic() - started

    def _run(self, text: str, scenario: str) -> Run | None:
        if self._channel is None:
            self._fork()
        assert self._channel is not None
        try:
            _send(self._channel, scenario.encode(), text.encode("utf-8", "surrogatepass"))
            limit = self._bounds.cpu_seconds + (0.0 if self._begun else _TO_BEGIN)
            blob = _receive(self._channel, min(self._left, _WALL_FOR_CPU * limit + 0.5))
            self._begun = True
        except (OSError, EOFError):
            self._deaths += 1
            self._end()
            return None
        except BaseException:  # Ctrl-C, in the middle of an answer
            self._end()
            raise
        try:
            return from_bytes(blob).runs.get(scenario)
        except TraceError:
            return None

    def _fork(self) -> None:
        mine, its = socket.socketpair()
        parent = os.getpid()
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # threads of the notebook are left where they are
            child = os.fork()
        if child == 0:
            mine.close()
            self._live(its, parent)
        its.close()
        self._child, self._channel, self._begun = child, mine, False

    def _end(self) -> None:
        """Kill the child and whatever it has started."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None
        if self._child is not None:
            for kill in (os.killpg, os.kill):  # it leads a session of its own, once it runs
                with suppress(ProcessLookupError, PermissionError):
                    kill(self._child, signal.SIGKILL)
            with suppress(ChildProcessError):
                os.waitpid(self._child, 0)
            self._child = None

    # ---- the child ------------------------------------------------------------------------------------

    def _live(self, channel: socket.socket, parent: int) -> NoReturn:
        """Play what is asked for until the notebook closes the channel. Never returns, never runs exit handlers."""
        try:
            self._settle(parent)
            last, program, limit = None, None, self._bounds.cpu_seconds + _TO_BEGIN
            while True:
                scenario, text = _receive(channel, None), _receive(channel, None)
                if text != last:
                    last, program = text, self._load(text.decode("utf-8", "surrogatepass"))
                trace = Trace()
                if program is not None:
                    described = self._exercise.driver[scenario.decode()]
                    signal.signal(signal.SIGPROF, signal.SIG_DFL)
                    signal.setitimer(signal.ITIMER_PROF, limit)
                    trace.runs[described.name] = play_scenario(described, program, seed=self._seed)
                    signal.setitimer(signal.ITIMER_PROF, 0)
                _send(channel, to_bytes(trace))
                limit = self._bounds.cpu_seconds
        except BaseException:  # no trace of it may reach the notebook's screen
            os._exit(1)
        finally:
            os._exit(0)

    def _settle(self, parent: int) -> None:
        """Away from the notebook: its terminal, its output, its signals, its folder."""
        os.setsid()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        faulthandler.disable()  # Jupyter's writes to the notebook
        gc.freeze()  # the notebook's objects, its sockets among them, are not the child's to clear up
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        sys.stdin = open(os.devnull)  # noqa: SIM115 (the process ends with them)
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
        _show_nothing()
        os.chdir(self._folder)
        os.environ["TMPDIR"] = tempfile.tempdir = self._folder
        torch.set_num_threads(1)  # worker threads are not there after a fork
        self._limit()
        if os.getppid() != parent:
            os._exit(1)

    def _limit(self) -> None:
        from grader.sandbox.inside import isolation

        isolation.die_with_parent()
        memory, file, seconds = self._bounds.memory_bytes, self._bounds.file_bytes, self._bounds.seconds
        isolation.set_limits(isolation.Bounds(memory, seconds, file, open_files=1024), address_space=True)

    def _load(self, text: str) -> Program | None:
        """The definition and its helpers in a copy of the learner's globals: no other statement is executed.

        An import is, where the globals lack what it brings: an edit may need it.
        """
        namespace = dict(self._globals)
        name = self._exercise.name
        try:
            tree = ast.parse(text, self._filename)
            kinds = (ast.FunctionDef, ast.ClassDef)
            found: list[ast.stmt] = [n for n in tree.body if isinstance(n, kinds) and n.name == name]
            if not found:
                return None
            used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
            needed = [n for n in tree.body if _is_needed(n, used - {name}, namespace)]
            signal.setitimer(signal.ITIMER_PROF, self._bounds.cpu_seconds)
            code = compile(ast.Module([*needed, found[-1]], []), self._filename, "exec", dont_inherit=True)
            exec(code, namespace)
        except Exception:
            return None
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return Program({name: namespace[name]}, self._filename)


def _is_needed(node: ast.stmt, used: Set[str], namespace: Mapping[str, Any]) -> bool:
    """Whether it defines a function that is used, or imports what is not there yet."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return any((alias.asname or alias.name).split(".")[0] not in namespace for alias in node.names)
    return isinstance(node, ast.FunctionDef) and node.name in used


def can_fork() -> bool:
    """Whether a child of this process can run torch."""
    return hasattr(os, "fork") and sys.platform != "darwin" and not torch.cuda.is_initialized()


def _globals_of(function: Callable[..., Any]) -> Mapping[str, Any]:
    function = inspect.unwrap(function)
    if inspect.isclass(function):
        methods = [m for m in vars(function).values() if isinstance(m, types.FunctionType)]
        function = methods[0] if methods else function
    found: Mapping[str, Any] = getattr(function, "__globals__", {})
    return found


def _show_nothing() -> None:
    """In Jupyter, what is displayed does not go through stdout."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    for name in ("display_pub", "displayhook"):
        publisher = getattr(shell, name, None)
        if publisher is not None:
            with suppress(Exception):
                object.__setattr__(publisher, "publish", lambda *_, **__: None)


def _send(channel: socket.socket, *parts: bytes) -> None:
    channel.sendall(b"".join(len(part).to_bytes(4, "big") + part for part in parts))


def _receive(channel: socket.socket, seconds: float | None) -> bytes:
    """One part. With a limit it comes from a child, which is believed neither its time nor its size.

    Raises:
        EOFError: the other side has gone.
        TimeoutError: it takes too long, or too much.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    data = bytearray()
    size = 4
    with selectors.DefaultSelector() as selector:
        selector.register(channel, selectors.EVENT_READ)
        while len(data) < size:
            wait = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not selector.select(wait):
                raise TimeoutError
            piece = channel.recv(min(_CHUNK, size - len(data)))
            if not piece:
                raise EOFError
            data += piece
            if len(data) == 4 and size == 4:
                size += int.from_bytes(data, "big")
                if deadline is not None and size > MAX_TRACE_BYTES + 4:
                    raise TimeoutError
    return bytes(data[4:])
