"""Puts a learner's function and the course's solution under the microscope, in every situation that the bench has."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch

from grader.course.course import Exercise
from grader.judging.edits import program_text
from grader.microscopy.compare import Column, Side, Verdict, columns, verdict
from grader.microscopy.gradient_shares import flow
from grader.microscopy.recording import Lens
from grader.microscopy.situations import build, variants
from grader.observe.play import TimeLimit
from grader.observe.program import Program, load_program


@dataclass(frozen=True)
class View:
    """Both programs in one situation."""

    name: str
    yours: Side
    right: Side
    columns: Sequence[Column]
    verdict: Verdict


def views(
    exercise: Exercise,
    function: Callable[..., Any],
    program: Program,
    limited: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> list[View]:
    """Both programs in all situations, the plainest first.

    A program that does not end, or leaves Python's ways, is looked at in the first situation alone.

    Args:
        exercise: of the function.
        function: the learner's.
        program: that tells its lines from others'.
        limited: entered around each run of it; raises `TimeLimit` in one that does not end.

    Raises:
        NothingToSee: this exercise makes no update that the bench could show.
    """
    solution = _solution(exercise.lesson)
    signature = _signature(solution.names[exercise.name])
    found: list[View] = []
    for variant in variants(signature):
        right = _side(solution.names[exercise.name], solution, signature, variant, exercise.lesson)
        yours = _side(function, program, signature, variant, exercise.lesson, limited)
        table = columns(yours, right)
        found.append(View(variant, yours, right, table, verdict(yours, right, table)))
        if yours.recording.stopped:
            break
    return found


def _side(
    function: Callable[..., Any],
    program: Program,
    signature: inspect.Signature,
    variant: str,
    lesson: str,
    limited: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Side:
    sam = _sam(lesson) if "sam" in signature.parameters else None
    with torch.random.fork_rng(devices=[]):  # a layer draws its first weights, which the bench replaces
        bench = build(signature, variant, sam)
    lens = Lens(function, program, bench)
    try:
        with limited():
            lens.record()
    except TimeLimit:
        lens.recording.stopped = lens.recording.stopped or "seconds"
    except KeyboardInterrupt:  # the learner's own Ctrl-C
        raise
    except BaseException:
        lens.recording.stopped = "crashed"
    return Side(lens.recording, flow(lens.recording, bench.batches))


def _signature(function: Any) -> inspect.Signature:
    return inspect.signature(function.__init__ if inspect.isclass(function) else function)


@lru_cache
def _solution(lesson: str) -> Program:
    return load_program(program_text(lesson), name=f"microscope_{lesson}")


@lru_cache
def _sam(lesson: str) -> Any:
    """The lesson's SAM from a program of its own, so that its lines are not taken for those of the function."""
    return load_program(program_text(lesson), name=f"microscope_sam_{lesson}").names["SAM"]
