"""Make a stand-in autograd graph of diamonds in a row, which counts how often its nodes are asked for their next nodes.

A diamond is a node with two next nodes, which have one next node in common. So each diamond doubles the number of paths
through the graph. A walk that forgets which nodes it has visited would take all paths. So after `MAX_QUESTIONS`
questions, nodes claim to have no next nodes: even such a walk ends by itself, on any machine.

The driver `autograd_nodes.py` makes a `DiamondGraph` in its scenario `diamonds`.
"""

from dataclasses import dataclass
from itertools import cycle
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import Node

from grader.observe.play import Env

_DIAMONDS = 40
"""Number of diamonds, which learners read in the title of the scenario and in `because` of `autograd_nodes.toml`.

The longest path has `2 * _DIAMONDS + 2` nodes. It must stay below some 450: a right program may recurse, with two calls
inside each other for a node (a generator, for example), and Python raises RecursionError at about a thousand.
"""
_NODES = 3 * _DIAMONDS + 2
"""Number of nodes: three new ones for each diamond, which begins where the one before ends, and two at the ends."""
_QUESTIONS_PER_NODE = 200
"""Accesses to `next_functions` that are answered, on average over the nodes. A walk that remembers visited nodes asks
each once or a few times; one that goes over all nodes until it finds no more, once for each step of the path."""
MAX_QUESTIONS = _QUESTIONS_PER_NODE * _NODES
"""Accesses that are answered in the whole graph; a walk that forgets visited nodes would make about
`2 ** (_DIAMONDS + 2)`."""

_OPERATIONS = ("Sin", "Cos", "Exp", "Tanh", "Sigmoid", "Abs", "Erf", "Atan", "Relu", "Neg")
"""Names of operations, after which nodes are named as autograd would: `SinBackward0`."""
_OPERATIONS_IN_GRAPH = 6
"""Number of these operations in one graph: so few that each comes up many times, and not all, so that the seed decides
which."""


@dataclass
class _QuestionCount:
    """Counts how often the nodes of one graph were asked for their next nodes."""

    asked: int = 0


class _Node:
    """A stand-in for a node of autograd, with the two members that a walk for names may use.

    A node's own class is a subclass with the name of the operation, because `type(node).__name__` is what the exercise
    asks for. As in autograd, nodes of one name share their class.
    """

    def __init__(self, questions: _QuestionCount, *next_nodes: "_Node") -> None:
        """Create a node; all nodes of a graph share `questions`."""
        self._questions = questions
        self._next = tuple((node, 0) for node in next_nodes)

    @property
    def next_functions(self) -> tuple[tuple["_Node", int], ...]:
        """The next nodes, each with a number; none after `MAX_QUESTIONS` questions. Each access is a question."""
        self._questions.asked += 1
        return self._next if self._questions.asked <= MAX_QUESTIONS else ()

    def __repr__(self) -> str:
        """Return what autograd's nodes print: `<SinBackward0 object at 0x7f…>`."""
        return f"<{type(self).__name__} object at {id(self):#x}>"

    def name(self) -> str:
        """Return the name that `grad_fn.name()` gives for such a node: with a C++ namespace for `AccumulateGrad`."""
        class_name = type(self).__name__
        return f"torch::autograd::{class_name}" if class_name == "AccumulateGrad" else class_name


# So that `isinstance(node, torch.autograd.graph.Node)` is true of the stand-in, too.
Node.register(_Node)


class _Loss(Tensor):
    """A tensor whose `grad_fn` is the node that `DiamondGraph` sets as `first_node`."""

    first_node: Any = None

    @property
    def grad_fn(self) -> Any:  # type: ignore[override]
        """The node at which a walk through the graph begins."""
        return self.first_node


class DiamondGraph:
    """A graph of `_DIAMONDS` diamonds, and the loss at which a walk through it begins."""

    def __init__(self, env: Env) -> None:
        """Build the graph; the seed decides after which operations its nodes are named."""
        self._questions = _QuestionCount()
        self._node_classes: dict[str, type[_Node]] = {}
        order = torch.randperm(len(_OPERATIONS), generator=env.generator("diamonds")).tolist()
        operations = cycle([_OPERATIONS[number] for number in order[:_OPERATIONS_IN_GRAPH]])
        node = self._make_node("AccumulateGrad")
        for _ in range(_DIAMONDS):
            left, right = (self._make_node(f"{next(operations)}Backward0", node) for _ in range(2))
            node = self._make_node("AddBackward0", left, right)
        # On the CPU: tensors of a pretended GPU cannot become another subclass.
        loss = torch.zeros((), requires_grad=True).as_subclass(_Loss)
        loss.first_node = self._make_node("SumBackward0", node)
        self.loss: Tensor = loss

    @property
    def questions_asked(self) -> int:
        """Number of accesses to `next_functions` so far, in all nodes."""
        return self._questions.asked

    def _make_node(self, name: str, *next_nodes: _Node) -> _Node:
        """Return a new node of the class of this name, which is made at its first node."""
        if name not in self._node_classes:
            self._node_classes[name] = type(name, (_Node,), {})
        return self._node_classes[name](self._questions, *next_nodes)
