"""Find the known mistake whose numbers are nearest to those of a program in which no mistake can be named.

`explain.py` asks for it when neither known mistakes nor a program of `[[copies]]` explain the learner's runs. Feedback
says that the program is near this mistake, not that it makes it. To change what counts as near: `_distance` (how near
the numbers are) and `_MAX_DISTANCE`; `nearest_mistake` says in which scenarios.
"""

from collections.abc import Mapping

import numpy as np

from grader.course.course import Mistake
from grader.judging.compare_runs import Difference, find_difference
from grader.judging.reference import Reference
from grader.observe.trace import Array, Run

_MAX_DISTANCE = 0.5
"""A mistake is near if its `_distance` is below this: its numbers are less than half as far from the learner's as the
solution's are."""


def nearest_mistake(
    reference: Reference, runs: Mapping[str, Run], wrong: Mapping[str, Difference]
) -> Mistake | None:
    """Return the nearest known mistake; None if none is near.

    A near mistake changes the same scenarios as the learner's program. In each of them it differs from the solution
    first in the same row of the same array, and its numbers in this row are near the learner's (`_distance`).

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs by name of the scenario.
        wrong: the learner's first difference from the solution, by name of the scenario; only scenarios that differ.
    """
    names = [scenario.name for scenario in reference.exercise.driver.scenarios]
    nearest: Mistake | None = None
    smallest_distance = _MAX_DISTANCE
    for variant in reference.variants:
        if variant.copy:
            continue  # in one of two copies of the code only: feedback names just the mistake
        if any((reference.behaviour(variant, name) != 0) != (name in wrong) for name in names):
            continue  # it does not change exactly the wrong scenarios
        distance = _distance(reference, reference.sources[variant.name], runs, wrong)
        if distance < smallest_distance:
            nearest, smallest_distance = variant.mistake, distance
    return nearest


def _distance(
    reference: Reference, source: str, runs: Mapping[str, Run], wrong: Mapping[str, Difference]
) -> float:
    """Return how far a mistake's program is from the learner's: the largest of its distances in the wrong scenarios.

    The distance in a scenario is |learner - mistake| / |learner - solution|, for the row of the learner's first
    difference. 0: the mistake has the learner's numbers; 1: it is as far from them as the solution is. The result is
    infinite if a scenario's distance is `_MAX_DISTANCE` or more, or cannot be computed:

    - the learner has no run there, or something other than an array's numbers differs first;
    - mistake and learner do not first differ from the solution in the same row;
    - one of the three has a number in this row that is not finite;
    - the learner has zeros only, which are near to every mistake that makes the numbers small.

    Args:
        reference: plays the mistake's program.
        source: the mistake's program.
        runs: the learner's runs by name of the scenario.
        wrong: the learner's first difference, by name of the scenario.
    """
    largest = 0.0
    for name, learner_difference in wrong.items():
        if name not in runs or learner_difference.kind != "array":
            return np.inf
        solution_run, mistake_run = reference.solution_run(name), reference.complete_run(source, name)
        mistake_difference = find_difference(mistake_run, solution_run, reference.exercise.driver[name].atol)
        if mistake_difference is None or _row_key(mistake_difference) != _row_key(learner_difference):
            return np.inf
        rows = [_row(run, learner_difference) for run in (runs[name], mistake_run, solution_run)]
        if not all(np.isfinite(row).all() for row in rows):
            return np.inf
        learner, mistake, solution = rows
        if not learner.any():
            return np.inf
        with np.errstate(over="ignore", invalid="ignore"):
            distance = float(np.linalg.norm(learner - mistake) / np.linalg.norm(learner - solution))
        if not distance < _MAX_DISTANCE:  # written so that NaN counts as far
            return np.inf
        largest = max(largest, distance)
    return largest


def _row_key(difference: Difference) -> tuple[str, str, tuple[int, ...]]:
    """Return the kind, the array and the row of a difference, equal for differences in one row."""
    return difference.kind, difference.name, difference.index[:1]


def _row(run: Run, difference: Difference) -> Array:
    """Return the numbers of this run in the row of a difference, flattened."""
    values = np.atleast_1d(run.arrays[difference.name])
    row: Array = values[difference.index[0]].astype(np.float64).ravel()
    return row
