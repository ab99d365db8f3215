"""Run a submission's exercises isolated and bring back their traces: the step between submission and judging.

A `Sandbox` owns one server (`server_process`, `inside.server`), which has torch imported and warmed. Each submission
runs in a fork of that server (`client`), which plays its exercises one after the other.
"""

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import takewhile
from types import TracebackType
from typing import Self

from grader.observe.trace import Trace, TraceError, from_bytes
from grader.sandbox import bubblewrap
from grader.sandbox.attempts import AttemptLimits, Attempts
from grader.sandbox.bubblewrap import explain_probe, probe
from grader.sandbox.client import WAITED, Child, Ended, Limits, ServerGone, Status
from grader.sandbox.forked import can_fork
from grader.sandbox.inside.frames import Setting
from grader.sandbox.inspection import refuse_oversized
from grader.sandbox.parcels import Parcels
from grader.sandbox.server_process import SandboxUnavailable, Server


@dataclass(frozen=True)
class Job:
    """The text of one program, and the exercises to play with it, in this order."""

    source: str
    exercises: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """The result of running one exercise."""

    exercise: str
    status: Status
    trace: Trace | None
    """The trace. Always present with the status `ran`, and with `memory` if the code could still report it."""
    seconds: float
    """Wall time."""
    detail: str = ""
    """A few Korean words for the message: `SIGSEGV`, `종료 코드 3`; for a timeout by wall time `WAITED` or `OVER`."""
    reached: tuple[tuple[str, int], ...] = ()
    """Suspicious acts of the exercise's file, as (act, line), e.g. `sys._getframe` (see `inside.reaching`). Only the
    last outcome of each file has them."""


OVER = "제출물 전체의 시간이 끝남"
"""Detail of the timeout of an exercise that was not begun because the submission's time was used up."""


