"""Runs a submission's exercises isolated and brings back their traces: between submission and judge."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from grader.observe.trace import Fact, Failure, Run, Trace, TraceError, from_bytes
from grader.sandbox.bubblewrap import Probe, explain, probe
from grader.sandbox.client import Child, Ended, Limits, SandboxUnavailable, Server, Status
from grader.sandbox.inside.server import Setting
from grader.sandbox import bubblewrap

__all__ = ["Job", "Limits", "Outcome", "Probe", "Sandbox", "SandboxUnavailable", "explain", "probe"]


_MAX_EVENTS = 2000  # of a scenario, as in the recorder
_MAX_TEXT = 4 * 2**20  # of a trace: everything but its arrays
_MAX_NAMES = 200  # arrays, facts, warnings, base classes: an exercise records a dozen
_MAX_LABELS = 500
_MAX_WARNING = 3000


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
    """What was observed; always there when it `ran`, and with `memory` when the code could still say so."""
    seconds: float
    detail: str = ""
    """A few words for the message: `SIGSEGV`, `종료 코드 3`."""


class Cancelled(Exception):
    """`Sandbox.cancel` was called."""


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
        modules: Sequence[str],
        extra: Path | None = None,
    ) -> None:
        """Start the server; it warms up while others start.

        Args:
            kind: `bwrap` and `auto` isolate; `none` only limits time, memory and output.
            device: `cpu`, or `cuda` (then each job starts CUDA anew: a warmed one cannot be forked).
            limits: of one exercise.
            modules: names of modules in `grader.exercises`.
            extra: a further folder of such modules.
        """
        if kind not in ("auto", "bwrap", "none"):
            raise ValueError(f'kind must be "auto", "bwrap" or "none": {kind!r}')
        self._isolate = kind != "none"
        if self._isolate and not probe().available:
            raise SandboxUnavailable(explain(probe()))
        self._limits = limits or Limits()
        self._device, self._extra = device, extra
        self._cancelled = False
        self._setting = Setting(
            modules=tuple(modules),
            extra=bubblewrap.extra_inside(extra, isolate=self._isolate),
            device=device,
            isolate=self._isolate,
            keep=bubblewrap.below_tmp(),
        )
        self._server: Server | None = self._start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def cancel(self) -> None:
        """Let `run` raise `Cancelled` before its next exercise; may be called from another thread."""
        self._cancelled = True

    def close(self) -> None:
        """End the server and everything in it."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def run(self, job: Job, seed: int) -> list[Outcome]:
        """Run a job's exercises; whatever one of them does, the others are run too.

        Raises:
            SandboxUnavailable: the server does not start (any more).
            Cancelled: `cancel` was called.
        """
        outcomes: list[Outcome] = []
        while len(outcomes) < len(job.exercises):
            self._heed_cancel()
            outcomes += self._run_fork(job.source, job.exercises[len(outcomes) :], seed)
        return outcomes

    def _heed_cancel(self) -> None:
        if self._cancelled:
            raise Cancelled

    def _start(self) -> "Server":
        return Server(self._isolate, self._device, self._setting, self._extra)

    def _run_fork(self, source: str, exercises: Sequence[str], seed: int) -> list[Outcome]:
        """Outcomes of the first exercises, up to the one whose end was also the child's (at least one)."""
        if self._server is not None and not self._server.alive:
            self.close()
        if self._server is None:
            self._server = self._start()
        self._server.ready()
        outcomes: list[Outcome] = []
        started = time.perf_counter()
        child = Child(self._server, self._limits, len(exercises))
        try:
            child.load(source)
            for exercise in exercises:
                self._heed_cancel()
                started = time.perf_counter()
                blob = child.play(exercise, seed)
                outcomes.append(_observed(exercise, blob, time.perf_counter() - started))
        except Ended as end:
            seconds = time.perf_counter() - started
            # What ends while it is being loaded would do so again for each exercise.
            ended = exercises[len(outcomes) :][: 1 if child.loaded else None]
            outcomes += [Outcome(name, end.status, None, seconds, end.detail) for name in ended]
        finally:
            if not child.close():
                self.close()  # the server is gone too, or does not answer: a new one for the next
        return outcomes


