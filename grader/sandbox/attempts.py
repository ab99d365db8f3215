"""Play attempts in the sandbox, one scenario at a time.

An attempt is a submission with a small edit. `grader.judging.repair` makes such edits, asks what each of them does, and
compares the runs outside the sandbox. One forked child plays many attempts; a new one is forked only after an attempt
that ended its child, and for each exercise.

All attempts for one submission together have limited time, because each loads the whole program: if that takes 0.8 s,
a search of 160 plays would take two minutes for one exercise. The limit counts the processor time of the children, so
that what is repaired does not depend on how busy the machine is.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from grader.observe.trace import Run, TraceError, from_bytes
from grader.sandbox.client import Child, Ended, Limits, ServerGone, UnexpectedFrame
from grader.sandbox.inspection import refuse_oversized
from grader.sandbox.spent import AttemptsSpent


@dataclass(frozen=True)
class AttemptLimits:
    """Resource limits for attempts."""

    cpu_seconds: float = 1.0
    """Processor time of one play; unlike wall time, it does not depend on what else the machine does."""
    seconds: float = 5.0
    """Wall time of one play: for an attempt that sleeps, or computes where nothing can interrupt it."""
    memory_bytes: int = 2**30
    """Memory of a child beyond what the warmed server already holds."""
    output_bytes: int = 2**18
    """Printed output of one play."""
    ends: int = 12
    """Maximum number of attempts of one exercise that may end their child; after that no more are played."""
    all_cpu_seconds: float = 60.0
    """Processor time of all plays together, for all exercises of a submission.

    It is nearly four times the most that was measured in the sample class: 16 s, for 16 exercises and 1,300 plays.
    """
    all_seconds: float = 240.0
    """Wall time of all plays together: for attempts that sleep."""

    def of_a_child(self, cpu_seconds: float) -> Limits:
        """Return the limits of one child, with the given processor time in place of that of one play."""
        return Limits(
            seconds=self.seconds,
            cpu_seconds=cpu_seconds,
            memory_bytes=self.memory_bytes,
            output_bytes=self.output_bytes,
        )


class Attempts:
    """Context manager in which the attempts of one submission are played.

    `of(exercise)` is a `grader.judging.repair.search.Runner`.
    """

    def __init__(
        self,
        fork: Callable[[Limits], Child],
        closed: Callable[[bool], None],
        seed: int,
        limits: AttemptLimits,
    ) -> None:
        """Prepare; nothing is forked before the first attempt.

        Args:
            fork: returns a new child with the given limits.
            closed: called after each child with True if the server was lost with it.
            seed: seed of the scenarios.
            limits: limits of the attempts.
        """
        self._new_child, self._closed = fork, closed
        self._seed, self._limits = seed, limits
        self._child: Child | None = None
        self._text: str | None = None
        self._ends = 0
        self._cpu_seconds = self._seconds = 0.0  # taken so far

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def of(self, exercise: str) -> "ExerciseAttempts":
        """Return a runner for one exercise, which gets a new child."""
        self._end()
        self._ends = 0
        return ExerciseAttempts(self, exercise)

    def run(self, exercise: str, text: str, scenario: str) -> Run | None:
        """Execute `text` as a program of its own and return its run of one scenario.

        Returns:
            The run; None if the play ended its child, or its trace cannot be read.

        Raises:
            AttemptsSpent: all plays together have taken what they may take.
            SandboxUnavailable: the server does not start (any more).
        """
        started = time.monotonic()
        try:
            blob = self._blob(exercise, text, scenario)
        finally:
            self._seconds += time.monotonic() - started
        if blob is None:
            return None
        try:
            trace = from_bytes(blob)
            refuse_oversized(trace)
        except TraceError:
            return None
        return trace.runs.get(scenario)

    def _blob(self, exercise: str, text: str, scenario: str) -> bytes | None:
        """Return the bytes of the trace of one play; None if the play ended its child.

        Raises:
            AttemptsSpent: as in `run`.
        """
        for _ in range(2):
            if self._spent:
                raise AttemptsSpent
            try:
                return self._play(exercise, text, scenario)
            except Ended as end:
                self._ends += not isinstance(end, ServerGone)
                self._end()
                # Try once more in a new child if the cause may be another variant (a forged frame from an earlier one)
                # or something outside (the server was killed).
                if not isinstance(end, (UnexpectedFrame, ServerGone)):
                    break
        return None

    @property
    def _spent(self) -> bool:
        """True if nothing more may be played.

        The processor time is that of the closed children; the kernel limits that of the current child.
        """
        limits = self._limits
        return (
            self._ends >= limits.ends
            or self._cpu_seconds >= limits.all_cpu_seconds
            or self._seconds >= limits.all_seconds
        )

    def _play(self, exercise: str, text: str, scenario: str) -> bytes:
        """Have the current child play an attempt; send its text only if it differs from the last one's."""
        child = self._child or self._fork()
        source = None if text == self._text else text
        seconds = self._limits.cpu_seconds
        blob = child.attempt(exercise, scenario, self._seed, source, cpu_seconds=seconds)
        self._text = text
        return blob

    def _fork(self) -> Child:
        """Fork a new child and wait until it is ready."""
        rest = math.ceil(self._limits.all_cpu_seconds - self._cpu_seconds)  # the kernel counts whole seconds
        self._child, self._text = self._new_child(self._limits.of_a_child(rest)), None
        self._child.begin()
        return self._child

    def _end(self) -> None:
        """Close the current child, if there is one, and report whether the server was lost."""
        if self._child is not None:
            child, self._child = self._child, None
            self._closed(not child.close())
            self._cpu_seconds += child.used_cpu_seconds


@dataclass(frozen=True)
class ExerciseAttempts:
    """Runner for attempts of one exercise."""

    attempts: Attempts
    exercise: str

    def run(self, text: str, scenario: str) -> Run | None:
        """See `Attempts.run`."""
        return self.attempts.run(self.exercise, text, scenario)
