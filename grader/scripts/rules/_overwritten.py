"""Read which statement of a loop assigns a loss anew in each turn, so that only the last one is left."""

import ast

from grader.scripts.places import Place
from grader.scripts.rules import _reading

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def overwriting(loss: Place) -> tuple[Place, str] | None:
    """Return the statement that overwrites the loss of a line, and its name: it is read behind the loop only."""
    computing = {one.name for one in _reading.around(loss, *_FUNCTIONS)[:1] if isinstance(one, _FUNCTIONS)}
    for loop in _reading.nodes(loss.file, ast.For, ast.AsyncFor):
        assert isinstance(loop, ast.For | ast.AsyncFor)
        for statement in loop.body:
            if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
                continue
            inside = statement.lineno <= loss.line <= (statement.end_lineno or 0)
            if not inside and not _reading.calls(statement.value, *computing):
                continue
            name = statement.targets[0].id
            if len(statement.targets) == 1 and _is_lost(loss.file, loop, statement, name):
                return _reading.at(loss.file, statement), name
    return None


def _is_lost(file: str, loop: ast.For | ast.AsyncFor, statement: ast.Assign, name: str) -> bool:
    """Return True if nothing in the loop reads a name or leaves the loop, and something behind it reads the name."""
    uses = [one for one in ast.walk(loop) if isinstance(one, ast.Name) and one.id == name]
    leaves = any(isinstance(one, ast.Break | ast.Return) for one in ast.walk(loop))
    if leaves or uses != [statement.targets[0]]:
        return False
    at = _reading.at(file, loop)
    around = _reading.around(at, *_FUNCTIONS)[:1] or list(_reading.nodes(file, ast.Module))
    return any(
        isinstance(one, ast.Name) and one.id == name and one.lineno > (loop.end_lineno or 0)
        for scope in around
        for one in ast.walk(scope)
        if not isinstance(getattr(one, "ctx", None), ast.Store)
    )
