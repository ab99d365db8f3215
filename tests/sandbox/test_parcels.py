"""What a submission's process holds when it is asked for an exercise: nothing that does it."""

import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.course.course import Exercise
from grader.course.reading import load_course
from grader.judging.compare_runs import find_difference
from grader.judging.reference import cached_reference
from grader.judging.solution import solution_with_needed_imports
from grader.observe.play import play_scenario
from grader.observe.program import Program, load_program
from grader.sandbox.parcels import ParcelContents, imports_to_pack

COURSE = load_course()
SEED = 3


@pytest.mark.parametrize("lesson", COURSE.lessons, ids=lambda lesson: lesson.id)
def test_each_module_comes_after_those_that_it_imports(lesson: Any) -> None:
    parcels = ParcelContents([lesson.module])
    for exercise in lesson.exercises:
        parcel = parcels.modules_for(exercise.name)
        assert all(name.startswith("grader.exercises.") for name in parcel)
        for place, name in enumerate(parcel):
            needed = set(imports_to_pack(name))
            assert needed <= set(parcel[:place]), name
        assert exercise.driver is sys.modules[parcel[-1]].driver


def test_a_lesson_without_drivers_is_told() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_lesson"):
        ParcelContents(["no_such_lesson"])


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        ("from grader.exercises.fixtures import sam", "grader.exercises.fixtures is a package"),
        ("from grader.exercises import fixtures", "grader.exercises is a package"),
        ("from grader import exercises", "grader is a package"),
        ("if True: import grader.exercises.fixtures.sam", "below its top level"),
        ("def f(): from grader.exercises.fixtures.sam import SAM", "below its top level"),
        ("from grader.exercises.five_line_step.fit import driver", "a driver"),
    ],
)
def test_an_import_that_cannot_be_packed_is_refused_before_anything_is_sent(
    line: str, refused: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module would be missing in the parcel, or a driver there too early: it would fail in the sandbox only."""
    name = re.sub(r"\W+", "_", line)
    (tmp_path / f"{name}.py").write_text(f"{line}\n")
    monkeypatch.syspath_prepend(tmp_path)
    contents = ParcelContents([])
    monkeypatch.setattr(contents, "_driver_modules", {"f": name})
    with pytest.raises(ImportError, match=refused):
        contents.modules_for("f")


def held(exercise: Exercise) -> Iterator[tuple[str, Any]]:
    """Functions and classes of the modules that have been sent by the time it is played, and of the watching ones."""
    lesson = COURSE.lesson(exercise.lesson)
    parcels = ParcelContents([lesson.module])
    names = {name for name in sys.modules if name.startswith("grader.observe.")}
    for before in lesson.exercises:
        names |= set(parcels.modules_for(before.name))
        if before is exercise:
            break
    for name in sorted(names):
        for key, value in vars(importlib.import_module(name)).items():
            if callable(value) and getattr(value, "__module__", None) == name:
                yield f"{name}.{key}", value


def may_take(candidate: Callable[..., Any], wanted: Callable[..., Any]) -> bool:
    """Whether it could be called as the exercise's function is."""
    if inspect.isclass(wanted):
        return inspect.isclass(candidate)
    try:
        parameters = inspect.signature(wanted).parameters.values()
        required = [p for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD]
        inspect.signature(candidate).bind(*required)
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("exercise", COURSE.exercises.values(), ids=lambda exercise: exercise.name)
def test_nothing_in_a_child_is_an_answer(exercise: Exercise) -> None:
    """Whatever a submission finds in its process and hands in under the exercise's name earns no check."""
    solution = load_program(solution_with_needed_imports(exercise.lesson), name="answers")
    known = cached_reference(exercise.name, SEED, "cpu")
    candidates = [
        (name, found) for name, found in held(exercise) if may_take(found, solution.names[exercise.name])
    ]
    solution.unload()
    for name, found in candidates:
        program = Program({exercise.name: found}, "<submission>")
        for check in exercise.checks:
            assert not all(
                find_difference(
                    play_scenario(exercise.driver[scenario], program, seed=SEED),
                    known.solution_run(scenario),
                    exercise.driver[scenario].atol,
                )
                is None
                for scenario in exercise.deciding(check)
            ), f"{name} passes {check.title}"
