"""Play attempts in the sandbox, one scenario at a time.

An attempt is a submission with a small edit. `grader.judging.repair` makes such edits, asks what each of them does, and
compares the runs outside the sandbox. One forked child plays many attempts; a new one is forked only after an attempt
that ended its child.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from grader.observe.trace import Run, TraceError, from_bytes
from grader.sandbox.client import Child, Ended, Limits, ServerGone, UnexpectedFrame
from grader.sandbox.inspection import refuse_oversized


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
    """Maximum number of attempts that may end their child; after that no more are played."""

    @property
    def of_a_child(self) -> Limits:
        """The limits of one child, with processor time for 200 attempts: a child may play some hundred of them."""
        return Limits(
            seconds=self.seconds,
            cpu_seconds=200 * self.cpu_seconds,
            memory_bytes=self.memory_bytes,
            output_bytes=self.output_bytes,
        )


class Attempts:
    """Context manager in which attempts are played; `of(exercise)` is a `grader.judging.repair.search.Runner`."""

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def of(self, exercise: str) -> "ExerciseAttempts":
        """Return a runner for one exercise."""
        return ExerciseAttempts(self, exercise)

    def run(self, exercise: str, text: str, scenario: str) -> Run | None:
        """Execute `text` as a program of its own and return its run of one scenario.

        Returns:
            The run; None if the play ended its child, its trace cannot be read, or too many attempts ended a child.

        Raises:
            SandboxUnavailable: the server does not start (any more).
        """
        blob = None
        for _ in range(2):
            if self._ends >= self._limits.ends:
                return None
            try:
                blob = self._play(exercise, text, scenario)
                break
            except Ended as end:
                self._ends += not isinstance(end, ServerGone)
                self._end()
                # Try once more in a new child if the cause may be another attempt (a forged frame from an earlier one)
                # or something outside (the server was killed).
                if not isinstance(end, (UnexpectedFrame, ServerGone)):
                    break
        if blob is None:
            return None
        try:
            trace = from_bytes(blob)
            refuse_oversized(trace)
        except TraceError:
            return None
        return trace.runs.get(scenario)

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
        self._child, self._text = self._new_child(self._limits.of_a_child), None
        self._child.begin()
        return self._child

    def _end(self) -> None:
        """Close the current child, if there is one, and report whether the server was lost."""
        if self._child is not None:
            child, self._child = self._child, None
            self._closed(not child.close())


@dataclass(frozen=True)
class ExerciseAttempts:
    """Runner for attempts of one exercise."""

    attempts: Attempts
    exercise: str

    def run(self, text: str, scenario: str) -> Run | None:
        """See `Attempts.run`."""
        return self.attempts.run(self.exercise, text, scenario)
