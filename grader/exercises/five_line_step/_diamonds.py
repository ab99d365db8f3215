"""A graph of forty diamonds that counts how often it is walked: an endless walk ends by itself, on any machine."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.observe.play import Env

_LEVELS = 40
_NODES = 3 * _LEVELS + 2
MANY = 40 * _NODES
"""A walk that remembers where it was asks each node once or a few times; one that does not, 2**40 times."""

_KINDS = ("Sin", "Cos", "Exp", "Tanh", "Sigmoid", "Abs", "Erf", "Atan", "Relu", "Neg")


class _Node:
    """As autograd's: `next_functions` holds pairs of a node and a number. Beyond `MANY` questions it holds nothing."""

    def __init__(self, count: list[None], *parents: "_Node") -> None:
        self._count = count
        self._next = tuple((parent, 0) for parent in parents)

    @property
    def next_functions(self) -> tuple[tuple["_Node", int], ...]:
        """The nodes before this one."""
        self._count.append(None)
        return self._next if len(self._count) <= MANY else ()

    def name(self) -> str:
        """As C++ calls it."""
        own = type(self).__name__
        return f"torch::autograd::{own}" if own == "AccumulateGrad" else own


class _Loss(Tensor):
    """A tensor with a `grad_fn` of the driver's own."""

    root: Any = None

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """The last node."""
        return self.root


def diamonds(env: Env) -> tuple[Tensor, Callable[[], int]]:
    """A loss at the end of forty diamonds, and how often its nodes have been asked so far."""
    count: list[None] = []

    def node(name: str, *parents: _Node) -> _Node:
        made: _Node = type(name, (_Node,), {})(count, *parents)
        return made

    order = torch.randperm(len(_KINDS), generator=env.generator("diamonds")).tolist()
    last = node("AccumulateGrad")
    for level in range(_LEVELS):
        left, right = (_KINDS[order[(2 * level + side) % 6]] for side in (0, 1))
        last = node("AddBackward0", node(f"{left}Backward0", last), node(f"{right}Backward0", last))
    loss = torch.zeros((), requires_grad=True).as_subclass(_Loss)
    loss.root = node("SumBackward0", last)
    return loss, lambda: len(count)
