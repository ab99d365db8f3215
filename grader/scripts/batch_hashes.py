"""Hash the rows of batches exactly, so that equal samples are recognised wherever they come again."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

_MOST_ROWS, _MOST_ENTRIES = 512, 1024
_ARRANGED, _MOST_SORTED, _SIDE = 16, 1 << 16, 5
_LOOKED_AT = 64
"""Rows of a dataset that are compared from pass to pass."""
_factors: dict[torch.device, Tensor] = {}


def row_hashes(batch: Tensor) -> Tensor | None:
    """Return an int64 hash of each row (along the first dimension); None for what cannot be hashed.

    Entries beyond 1024 of a row are sampled evenly. Integer arithmetic: the hash does not depend on the batch's size.
    """
    if batch.ndim < 1 or batch.numel() == 0 or batch.layout is not torch.strided or batch.is_complex():
        return None
    with torch.no_grad():
        flat = batch.detach()[:_MOST_ROWS].reshape(min(len(batch), _MOST_ROWS), -1)
        entries = flat.shape[1]
        flat = flat[:, :: max(1, -(-entries // _MOST_ENTRIES))]
        if flat.is_floating_point():
            flat = flat.float().contiguous().view(torch.int32)
        factors = _factors.get(flat.device)
        if factors is None:
            generator = torch.Generator(device="cpu")
            generator.manual_seed(7)
            drawn = torch.randint(-(2**62), 2**62, (_MOST_ENTRIES,), generator=generator, device="cpu")
            factors = _factors[flat.device] = (drawn * 2 + 1).to(flat.device)
        return (flat.to(torch.int64) * factors[: flat.shape[1]]).sum(1)


def contents(thing: Any) -> int | None:
    """Return a number that tells whether the values of a tensor, array or list of these are still the same.

    Of large ones only some rows are looked at. None for anything else.
    """
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "fiu" and thing.ndim:
        thing = torch.from_numpy(thing[_some(len(thing))].astype(np.float64))
    elif isinstance(thing, Tensor) and thing.ndim and thing.device.type == "cpu":
        thing = thing[_some(len(thing))]
    elif isinstance(thing, list) and thing:
        inner = [first_tensor(one) for one in thing[_some(len(thing))]]
        hashed = [rows for one in inner if one is not None and (rows := row_hashes(one)) is not None]
        return hash(tuple(tuple(rows.tolist()) for rows in hashed)) if hashed else None
    else:
        return None
    marks = row_hashes(thing)
    return None if marks is None else hash(tuple(marks.tolist()))


def _some(length: int) -> slice:
    return slice(None, None, max(1, length // _LOOKED_AT))


def first_tensor(thing: Any, depth: int = 3) -> Tensor | None:
    """Return the first tensor with rows inside nested lists, tuples and dictionaries."""
    if isinstance(thing, Tensor):
        return thing if thing.ndim >= 1 else None
    if depth and isinstance(thing, dict):
        thing = list(thing.values())
    if depth and isinstance(thing, list | tuple):
        for one in thing:
            found = first_tensor(one, depth - 1)
            if found is not None:
                return found
    return None


def labels(thing: Any, depth: int = 3) -> Tensor | None:
    """Return the last one-dimensional integer tensor of a batch: its labels, as a rule."""
    if isinstance(thing, Tensor):
        integer = not thing.is_floating_point() and not thing.is_complex()
        return thing.detach()[:4096].clone() if integer and thing.ndim == 1 else None
    if depth and isinstance(thing, dict):
        thing = list(thing.values())
    if depth and isinstance(thing, list | tuple):
        for one in reversed(thing):
            found = labels(one, depth - 1)
            if found is not None:
                return found
    return None


def marks(thing: Any, depth: int = 3) -> Tensor | None:
    """Return the last tensor of a batch if it is one column of floating-point zeros and ones."""
    if isinstance(thing, Tensor):
        column = thing.is_floating_point() and thing.numel() == len(thing) if thing.ndim in (1, 2) else False
        flat = thing.detach()[:4096].reshape(-1) if column else thing
        return flat.clone() if column and bool(((flat == 0) | (flat == 1)).all()) else None
    if depth and isinstance(thing, dict):
        thing = list(thing.values())
    return marks(thing[-1], depth - 1) if depth and isinstance(thing, list | tuple) and thing else None


def arrangement(thing: Any, depth: int = 3) -> Tensor | None:
    """Return two hashes of the first rows of a batch's last tensor: as they stand, and with their entries sorted.

    Only of pictures and the like, with two dimensions or more a row: of two rows with one sorted hash, one is the other
    in another arrangement, such as its mirror image.
    """
    if isinstance(thing, Tensor):
        if thing.ndim < 3 or thing.is_complex() or min(thing.shape[-2:]) < _SIDE:
            return None  # sets of points or boxes may come in any order
        if thing[:1].numel() > _MOST_SORTED:
            return None
        rows = thing.detach()[:_ARRANGED].flatten(1)
        plain, ordered = row_hashes(rows), row_hashes(rows.sort(1).values)
        return None if plain is None or ordered is None else torch.stack([plain, ordered], 1)
    if depth and isinstance(thing, dict):
        thing = list(thing.values())
    return arrangement(thing[-1], depth - 1) if depth and isinstance(thing, list | tuple) and thing else None


def is_continuous(batch: Tensor, least: int = 8) -> bool:
    """Return True if the first row is of floating point and has at least `least` distinct entries."""
    if not batch.is_floating_point() or batch.ndim < 2 or not len(batch):
        return False
    return int(batch[0].detach().reshape(-1)[:_MOST_ENTRIES].unique().numel()) >= least
