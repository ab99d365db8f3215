"""What float32 rounding may change: a right program may pass its numbers through float32 once."""

import numpy as np

from grader.observe.trace import Array

RELATIVE = 1e-6
"""`torch.tensor(1.) / n` and `mask.sum() / n` are off by at most 6e-8 of the result, a cosine in float32 by a few times
as much, and such factors multiply: an order of magnitude of room. Every mistake moves far more."""


def rounding_of_states(states: Array) -> Array:
    """For each row of parameter states (rows x elements): how far rounding may have moved it, shape (rows,).

    An update that is off by 1e-6 of itself leaves the parameters off by 1e-6 of what they have moved so far. So the
    room grows with the way, not with the size of the weights, and at the start there is none.
    """
    if len(states) < 2 or states.shape[1] == 0:
        return np.zeros(len(states))
    with np.errstate(invalid="ignore", over="ignore"):
        moved = np.abs(np.diff(states.astype(np.float64), axis=0)).max(axis=1)
    moved[~np.isfinite(moved)] = 0.0
    return np.concatenate([[0.0], RELATIVE * np.cumsum(moved)])


def rounding_of_values(values: Array) -> float:
    """How far rounding may have moved any of these numbers: 1e-6 of the largest finite one."""
    finite = np.abs(values[np.isfinite(values)])
    return RELATIVE * float(finite.max(initial=0.0))
