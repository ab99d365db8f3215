"""Play and judge a program in this process: always for a notebook, and for a file where processes cannot be forked.

`notebook/check.py` calls `play_and_judge` with a function of the kernel; `own_file.py` calls `check_here` on Windows.
Repairs are not searched here: `notebook/check.py` does that afterwards. The only limit here is one of wall time.
"""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import NamedTuple

from grader.base.errors import HanstepError
from grader.base.menus import RESTART
from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.grading import SEED
from grader.grading.time_limit import time_limit
from grader.judging.assess import assess, feedback_on_syntax_error, feedback_without_trace
from grader.judging.learner_code import LearnerCode
from grader.judging.messages import STATUS_MESSAGES, only_waited_message, time_limit_message
from grader.judging.reference import cached_reference
from grader.observe.play import TimeLimit, play
from grader.observe.program import Program, load_program
from grader.observe.trace import Trace
from grader.submission.source_file import SourceFile

SECONDS = 20.0
"""Limit of wall time for one exercise: the same as that of the sandbox (`client.py Limits.seconds`)."""

_BROKEN = (
    "정답도 이 커널에서는 실행되지 않아요. 실행을 멈춘 순간에 PyTorch를 반쯤 불러온 것일 수 있어요. "
    f"커널을 다시 시작한 다음 다시 확인해 보세요 ({RESTART})."
)


class KernelIsBroken(HanstepError):
    """Not even the solution runs in this process, so nothing can be judged; the message is Korean."""


class Judged(NamedTuple):
    """The result of `play_and_judge`."""

    feedback: Feedback
    trace: Trace | None
    """None if the program ran out of time or crashed."""


def play_and_judge(
    exercise: Exercise,
    program: Program,
    learner_code: LearnerCode,
    *,
    seed: int = SEED,
    device: str = "cpu",
    seconds: float = SECONDS,
) -> Judged:
    """Play one exercise of a program here and judge it.

    Args:
        exercise: the exercise.
        program: the loaded program.
        learner_code: its text, with the place of each line.
        seed: seed of the scenarios.
        device: torch device.
        seconds: limit of wall time.

    Raises:
        KernelIsBroken: the solution does not run here either.
        KeyboardInterrupt: the learner pressed Ctrl-C.
    """
    known = cached_reference(exercise.name, seed, device)
    begun = time.process_time()
    try:
        # Each scenario would print anew, in a notebook above the card; the trace keeps what the card shows.
        with (
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            time_limit(seconds),
        ):
            trace = play(exercise.driver, program, seed=seed, device=device)
    except TimeLimit:
        timeout = feedback_without_trace(exercise, "timeout", message=_timeout_message(seconds, begun))
        return Judged(timeout, None)
    except BaseException as error:
        # KeyboardInterrupt is the learner's own Ctrl-C and ends the check; everything else was raised by the code.
        if isinstance(error, KeyboardInterrupt):
            raise
        message = f"{STATUS_MESSAGES['crashed']} ({type(error).__name__})"
        return Judged(feedback_without_trace(exercise, "crashed", message=message), None)
    if any(known.solution_run(name).failure is not None for name in trace.runs):
        # A Ctrl-C during one of torch's lazy imports leaves half a module behind. Then neither the solution nor the
        # learner's function runs, and failing in the same way as the solution must not count as right.
        cached_reference.cache_clear()
        raise KernelIsBroken(_BROKEN)
    return Judged(assess(exercise, trace, known, learner_code), trace)


def check_here(
    source: SourceFile, exercises: Sequence[Exercise], *, seed: int, device: str, seconds: float = SECONDS
) -> tuple[Feedback, ...]:
    """Play and judge a file's exercises here; return feedback on each.

    There is none on warm-up and bonus tasks that were not begun.

    Output of the file is not shown. An endless loop is stopped, but a crash of the interpreter would end this process.

    Args:
        source: the file.
        exercises: exercises to check.
        seed: seed of the scenarios.
        device: torch device.
        seconds: limit of wall time for one exercise.

    Raises:
        KernelIsBroken: the solution does not run here either.
    """
    feedbacks = []
    for exercise in exercises:
        with _silence():
            learner_code = LearnerCode.of_own_file(source, exercise.name)
            feedback = _check_one(source, exercise, learner_code, seed, device, seconds)
        if feedback.begun or exercise.kind == "exercise":
            feedbacks.append(feedback)
    return tuple(feedbacks)


def _check_one(
    source: SourceFile, exercise: Exercise, learner_code: LearnerCode, seed: int, device: str, seconds: float
) -> Feedback:
    """Load a file and return feedback on one of its exercises, within the time limit for each step."""
    complaint = source.complaint(exercise.name)
    if complaint is not None:
        return feedback_on_syntax_error(exercise, complaint, source.name)
    program, begun = None, time.process_time()
    try:
        with time_limit(seconds):
            program = load_program(source.program)
        judged = play_and_judge(exercise, program, learner_code, seed=seed, device=device, seconds=seconds)
        return judged.feedback
    except TimeLimit:
        message = _timeout_message(seconds, begun)
        return feedback_without_trace(exercise, "timeout", message=message, file=source.name)
    finally:
        if program is not None:
            program.unload()


def _timeout_message(seconds: float, begun: float) -> str:
    """Return the message for code that was stopped after `seconds` of wall time.

    If this process was at work for less than half of them, the code may only have waited, as in `input()`.

    Args:
        seconds: the limit.
        begun: `time.process_time()` when the code was started.
    """
    ran_on = time.process_time() - begun > seconds / 2
    return time_limit_message(seconds) if ran_on else only_waited_message(seconds)


@contextmanager
def _silence() -> Iterator[None]:
    """Discard everything written to standard output and standard error inside."""
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        yield