class Sandbox:
    """One warmed server, and a fork of it for each submission. Not thread-safe."""

    def __init__(
        self,
        kind: str = "auto",
        device: str = "cpu",
        limits: Limits | None = None,
        *,
        lessons: Sequence[str],
        added: Sequence[str] = (),
        ahead: Sequence[str] = (),
        once: bool = False,
    ) -> None:
        """Start the server without waiting until it is warm, so that several can warm up side by side.

        Args:
            kind: `bwrap` and `auto` isolate; `none` only limits time, memory and output.
            device: `cpu`, or `cuda` (then each fork starts CUDA anew, because an initialized CUDA cannot be forked).
            limits: limits of each fork and of the exercises in it; None: the default ones.
            lessons: names of the lessons' packages in `grader.exercises`.
            added: installed packages, as pip calls them, that submissions can import beside those of the course.
            ahead: modules that many submissions import; the server imports them once for all.
            once: True for a single submission of one's own. Without isolation the server is then a fork of this
                process where that is safe, which starts faster.

        Raises:
            ValueError: `kind` is none of the three.
            SandboxUnavailable: the requested isolation is not available here.
        """
        if kind not in ("auto", "bwrap", "none"):
            raise ValueError(f'kind must be "auto", "bwrap" or "none": {kind!r}')
        self._isolate = kind != "none"
        if self._isolate and not probe().available:
            raise SandboxUnavailable(explain_probe(probe()))
        self._limits = limits or Limits()
        self._device = device
        self._added = added
        self._forked = once and not self._isolate and can_fork(device)
        self.clock_ended = 0
        """Number of exercises so far that ran out of wall time, not processor time. A busy machine may be the reason,
        so the caller may run them again."""
        # Start the server first: it imports torch while drivers are read here.
        self._server: Server | None = self._start_server()
        self._parcels = Parcels(lessons)
        self._setting = Setting(
            imports=(*self._parcels.libraries(), *ahead),
            device=device,
            isolate=self._isolate,
            visible=bubblewrap.bound_folders_in_tmp(),
        )
        self._server.prepare(self._setting)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_warm(self) -> None:
        """Wait until the server is warm. Does not raise if it does not start: `run` does."""
        with suppress(SandboxUnavailable):
            self._ready_server()

    def close(self) -> None:
        """End the server and everything in it."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def run(self, jobs: Sequence[Job], seed: int, *, until: float = math.inf) -> list[Outcome]:
        """Run the jobs of one submission, in one fork for as long as that fork lives.

        An exercise that ends its fork does not keep the exercises after it from running: these run in a new fork.

        Args:
            jobs: jobs in the order of the course, because an exercise's driver may contain the answer to an earlier
                exercise (see `parcels`).
            seed: seed of the scenarios.
            until: time of `time.monotonic()` after which no further exercise is begun.

        Returns:
            One outcome for each exercise, in the order of the jobs.

        Raises:
            SandboxUnavailable: the server does not start (any more).
        """
        tasks = [(job.source, exercise) for job in jobs for exercise in job.exercises]
        outcomes: list[Outcome] = []
        servers = 2  # a server may be killed from outside once, which is not the submission's fault
        while len(outcomes) < len(tasks):
            rest = tasks[len(outcomes) :]
            if time.monotonic() > until:
                outcomes += [Outcome(name, "timeout", None, 0.0, OVER) for _, name in rest]
                continue
            ran, gone = self._run_fork(rest, seed, until)
            servers -= gone
            outcomes += (
                ran if servers or not gone else [*ran, Outcome(rest[len(ran)][1], "crashed", None, 0.0)]
            )
        self.clock_ended += sum(outcome.detail in (WAITED, OVER) for outcome in outcomes)
        return outcomes

    def attempts(self, seed: int, limits: AttemptLimits | None = None) -> "Attempts":
        """Return a context manager that plays attempts, scenario by scenario; leave it before the next `run`."""

        def fork(limits: Limits) -> Child:
            return Child(self._ready_server(), limits, 1, self._parcels)

        return Attempts(fork, self._close_if_lost, seed, limits or AttemptLimits())

    def _close_if_lost(self, lost: bool) -> None:
        """Close a server that is gone or does not answer; the next run starts a new one."""
        if lost:
            self.close()

    def _start_server(self) -> Server:
        """Start a server, as a fork of this process if that was asked for and is safe now."""
        forked = self._forked and can_fork(self._device)
        return Server(
            self._isolate,
            self._device,
            memory_bytes=self._limits.memory_bytes,
            added=self._added,
            forked=forked,
        )

    def _run_fork(
        self, tasks: Sequence[tuple[str, str]], seed: int, until: float
    ) -> tuple[list[Outcome], bool]:
        """Run tasks, as (program text, exercise), in one child until all are done or one of them ends the child.

        Returns:
            The outcomes of the first tasks, up to and including the one that ended the child; and True if the server
            was lost. Then there is no outcome for the exercise that was being played; otherwise there is at least one.
        """
        outcomes: list[Outcome] = []
        server = self._ready_server()
        started = time.perf_counter()
        child = Child(server, self._limits, len(tasks), self._parcels)
        try:
            child.begin()
            for source, exercise in tasks:
                if outcomes and time.monotonic() > until:
                    break
                started = time.perf_counter()
                if source != child.source:
                    child.load(source)
                blob = child.play(exercise, seed)
                outcomes.append(_outcome_of(exercise, blob, time.perf_counter() - started))
        except ServerGone:
            return _with_reached(outcomes, tasks, child), True
        except SandboxUnavailable as error:
            if self._device == "cpu":
                raise
            raise SandboxUnavailable(f"{error}\nGPU 없이 채점하려면: --device cpu") from error
        except Ended as end:
            seconds = time.perf_counter() - started
            source, exercise = tasks[len(outcomes)]
            ended = [exercise]
            # The child ended while loading the file, and would end again for each exercise of that file
            if child.source != source:
                ended = [
                    name for _, name in takewhile(lambda task: task[0] == source, tasks[len(outcomes) :])
                ]
            outcomes += [Outcome(name, end.status, None, seconds, end.detail) for name in ended]
        finally:
            self._close_if_lost(not child.close())
        return _with_reached(outcomes, tasks, child), False

    def _ready_server(self, tries: int = 2) -> Server:
        """Return a server that answers; start a new one if it is gone, twice if it dies while starting.

        Raises:
            SandboxUnavailable: no server starts.
        """
        if self._server is not None and not self._server.alive:
            self.close()
        if self._server is None:
            self._server = self._start_server()
            self._server.prepare(self._setting)
        try:
            self._server.ready()
        except SandboxUnavailable:
            self.close()
            if tries == 1:
                raise
            return self._ready_server(tries - 1)
        return self._server


def _with_reached(
    outcomes: Sequence[Outcome], tasks: Sequence[tuple[str, str]], child: Child
) -> list[Outcome]:
    """Add the file's suspicious acts (`Outcome.reached`) to the last outcome of each file."""
    completed = list(outcomes)
    if child.reached:
        last = {source: number for number, (source, _) in enumerate(tasks[: len(completed)])}
        for source, number in last.items():
            completed[number] = replace(completed[number], reached=tuple(child.reached.get(source, ())))
    return completed


def _outcome_of(exercise: str, blob: bytes, seconds: float) -> Outcome:
    """Read the bytes of a trace into an outcome; `crashed` if they are not a trace that a recorder can have written."""
    try:
        trace = from_bytes(blob)
        refuse_oversized(trace)
    except TraceError:
        return Outcome(exercise, "crashed", None, seconds, "읽을 수 없는 기록")
    failures = [trace.load_failure, *(run.failure for run in trace.runs.values())]
    status: Status = "memory" if any(f is not None and f.out_of_memory for f in failures) else "ran"
    return Outcome(exercise, status, trace, seconds)
