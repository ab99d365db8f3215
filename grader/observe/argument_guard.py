"""Notice when a learner's function changes the data it is given: batches, lists of batches, loaders.

`recorder.py` makes an `ArgumentGuard` before each call of the learner's function and records its `changes` after it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

_MAX_DEPTH = 3
"""Maximum number of levels to look into: a list of batches, a batch, its tensors."""


class ArgumentGuard:
    """A copy of all data among the arguments of a call, for comparison afterwards.

    The data of a fixture's loader are in its attribute `batches`. A tensor that requires a gradient counts as a
    parameter, not as data.
    """

    def __init__(self, values: Sequence[Any]) -> None:
        self._tensors: list[tuple[Tensor, Tensor]] = []
        """Pairs of a tensor and its copy."""
        self._lists: list[tuple[list[Any], list[Any]]] = []
        """Pairs of a list and its copy."""
        self._batches: list[tuple[dict[Any, Any], dict[Any, Tensor]]] = []
        """Pairs of a dict and a dict of the tensors that it held."""
        for value in values:
            self._note(getattr(value, "batches", value), _MAX_DEPTH)

    def _note(self, value: Any, depth: int) -> None:
        """Copy the data in a value, looking `depth` levels into lists and tuples."""
        if isinstance(value, Tensor):
            if not value.requires_grad:
                self._tensors.append((value, value.detach().clone()))
        elif isinstance(value, list | tuple) and depth:
            if type(value) is list:
                self._lists.append((value, list(value)))
            for item in value:
                self._note(item, depth - 1)
        elif type(value) is dict:
            tensors = {key: item for key, item in value.items() if isinstance(item, Tensor)}
            self._batches.append((value, tensors))
            for tensor in tensors.values():
                self._note(tensor, 0)

    def changes(self) -> Iterator[str]:
        """Yield Korean words for feedback on what has changed since the call: `배치의 내용`."""
        if not all(_same_items(now, before) for now, before in self._lists):
            yield "리스트의 내용"
        if not all(now.get(key) is tensor for now, before in self._batches for key, tensor in before.items()):
            yield "배치의 내용"
        if not all(_same_values(now, before) for now, before in self._tensors):
            yield "텐서의 값"


def _same_items(now: list[Any], before: list[Any]) -> bool:
    """Return True if both lists hold the same objects."""
    return len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True))


def _same_values(now: Tensor, before: Tensor) -> bool:
    """Return True if both tensors have the same type, shape and numbers."""
    return now.dtype == before.dtype and now.shape == before.shape and torch.equal(now.detach(), before)
