"""Read an autograd graph without keeping it: its leaves, its size, what made a tensor, and whether it still lives.

Marks are put into the `metadata` dictionaries of its nodes, which live and die with the graph.
"""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import BackwardCFunction

from grader.scripts.places import Place
from grader.scripts.things import Producer

MOST_NODES = 20_000
_MARK = "hanstep.xray"
_FORWARD, _KEPT = "hanstep.forward", "hanstep.kept"
_MOST_FORWARDS, _NEAR_ROOT, _MOST_SCALARS = 4, 8, 32
_TERMS = ("Add", "Sub", "Mul", "Div", "Neg", "Mean", "Sum", "Sqrt")
"""Operations between a loss and the differences that its terms are made of."""
_ENTRYWISE = (
    *(*_TERMS, "Pow", "Abs", "Softplus", "Log", "Log1P", "Tanh", "Cosh", "Relu", "Clamp", "Where"),
    *("Sigmoid", "LogSigmoid", "Maximum", "Minimum", "Elu", "LeakyRelu"),
)
"""Operations between a loss and a difference, of which it takes some function of each entry."""
LOOKED_THROUGH = (
    *("View", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Permute", "T", "Alias", "Slice", "Select"),
    *("Clone", "ToCopy", "Expand", "Contiguous"),
)
"""Operations that move entries and change none."""


class Token:
    """Lives as long as the node that it is attached to."""

    __slots__ = ("__weakref__",)


@dataclass(slots=True)
class Graph:
    """What was found behind a tensor."""

    leaves: list[Tensor] = field(default_factory=list)
    losses: list[int] = field(default_factory=list)
    loss_nodes: list[Any] = field(default_factory=list)
    """The operations of those losses."""
    forwards: list[int] = field(default_factory=list)
    """Serials of the outermost forwards whose outputs were met."""
    nodes: int = 0
    functions: list[Any] = field(default_factory=list)
    """Its operations that are a `torch.autograd.Function` of Python."""


def read_graph(roots: list[Tensor]) -> Graph:
    """Walk the graph behind some tensors."""
    found = Graph()
    todo = [root.grad_fn for root in roots if root.grad_fn is not None]
    found.leaves = [root for root in roots if root.grad_fn is None and root.requires_grad]
    seen = set(todo)
    while todo and found.nodes < MOST_NODES:
        node: Any = todo.pop()
        found.nodes += 1
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.leaves.append(variable)
            continue
        marks = node.metadata
        mark = marks.get(_MARK)
        found.forwards += marks.get(_FORWARD, ())
        if isinstance(mark, int):
            found.losses.append(mark)
            found.loss_nodes.append(node)
        if isinstance(node, BackwardCFunction):
            found.functions.append(node)
        for after, _ in node.next_functions:
            if after is not None and after not in seen:
                seen.add(after)
                todo.append(after)
    return found


def most_uses(root: Any) -> tuple[int, int, bool]:
    """Return the operations behind a tensor and how often one leaf is used; 0 uses if a loss is among them.

    And whether the operation that made a tensor marked by `mark_kept` is one of those behind it.
    """
    uses: dict[Any, int] = {}
    todo, seen, nodes, older = [root.grad_fn], {root.grad_fn}, 0, False
    while todo and nodes < MOST_NODES:
        node: Any = todo.pop()
        nodes += 1
        older = older or (node is not root.grad_fn and _KEPT in node.metadata)
        if any(key.startswith(_MARK) for key in node.metadata):
            return nodes, 0, older
        for after, _ in node.next_functions:
            if after is None:
                continue
            if getattr(after, "variable", None) is not None:
                uses[after] = uses.get(after, 0) + 1
            elif after not in seen:
                seen.add(after)
                todo.append(after)
    return nodes, max(uses.values(), default=0), older


def mark_kept(root: Any) -> None:
    """Mark the operation that made a tensor, to know its graph again inside of a later one."""
    root.grad_fn.metadata[_KEPT] = True


def operation(node: Any) -> str:
    """Return the name of a node's operation: `Softmax` for `SoftmaxBackward0`."""
    name = str(node.name()).rsplit("::", maxsplit=1)[-1]
    return name.partition("Backward")[0].removeprefix("Unsafe") if "Backward" in name else name


def names(root: Tensor, most: int = 5) -> tuple[str, ...]:
    """Return the names of the last operations that made a tensor, newest first, along the first arguments."""
    return tuple(operation(node) for node in _chain(root, most))


def producers(tensor: Tensor, most: int = 4) -> tuple[Producer, ...]:
    """Return the operations that made a tensor, newest first, without those that only move entries."""
    found = []
    for node in _chain(tensor, 16):
        name = operation(node)
        if name in LOOKED_THROUGH:
            continue
        mark = node.metadata.get(_MARK)
        found.append(Producer(name, mark if isinstance(mark, Place) else None))
        if len(found) == most:
            break
    return tuple(found)


def mark_of(node: Any) -> Place | int | None:
    """Return what `mark` attached to an operation."""
    found = node.metadata.get(_MARK)
    return found if isinstance(found, Place | int) else None


def forwards_of(node: Any) -> tuple[int, ...]:
    """Return the serials of the outermost forwards whose output an operation made."""
    return tuple(node.metadata.get(_FORWARD, ()))


def shape(node: Any) -> tuple[int, ...]:
    """Return the shape of what an operation made; empty for a number, or where this release of torch does not tell."""
    return _shape(node) or ()


def _metadata(tensor: Tensor) -> Any:
    return None if tensor.grad_fn is None else tensor.grad_fn.metadata


def _chain(tensor: Tensor, most: int) -> Iterator[Any]:
    node: Any = tensor.grad_fn
    for _ in range(most):
        if node is None or getattr(node, "variable", None) is not None:
            return
        yield node
        node = node.next_functions[0][0] if node.next_functions else None


def mark(tensor: Tensor, what: Place | int | None) -> None:
    """Attach a place or a loss's serial to the operation that made a tensor."""
    metadata = _metadata(tensor)
    if metadata is not None and what is not None:
        metadata[_MARK] = what


def mark_output(output: Any, forward: int, depth: int = 3) -> None:
    """Attach a forward's serial to the operations that made its output."""
    if isinstance(output, Tensor):
        metadata = _metadata(output)
        if metadata is not None:
            metadata[_FORWARD] = (*metadata.get(_FORWARD, ()), forward)[-_MOST_FORWARDS:]
    elif isinstance(output, tuple | list | dict) and depth:
        for one in output.values() if isinstance(output, dict) else output:
            mark_output(one, forward, depth - 1)


def divisor(root: Tensor) -> float | None:
    """Return the number by which a tensor was divided last; None if its last operation is something else."""
    node = root.grad_fn
    if node is None or operation(node) != "Div":
        return None
    below = getattr(node, "_saved_other", None)
    return float(below) if isinstance(below, Tensor) and below.numel() == 1 else None


def factor(root: Tensor) -> float | None:
    """Return the number by which a tensor was multiplied last; None if its last operation is something else."""
    node = root.grad_fn
    if node is None or operation(node) != "Mul":
        return None
    sides = [getattr(node, name, None) for name in ("_saved_other", "_saved_self")]
    flat = [one for one in sides if isinstance(one, Tensor) and one.numel() == 1 and not one.requires_grad]
    return float(flat[0]) if flat else None


def summed_shape(root: Tensor) -> tuple[int, ...]:
    """Return the shape of what a tensor is the sum of; empty if its last operation is something else."""
    node: Any = root.grad_fn
    if node is None or operation(node) != "Sum" or not node.next_functions:
        return ()
    return _shape(node.next_functions[0][0]) or ()


def flattened_from(tensor: Tensor) -> tuple[int, ...]:
    """Return the shape that a tensor was brought from by a view; empty if something else made it."""
    node: Any = tensor.grad_fn
    if node is None or operation(node) not in ("View", "ReshapeAlias") or not node.next_functions:
        return ()
    return _shape(node.next_functions[0][0]) or ()


def loss_of(tensor: Tensor) -> int | None:
    """Return the serial of the loss that a tensor is; None if it is no loss."""
    mark = (_metadata(tensor) or {}).get(_MARK)
    return mark if isinstance(mark, int) else None


def spread_difference(root: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Look for a mean of squares or of absolute values of a difference that a broadcast has made larger.

    Returns the shape of the difference's one side that has a graph, and the difference's own.
    """
    before = ""
    for node in _chain(root, _NEAR_ROOT):
        name = operation(node)
        if name == "Sub" and before in ("Pow", "Abs"):
            return _spread(node)
        before = name
    found = map(_spread, _differences(root.grad_fn))
    return next((one for one in found if one is not None), None)


def _differences(root: Any) -> Iterator[Any]:
    """Iterate over the differences whose squares or absolute values are the terms of a loss."""
    todo = [root] if root is not None and _shape(root) == () else []
    for _ in range(_MOST_SCALARS):
        if not todo:
            return
        node = todo.pop()
        name = operation(node)
        behind = [
            after
            for after, _ in node.next_functions
            if after is not None and getattr(after, "variable", None) is None
        ]
        if name in ("Pow", "Abs"):
            yield from (one for one in behind if operation(one) == "Sub")
        elif name in _TERMS:
            todo += behind


def spread_entries(root: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Look for the same behind a mean of any function of each entry: a broadcast of a model's own output.

    An output that was brought to the larger shape by `unsqueeze` or as a transpose is meant to be paired.
    """
    todo, seen = [root.grad_fn], {root.grad_fn}
    for node in todo:
        if node is None or getattr(node, "variable", None) is not None:
            continue
        name = operation(node)
        if name == "Sub" and (spread := _spread(node)) is not None and _is_output(node):
            return spread
        for after, _ in node.next_functions if name in _ENTRYWISE else ():
            if after is not None and after not in seen and len(seen) < _MOST_SCALARS:
                seen.add(after)
                todo.append(after)
    return None


def _is_output(difference: Any) -> bool:
    """Return True if the side of a difference that has a graph is an output of an outermost forward."""
    node = next(after for after, _ in difference.next_functions if after is not None)
    while getattr(node, "variable", None) is None:
        if _FORWARD in node.metadata:
            return True
        if operation(node) not in ("Squeeze", "Select") or not node.next_functions:
            return False
        node = node.next_functions[0][0]
    return False


def flat_terms(root: Tensor) -> int:
    """Return how many summands of a tensor have no graph; numbers count, too."""
    found, todo = 0, [root.grad_fn]
    for node in todo:
        if len(todo) > _MOST_SCALARS or node is None or getattr(node, "variable", None) is not None:
            continue
        behind = [after for after, _ in node.next_functions]
        if operation(node) in ("Add", "Sub"):
            found += behind.count(None) if len(behind) == 2 else 0
            todo += behind
        elif operation(node) in ("Mul", "Div", "Mean", "Neg"):
            todo += behind
    return found


def _spread(node: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the shapes of a difference's one side that has a graph, and its own, if a broadcast made it larger."""
    sides = [_shape(after) for after, _ in node.next_functions if after is not None]
    whole = _shape(node)
    if len(sides) != 1 or sides[0] is None or whole is None or sides[0] == whole:
        return None
    return sides[0], whole


def _shape(node: Any) -> tuple[int, ...] | None:
    """Return the shape of what an operation made, where this release of torch tells it."""
    about = getattr(node, "_input_metadata", None)
    return tuple(about[0].shape) if about else None


def scalars(root: Any) -> Iterator[Any]:
    """Iterate over the operations that made a root's parts of one number each: `rec` and `kl` of `rec + beta * kl`."""
    todo, seen = [root], {root}
    while todo and len(seen) < _MOST_SCALARS:
        for after, _ in todo.pop().next_functions:
            if after is None or after in seen or getattr(after, "variable", None) is not None:
                continue
            if _shape(after) == ():
                seen.add(after)
                todo.append(after)
                yield after


def has_token(node: Any) -> bool:
    """Return True if a token was attached to an operation before."""
    return f"{_MARK}.token" in node.metadata


def attach_token(node: Any) -> "weakref.ref[Token] | None":
    """Attach a token to an operation of a graph; the reference dies with it."""
    if node is None:
        return None
    token = node.metadata.setdefault(f"{_MARK}.token", Token())
    return weakref.ref(token)


def tensors_with_graphs() -> list[Tensor]:
    """Return the living tensors that have a graph."""
    with torch._C.DisableTorchFunctionSubclass():  # a tensor class of the script's own may answer anything
        return [one for one in gc.get_objects() if issubclass(type(one), Tensor) and _has_graph(one)]


def _has_graph(tensor: Tensor) -> bool:
    """Return True if a tensor has a graph; False also if that cannot be asked, as of a view whose base has changed."""
    try:
        return tensor.grad_fn is not None
    except Exception:
        return False


def version(tensor: Tensor) -> int | None:
    """Return the number of a tensor's changes in place; None if it is not counted, as in inference mode."""
    try:
        return tensor._version
    except Exception:
        return None
