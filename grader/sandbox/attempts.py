"""Play attempts in the sandbox, one scenario at a time.

An attempt is a submission, mostly with a small edit. `judging/repair/search.py`, `judging/own_edit.py` and
`judging/repair/remembered_state.py` ask for its run in some scenario (their `Runner` is `ExerciseAttempts` here), and
compare the runs outside the sandbox. One child plays many attempts. A new one is forked for each exercise, and after a
play that brought no answer.

All attempts for one submission share a limited time, because each loads the whole program: if that takes 0.8 s, a
search of 160 attempts takes two minutes for one exercise. The main limit is on processor time, so that which repair is
found does not depend on how busy the machine is. The number of plays in one search is limited elsewhere:
`judging/repair/add_repair.py _play_budget`.

`Sandbox.attempts` makes an `Attempts`, and chooses its limits. To add a limit, add a field of `AttemptLimits`. One on
all plays together gets a condition in `Attempts._is_spent`; one that a child must keep is passed on in
`AttemptLimits.child_limits`; one on a single play is given to `Child.play_attempt` in `Attempts._play`.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from grader.observe.trace import Run, TraceError
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.sandbox.client import Child, Limits
from grader.sandbox.no_answer import CutOff, NoAnswer, UnexpectedFrame
from grader.sandbox.trace_bounds import read_bounded


@dataclass(frozen=True)
class AttemptLimits:
    """Resource limits of attempts. A play is one attempt in one scenario."""

    cpu_seconds: float = 1.0
    """Processor time of one play, loading the program included; unlike wall time, it does not depend on what else the
    machine does."""
    first_cpu_seconds: float = 1.0
    """Processor time of the first play of a child. On a GPU it takes longer than the others, because it starts what the
    server may not start before it forks: 1.1 s were measured on a slow machine. `sandbox.py _GPU_ATTEMPT_LIMITS` has
    more for it."""
    seconds: float = 5.0
    """Wall time of one play, for an attempt that sleeps, or computes in C code, which the limits of
    processor time cannot interrupt."""
    memory_bytes: int = 2**30
    """Memory of a child beyond what the warmed server already holds."""
    output_bytes: int = 2**18
    """Printed output of one play."""
    max_ended_children: int = 12
    """Number of plays of one exercise that may bring no answer, whatever ended them; after that no more are played."""
    total_cpu_seconds: float = 60.0
    """Processor time of all plays for a submission, over all its exercises.

    The most that was measured in the sample class was 16 s, for 16 exercises and 1,300 plays.
    """
    total_seconds: float = 240.0
    """Wall time of all plays for a submission, for attempts that sleep."""

    def child_limits(self, cpu_seconds: float) -> Limits:
        """Return the limits of a child that plays many attempts, in at most `cpu_seconds` of processor time together.

        The processor time of each play is limited by `Child.play_attempt`.
        """
        return Limits(
            seconds=self.seconds,
            cpu_seconds=cpu_seconds,
            memory_bytes=self.memory_bytes,
            output_bytes=self.output_bytes,
        )


class Attempts:
    """Context manager in which the attempts of one submission are played; `for_exercise` returns what plays them."""

    def __init__(
        self,
        fork_child: Callable[[Limits], Child],
        close_in_sandbox: Callable[[Child], None],
        seed: int,
        limits: AttemptLimits,
    ) -> None:
        """Prepare; nothing is forked before the first attempt.

        Args:
            fork_child: forks a child with the given limits, and returns it when it is ready.
            close_in_sandbox: closes a child, and the server too if that was lost with it.
            seed: seed of the scenarios.
            limits: limits of the attempts.
        """
        self._fork_child, self._close_in_sandbox = fork_child, close_in_sandbox
        self._seed, self._limits = seed, limits
        self._child: Child | None = None
        self._loaded_text: str | None = None
        """Text that the current child has loaded; None if it has loaded none."""
        self._ended_children = 0
        """Number of plays of the current exercise that brought no answer, each in a child that was closed then."""
        self._cpu_seconds = 0.0
        """Processor time that all closed children used, but for those that were lost with the server."""
        self._seconds = 0.0
        """Wall time that all plays took."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_child()

    def for_exercise(self, exercise: str) -> "ExerciseAttempts":
        """Return what plays the attempts of one exercise.

        Use only the one returned last: the count of plays without an answer begins anew.
        """
        self._close_child()
        self._ended_children = 0
        return ExerciseAttempts(self, exercise)

    def run(self, exercise: str, text: str, scenario: str) -> Run | None:
        """Execute `text` as a program of its own and return its run of one scenario.

        Returns:
            The run; None if the play brought no trace, or one that was refused or has no run of this scenario (then it
            usually has a `load_failure`).

        Raises:
            AttemptsSpent: a limit is used up (see `_is_spent`).
            SandboxUnavailable: no server starts, or no child gets ready; see `sandbox.py Sandbox._fork_child`.
        """
        started = time.monotonic()
        try:
            trace_bytes = self._play_with_retry(exercise, text, scenario)
        finally:
            self._seconds += time.monotonic() - started
        if trace_bytes is None:
            return None
        try:
            trace = read_bounded(trace_bytes)
        except TraceError:
            return None
        return trace.runs.get(scenario)

    def _play_with_retry(self, exercise: str, text: str, scenario: str) -> bytes | None:
        """Play a scenario. If the play fails and this attempt may not be to blame, play it once more in a new child.

        Returns:
            The bytes of the trace, not yet checked; None if there was no answer.

        Raises:
            AttemptsSpent: as in `run`.
        """
        for _ in range(2):  # the second time only if the first one need not be this attempt's fault
            if self._is_spent:
                raise AttemptsSpent
            try:
                return self._play(exercise, text, scenario)
            except NoAnswer as no_answer:
                self._ended_children += 1
                self._close_child()
                # The cause may be an earlier attempt that forged a frame, or something outside that killed the child
                # or the server.
                if not isinstance(no_answer, (UnexpectedFrame, CutOff)):
                    break
        return None

    @property
    def _is_spent(self) -> bool:
        """True if nothing more may be played.

        Only the processor time of closed children counts here: the current child was given what was left of it as its
        own limit (`_start_child`).
        """
        limits = self._limits
        return (
            self._ended_children >= limits.max_ended_children
            or self._cpu_seconds >= limits.total_cpu_seconds
            or self._seconds >= limits.total_seconds
        )

    def _play(self, exercise: str, text: str, scenario: str) -> bytes:
        """Play a scenario in the current child, or in a new one if there is none; send the text unless it is loaded."""
        child = self._child or self._start_child()
        is_first = self._loaded_text is None
        source = None if text == self._loaded_text else text
        seconds = self._limits.first_cpu_seconds if is_first else self._limits.cpu_seconds
        trace_bytes = child.play_attempt(exercise, scenario, self._seed, source, cpu_seconds=seconds)
        self._loaded_text = text
        return trace_bytes

    def _start_child(self) -> Child:
        """Fork a new child, which is ready then."""
        # Rounded up, so that the last child has a second, the least that the kernel can limit.
        seconds_left = math.ceil(self._limits.total_cpu_seconds - self._cpu_seconds)
        self._child, self._loaded_text = self._fork_child(self._limits.child_limits(seconds_left)), None
        return self._child

    def _close_child(self) -> None:
        """Close the current child, if there is one, and count its processor time."""
        if self._child is not None:
            child, self._child = self._child, None
            self._close_in_sandbox(child)
            self._cpu_seconds += child.used_cpu_seconds


@dataclass(frozen=True)
class ExerciseAttempts:
    """A `judging.repair.search.Runner` for one exercise; make it by `Attempts.for_exercise`."""

    attempts: Attempts
    exercise: str

    def run(self, text: str, scenario: str) -> Run | None:
        """Return the run of one scenario, or None; see `Attempts.run`."""
        return self.attempts.run(self.exercise, text, scenario)
