"""Hash the rows of batches, so that equal samples are recognised wherever they come again.

Rows of equal entries have equal hashes, however large the batch is. Rows of different entries have different hashes,
but for an unlikely accident, if they differ in what is looked at: the first 512 rows, and at most 1024 entries of each,
sampled evenly. Entries of floating point count as float32, bit by bit, so that 0.0 and -0.0 differ.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from grader.scripts.batch_parts import first_tensor, is_readable, last_tensor

_MAX_ROWS = 512
"""Maximum number of rows of a batch that are hashed."""
_MAX_ENTRIES = 1024
"""Maximum number of entries of a row that are looked at."""
_MAX_SORTED_ROWS = 16
"""Maximum number of rows of a batch whose entries are sorted."""
_MAX_SORTED_ENTRIES = 1 << 16
"""Maximum number of entries of a row that is sorted; they are all looked at."""
_MIN_SIDE = 5
"""Minimum size of the last two dimensions of a picture."""
_MIN_COMPARED_ITEMS = 64
"""Minimum number of a dataset's items that are compared from pass to pass, if it has so many; the maximum is less than
twice as large."""
_MAX_SHIFTED_ROWS = 64
"""Maximum number of rows of a batch whose pieces are hashed."""
_SHIFTED_ENTRIES = range(8, 257)
"""Numbers of entries of a row whose pieces are hashed."""
_PIECE = 4
"""Entries of a piece."""
_SEED = 7
"""Any number: the hashes of one run are compared with each other only."""
_factors: dict[torch.device, Tensor] = {}
"""By device: an odd random factor for each entry of a row."""


def row_hashes(batch: Tensor) -> Tensor | None:
    """Return an int64 hash of each of the first 512 rows, along the first dimension.

    None for a tensor that is empty, complex, not readable (`is_readable`) or has no dimension.
    """
    if batch.ndim < 1 or not is_readable(batch) or batch.numel() == 0 or batch.is_complex():
        return None
    rows = batch.detach()[:_MAX_ROWS]
    return _weighted_sums(_sampled(rows.reshape(len(rows), -1)))


def _sampled(rows: Tensor) -> Tensor:
    """Return at most 1024 entries of each row of a matrix, at equal distances."""
    return rows[:, :: max(1, -(-rows.shape[1] // _MAX_ENTRIES))]


def _weighted_sums(rows: Tensor) -> Tensor:
    """Return a hash of each row of a matrix: the sum of its entries, read as integers, times factors that differ.

    The arithmetic is that of integers, which no order of summation changes.
    """
    if rows.is_floating_point():
        rows = rows.float().contiguous().view(torch.int32)
    factors = _factors.get(rows.device)
    if factors is None:
        generator = torch.Generator(device="cpu")
        generator.manual_seed(_SEED)
        drawn = torch.randint(-(2**62), 2**62, (_MAX_SORTED_ENTRIES,), generator=generator, device="cpu")
        factors = _factors[rows.device] = (drawn * 2 + 1).to(rows.device)
    return (rows.to(torch.int64) * factors[: rows.shape[1]]).sum(1)


def values_hash(thing: Any) -> int | None:
    """Return a hash of what a dataset holds, to tell whether its values are still the same.

    Only some items of a large dataset are looked at.

    Args:
        thing: a tensor on the CPU; an array of integers or of floating point; or a list of tensors, or of tuples and
            the like, of which the first tensor counts.

    Returns:
        None for anything else, such as a scalar, an array of bools or a list of arrays.
    """
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "fiu" and thing.ndim:
        numbers = np.float64 if thing.dtype.kind == "f" else np.int64
        hashes = row_hashes(torch.from_numpy(thing[_compared_items(len(thing))].astype(numbers)))
    elif isinstance(thing, Tensor) and thing.ndim and thing.device.type == "cpu" and is_readable(thing):
        hashes = row_hashes(thing[_compared_items(len(thing))])
    elif isinstance(thing, list) and thing:
        tensors = [first_tensor(item) for item in thing[_compared_items(len(thing))]]
        hashed = [rows for one in tensors if one is not None and (rows := row_hashes(one)) is not None]
        return hash(tuple(tuple(rows.tolist()) for rows in hashed)) if hashed else None
    else:
        return None
    return None if hashes is None else hash(tuple(hashes.tolist()))


def _compared_items(length: int) -> slice:
    """Return the slice of the items, at equal distances, that are looked at."""
    return slice(None, None, max(1, length // _MIN_COMPARED_ITEMS))


def plain_and_sorted_hashes(batch: Any) -> Tensor | None:
    """Return two hashes of the first 16 rows of a batch's last tensor: as they are, and with their entries sorted.

    Two rows with one sorted hash have the same entries (as float32): if their plain hashes differ, one is the other in
    another arrangement, such as its mirror image.

    Returns:
        A column for each of the two. None if the rows are no pictures: if their last two dimensions are not at least 5
        wide (so none for channels last), or if a row has more than 65,536 entries.
    """
    last = last_tensor(batch)
    if last is None or last.ndim < 3 or last.is_complex() or last.numel() == 0:
        return None
    if min(last.shape[-2:]) < _MIN_SIDE:  # sets of points or boxes may come in any order
        return None
    rows = last.detach()[:_MAX_SORTED_ROWS].flatten(1)
    if rows.shape[1] > _MAX_SORTED_ENTRIES:
        return None
    return torch.stack([_weighted_sums(_sampled(rows)), _weighted_sums(rows.sort(1).values)], 1)


def piece_hashes(batch: Tensor) -> Tensor | None:
    """Return a hash of every four neighbouring entries of the first 64 rows, along each row.

    Rows that are windows of one series, some steps apart, share them at other positions. Where two of the four entries
    are equal the hash is 0: such pieces come again by nature, as the edges of pictures do.

    Returns:
        None for rows that are not of floating point, or have less than 8 or more than 256 entries.
    """
    if batch.ndim < 2 or not is_readable(batch) or not batch.is_floating_point() or batch.numel() == 0:
        return None
    rows = batch.detach()[:_MAX_SHIFTED_ROWS].flatten(1)
    if rows.shape[1] not in _SHIFTED_ENTRIES:
        return None
    pieces = rows.float().unfold(1, _PIECE, 1)
    distinct = (pieces.sort(-1).values.diff(dim=-1) > 0).all(-1)
    hashes = _weighted_sums(pieces.reshape(-1, _PIECE)).view(distinct.shape)
    return hashes * distinct


def is_continuous(batch: Tensor, min_distinct: int = 8) -> bool:
    """Return True if the first row is of floating point and has at least `min_distinct` distinct entries.

    At most 1024 entries, sampled evenly, are looked at. False for a tensor that is not readable (`is_readable`).
    """
    if batch.ndim < 2 or not is_readable(batch) or not batch.is_floating_point() or batch.numel() == 0:
        return False
    return int(_sampled(batch[0].detach().reshape(1, -1)).unique().numel()) >= min_distinct
