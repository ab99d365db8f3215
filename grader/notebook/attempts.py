"""Play attempts in the sandbox's server, which a notebook keeps warm in the background.

An attempt is the learner's program with an edit that the search for a repair tries. The kernel itself cannot be forked
to play it: once a process that sees a GPU has run a backward pass, its forks cannot run another. The server's child
processes also contain whatever an attempt prints, writes, leaves in memory, or never ends.
"""

import atexit
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.grading import SEED
from grader.judging.repair.search import Runner
from grader.observe.trace import Run
from grader.sandbox.attempts_spent import AttemptsSpent
from grader.submission.source_file import without_demos

if TYPE_CHECKING:  # Windows lacks what the sandbox needs
    from grader.sandbox.attempts import ExerciseAttempts
    from grader.sandbox.sandbox import Sandbox

SECONDS = 15.0
"""Wall-clock limit of all attempts in one check together: a learner should not wait longer."""

_warm: dict[tuple[str, str], "Sandbox"] = {}
"""The running server by lesson and device; at most one."""


def start_server(exercise: Exercise, device: str) -> "Sandbox | None":
    """Return the server for the exercise's lesson, starting it in the background unless it runs already.

    None if this platform cannot have one.
    """
    if sys.platform != "linux":  # on macOS torch does not survive a fork; Windows has no fork
        return None
    key = exercise.lesson, device
    if key not in _warm:
        from grader.sandbox.sandbox import Sandbox

        end_server()
        lesson = load_course().lesson(exercise.lesson)
        _warm[key] = Sandbox("none", device, lessons=(lesson.module,))
    return _warm[key]


def end_server() -> None:
    """End the warm server."""
    while _warm:
        _, sandbox = _warm.popitem()
        sandbox.close()


atexit.register(end_server)


@contextmanager
def attempts(exercise: Exercise, surroundings: str | None, device: str) -> Iterator[Runner | None]:
    """Yield a runner that plays edited versions of the learner's cell or module; None if there is no server.

    Args:
        exercise: the exercise whose scenarios are played.
        surroundings: code from the notebook's other cells that the cell depends on; None for a module.
        device: `cpu` or `cuda`.
    """
    sandbox = start_server(exercise, device)
    if sandbox is None:
        yield None
        return
    with sandbox.attempts(SEED) as played_in_sandbox:
        yield _AttemptRunner(played_in_sandbox.for_exercise(exercise.name), surroundings)


class _AttemptRunner:
    """A `Runner` for edited versions of one cell or module; its time limit begins when it is made."""

    def __init__(self, played_in_sandbox: "ExerciseAttempts", surroundings: str | None) -> None:
        self._in_sandbox, self._surroundings = played_in_sandbox, surroundings
        self._lines_before = (surroundings or "").count("\n")
        self._deadline = time.monotonic() + SECONDS

    def run(self, text: str, scenario: str) -> Run | None:
        """Play one scenario with this text; lines in the run are lines of the text. None if it did not finish.

        Raises:
            AttemptsSpent: the time is up, or the server cannot start here.
        """
        from grader.sandbox.server_process import SandboxUnavailable

        if time.monotonic() > self._deadline:
            raise AttemptsSpent
        if self._surroundings is None:
            program = without_demos(text, (self._in_sandbox.exercise,))
        else:
            program = self._surroundings + text
        try:
            run = self._in_sandbox.run(program, scenario)
        except SandboxUnavailable as error:
            raise AttemptsSpent from error
        return run and self._in_lines_of_the_text(run)

    def _in_lines_of_the_text(self, run: Run) -> Run:
        failure = run.failure
        if failure is not None:
            failure = replace(failure, line=self._line(failure.line))
        events = [replace(event, line=self._line(event.line)) for event in run.events]
        return replace(run, events=events, failure=failure)

    def _line(self, line: int | None) -> int | None:
        """Return the line within the text; None for a line of the surroundings."""
        return None if line is None or line <= self._lines_before else line - self._lines_before
