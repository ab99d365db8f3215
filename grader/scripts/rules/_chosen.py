"""Read where a script chooses one of several kept models, or throws one away: by `sorted`, `min`, `max` or a heap."""

import ast
from collections.abc import Iterator
from typing import NamedTuple

from grader.scripts.rules import _reading

_LOADING = ("load_state_dict",)
_WEIGHTS = {"state", "weights", "params", "parameters", "model", "checkpoint", "ckpt", "dict", "snapshot"}
_WORST = {"worst", "bad", "hard", "hardest"}


class Choice(NamedTuple):
    """An expression that prefers large or small scores."""

    node: ast.AST
    score: ast.expr
    larger: bool
    """The models with the largest scores are kept."""


def choices(file: str) -> Iterator[Choice]:
    """Iterate over the choices whose model is loaded, and over the heaps that hold models."""
    for scope in _reading.nodes(file, ast.FunctionDef, ast.Module):
        for found in _ordered(scope):
            if _own(file, scope, found.node) and _is_loaded(scope, found.node):
                yield found
        if isinstance(scope, ast.FunctionDef):
            yield from _heaped(scope)


def _own(file: str, scope: ast.AST, node: ast.AST) -> bool:
    """Return True if a node stands in this function, or in none for a module."""
    around = _reading.around(_reading.at(file, node), ast.FunctionDef)
    return (around[0] is scope) if around else isinstance(scope, ast.Module)


def _keyed(call: ast.Call) -> tuple[ast.expr, bool] | None:
    """Return by what a call compares, and whether `-` or `reverse=True` turns it; None if that is not said."""
    given = {one.arg: one.value for one in call.keywords}
    key, turn = given.get("key"), given.get("reverse")
    if turn is not None and not isinstance(turn, ast.Constant):
        return None
    turned = turn is not None and bool(turn.value)
    if isinstance(key, ast.Lambda):
        key = key.body
    if isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.USub):
        key, turned = key.operand, not turned
    return None if key is None else (key, turned)


def _ordered(scope: ast.AST) -> Iterator[Choice]:
    """Iterate over `max(history, key=…)`, `sorted(history, key=…)[0]` and the first or last of a list so sorted."""
    made = {
        name: one.value
        for one in ast.walk(scope)
        if isinstance(one, ast.Assign) and _reading.called(one.value) == "sorted"
        for name in _reading.bound(one)
    }
    for node in ast.walk(scope):
        extreme = _reading.called(node) in ("min", "max")
        if extreme and isinstance(node, ast.Call) and len(node.args) == 1 and (keyed := _keyed(node)):
            yield Choice(node, keyed[0], (_reading.called(node) == "max") != keyed[1])
        if not isinstance(node, ast.Subscript):
            continue
        place = ast.unparse(node.slice)
        call = made.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
        if place not in ("0", "-1") or not isinstance(call, ast.Call) or _reading.called(call) != "sorted":
            continue
        if (keyed := _keyed(call)) is not None:
            yield Choice(call, keyed[0], keyed[1] == (place == "0"))


def _is_loaded(scope: ast.AST, choice: ast.AST) -> bool:
    """Return True if a model is loaded from what was chosen, under any name that it was given."""
    names = set[str]()
    statements = [one for one in ast.walk(scope) if isinstance(one, ast.Assign | ast.Expr)]
    for one in sorted(statements, key=lambda one: one.lineno):
        holds = choice in ast.walk(one) or any(_reading.reads(one, name) for name in names)
        if holds and _reading.calls(one, *_LOADING):
            return not _WORST & {word for name in names for word in _reading.words(name)}
        if holds and isinstance(one, ast.Assign):
            names |= set(_reading.bound(one))
    return False


def _heaped(function: ast.FunctionDef) -> Iterator[Choice]:
    """Iterate over the items of a heap that is kept at its size by throwing the smallest away, and that hold models."""
    made = {
        name: one.value
        for one in ast.walk(function)
        if isinstance(one, ast.Assign)
        for name in _reading.bound(one)
    }
    for call in _reading.calls(function, "heappushpop", "heapreplace"):
        item = call.args[1] if len(call.args) == 2 else None
        item = made.get(item.id) if isinstance(item, ast.Name) else item
        if not isinstance(item, ast.Tuple) or len(item.elts) < 2:
            continue
        score, larger = item.elts[0], True
        if isinstance(score, ast.UnaryOp) and isinstance(score.op, ast.USub):
            score, larger = score.operand, False
        held = [made.get(one.id, one) if isinstance(one, ast.Name) else one for one in item.elts[1:]]
        words = {word for one in (*held, *item.elts[1:]) for word in _reading.words(one)}
        if words & _WEIGHTS:
            yield Choice(item, score, larger)
