"""Say of which gradients an update was made: least squares between what was read and what backwards contributed."""

from collections.abc import Sequence

import numpy as np

Array = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
_SMALLEST = 1e-2
"""Coefficients below this share of the largest one are zero."""
_EXACT = 1e-4


def plain_sum(read: Array, parts: Sequence[Array]) -> float | None:
    """Return the one factor with which all parts make a sketch; None if that does not explain it.

    Nearly parallel parts have many combinations; the sum is the plain one.
    """
    if not parts or not np.isfinite(read).all():
        return None
    total = np.sum(parts, axis=0)
    square = float(total @ total)
    if square == 0 or not np.isfinite(square):
        return None
    factor = float(read @ total) / square
    left = float(np.linalg.norm(read - factor * total))
    return factor if left < _EXACT * float(np.linalg.norm(read)) else None


def combination(read: Array, parts: Sequence[Array]) -> tuple[list[float], float]:
    """Write a sketch as a combination of others.

    Returns:
        A coefficient for each part, and the share of the norm of `read` that they leave unexplained.
    """
    norm = float(np.linalg.norm(read))
    norms = [float(np.linalg.norm(part)) for part in parts]
    used = [number for number, one in enumerate(norms) if one > 0 and np.isfinite(one)]
    found = [0.0] * len(parts)
    if not used or norm == 0 or not np.isfinite(norm):
        return found, 0.0 if norm == 0 else 1.0
    table = np.stack([parts[number] / norms[number] for number in used], axis=1)
    solved = np.linalg.lstsq(table, read, rcond=1e-6)[0]
    left = float(np.linalg.norm(read - table @ solved)) / norm
    for number, value in zip(used, solved, strict=True):
        found[number] = float(value) / norms[number]
    largest = max(map(abs, found))
    return [value if abs(value) >= _SMALLEST * largest else 0.0 for value in found], left
