"""In which order a program makes its calls: several orders are right, and a learner may like to find them all."""

import ast
from collections.abc import Sequence


def order_of_calls(source: str, function: str, calls: Sequence[str]) -> str:
    """The named calls of a function as they are evaluated, joined by spaces.

    Args:
        source: a whole file or cell.
        function: the function's name; of several definitions the last counts.
        calls: names of functions and methods (`zero_grad` is also `opt.zero_grad`).

    Returns:
        Empty where one of them is not called exactly once in a statement of the function itself.
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
    names = [name for _, _, name in sorted(made)]  # what is inside a call ends, and is evaluated, before it
    return " ".join(names) if sorted(names) == sorted(calls) else ""


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""
