"""Describe what a loss is given: zeros that look like padding, and the extremes of its rows."""

import torch
from torch import Tensor

_MOST_TARGETS = 4096
_MOST_ENTRIES = 1 << 20
_NEARLY_ONE = 1e-2


def filled(target: Tensor) -> float:
    """Return the share of zeros at the ends of rows of real numbers; 0 if they do not look like padding."""
    if target.ndim not in (2, 3) or not 4 <= len(target) <= _MOST_TARGETS or target.shape[1] < 3:
        return 0.0
    rows = target.detach()[:64]
    rows = rows if rows.ndim == 2 else rows.abs().sum(-1)
    empty = rows == 0
    lengths = (~empty).sum(1)
    ends = bool((empty[:, :-1] <= empty[:, 1:]).all())  # once zero, zero to the end
    real = rows[~empty].unique().numel() > 8
    return float(empty.float().mean()) if ends and real and lengths.unique().numel() >= 3 else 0.0


def row_sums(given: Tensor, *, last: bool) -> Tensor | None:
    """Return the extremes of entries, of row sums and of row sums of exp, over the dimension of classes.

    `last`: the classes may lie in the last dimension as well, where the rows sum to one.
    """
    if given.numel() == 0 or not given.is_floating_point():
        return None
    if given.numel() > _MOST_ENTRIES and given.ndim > 1:
        given = given[: max(1, _MOST_ENTRIES // max(1, given[0].numel()))]
    plain = given.detach().float()
    rows = plain.movedim(1, -1) if plain.ndim > 1 else plain.reshape(1, -1)
    if last and plain.ndim > 2 and bool(((plain.sum(-1) - 1).abs() < _NEARLY_ONE).all()):
        rows = plain
    sums, exps = rows.sum(-1), rows.exp().sum(-1)
    return torch.stack([rows.min(), rows.max(), sums.min(), sums.max(), exps.min(), exps.max()])
