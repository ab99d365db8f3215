"""Compute how far float32 rounding may move a right program's numbers, which it may pass through float32 once.

`judging/compare_runs.py` and the recorder add this to a scenario's own tolerance (`Scenario.atol`).
"""

import numpy as np

from grader.observe.trace import Array

_RELATIVE_ERROR = 1e-6
"""Relative error allowed for rounding. `torch.tensor(1.) / n` and `mask.sum() / n` are off by at most 6e-8 of the
result, a cosine in float32 by a few times as much, and such factors multiply; so this leaves an order of magnitude of
room. Every known mistake moves numbers far more."""


def rounding_of_states(states: Array) -> Array:
    """Return how far rounding may have moved each state.

    If every update is off by 1e-6 of itself, the parameters are off by 1e-6 of the distance they have moved so far. So
    the tolerance grows with that distance, not with the size of the weights, and is 0 at the start.

    Args:
        states: parameter states, shape (rows, elements).

    Returns:
        Absolute tolerances, shape (rows,).
    """
    if len(states) < 2 or states.shape[1] == 0:
        return np.zeros(len(states))
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.abs(np.diff(states.astype(np.float64), axis=0)).max(axis=1)
    moved[~np.isfinite(moved)] = 0.0
    return np.concatenate([[0.0], _RELATIVE_ERROR * np.cumsum(moved)])


def rounding_of_values(values: Array) -> float:
    """Return how far rounding may have moved any of these numbers: 1e-6 of the largest finite absolute value."""
    finite = np.abs(values[np.isfinite(values)])
    return _RELATIVE_ERROR * float(finite.max(initial=0.0))
