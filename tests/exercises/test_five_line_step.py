"""Lesson 01's drivers: what they record is what its name says."""

import pytest

from grader.judging.reference import cached_reference


@pytest.mark.parametrize(("scenario", "calls"), [("schedule", [1, 2, 3, 4]), ("both", 5)])
def test_steps_of_the_scheduler_are_counted_whatever_it_is_given(scenario: str, calls: object) -> None:
    """`last_epoch` is no count: `scheduler.step(loss)` sets it to the loss."""
    its = cached_reference("train_step_extras", 1)
    given = [variant for variant in its.variants if variant.mistake.id == "scheduler-gets-loss"]
    assert given
    wrong = [its.complete_run(its.sources[variant.name], scenario) for variant in given]
    for run in (its.solution_run(scenario), *wrong):
        assert run.failure is None
        assert run.facts["scheduler.step()의 횟수"] == calls
