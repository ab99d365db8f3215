"""Align two sequences: pair some of their items, without crossing pairs, so that the gains add up to the most."""

from collections.abc import Sequence


def aligned(gain: Sequence[Sequence[float]]) -> dict[int, int]:
    """Return the best alignment of two sequences (Needleman and Wunsch, 1970).

    Args:
        gain: gain of pairing item i of one sequence (rows) with item j of the other. Leaving an item unpaired is free,
            so items whose gain is not above 0 are never paired. On a tie, items stay unpaired.

    Returns:
        Pairs i -> j, increasing in both.
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
