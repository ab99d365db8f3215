"""Make a stand-in autograd graph of diamonds in a row, which counts how often its nodes are asked for their next nodes.

A diamond is a node with two next nodes, which have one next node in common. So each diamond doubles the number of paths
through the graph. A walk that forgets which nodes it has visited would take all paths; beyond `MAX_QUESTIONS`, nodes
claim to have no next nodes, so that even such a walk ends by itself, on any machine.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import torch
from torch import Tensor

from grader.observe.play import Env

_DIAMONDS = 40
"""Number of diamonds, which learners read in the title of the scenario and in `because` of `autograd_nodes.toml`.

The longest path has `2 * _DIAMONDS + 2` nodes. It must stay below some 450: a right program may recurse, with two calls
inside each other for a node (a generator, for example), and Python raises RecursionError at about a thousand.
"""
_NODES = 3 * _DIAMONDS + 2
"""Number of nodes: three new ones for each diamond, which begins where the one before ends, and two at the ends."""
_QUESTIONS_PER_NODE = 40
"""Number of accesses to `next_functions` that are answered, on average over the nodes; plenty for a walk that remembers
visited nodes and asks each node once or a few times."""
MAX_QUESTIONS = _QUESTIONS_PER_NODE * _NODES
"""Number of accesses that are answered in all; a walk that forgets visited nodes would make about
`2 ** (_DIAMONDS + 2)`."""

_KINDS = ("Sin", "Cos", "Exp", "Tanh", "Sigmoid", "Abs", "Erf", "Atan", "Relu", "Neg")
"""Names of operations, after which nodes are named as autograd would: `SinBackward0`."""
_KINDS_IN_GRAPH = 6
"""How many of these names come up in one graph: so few that each comes up many times, and not all, so that the seed
decides which."""


@dataclass
class _Questions:
    """How often the nodes of one graph were asked for their next nodes."""

    asked: int = 0


class _Node:
    """A stand-in for a node of autograd, with the two members that a walk for names may use.

    A node's own class is a subclass with the name of the operation, because `type(node).__name__` is what the exercise
    asks for. As in autograd, nodes of one name share their class.
    """

    def __init__(self, questions: _Questions, *next_nodes: "_Node") -> None:
        """Create a node; all nodes of a graph share `questions`."""
        self._questions = questions
        self._next = tuple((node, 0) for node in next_nodes)

    @property
    def next_functions(self) -> tuple[tuple["_Node", int], ...]:
        """The next nodes, each with a number; none after `MAX_QUESTIONS` questions. Each access is a question."""
        self._questions.asked += 1
        return self._next if self._questions.asked <= MAX_QUESTIONS else ()

    def name(self) -> str:
        """Return the name that autograd's C++ code would give this node."""
        own = type(self).__name__
        return f"torch::autograd::{own}" if own == "AccumulateGrad" else own


class _Loss(Tensor):
    """A tensor whose `grad_fn` is what `diamond_loss` sets as `first_node`."""

    first_node: Any = None

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """The first node of the graph for a walk."""
        return self.first_node


def diamond_loss(env: Env) -> tuple[Tensor, Callable[[], int]]:
    """Return a loss with a graph of `_DIAMONDS` diamonds, and a function that returns the number of questions so far.

    Which operations the nodes are named after follows from the seed.
    """
    questions = _Questions()
    classes: dict[str, type[_Node]] = {}

    def add_node(name: str, *next_nodes: _Node) -> _Node:
        if name not in classes:
            classes[name] = type(name, (_Node,), {})
        return classes[name](questions, *next_nodes)

    order = torch.randperm(len(_KINDS), generator=env.generator("diamonds")).tolist()
    kinds = cycle([_KINDS[number] for number in order[:_KINDS_IN_GRAPH]])
    node = add_node("AccumulateGrad")
    for _ in range(_DIAMONDS):
        left, right = (add_node(f"{next(kinds)}Backward0", node) for _ in range(2))
        node = add_node("AddBackward0", left, right)
    # On the CPU: tensors of a pretended GPU cannot become another subclass.
    loss = torch.zeros((), requires_grad=True).as_subclass(_Loss)
    loss.first_node = add_node("SumBackward0", node)
    return loss, lambda: questions.asked
