"""Find a base optimizer's state in what a SAM saved, or in another optimizer after loading; for the exercise `SAM`.

A `state_dict` may have any shape that its own `load_state_dict` understands. So the tensors of the state are recognised
by their values, wherever they are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

_DEPTH = 8
"""Maximum depth of nested containers that is searched."""


def tensors_in(value: Any, depth: int = _DEPTH) -> Iterator[Tensor]:
    """Yield all tensors with more than one element inside dicts, lists and tuples."""
    if isinstance(value, Tensor):
        if value.numel() > 1:
            yield value.detach()
    elif depth:
        inner = value.values() if isinstance(value, Mapping) else value
        for item in inner if isinstance(value, Mapping | list | tuple) else ():
            yield from tensors_in(item, depth - 1)


def carried(state: object, base: Optimizer | None) -> list[str]:
    """For each tensor of the base optimizer's state, tell in Korean if `state` holds an equal one."""
    found = list(tensors_in(state))
    wanted = [] if base is None else list(tensors_in(dict(enumerate(base.state.values()))))
    return ["있음" if any(_same(one, other) for other in found) else "없음" for one in wanted]


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)
