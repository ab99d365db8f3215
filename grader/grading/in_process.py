"""Plays a program in this process and judges it: a notebook's always, a file's where nothing can be forked."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout

from grader.base.errors import HanstepError
from grader.course.course import Exercise
from grader.course.feedback import Feedback
from grader.grading import SEED
from grader.grading.time_limit import time_limit
from grader.judging.assess import MESSAGES, Origin, assess, out_of_time, without_trace
from grader.judging.reference import reference
from grader.observe.play import TimeLimit, play
from grader.observe.program import Program, load_program
from grader.observe.trace import Trace
from grader.submission.source_file import SourceFile

SECONDS = 20.0
"""By the clock, for one exercise."""

_BROKEN = (
    "정답도 이 커널에서는 실행되지 않아요. 실행을 멈춘 순간에 PyTorch를 반쯤 불러온 것일 수 있어요. "
    "커널을 다시 시작한 다음 다시 확인해 보세요."
)


class KernelIsBroken(HanstepError):
    """Nothing runs here, the solution no more than the learner's function: nothing can be judged. Says so in Korean."""


def played_here(
    exercise: Exercise,
    program: Program,
    origin: Origin,
    *,
    seed: int = SEED,
    device: str = "cpu",
    seconds: float = SECONDS,
) -> tuple[Feedback, Trace | None]:
    """What there is to say of a program, and what was observed of it; None where it did not come to its end.

    Raises:
        KernelIsBroken: the solution does not run here either.
    """
    known = reference(exercise.name, seed, device)
    try:
        with time_limit(seconds):
            trace = play(exercise.driver, program, seed=seed, device=device)
    except TimeLimit:
        return without_trace(exercise, "timeout", message=out_of_time(seconds)), None
    except BaseException as error:
        # KeyboardInterrupt is the learner's own Ctrl-C and ends the check; anything else was raised by the code.
        if isinstance(error, KeyboardInterrupt):
            raise
        return _crashed(exercise, error), None
    if any(known.solution(name).failure is not None for name in trace.runs):
        # A Ctrl-C during one of torch's lazy imports leaves half a module behind. Then nothing runs, the solution
        # no more than the learner's function, and what is equally broken must not pass.
        reference.cache_clear()
        raise KernelIsBroken(_BROKEN)
    return assess(exercise, trace, known, origin), trace


def checked_here(
    source: SourceFile, exercises: Sequence[Exercise], *, seed: int, device: str, seconds: float = SECONDS
) -> tuple[Feedback, ...]:
    """Feedback on a file's exercises; none on a warm-up or bonus task that was not begun.

    What the file prints is not shown. An endless loop is stopped; a crash of Python itself would end this process.

    Raises:
        KernelIsBroken: the solution does not run here either.
    """
    origin = Origin.of_file(source)
    told = []
    for exercise in exercises:
        with _silence():
            feedback = _checked(source, exercise, origin, seed, device, seconds)
        if feedback.begun or exercise.kind == "exercise":
            told.append(feedback)
    return tuple(told)


def _checked(
    source: SourceFile, exercise: Exercise, origin: Origin, seed: int, device: str, seconds: float
) -> Feedback:
    complaint = source.complaint(exercise.name)
    if complaint is not None:
        return without_trace(exercise, "error", message=complaint, file=source.name)
    program = None
    try:
        with time_limit(seconds):
            program = load_program(source.text)
        return played_here(exercise, program, origin, seed=seed, device=device, seconds=seconds)[0]
    except TimeLimit:
        return without_trace(exercise, "timeout", message=out_of_time(seconds), file=source.name)
    finally:
        if program is not None:
            program.unload()


def _crashed(exercise: Exercise, error: BaseException) -> Feedback:
    return without_trace(exercise, "crashed", message=f"{MESSAGES['crashed']} ({type(error).__name__})")


@contextmanager
def _silence() -> Iterator[None]:
    with (
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        redirect_stdout(nowhere),
        redirect_stderr(nowhere),
    ):
        yield
