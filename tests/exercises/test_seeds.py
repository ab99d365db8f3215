"""What was recorded with one seed earns nothing with another: no check rests on words that are always the same."""

import pytest

from grader.course.course import Exercise
from grader.judging.judge import judge
from grader.judging.reference import cached_reference
from grader.observe.trace import Trace
from tests.judging.examined import EXERCISES

RECORDED, PLAYED = 1, 2


@pytest.mark.parametrize("exercise", EXERCISES)
def test_the_right_answer_of_one_seed_is_no_answer_to_another(exercise: Exercise) -> None:
    """Whoever forges the record must know what is drawn, and what a right program makes of it."""
    its = cached_reference(exercise.name, RECORDED)
    forged = Trace(runs={s.name: its.solution_run(s.name) for s in exercise.driver.scenarios})
    verdict = judge(exercise, forged, cached_reference(exercise.name, PLAYED).solution_run)
    earned = [check.title for check in verdict.checks if check.passed]
    assert not earned, "these checks' scenarios record nothing that follows from the seed"
