"""Right is right however it is written: every file in tests/styles/<exercise>/ gets full marks over 20 seeds."""

import importlib
import pkgutil
from pathlib import Path

import pytest

import grader.exercises
from grader.course_files import load_course
from grader.judging.judge import judge
from grader.judging.reference import reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.submission.submission import read_submission

COURSE = load_course()
ALL_STYLES = sorted(
    path for path in (Path(__file__).parent / "styles").glob("*/*") if path.suffix in {".py", ".ipynb"}
)
# A lesson being written brings its drivers and styles before it joins the course.
STYLES = [path for path in ALL_STYLES if path.parent.name in COURSE.exercises]
SEEDS = range(20)
AT_LEAST = {"train_step": 6, "accumulate": 6}


@pytest.mark.parametrize("path", STYLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_right_style_gets_full_marks(path: Path) -> None:
    exercise = COURSE.exercise(path.parent.name)
    submission = read_submission(path, tuple(COURSE.exercises))
    source = submission.source_for(exercise.name)
    assert not submission.unreadable
    assert source is not None
    program = load_program(source.text, name=f"style_{path.stem}")
    try:
        for seed in SEEDS:
            trace = play(exercise.driver, program, seed=seed)
            verdict = judge(exercise, trace, reference(exercise.name, seed).solution)
            failed = {name: (found, trace.runs[name].failure) for name, found in verdict.differences.items()}
            assert verdict.status == "passed", f"seed {seed}: {failed or verdict.failure}"
    finally:
        program.unload()


@pytest.mark.parametrize("name", list(COURSE.exercises))
def test_every_exercise_has_enough_styles(name: str) -> None:
    count = sum(path.parent.name == name for path in STYLES)
    assert count >= AT_LEAST.get(name, 3)


def test_every_style_belongs_to_an_exercise() -> None:
    modules = [m.name for m in pkgutil.iter_modules(grader.exercises.__path__) if not m.name.startswith("_")]
    drivers = {name for m in modules for name in importlib.import_module(f"grader.exercises.{m}").EXERCISES}
    assert {path.parent.name for path in ALL_STYLES} <= drivers
