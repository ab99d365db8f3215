"""The grader's own exam: the solution passes, each known mistake fails and gets its own name, whatever the seed."""

import itertools

import numpy as np
import pytest

from grader.authoring import measured_behaviour
from grader.course.course import Exercise
from grader.judging.behaviour_table import behaviours_of
from grader.judging.compare_runs import has_same_cause, tolerances
from grader.judging.judge import judge
from grader.judging.reference import Reference, cached_reference
from grader.judging.solution import exercise_source
from grader.observe.play import play
from grader.observe.program import load_program
from grader.observe.trace import Run, Trace
from tests.judging.examined import (
    BY_COMMAND,
    EXERCISES,
    QUICK,
    SEEDS,
    SOMETIMES_JOINED,
    examined,
    joined,
    named,
    quickly,
    runs_of,
)

SLICE = quickly(*QUICK, one_in=4)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("exercise", EXERCISES)
def test_solution_gets_everything_and_an_empty_one_nothing(exercise: Exercise, seed: int) -> None:
    source = exercise_source(exercise)
    head, begin, _ = source.partition("# BEGIN SOLUTION")
    if not begin:  # one line is left out of it: its docstring is all that is certainly no answer
        head = '"""'.join(source.split('"""')[:2]) + '"""\n    '
    starter = load_program(f"{head}raise NotImplementedError\n", name="starter")
    its = cached_reference(exercise.name, seed)
    played = Trace(runs=runs_of("", Reference(exercise, seed)))
    assert judge(exercise, played, its.solution_run).status == "passed"
    verdict = judge(exercise, play(exercise.driver, starter, seed=seed), its.solution_run)
    assert verdict.status == "error"
    assert not any(check.passed for check in verdict.checks)


@pytest.mark.parametrize(
    ("seed", "first", "step"),
    [(1, 1, 4), pytest.param(0, 0, 2, marks=BY_COMMAND), pytest.param(2, 1, 2, marks=BY_COMMAND)],
)
@pytest.mark.parametrize("exercise", EXERCISES)
def test_every_mistake_fails_and_gets_its_own_name(
    exercise: Exercise, seed: int, first: int, step: int
) -> None:
    """In CI every fourth variant, with the seed of the kept transcripts; by command all, with two more seeds."""
    its = cached_reference(exercise.name, seed)
    tried = its.variants[first::step]
    wrong = []
    for variant in tried:
        program, mistake = its.sources[variant.name], variant.mistake.id
        verdict, diagnosis = examined(Trace(runs=runs_of(program, its)), its)
        names = [joined(exercise.name, mistake)]
        if mistake in (together := SOMETIMES_JOINED.get(exercise.name, "")).split("|"):
            names.append(together)
        if verdict.status == "passed" or named(diagnosis) not in [[name] for name in names]:
            wrong.append(f"{mistake} ({verdict.status}) named {named(diagnosis)}:\n{program}")
    assert not wrong, "\n".join(
        (*wrong, "named together? JOINED in tests/judging/examined.py says which are one")
    )


@pytest.mark.parametrize("exercise", SLICE)
def test_the_table_that_guides_the_search_is_what_is_measured(exercise: Exercise) -> None:
    """As `grader build --check` says for all exercises."""
    measured = measured_behaviour.measure(exercise, cached_reference(exercise.name, measured_behaviour.SEED))
    assert measured == behaviours_of(exercise), "grader build --tables"


_ONE, _FAR = 0.2, 10.0
"""Distances in tolerances: two runs closer than the first are one behaviour, farther apart than the second two."""


def _ratio(one: Run, other: Run, atol: float) -> float:
    """How far apart two runs are, in tolerances; infinite where they differ in kind."""
    if (one.failure is None) != (other.failure is None):
        return np.inf
    if one.failure and other.failure and not has_same_cause(one.failure, other.failure):
        return np.inf
    if one.facts != other.facts or one.arrays.keys() != other.arrays.keys():
        return np.inf
    ratio = 0.0
    for name, values in one.arrays.items():
        if values.shape != other.arrays[name].shape:
            return np.inf
        with np.errstate(invalid="ignore"):
            gap = np.abs(values - other.arrays[name])
        gap[(values == other.arrays[name]) | (np.isnan(values) & np.isnan(other.arrays[name]))] = 0.0
        rows = np.nan_to_num(gap, nan=np.inf).reshape(max(1, len(np.atleast_1d(values))), -1)
        room = tolerances(name, other.arrays[name], atol)
        ratio = max(ratio, float((rows.max(axis=1, initial=0.0)[: len(room)] / room).max(initial=0.0)))
    return ratio


@pytest.mark.parametrize("seed", SEEDS[:1])
@pytest.mark.parametrize("exercise", SLICE)
def test_behaviours_lie_far_apart_or_are_one(exercise: Exercise, seed: int) -> None:
    """Nothing near the tolerance: rounding is well below it, and the nearest two mistakes well above."""
    its = cached_reference(exercise.name, seed)
    programs = [("solution", runs_of("", its))]
    programs += [(variant.mistake.id, runs_of(its.sources[variant.name], its)) for variant in its.variants]
    for (name, runs), (other, others) in itertools.combinations(programs, 2):
        if name == other:
            continue
        ratio = 0.0
        for scenario in exercise.driver.scenarios:
            ratio = max(ratio, _ratio(runs[scenario.name], others[scenario.name], scenario.atol))
            if ratio > _FAR:
                break
        assert ratio < _ONE or ratio > _FAR, (name, other, ratio)
