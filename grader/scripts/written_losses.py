"""Read in a graph what a loss that a script wrote by hand does between the model's output and its one number."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.scripts import graph
from grader.scripts.graph import LOOKED_THROUGH, operation

_MOST_NODES, _MOST_CHAIN = 96, 12
_LINEAR_LAYERS = ("Addmm", "Linear", "Mm", "Bmm", "Convolution", "ConvolutionOverrideable")
_LINEAR = (
    *LOOKED_THROUGH,
    "Neg",
    "Sum",
    "Mean",
    "Mul",
    "Div",
    "Bmm",
    "Mm",
    "Mv",
    "Dot",
    "Add",
    "Sub",
    "Rsub",
)
_MOVES = (*LOOKED_THROUGH, "UnsafeView", "ReshapeAlias")
_NEARLY_ONE = 1e-2


@dataclass(frozen=True, slots=True)
class Pick:
    """An operation that picks one score of each row."""

    node: Any
    source: Any
    """The operation that made the scores."""
    targets: Tensor
    one_hot: bool


def region(root: Any) -> list[Any]:
    """Return the operations between a loss and the outputs of outermost forwards, these included, nearest first."""
    todo, seen = [root], {root}
    for one in todo:
        if one is not root and graph.forwards_of(one):
            continue
        for after in behind(one):
            if after not in seen and len(seen) < _MOST_NODES:
                seen.add(after)
                todo.append(after)
    return todo


def behind(node: Any) -> list[Any]:
    """Return the operations right behind one, without leaves."""
    return [
        after
        for after, _ in node.next_functions
        if after is not None and getattr(after, "variable", None) is None
    ]


def below_moves(node: Any) -> Any:
    """Return the operation behind those that only move entries."""
    while operation(node) in _MOVES and (after := behind(node)):
        node = after[0]
    return node


def saved(node: Any, name: str) -> Any:
    """Return what an operation saved for its backward; None if it has nothing of this name, or what has changed."""
    try:
        return getattr(node, f"_saved_{name}", None)
    except RuntimeError:
        return None


# ---- picks ---------------------------------------------------------------------------------


def picks(nodes: list[Any]) -> Iterator[Pick]:
    """Iterate over the operations that pick the score of a target in each row."""
    for node in nodes:
        sources = behind(node)
        targets = _picked(node) if len(sources) == 1 else None
        if targets is not None:
            one_hot = operation(node) == "Mul"
            yield Pick(node, below_moves(sources[0]), targets, one_hot)


def _picked(node: Any) -> Tensor | None:
    name = operation(node)
    if name == "Gather":
        index, scores, dim = saved(node, "index"), saved(node, "self"), saved(node, "dim")
        if not isinstance(index, Tensor) or not isinstance(scores, Tensor) or index.ndim < 2:
            return None
        dim = _dimension(dim, index.ndim)
        one_each = index.shape[dim] == 1 and all(
            index.shape[k] == scores.shape[k] for k in range(index.ndim) if k != dim
        )
        return index.squeeze(dim) if one_each and dim else None
    if name == "Index":
        found, sizes = saved(node, "indices"), saved(node, "self_sym_sizes")
        whole = isinstance(found, tuple | list) and sizes is not None and len(found) == len(sizes) > 1
        if whole and all(isinstance(one, Tensor) and one.dtype == torch.int64 for one in found):
            return found[-1] if _counts(found[0], sizes[0]) else None
    if name == "Mul":
        for hot in (saved(node, "other"), saved(node, "self")):
            if isinstance(hot, Tensor) and hot.ndim > 1 and not hot.requires_grad and _is_one_hot(hot):
                return hot.argmax(-1)
    return None


def _counts(rows: Tensor, size: int) -> bool:
    """Return True if an index goes through all rows, each as often."""
    flat = rows.reshape(-1)
    return len(flat) % size == 0 and int(flat.min()) == 0 and len(flat.unique()) == size


def _is_one_hot(tensor: Tensor) -> bool:
    whole = bool(((tensor == 0) | (tensor == 1)).all()) and bool((tensor.sum(-1) == 1).all())
    return (
        tensor.shape[-1] > 1 and whole and len(tensor.reshape(-1, tensor.shape[-1]).argmax(-1).unique()) > 1
    )


def _dimension(dim: int, count: int) -> int:
    """Return a saved dimension as a number from 0; negative ones are saved as huge."""
    return (dim - 2**64 if dim >= 2**63 else dim) % count


def log_softmax_behind(pick: Pick) -> Any:
    """Return the operation that normalised the picked scores; None if they are no log-probabilities."""
    node = pick.source
    for _ in range(3):
        name = operation(node)
        if name in ("LogSoftmax", "Logsumexp"):
            return node
        if name != "Sub":
            return None
        sides = [below_moves(one) for one in behind(node)]
        found = [one for one in sides if operation(one) == "Logsumexp"]
        if found:
            return found[0]
        if not sides:
            return None
        node = sides[0]
    return None


def is_linear_layer(node: Any) -> bool:
    """Return True if scores come right out of a linear layer, perhaps with a bias or scaled by a number."""
    for _ in range(_MOST_CHAIN):
        name = operation(node)
        if name in _LINEAR_LAYERS:
            return True
        if name not in (*_MOVES, "Add", "Div", "Mul") or len(after := behind(node)) != 1:
            return False
        node = after[0]
    return False


def stands_alone(root: Any, pick: Pick) -> bool:
    """Return True if a loss is linear in a pick and nothing else in it reads the picked scores."""
    ends = linear_ends(root, {pick.node})
    others = [one for one in ends if one is not pick.node]
    return pick.node in ends and not any(_reaches(one, pick.source) for one in others)


def _reaches(node: Any, wanted: Any) -> bool:
    todo, seen = [node], {node}
    for one in todo:
        if one is wanted or len(seen) >= graph.MOST_NODES // 4:
            return True
        for after in behind(one):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return False


# ---- what is linear -------------------------------------------------------------------------


def linear_ends(root: Any, stop: set[Any]) -> list[Any]:
    """Return the operations up to which a loss is linear: those that are not, or where to stop."""
    ends, todo, seen = [], [root], {root}
    for one in todo:
        if one in stop or not _is_linear(one) or graph.forwards_of(one) or len(seen) > _MOST_NODES:
            ends.append(one)
            continue
        for after in behind(one):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return ends


def _is_linear(node: Any) -> bool:
    name = operation(node)
    if name in ("Mul", "Div", "Bmm", "Mm", "Mv", "Dot"):
        after = [one for one, _ in node.next_functions]
        return sum(one is not None for one in after) == 1 and (name != "Div" or after[0] is not None)
    return name in _LINEAR


def summed_samples(root: Any, samples: int) -> Any:
    """Return the operation with one value, or a row of values, for each sample that a loss adds up; None otherwise.

    None also if a mean over the samples is taken on the way, or a division by a number as large.
    """
    ends = linear_ends(root, set())
    end = ends[0] if len(ends) == 1 else None
    if end is None or end is root or graph.shape(end)[:1] != (samples,):
        return None
    todo, seen = [root], {root}
    for node in todo:
        if node is end:
            continue
        if operation(node) in ("Mean", "Div", "Mul") and _divides(node, samples):
            return None
        for after in behind(node):
            if after not in seen:
                seen.add(after)
                todo.append(after)
    return end


def _divides(node: Any, samples: int) -> bool:
    name = operation(node)
    if name == "Mean":
        after = behind(node)
        before = graph.shape(after[0]) if after else ()
        return not before or before[0] == samples != (graph.shape(node) or (1,))[0]
    factor = saved(node, "other") if saved(node, "other") is not None else saved(node, "self")
    if not isinstance(factor, Tensor):
        return not isinstance(factor, int | float) or _shrinks(float(factor), name, samples)
    if factor.numel() == 1:
        return _shrinks(float(factor), name, samples)
    return True  # weights of each sample: whether they sum to one is not known


def _shrinks(factor: float, name: str, samples: int) -> bool:
    return abs(factor) >= 0.5 * samples if name == "Div" else abs(factor) <= 2 / samples


# ---- squashed twice --------------------------------------------------------------------------


def softmax_twice(nodes: list[Any]) -> Any:
    """Return a softmax whose output is taken for scores by another one, of which a logarithm is taken."""
    for node in nodes:
        name = operation(node)
        if name == "Log":
            inner = [one for one in map(_below_shifts, behind(node)) if operation(one) == "Softmax"]
        else:
            inner = [node] if name in ("LogSoftmax", "Logsumexp") else []
        for outer in inner:
            for one in map(below_moves, behind(outer)):
                if operation(one) == "Softmax" and _same_dimension(outer, one):
                    return one
    return None


def _below_shifts(node: Any) -> Any:
    """Return the operation behind a probability that was kept from zero, or taken from one."""
    node = below_moves(node)
    while operation(node) in ("Add", "Sub", "Rsub", "Clamp", "ClampMin") and len(after := behind(node)) == 1:
        node = below_moves(after[0])
    return node


def _same_dimension(outer: Any, inner: Any) -> bool:
    count = len(graph.shape(inner))
    dims = [saved(one, "dim") for one in (outer, inner)]
    plain = [one[0] if isinstance(one, tuple | list) and len(one) == 1 else one for one in dims]
    if not all(isinstance(one, int) for one in plain) or not count:
        return False
    return _dimension(plain[0], count) == _dimension(plain[1], count)


def sigmoid_twice(nodes: list[Any]) -> Any:
    """Return a sigmoid whose output is taken for scores by a cross-entropy of yes and no."""
    signs: dict[Any, set[int]] = {}
    for node in nodes:
        name = operation(node)
        if name in ("Softplus", "LogSigmoid"):
            for after in behind(node):
                inner, sign = _signed(after)
                signs.setdefault(inner, set()).add(sign)
        elif name == "Log1P" and (inner := _chained(node, "Exp", "Neg", "Abs")) is not None:
            signs.setdefault(inner, set()).update((1, -1))
        elif name in ("Log", "BinaryCrossEntropy"):
            for one in map(_below_shifts, behind(node)):
                if operation(one) == "Sigmoid" and (after := behind(one)):
                    signs.setdefault(below_moves(after[0]), set()).update((1, -1))
    return next(
        (one for one, found in signs.items() if operation(one) == "Sigmoid" and len(found) == 2), None
    )


def _signed(node: Any) -> tuple[Any, int]:
    node, sign = below_moves(node), 1
    while operation(node) == "Neg" and (after := behind(node)):
        node, sign = below_moves(after[0]), -sign
    return node, sign


def _chained(node: Any, *names: str) -> Any:
    """Return the operation behind some in a row; None if they are others."""
    for name in (*names, ""):
        after = behind(node)
        if len(after) != 1:
            return None
        node = below_moves(after[0])
        if name and operation(node) != name:
            return None
    return node


def watch_gradient(node: Any, look: Callable[[Tensor], None]) -> None:
    """Call `look` once with the gradient that comes to an operation's output."""
    handles: list[Any] = []

    def hook(given: tuple[Any, ...]) -> None:
        for handle in handles:
            handle.remove()
        handles.clear()
        if given and isinstance(given[0], Tensor):
            look(given[0])

    handles.append(node.register_prehook(hook))
