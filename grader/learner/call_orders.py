"""Find the order in which a function makes certain calls; if several orders are right, learners may collect them."""

import ast
from collections.abc import Sequence


def order_of_calls(source: str, function: str, calls: Sequence[str]) -> str:
    """Return the named calls of a function in the order of their evaluation, joined by spaces.

    Args:
        source: a whole file or cell.
        function: name of the function; of several definitions the last one counts.
        calls: names of functions and methods (`zero_grad` also matches `opt.zero_grad`).

    Returns:
        Empty unless each of them is called exactly once, in statements directly in the function's body.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function]
    if not found:
        return ""
    made: list[tuple[int, int, str]] = []
    for statement in found[-1].body:
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
            made += [
                (node.end_lineno or 0, node.end_col_offset or 0, name)
                for node in ast.walk(statement)
                if isinstance(node, ast.Call) and (name := _name(node.func)) in calls
            ]
    # Inner calls end, and are evaluated, before the call around them.
    names = [name for _, _, name in sorted(made)]
    return " ".join(names) if sorted(names) == sorted(calls) else ""


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
