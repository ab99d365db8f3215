"""Make a stand-in autograd graph of forty diamonds in a row, which counts how often its nodes are asked for parents.

A diamond is a node with two parents, which have one parent in common. So 2**40 paths lead through the graph, although
it has only 122 nodes. A walk that forgets which nodes it has visited would take all paths; beyond `MAX_QUESTIONS`,
nodes claim to have no parents, so that even such a walk ends by itself, on any machine.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.observe.play import Env

_LEVELS = 40
"""How often the graph parts and joins again: each time the number of paths doubles."""
_NODES = 3 * _LEVELS + 2
"""Number of nodes: at each level two branches and the one that joins them, and two at the ends."""
MAX_QUESTIONS = 40 * _NODES
"""Number of accesses to `next_functions` that are answered. A walk that remembers visited nodes asks each node once or
a few times; one that does not would ask 2**40 times.
"""

_KINDS = ("Sin", "Cos", "Exp", "Tanh", "Sigmoid", "Abs", "Erf", "Atan", "Relu", "Neg")
"""Names of operations, after which nodes are named as autograd would: `SinBackward0`."""
_KINDS_IN_GRAPH = 6
"""How many of these names come up in one graph: so few that each comes up many times, and not all, so that the seed
decides which."""


class _Node:
    """A node with autograd's interface: `next_functions` holds pairs of a node and a number."""

    def __init__(self, questions: list[None], *parents: "_Node") -> None:
        """Create a node; `questions` is shared by all nodes and gets an entry whenever one of them is asked."""
        self._questions = questions
        self._next = tuple((parent, 0) for parent in parents)

    @property
    def next_functions(self) -> tuple[tuple["_Node", int], ...]:
        """The parents, each with a number; none after `MAX_QUESTIONS` questions. Each access is a question."""
        self._questions.append(None)
        return self._next if len(self._questions) <= MAX_QUESTIONS else ()

    def name(self) -> str:
        """Return the name that autograd's C++ code would give this node."""
        own = type(self).__name__
        return f"torch::autograd::{own}" if own == "AccumulateGrad" else own


class _Loss(Tensor):
    """A tensor whose `grad_fn` is set by the driver."""

    root: Any = None

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """The last node of the graph."""
        return self.root


def diamond_loss(env: Env) -> tuple[Tensor, Callable[[], int]]:
    """Return a loss at the end of forty diamonds, and a function that returns the number of questions so far.

    Which operations the nodes are named after follows from the seed.
    """
    questions: list[None] = []

    def add_node(name: str, *parents: _Node) -> _Node:
        new: _Node = type(name, (_Node,), {})(questions, *parents)
        return new

    order = torch.randperm(len(_KINDS), generator=env.generator("diamonds")).tolist()
    last = add_node("AccumulateGrad")
    for level in range(_LEVELS):
        left, right = (_KINDS[order[(2 * level + side) % _KINDS_IN_GRAPH]] for side in (0, 1))
        last = add_node(
            "AddBackward0", add_node(f"{left}Backward0", last), add_node(f"{right}Backward0", last)
        )
    loss = torch.zeros((), requires_grad=True).as_subclass(_Loss)
    loss.root = add_node("SumBackward0", last)
    return loss, lambda: len(questions)
