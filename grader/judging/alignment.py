"""Lays two sequences beside each other, in order on both sides, so that they are as alike as can be in all."""

from collections.abc import Sequence


def aligned(gain: Sequence[Sequence[float]]) -> dict[int, int]:
    """Which of one sequence lie beside which of the other: an alignment after Needleman and Wunsch (1970).

    Args:
        gain: what is gained where the i-th of one (rows) lies beside the j-th of the other; leaving one out is free.

    Returns:
        i -> j, increasing in both.
    """
    rows, columns = len(gain), len(gain[0]) if gain else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + gain[i][j])
    pairs, i, j = {}, 0, 0
    while i < rows and j < columns:
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs[i] = j
            i, j = i + 1, j + 1
    return pairs
