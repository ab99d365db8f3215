"""Find the known mistake that comes nearest to a program that no set of mistakes explains.

It is reported as near, not as the mistake that was made.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.course.course import Mistake
from grader.judging.compare_runs import Difference, difference
from grader.judging.reference import Reference
from grader.observe.trace import Array, Run

_MAX_DISTANCE = 0.5
"""Maximum distance of a mistake, as a share of the distance between the solution's run and the learner's."""


def nearest(reference: Reference, runs: Mapping[str, Run], wrong: Mapping[str, Difference]) -> Mistake | None:
    """Return the nearest known mistake; None if none is near.

    It changes the same scenarios as the learner's program, first at the same place (array and row), and its values
    there are nearest to the learner's.

    Args:
        reference: the reference of the exercise and seed that was played.
        runs: the learner's runs.
        wrong: the first difference from the solution in each scenario that differs.
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
    """Return the largest distance over the wrong scenarios, from 0; infinite if one exceeds `_MAX_DISTANCE`.

    In each, the row of the first difference is compared: |learner - mistake| / |learner - solution|. Infinite too if
    the mistake first differs from the solution elsewhere.
    """
    worst = 0.0
    for name, found in wrong.items():
        if name not in runs or found.kind != "array":
            return np.inf
        right, other = reference.solution(name), reference.run(program, name)
        first = difference(other, right, reference.exercise.driver[name].atol)
        place = (found.kind, found.name, found.index[:1])
        if first is None or (first.kind, first.name, first.index[:1]) != place:
            return np.inf
        values = [_row(run, found.name, found.index) for run in (runs[name], other, right)]
        if len({v.shape for v in values}) != 1 or not all(np.isfinite(v).all() for v in values):
            return np.inf
        yours, near, expected = values
        with np.errstate(over="ignore", invalid="ignore"):
            distance = float(np.linalg.norm(yours - near) / np.linalg.norm(yours - expected))
        if not distance <= _MAX_DISTANCE:  # written so that NaN counts as far
            return np.inf
        worst = max(worst, distance)
    return worst


def _row(run: Run, name: str, index: Sequence[int]) -> Array:
    """Return the row of an array that an index points into, flattened."""
    row: Array = np.atleast_1d(run.arrays[name])[index[0]].astype(np.float64).ravel()
    return row
