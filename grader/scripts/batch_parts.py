"""Find tensors in what a loader gives or a module is called with: the first one, labels, targets of yes or no.

These may be nested in lists, tuples and mappings, at most three levels deep.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

_MAX_DEPTH = 3
_MAX_LABELS = 4096
"""Maximum number of labels or targets that are kept of one batch."""


def is_readable(tensor: Tensor) -> bool:
    """Return True if a tensor has entries that can be read by rows; sparse, nested, meta and quantized ones do not."""
    return tensor.layout is torch.strided and not (tensor.is_nested or tensor.is_meta or tensor.is_quantized)


def first_tensor(thing: Any, depth: int = _MAX_DEPTH) -> Tensor | None:
    """Return the first tensor with at least one dimension, readable or not; None if there is none."""
    if isinstance(thing, Tensor):
        return thing if thing.ndim >= 1 else None
    for item in _items(thing) if depth else ():
        found = first_tensor(item, depth - 1)
        if found is not None:
            return found
    return None


def last_tensor(thing: Any, depth: int = _MAX_DEPTH) -> Tensor | None:
    """Return the last item, the last item of that, and so on, if this ends at a readable tensor; else None."""
    if isinstance(thing, Tensor):
        return thing if is_readable(thing) else None
    items = _items(thing) if depth else ()
    return last_tensor(items[-1], depth - 1) if items else None


def labels(thing: Any, depth: int = _MAX_DEPTH) -> Tensor | None:
    """Return the last one-dimensional tensor of integers or bools of a batch: its labels, as a rule.

    It is a copy of at most the first 4096; None if the batch has none.
    """
    if isinstance(thing, Tensor):
        whole = not thing.is_floating_point() and not thing.is_complex()
        is_label = whole and thing.ndim == 1 and is_readable(thing)
        return thing.detach()[:_MAX_LABELS].clone() if is_label else None
    for item in reversed(_items(thing) if depth else ()):
        found = labels(item, depth - 1)
        if found is not None:
            return found
    return None


def binary_targets(batch: Any) -> Tensor | None:
    """Return the last tensor of a batch if it is one column of floating-point zeros and ones; else None.

    The column has one or two dimensions. It is a copy of at most the first 4096 entries, and only these are looked at.
    """
    last = last_tensor(batch)
    if last is None or last.ndim not in (1, 2) or not last.is_floating_point():
        return None
    if last.numel() != len(last) or last.numel() == 0:
        return None
    column = last.detach()[:_MAX_LABELS].reshape(-1)
    return column.clone() if bool(((column == 0) | (column == 1)).all()) else None


def _items(thing: Any) -> Sequence[Any]:
    """Return the items of a list or tuple, or the values of a mapping; of anything else none."""
    if isinstance(thing, Mapping):  # also a `UserDict`, such as the `BatchEncoding` of transformers
        return list(thing.values())
    return thing if isinstance(thing, list | tuple) else ()


def tokens(given: Tensor) -> Tensor | None:
    """Return a copy of a batch of sequences of integers, at most 64 rows; None for anything else."""
    if not is_readable(given) or given.ndim != 2 or given.is_floating_point() or given.is_complex():
        return None
    if given.shape[1] > _MAX_LABELS:
        return None
    return given.detach()[:64].clone()
