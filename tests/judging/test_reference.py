"""Runs of mistakes, played only as far as it takes."""

import gc
import sys

import numpy as np

from grader.course.reading import load_course
from grader.judging.compare_runs import is_prefix
from grader.judging.edits import combination_source
from grader.judging.reference import Reference, cached_reference
from grader.observe.play import play
from grader.observe.program import load_program


def test_a_run_that_was_broken_off_is_played_on_where_its_parameters_overflow() -> None:
    """Whether a program agrees must not depend on what it was compared with before."""
    its = Reference(load_course().exercise("amp_accumulate"), 1)
    variant = next(variant for variant in its.variants if variant.mistake.id == "step-without-scaler")
    source = its.sources[variant.name]
    whole = Reference(its.exercise, 1).complete_run(source, "overflow")
    assert not np.isfinite(whole.arrays["theta"]).all()
    others = [
        its.complete_run(its.sources[w.name], "overflow")
        for w in its.variants
        if w.mistake.id != variant.mistake.id
    ]
    assert not any(
        its.reproduces(source, "overflow", other) for other in others if other.facts != whole.facts
    )
    assert its.reproduces(source, "overflow", whole)


def test_mistakes_make_the_same_program_in_whatever_order_they_are_given() -> None:
    """The clinic draws two in any order; its card then told of a program that the search for mistakes never plays."""
    its = cached_reference("train_step", 1)
    first, second = (
        variant
        for variant in its.variants
        if variant.name in ("zero-grad-before-step", "step-before-backward")
    )
    program = its.source_with_mistakes((first, second))
    assert program is not None
    assert program == its.source_with_mistakes((second, first))
    assert program != combination_source(its.exercise, (second, first))


def test_states_follow_where_both_are_not_finite() -> None:
    expected = np.array([[0.0, 1.0], [np.inf, np.nan], [np.inf, 2.0]])
    assert is_prefix(expected[:2], expected, 1e-9)
    assert not is_prefix(np.array([[0.0, 1.0], [np.inf, 1.0]]), expected, 1e-9)
    assert not is_prefix(np.array([[0.0, 1.0], [np.nan, np.nan]]), expected, 1e-9)
    assert not is_prefix(np.concatenate([expected, expected]), expected, 1e-9)


def test_programs_of_two_references_are_different_modules() -> None:
    """Both were called `mistake_1_of_…`, and the second replaced the first in `sys.modules`."""
    exercise = load_course().exercise("lr_at")
    scenario = exercise.driver.scenarios[0].name
    before = {name for name in sys.modules if name.startswith("mistake_")}
    references = [Reference(exercise, 1), Reference(exercise, 2)]
    for its in references:
        its.complete_run(its.sources[its.variants[0].name], scenario)
    assert len({name for name in sys.modules if name.startswith("mistake_")} - before) == 2
    del its
    references.clear()
    gc.collect()
    assert {name for name in sys.modules if name.startswith("mistake_")} <= before


def test_the_references_of_a_submission_that_holds_every_exercise_are_kept_for_the_next_one() -> None:
    assert cached_reference.cache_parameters()["maxsize"] >= len(load_course().exercises)


def test_a_program_that_remembers_is_played_in_the_order_of_the_driver() -> None:
    """As a submission is, whichever scenario is asked for first: otherwise its own mistake would not be known again."""
    exercise = load_course().exercise("adamw_step_")
    names = [scenario.name for scenario in exercise.driver.scenarios]
    asked, played = Reference(exercise, 1), Reference(exercise, 1)
    source = asked.sources["remembers-elsewhere"]
    trace = play(exercise.driver, load_program(f"import torch\n{source}", name="remembers"), seed=1)
    assert any(not asked.reproduces(source, name, asked.solution_run(name)) for name in names)
    for name in reversed(names):
        assert asked.reproduces(source, name, trace.runs[name]), name
    forgetful = played.sources["no-decay"]
    played.complete_run(forgetful, names[-1])
    assert played.play_count == 1
