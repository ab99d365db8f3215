"""Runs of mistakes, played only as far as it takes."""

import numpy as np

from grader.course.reading import load_course
from grader.judging.judge import follows
from grader.judging.reference import Reference


def test_a_run_that_was_broken_off_is_played_on_where_its_parameters_overflow() -> None:
    """Whether a program agrees must not depend on what it was compared with before."""
    its = Reference(load_course().exercise("amp_accumulate"), 1)
    way = next(way for way in its.ways if way.mistake.id == "step-without-scaler")
    source = its.sources[way.name]
    whole = Reference(its.exercise, 1).run(source, "overflow")
    assert not np.isfinite(whole.arrays["theta"]).all()
    others = [its.run(its.sources[w.name], "overflow") for w in its.ways if w.mistake.id != way.mistake.id]
    assert not any(its.agrees(source, "overflow", other) for other in others if other.facts != whole.facts)
    assert its.agrees(source, "overflow", whole)


def test_states_follow_where_both_are_not_finite() -> None:
    expected = np.array([[0.0, 1.0], [np.inf, np.nan], [np.inf, 2.0]])
    assert follows(expected[:2], expected, 1e-9)
    assert not follows(np.array([[0.0, 1.0], [np.inf, 1.0]]), expected, 1e-9)
    assert not follows(np.array([[0.0, 1.0], [np.nan, np.nan]]), expected, 1e-9)
    assert not follows(np.concatenate([expected, expected]), expected, 1e-9)
