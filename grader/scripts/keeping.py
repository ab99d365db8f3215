"""Read in the script's text which line keeps a loss: what is added to a total or appended to a list as it is."""

import ast
from collections.abc import Iterator

from grader.scripts.places import Place
from grader.scripts.source import tree


def keeping_line(backward: Place) -> Place | None:
    """Return the line that keeps the tensor from which a backward began; None if none is seen."""
    whole = tree(backward.file)
    if whole is None:
        return None
    names = _roots(whole, backward.line)
    names |= set(_sources(whole, names))
    returning = _returning(whole, names)
    names |= _results(whole, returning)
    found = [
        node for node in ast.walk(whole) if isinstance(node, ast.stmt) and _keeps(node, names, returning)
    ]
    if not found:
        return None
    after = [node for node in found if node.lineno >= backward.line]
    nearest = min(after or found, key=lambda node: abs(node.lineno - backward.line))
    return Place(backward.file, nearest.lineno, backward.function)


def _roots(whole: ast.AST, line: int) -> set[str]:
    """Return the names in the expression that a line calls `backward` on, or gives to it."""
    names: set[str] = set()
    for node in ast.walk(whole):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr in ("backward", "manual_backward") and node.lineno <= line <= (
            node.end_lineno or 0
        ):
            for part in (node.func.value, *node.args):
                names |= {
                    ast.unparse(one) for one in ast.walk(part) if isinstance(one, ast.Name | ast.Attribute)
                }
    return names


def _sources(whole: ast.AST, names: set[str]) -> Iterator[str]:
    """Yield the names of which those names were made: `loss` of `scaled = loss / 4`."""
    for node in ast.walk(whole):
        if isinstance(node, ast.Assign) and any(ast.unparse(one) in names for one in node.targets):
            for one in ast.walk(node.value):
                if isinstance(one, ast.Name) and "loss" in one.id.lower():
                    yield one.id


def _returning(whole: ast.AST, names: set[str]) -> set[str]:
    """Return the functions of the file that return one of the names as it is."""
    return {
        function.name
        for function in ast.walk(whole)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None and _bare(node.value, names, set())
    }


def _results(whole: ast.AST, returning: set[str]) -> set[str]:
    """Return the names that hold what those functions return."""
    return {
        ast.unparse(target)
        for node in ast.walk(whole)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
        if ast.unparse(node.value.func).rsplit(".", 1)[-1] in returning
        for target in node.targets
    }


def _parts(value: ast.Tuple | ast.List | ast.Dict | ast.BinOp) -> list[ast.expr]:
    if isinstance(value, ast.BinOp):
        return [value.left, value.right]
    return value.values if isinstance(value, ast.Dict) else value.elts


def _bare(value: ast.expr, names: set[str], returning: set[str]) -> bool:
    if isinstance(value, ast.Name | ast.Attribute):
        return ast.unparse(value) in names
    if isinstance(value, ast.Subscript):
        return ast.unparse(value.value) in names
    if isinstance(value, ast.Tuple | ast.List | ast.Dict | ast.BinOp):
        return any(_bare(one, names, returning) for one in _parts(value))
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func).rsplit(".", 1)[-1]
        return called in returning
    return False


def _keeps(node: ast.stmt, names: set[str], returning: set[str]) -> bool:
    if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Add):
        return _bare(node.value, names, returning) and ast.unparse(node.target) not in names
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target = ast.unparse(node.targets[0])
        used = {ast.unparse(one) for one in ast.walk(node.value) if isinstance(one, ast.Name | ast.Attribute)}
        return target in used and target not in names and _bare(node.value, names, returning)
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return _bare(node.value, names, returning)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        keeps = isinstance(call.func, ast.Attribute) and call.func.attr in (
            "append",
            "extend",
            "insert",
            "update",
            "add",
        )
        return keeps and any(_bare(one, names, returning) for one in call.args)
    return False
