"""Runs a submission's exercises isolated and brings back their traces: between submission and judge."""

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
from grader.sandbox.bubblewrap import explain, probe
from grader.sandbox.client import Child, Limits
from grader.sandbox.endings import WAITED, Ended, ServerGone, Status
from grader.sandbox.forked import can_fork
from grader.sandbox.inside.setting import Setting
from grader.sandbox.inspection import refuse_oversized
from grader.sandbox.parcels import Parcels
from grader.sandbox.server_process import SandboxUnavailable, Server


@dataclass(frozen=True)
class Job:
    """One virtual file and the exercises to run from it, in this order."""

    source: str
    exercises: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of one exercise."""

    exercise: str
    status: Status
    trace: Trace | None
    """What was observed. Always there with the status `ran`, and with `memory` if the code could still report it."""
    seconds: float
    detail: str = ""
    """A few words for the message: `SIGSEGV`, `종료 코드 3`; of a timeout, `WAITED` or `OVER`."""
    reached: tuple[tuple[str, int], ...] = ()
    """What its file reached for around it until then (`sys._getframe`), and at which of its lines."""


OVER = "제출물 전체의 시간이 끝남"
"""Detail of the timeouts of what was not begun any more."""


class Sandbox:
    """One warmed server; a fork of it for each job. Not for two threads at once.

    Raises:
        SandboxUnavailable: the asked-for isolation cannot be had here.
    """

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
        """Start the server; it warms up while others start.

        Args:
            kind: `bwrap` and `auto` isolate; `none` only limits time, memory and output.
            device: `cpu`, or `cuda` (then each job starts CUDA anew: a warmed one cannot be forked).
            limits: of one exercise.
            lessons: names of the lessons' packages in `grader.exercises`.
            added: installed packages, as pip calls them, that submissions find beside those of the course.
            ahead: modules that many submissions import, and the server for all of them.
            once: for one submission of one's own. Without isolation the server is then a fork of this process, where
                that is safe.
        """
        if kind not in ("auto", "bwrap", "none"):
            raise ValueError(f'kind must be "auto", "bwrap" or "none": {kind!r}')
        self._isolate = kind != "none"
        if self._isolate and not probe().available:
            raise SandboxUnavailable(explain(probe()))
        self._limits = limits or Limits()
        self._device = device
        self._added = added
        self._forked = once and not self._isolate and can_fork(device)
        self.clock_ended = 0
        """How many exercises the clock has ended so far, not their processor time: a busy machine may be why."""
        self._server: Server | None = self._begun()  # first: it imports torch while drivers are read here
        self._parcels = Parcels(lessons)
        self._setting = Setting(
            imports=(*self._parcels.imported(), *ahead),
            device=device,
            isolate=self._isolate,
            keep=bubblewrap.below_tmp(),
        )
        self._server.prepare(self._setting)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def wait_until_warm(self) -> None:
        """Wait until the server can fork in no time; where it does not start, `run` says so."""
        with suppress(SandboxUnavailable):
            self._running()

    def close(self) -> None:
        """End the server and everything in it."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def run(self, jobs: Sequence[Job], seed: int, *, until: float = math.inf) -> list[Outcome]:
        """Run jobs of one submission, in one fork as long as that lives; whatever one does, the others are run too.

        Args:
            jobs: what to run, in the order of the course: what an exercise is played with may answer an earlier one.
            seed: of the scenarios.
            until: the moment, as `time.monotonic` tells it, after which no further exercise is begun.

        Raises:
            SandboxUnavailable: the server does not start (any more).
        """
        tasks = [(job.source, exercise) for job in jobs for exercise in job.exercises]
        outcomes: list[Outcome] = []
        servers = 2  # one may be killed from outside, which is nobody's fault
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
        """Play variants of submissions, scenario by scenario; a context manager, to be left before the next `run`."""
        return Attempts(self._child_for_attempts, self._give_up_if, seed, limits or AttemptLimits())

    def _child_for_attempts(self, limits: Limits) -> Child:
        return Child(self._running(), limits, 1, self._parcels)

    def _give_up_if(self, lost: bool) -> None:
        if lost:
            self.close()  # the server is gone too, or does not answer: a new one for the next

    def _begun(self) -> Server:
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
        """Outcomes of the first tasks, up to the one that ended the child; whether the server went with it.

        Without the server there is no outcome of the exercise that was played, else at least one.
        """
        outcomes: list[Outcome] = []
        server = self._running()
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
                outcomes.append(_observed(exercise, blob, time.perf_counter() - started))
        except ServerGone:
            return _with_reached(outcomes, tasks, child), True
        except Ended as end:
            seconds = time.perf_counter() - started
            source, exercise = tasks[len(outcomes)]
            ended = [exercise]
            if child.source != source:  # it would end there again for each exercise of this file
                ended = [
                    name for _, name in takewhile(lambda task: task[0] == source, tasks[len(outcomes) :])
                ]
            outcomes += [Outcome(name, end.status, None, seconds, end.detail) for name in ended]
        finally:
            self._give_up_if(not child.close())
        return _with_reached(outcomes, tasks, child), False

    def _running(self, tries: int = 2) -> Server:
        """A server that answers; one that was killed while it started is begun once more.

        Raises:
            SandboxUnavailable: none starts.
        """
        if self._server is not None and not self._server.alive:
            self.close()
        if self._server is None:
            self._server = self._begun()
            self._server.prepare(self._setting)
        try:
            self._server.ready()
        except SandboxUnavailable:
            self.close()
            if tries == 1:
                raise
            return self._running(tries - 1)
        return self._server


def _with_reached(
    outcomes: Sequence[Outcome], tasks: Sequence[tuple[str, str]], child: Child
) -> list[Outcome]:
    """The last outcome of each file tells it for all of the file."""
    told = list(outcomes)
    if child.reached:
        last = {source: number for number, (source, _) in enumerate(tasks[: len(told)])}
        for source, number in last.items():
            told[number] = replace(told[number], reached=tuple(child.reached.get(source, ())))
    return told


def _observed(exercise: str, blob: bytes, seconds: float) -> Outcome:
    try:
        trace = from_bytes(blob)
        refuse_oversized(trace, blob)
    except TraceError:
        return Outcome(exercise, "crashed", None, seconds, "읽을 수 없는 기록")
    failures = [trace.load_failure, *(run.failure for run in trace.runs.values())]
    status: Status = "memory" if any(f is not None and f.out_of_memory for f in failures) else "ran"
    return Outcome(exercise, status, trace, seconds)
