"""Read the script's text for what a line stands in."""

import ast
import linecache
from functools import cache

from grader.scripts.places import Place


@cache
def tree(file: str) -> ast.Module | None:
    """Parse a file of the learner's; None if it cannot be read. Do not modify."""
    try:
        return ast.parse("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


def in_loop(place: Place) -> bool:
    """Return True if a line stands inside a `for` or `while` of its own function."""
    whole = tree(place.file)
    return whole is not None and _in_loop(whole, place.line, False)


def _in_loop(node: ast.AST, line: int, inside: bool) -> bool:
    for child in ast.iter_child_nodes(node):
        first, last = getattr(child, "lineno", None), getattr(child, "end_lineno", None)
        if first is None or last is None:
            if _in_loop(child, line, inside):
                return True
            continue
        if not first <= line <= last:
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return _in_loop(child, line, False)
        looping = isinstance(child, ast.For | ast.While | ast.AsyncFor) and line > first
        return _in_loop(child, line, inside or looping)
    return inside


def enclosing_tests(place: Place) -> list[tuple[Place, str]]:
    """Return the tests of the `if` statements around a line, innermost first, each with its place."""
    whole = tree(place.file)
    if whole is None:
        return []
    found = [
        node
        for node in ast.walk(whole)
        if isinstance(node, ast.If) and node.lineno <= place.line <= (node.end_lineno or 0)
    ]
    return [
        (Place(place.file, node.lineno, place.function), ast.unparse(node.test))
        for node in sorted(found, key=lambda node: -node.lineno)
    ]
