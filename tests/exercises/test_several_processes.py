"""The exercises of lesson 05, which is not in the course yet: right answers agree, and each mistake is seen."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from grader import paths
from grader.exercises import driver_modules, load_driver
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Trace

LESSON = paths.solutions_path("05_several_processes")
SOURCE = "\n".join(part.read_text(encoding="utf-8") for part in sorted(LESSON.glob("*.py"))).replace(
    "\ncheck(", "\n# check("
)
EXERCISES = sorted(path.stem for path in LESSON.glob("*.toml"))
PLAYED = 3
"""Mistakes of each exercise that are played here; in the course, all are."""


def trace_of(exercise: str, source: str) -> Trace:
    program = load_program(source)
    try:
        return play(load_driver(driver_modules("several_processes")[exercise]), program, seed=3)
    finally:
        program.unload()


def differs(trace: Trace, solution: Trace) -> bool:
    return any(
        run.failure != right.failure
        or run.facts != right.facts
        or run.arrays.keys() != right.arrays.keys()
        or any(
            one.shape != run.arrays[name].shape or abs(one - run.arrays[name]).max(initial=0) > 1e-9
            for name, one in right.arrays.items()
        )
        for run, right in zip(trace.runs.values(), solution.runs.values(), strict=True)
    )


@pytest.mark.parametrize("exercise", EXERCISES)
def test_mistakes_differ_from_the_solution_which_raises_nothing(exercise: str) -> None:
    solution = trace_of(exercise, SOURCE)
    assert solution.load_failure is None
    assert [run.failure for run in solution.runs.values()] == [None] * len(solution.runs)
    document: dict[str, Any] = tomllib.loads(Path(LESSON, f"{exercise}.toml").read_text(encoding="utf-8"))
    for mistake in document["mistakes"][:PLAYED]:
        source = SOURCE
        for old, new in mistake["edits"]:
            assert old in source, (exercise, mistake["id"])
            source = source.replace(old, new, 1)
        assert differs(trace_of(exercise, source), solution), (exercise, mistake["id"])
