"""The known mistake that is nearest to a program that none explains: near, and said not to be the same."""

from collections.abc import Mapping, Sequence

import numpy as np

from grader.course.course import Mistake
from grader.judging.judge import Difference, difference
from grader.judging.reference import Reference
from grader.observe.trace import Array, Run

_NEAR = 0.5
"""Of the way from the solution to the learner's run: a mistake that is farther than half of it off is another one."""


def nearest(reference: Reference, runs: Mapping[str, Run], wrong: Mapping[str, Difference]) -> Mistake | None:
    """The known mistake that spoils the same scenarios, first at the same place and in the same direction.

    Args:
        reference: of the exercise and seed that was played.
        runs: the learner's.
        wrong: the first difference from the solution in each scenario that differs.
    """
    names = [s.name for s in reference.exercise.driver.scenarios]
    best: tuple[float, Mistake] | None = None
    for way in reference.ways:
        if any((reference.behaviour(way, name) != 0) != (name in wrong) for name in names):
            continue
        distance = _distance(reference, reference.sources[way.name], runs, wrong)
        if distance < (_NEAR if best is None else best[0]):
            best = (distance, way.mistake)
    return best[1] if best else None


def _distance(
    reference: Reference, program: str, runs: Mapping[str, Run], wrong: Mapping[str, Difference]
) -> float:
    """How far off, at the place of each first difference; infinite where the first difference is another one."""
    worst = 0.0
    for name, found in wrong.items():
        if name not in runs or found.kind != "array":
            return np.inf
        right, other = reference.solution(name), reference.run(program, name)
        its = difference(other, right, reference.exercise.driver[name].atol)
        if its is None or (its.kind, its.name, its.index[:1]) != (found.kind, found.name, found.index[:1]):
            return np.inf
        values = [_row(run, found.name, found.index) for run in (runs[name], other, right)]
        if len({v.shape for v in values}) != 1 or not all(np.isfinite(v).all() for v in values):
            return np.inf
        yours, near, expected = values
        with np.errstate(over="ignore", invalid="ignore"):
            distance = float(np.linalg.norm(yours - near) / np.linalg.norm(yours - expected))
        if not distance <= _NEAR:  # NaN, too
            return np.inf
        worst = max(worst, distance)
    return worst


def _row(run: Run, name: str, index: Sequence[int]) -> Array:
    row: Array = np.atleast_1d(run.arrays[name])[index[0]].astype(np.float64).ravel()
    return row