def _observed(exercise: str, blob: bytes, seconds: float) -> Outcome:
    try:
        trace = from_bytes(blob)
        _refuse_oversized(trace, blob)
    except TraceError:
        return Outcome(exercise, "crashed", None, seconds, "읽을 수 없는 기록")
    failures = [trace.load_failure, *(run.failure for run in trace.runs.values())]
    status: Status = "memory" if any(f is not None and _out_of_memory(f) for f in failures) else "ran"
    return Outcome(exercise, status, trace, seconds)


def _refuse_oversized(trace: Trace, blob: bytes) -> None:
    """Judging counts in what a trace says: a forged one must not make it count to a billion.

    The bounds are the recorder's own, or far beyond what any exercise records.

    Raises:
        TraceError: no recorder wrote this.
    """
    if int.from_bytes(blob[:8], "little") > _MAX_TEXT or len(trace.runs) > 100:
        raise TraceError("too much text or too many scenarios")
    failures = [trace.load_failure]
    for run in trace.runs.values():
        failures.append(run.failure)
        if len(run.events) > _MAX_EVENTS or any(_nested(fact) for fact in run.facts.values()):
            raise TraceError("too many events, or a fact too deep")
        for event in run.events:
            numbers = (event.call, event.state, event.line or 0, event.batch or 0)
            # -1: the state before anything is watched.
            if min(numbers) < -1 or max(event.call, event.state) > _MAX_EVENTS or max(numbers) > 10**6:
                raise TraceError(f"an event out of range: {event}")
        if (
            max(len(run.arrays), len(run.evidence), len(run.facts)) > _MAX_NAMES
            or len(run.labels) > _MAX_LABELS
        ):
            raise TraceError("too many arrays, facts or labels")
        if any(
            re.fullmatch(r".{0,500} [0-9]{1,7}", label, re.ASCII | re.DOTALL) is None for label in run.labels
        ):
            raise TraceError("a label that names no tensor")
        _refuse_misshapen(run)
    for failure in failures:
        if failure is not None and not _plausible(failure):
            raise TraceError("a failure out of range")
    if len(trace.warnings) > _MAX_NAMES or any(len(warning) > _MAX_WARNING for warning in trace.warnings):
        raise TraceError("too many warnings")


def _refuse_misshapen(run: Run) -> None:
    for name, value in (*run.arrays.items(), *run.evidence.items()):
        if value.dtype.kind not in "biuf" or value.ndim > 4:
            raise TraceError(f"{name}: {value.dtype} with {value.ndim} axes")
    states = [run.arrays.get("theta"), run.evidence.get("lr")]
    if any(s is not None and (s.ndim != 2 or s.dtype != np.float64 or not len(s)) for s in states):
        raise TraceError("states that are no table of numbers")


def _plausible(failure: Failure) -> bool:
    names = (failure.type, *failure.bases)
    return (
        len(failure.message) <= 2000
        and 0 <= (failure.line or 0) <= 10**6
        and 0 <= failure.call <= _MAX_EVENTS
        and len(names) <= _MAX_NAMES
        and all(len(name) <= 200 for name in names)
    )


def _nested(fact: Fact, depth: int = 8) -> bool:
    return isinstance(fact, list) and (depth == 0 or any(_nested(item, depth - 1) for item in fact))


def _out_of_memory(failure: Failure) -> bool:
    if {"MemoryError", "OutOfMemoryError"} & set(failure.bases):
        return True
    message = failure.message.lower()  # torch on the CPU: RuntimeError; mmap: OSError
    asked_for_memory = "allocate memory" in message or "out of memory" in message
    return asked_for_memory and bool({"RuntimeError", "OSError"} & set(failure.bases))
