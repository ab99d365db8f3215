"""Right is right however it is written: each program of tests/accepted/<exercise>/ gets full marks with each seed."""

import os
from pathlib import Path

import pytest

from grader.course.reading import load_course
from grader.judging.judge import judge
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from grader.submission.submission import read_submission
from tests.sample_programs import Sample, samples

COURSE = load_course()
ACCEPTED = samples("accepted")
MORE = int(os.environ.get("HANSTEP_SEEDS", "2"))
"""Seeds in all. tests/README.md has the command for more, and what it came to."""
SEEDS = (range(1), pytest.param(range(1, MORE), marks=pytest.mark.full))
AT_LEAST = {"train_step": 6, "accumulate": 6}


@pytest.mark.parametrize("seeds", SEEDS, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
@pytest.mark.parametrize("sample", ACCEPTED, ids=str)
def test_right_style_gets_full_marks(sample: Sample, seeds: range, tmp_path: Path) -> None:
    exercise = COURSE.exercise(sample.exercise)
    submission = read_submission(sample.write(tmp_path), tuple(COURSE.exercises))
    source = submission.source_for(exercise.name)
    assert not submission.unreadable
    assert source is not None
    program = load_program(source.text, name=f"style_{sample.name}")
    try:
        for seed in seeds:
            trace = play(exercise.driver, program, seed=seed)
            verdict = judge(exercise, trace, cached_reference(exercise.name, seed).solution_run)
            failed = {name: (found, trace.runs[name].failure) for name, found in verdict.differences.items()}
            assert verdict.status == "passed", f"seed {seed}: {failed or verdict.failure}"
    finally:
        program.unload()


@pytest.mark.parametrize("exercise", list(COURSE.exercises))
def test_every_exercise_has_enough_styles(exercise: str) -> None:
    count = len(samples("accepted", exercise))
    assert count >= AT_LEAST.get(exercise, 3), (
        f"tests/accepted/{exercise}/ needs right solutions in other styles"
    )


def test_every_style_belongs_to_an_exercise() -> None:
    assert {sample.exercise for sample in ACCEPTED} <= set(COURSE.exercises)
