"""Find in a loss's graph a policy's log-probabilities times an advantage whose baseline still has its graph."""

from collections.abc import Iterator
from typing import Any

from torch import Tensor

from grader.scripts.graph import LOOKED_THROUGH, operation

_MOVES = (*LOOKED_THROUGH, "Unbind")
_TERMS = ("Add", "Sub", "Mul", "Div", "Neg", "Mean", "Sum", "Stack", "Cat", "Minimum", "Clamp", *_MOVES)
_LOGARITHMS = ("LogSoftmax", "Logsumexp", "Log", "LogSigmoid", "BinaryCrossEntropyWithLogits")
_REGRESSIONS = ("MseLoss", "SmoothL1Loss", "HuberLoss")
_MOST_TERMS, _MOST_NEAR, _MOST_NODES = 1024, 256, 4000


def pulls_baseline(root: Tensor) -> bool:
    """Return True if a product of log-probabilities and `return - value` trains a value that is also regressed."""
    if root.grad_fn is None:
        return False
    for node in _walk(root.grad_fn, _MOST_TERMS, _TERMS):
        if operation(node) != "Mul":
            continue
        sides = [after for after, _ in node.next_functions]
        if len(sides) == 2 and None not in sides:
            for chosen, advantage in (sides, sides[::-1]):
                if _is_pulled(root.grad_fn, chosen, advantage):
                    return True
    return False


def _is_pulled(root: Any, chosen: Any, advantage: Any) -> bool:
    difference = _below_moves(advantage)
    if difference is None or operation(difference) not in ("Sub", "Rsub"):
        return False
    sides = [after for after, _ in difference.next_functions if after is not None]
    near = {operation(node) for node in _walk(chosen, _MOST_NEAR)}
    if len(sides) != 1 or not near & set(_LOGARITHMS):
        return False
    value, policy = _leaves(sides[0]), _leaves(chosen)
    return bool(value - policy) and bool(policy - value) and _is_regressed(root, _below_moves(sides[0]))


def _is_regressed(root: Any, value: Any) -> bool:
    """Return True if a squared error in the same graph is about that value."""
    for node in _walk(root, _MOST_TERMS):
        name = operation(node)
        if name in _REGRESSIONS or name == "Pow":
            below = [_below_moves(after) for after, _ in node.next_functions if after is not None]
            differences = [after for one in below if one is not None for after, _ in one.next_functions]
            if any(one is value for one in (*below, *map(_below_moves, differences))):
                return True
    return False


def _below_moves(node: Any) -> Any:
    """Return the operation behind those that only move entries."""
    while node is not None and operation(node) in _MOVES and node.next_functions:
        node = node.next_functions[0][0]
    return node


def _walk(node: Any, most: int, through: tuple[str, ...] | None = None) -> Iterator[Any]:
    """Iterate over operations behind a node, nearest first; behind others than `through` it does not look."""
    todo, seen = [node], {node}
    for one in todo:
        yield one
        if through is not None and operation(one) not in through:
            continue
        for after, _ in one.next_functions:
            if after is not None and after not in seen and len(seen) < most:
                seen.add(after)
                todo.append(after)


def _leaves(node: Any) -> frozenset[int]:
    found = (getattr(one, "variable", None) for one in _walk(node, _MOST_NODES))
    return frozenset(id(one) for one in found if one is not None)
