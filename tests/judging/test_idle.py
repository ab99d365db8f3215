"""A function that does nothing earns nothing, whatever it returns."""

import pytest

from grader.course.course import Exercise
from grader.judging.judge import judge
from grader.judging.reference import cached_reference
from grader.observe.play import play
from grader.observe.program import load_program
from tests.judging.examined import quickly

IDLE = ("pass", "return 0.0", "return 1", "return 0.5, 0.5", "return []", "return {}", "return True")
EXERCISES = quickly("clip_global_norm", "token_mean_accumulate", "amp_step", "sharpness", "accumulate")


@pytest.mark.parametrize("exercise", EXERCISES)
def test_doing_nothing_earns_nothing(exercise: Exercise) -> None:
    its = cached_reference(exercise.name, 1)
    for body in IDLE:
        program = load_program(f"def {exercise.name}(*args, **kwargs):\n    {body}\n")
        verdict = judge(exercise, play(exercise.driver, program, seed=1), its.solution_run)
        assert [check.title for check in verdict.checks if check.passed] == [], body
