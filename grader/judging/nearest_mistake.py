"""Find the known mistake that behaves most nearly like a program that no known mistake explains.

Feedback says that the program is near this mistake, not that it makes it.
"""

from collections.abc import Mapping

import numpy as np

from grader.course.course import Mistake
from grader.judging.compare_runs import Difference, find_difference
from grader.judging.reference import Reference
from grader.observe.trace import Array, Run

_MAX_DISTANCE = 0.5
"""Maximum distance between mistake and learner, as a share of the distance between solution and learner."""


def nearest(reference: Reference, runs: Mapping[str, Run], wrong: Mapping[str, Difference]) -> Mistake | None:
    """Return the nearest known mistake; None if none is near.

    A near mistake changes the same scenarios as the learner's program, differs from the solution first in the same
    array and row, and has values in this row that are near the learner's. The nearest has the smallest `_distance`.

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs.
        wrong: the learner's first difference from the solution, by name of the scenario; only scenarios that differ.
    """
    names = [s.name for s in reference.exercise.driver.scenarios]
    best: tuple[float, Mistake] | None = None
    for variant in reference.variants:
        if any((reference.behaviour(variant, name) != 0) != (name in wrong) for name in names):
            continue
        distance = _distance(reference, reference.sources[variant.name], runs, wrong)
        if distance < (_MAX_DISTANCE if best is None else best[0]):
            best = (distance, variant.mistake)
    return best[1] if best else None


def _distance(
    reference: Reference, program: str, runs: Mapping[str, Run], wrong: Mapping[str, Difference]
) -> float:
    """Return the distance between a mistake's program and the learner's: the largest of all wrong scenarios.

    In one scenario it is |learner - mistake| / |learner - solution|, for the row of the learner's first difference. It
    is infinite if it exceeds `_MAX_DISTANCE`, or if mistake and learner first differ from the solution in different
    rows or in something that is no number.
    """
    largest = 0.0
    for name, first in wrong.items():
        if name not in runs or first.kind != "array":
            return np.inf
        solution_run, mistake_run = reference.solution(name), reference.run(program, name)
        of_mistake = find_difference(mistake_run, solution_run, reference.exercise.driver[name].atol)
        if of_mistake is None or _place(of_mistake) != _place(first):
            return np.inf
        rows = [_row(run, first) for run in (runs[name], mistake_run, solution_run)]
        if len({row.shape for row in rows}) != 1 or not all(np.isfinite(row).all() for row in rows):
            return np.inf
        learner, mistake, solution = rows
        with np.errstate(over="ignore", invalid="ignore"):
            distance = float(np.linalg.norm(learner - mistake) / np.linalg.norm(learner - solution))
        if not distance <= _MAX_DISTANCE:  # written so that NaN counts as far
            return np.inf
        largest = max(largest, distance)
    return largest


def _place(first: Difference) -> tuple[str, str, tuple[int, ...]]:
    """Return the kind and name of a difference and its row; the element within the row may be another."""
    return first.kind, first.name, first.index[:1]


def _row(run: Run, first: Difference) -> Array:
    """Return the row of an array in which a difference lies, flattened."""
    row: Array = np.atleast_1d(run.arrays[first.name])[first.index[0]].astype(np.float64).ravel()
    return row
