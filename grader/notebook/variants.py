"""Plays variants of a learner's function in the sandbox's server, which a notebook keeps warm beside it.

The kernel itself cannot be forked for that: where a GPU can be seen, a process that has run a backward pass forks
nobody who could run another. What a variant prints, writes, leaves in memory or never ends stays in the server's child.
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
from grader.submission.source_file import graded_text

if TYPE_CHECKING:  # Windows lacks what the sandbox is made of
    from grader.sandbox.attempts import AttemptsOf
    from grader.sandbox.sandbox import Sandbox

SECONDS = 15.0
"""By the clock, all plays of one check together: a learner should not wait for longer."""

_warm: dict[tuple[str, str], "Sandbox"] = {}
"""One at most: by lesson and device."""


def warm_up(exercise: Exercise, device: str) -> "Sandbox | None":
    """Begin to start the server for the exercise's lesson, unless it is there; None where there is none to be had."""
    if sys.platform != "linux":  # macOS: a fork there does not survive torch; Windows: there is no fork
        return None
    key = exercise.lesson, device
    if key not in _warm:
        from grader.sandbox.sandbox import Sandbox

        close()
        lesson = load_course().lesson(exercise.lesson)
        _warm[key] = Sandbox("none", device, lessons=(lesson.module,))
    return _warm[key]


def close() -> None:
    """End the server that is kept warm."""
    while _warm:
        _, sandbox = _warm.popitem()
        sandbox.close()


atexit.register(close)


@contextmanager
def variants(exercise: Exercise, surroundings: str | None, device: str) -> Iterator[Runner | None]:
    """A runner of variants of the text that defines the exercise's function; None where no server is to be had.

    Args:
        exercise: whose scenarios are played.
        surroundings: what the text, a cell, leans on in the notebook's other cells; None if the text is a whole module.
        device: `cpu` or `cuda`.
    """
    sandbox = warm_up(exercise, device)
    if sandbox is None:
        yield None
        return
    with sandbox.attempts(SEED) as attempts:
        yield _Variants(attempts.of(exercise.name), surroundings)


class _Variants:
    def __init__(self, attempts: "AttemptsOf", surroundings: str | None) -> None:
        self._attempts, self._surroundings = attempts, surroundings
        self._before = (surroundings or "").count("\n")
        self._until = time.monotonic() + SECONDS

    def run(self, text: str, scenario: str) -> Run | None:
        """The run of one scenario by this text, which tells lines of the text; None if it did not come to an end."""
        from grader.sandbox.server_process import SandboxUnavailable

        if time.monotonic() > self._until:
            return None
        if self._surroundings is None:
            program = graded_text(text, (self._attempts.exercise,))
        else:
            program = self._surroundings + text
        try:
            run = self._attempts.run(program, scenario)
        except SandboxUnavailable:  # no server starts here: nothing more is played
            self._until = 0.0
            return None
        return run and self._told_in_lines_of_the_text(run)

    def _told_in_lines_of_the_text(self, run: Run) -> Run:
        failure = run.failure
        if failure is not None:
            failure = replace(failure, line=self._line(failure.line))
        events = [replace(event, line=self._line(event.line)) for event in run.events]
        return replace(run, events=events, failure=failure)

    def _line(self, line: int | None) -> int | None:
        """None for a line of the surroundings."""
        return None if line is None or line <= self._before else line - self._before
