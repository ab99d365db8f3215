"""Record a learner's function and the solution in every situation of the microscope, and compare them."""

import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import torch

from grader.course.course import Course, Exercise
from grader.judging.solution import solution_with_needed_imports
from grader.notebook.microscopy.compare import Column, Comparison, Side, columns, compare
from grader.notebook.microscopy.gradient_shares import flow
from grader.notebook.microscopy.recording import ProgramRecorder
from grader.notebook.microscopy.situations import TAUGHT_IN, build_bench, situation_names
from grader.observe.play import TimeLimit
from grader.observe.program import Program, load_program


@dataclass(frozen=True)
class View:
    """Both programs in one situation."""

    name: str
    yours: Side
    right: Side
    columns: Sequence[Column]
    comparison: Comparison


def views(
    exercise: Exercise,
    function: Callable[..., Any],
    program: Program,
    limited: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> list[View]:
    """Return both programs in all situations, the plainest first.

    If a run of the learner's program is stopped (it does not end, or ends in an exception that no `except Exception`
    would catch), the views end with that situation.

    Args:
        exercise: the exercise that the function answers.
        function: the learner's function.
        program: the learner's program; it tells which lines are the learner's.
        limited: returns a context entered around each run of the function, which raises `TimeLimit` if it does not end.

    Raises:
        NothingToSee: the function makes no update that these situations could show.
    """
    solution = _solution(exercise.lesson)
    answer = solution.names[exercise.name]
    signature = inspect.signature(answer.__init__ if inspect.isclass(answer) else answer)
    found: list[View] = []
    for situation in situation_names(signature):
        right = _side(answer, solution, signature, situation, exercise.lesson)
        yours = _side(function, program, signature, situation, exercise.lesson, limited)
        table = columns(yours, right)
        found.append(View(situation, yours, right, table, compare(yours, right, table)))
        if yours.recording.stopped:
            break
    return found


def as_taught(found: Sequence[View], exercise: Exercise, course: Course) -> list[View]:
    """Leave out optimizers that the course explains only after the exercise's part.

    If the programs part only in one of these, it stays, and its name says where it is explained.
    """
    places = [part.place for part in course.parts]
    here = places.index(course.lesson(exercise.lesson).part_of(exercise.name).place)
    taught = {view.name: places.index(TAUGHT_IN[view.name]) for view in found if view.name in TAUGHT_IN}
    known = [view for view in found if taught.get(view.name, 0) <= here]
    telling = next((view for view in found if view.comparison.wrong), None)
    if telling is None or any(view.comparison.wrong for view in known):
        return known
    number = course.parts[taught[telling.name]].name.partition("_")[0]
    return [*known, replace(telling, name=f"{telling.name} ({number}편에서 배워요)")]


def _side(
    function: Callable[..., Any],
    program: Program,
    signature: inspect.Signature,
    situation: str,
    lesson: str,
    limited: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> Side:
    """Run one program in one situation, and follow the gradients through its recording."""
    sam = _sam(lesson) if "sam" in signature.parameters else None
    # A layer draws its first weights from the global generator; `build_bench` replaces them.
    with torch.random.fork_rng(devices=[]):
        bench = build_bench(signature, situation, sam)
    recorder = ProgramRecorder(function, program, bench)
    try:
        with limited():
            recorder.record()
    except TimeLimit:
        recorder.recording.stopped = recorder.recording.stopped or "seconds"
    except KeyboardInterrupt:  # the learner's own Ctrl-C
        raise
    except BaseException:
        recorder.recording.stopped = "crashed"
    failure = recorder.recording.failure
    if failure is not None and program.cuda.translate_after(failure):
        return _side(function, program, signature, situation, lesson, limited)
    return Side(recorder.recording, flow(recorder.recording, bench.batches))


@lru_cache
def _solution(lesson: str) -> Program:
    return load_program(solution_with_needed_imports(lesson), name=f"microscope_{lesson}")


@lru_cache
def _sam(lesson: str) -> Any:
    """Return the lesson's SAM class, loaded as another program, so that its lines do not count as the function's."""
    return load_program(solution_with_needed_imports(lesson), name=f"microscope_sam_{lesson}").names["SAM"]
