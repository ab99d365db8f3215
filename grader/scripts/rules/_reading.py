"""Read the script beside its run: what rules look up in its syntax tree, always told as read and never as measured."""

import ast
import re
from collections.abc import Iterator

from grader.scripts.facts import Event, Facts
from grader.scripts.places import Place
from grader.scripts.source import tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
LOOPS = (ast.For, ast.AsyncFor, ast.While)
COUNTING = ("sum", "mean", "count_nonzero", "sum_", "average")
_WORD = re.compile(r"[a-z0-9]+")


def files(facts: Facts) -> list[str]:
    """Return the learner's files that took part in the run, the script first."""
    found = dict.fromkeys([facts.script, *(one.place.file for one in facts.events if one.place is not None)])
    return [file for file in found if tree(file) is not None]


def nodes(file: str, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Iterate over the nodes of some kinds in a file."""
    whole = tree(file)
    for node in ast.walk(whole) if whole is not None else ():
        if isinstance(node, kinds):
            yield node


def nodes_of(root: ast.AST, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    """Iterate over the nodes of some kinds below a node, and itself."""
    return (node for node in ast.walk(root) if isinstance(node, kinds))


def around(place: Place, *kinds: type[ast.AST]) -> list[ast.AST]:
    """Return the nodes of some kinds whose lines enclose a place, innermost first."""
    found = [node for node in nodes(place.file, *kinds) if _encloses(node, place.line)]
    return sorted(found, key=lambda node: -node.lineno)  # type: ignore[attr-defined]


def _encloses(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return first is not None and last is not None and first <= line <= last


def runs_in(node: ast.AST, event: Event, file: str) -> bool:
    """Return True if an event's place lies in a node."""
    return event.place is not None and event.place.file == file and _encloses(node, event.place.line)


def blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """Iterate over the lists of statements below a node."""
    for below in ast.walk(node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(below, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield block


def words(node: ast.AST | str) -> set[str]:
    """Return the words that names and texts below a node are made of: `val_acc` gives val and acc."""
    texts = [node] if isinstance(node, str) else []
    for below in ast.walk(node) if isinstance(node, ast.AST) else ():
        if isinstance(below, ast.Name):
            texts.append(below.id)
        elif isinstance(below, ast.Attribute):
            texts.append(below.attr)
        elif isinstance(below, Function):
            texts.append(below.name)
        elif isinstance(below, ast.keyword | ast.arg):
            texts.append(below.arg or "")
        elif isinstance(below, ast.Constant) and isinstance(below.value, str):
            texts.append(below.value)
    split = (re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower().replace("_", " ") for text in texts)
    return {word for text in split for word in _WORD.findall(text)}


def called(node: ast.AST) -> str:
    """Return the last part of what is called: `copy` for `x.copy()`; "" for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def function_called(file: str, call: ast.Call) -> ast.FunctionDef | None:
    """Return the function of a file that a call runs: of that name or, for `due = Due()` and `due()`, `Due.__call__`.

    None if there are several, or none.
    """
    name = called(call)
    kinds = {
        called(one.value)
        for one in nodes(file, ast.Assign)
        if isinstance(one, ast.Assign) and any(_last_name(target) == name for target in one.targets)
    }
    found = [
        one for one in nodes(file, ast.FunctionDef) if isinstance(one, ast.FunctionDef) and one.name == name
    ]
    found += [
        one
        for owner in nodes(file, ast.ClassDef)
        if isinstance(owner, ast.ClassDef) and owner.name in kinds - {""}
        for one in owner.body
        if isinstance(one, ast.FunctionDef) and one.name == "__call__"
    ]
    return found[0] if len(found) == 1 else None


def _last_name(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def calls(node: ast.AST, *names: str) -> list[ast.Call]:
    """Return the calls of some functions or methods below a node."""
    return [one for one in ast.walk(node) if isinstance(one, ast.Call) and called(one) in names]


def reads(node: ast.AST, name: str) -> bool:
    """Return True if a name is read below a node."""
    return any(
        isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
        for one in ast.walk(node)
    )


def name_at(built: Place | None, usual: str) -> str:
    """Return what the script calls the thing that a line makes: `opt` for `opt = SGD(…)`; the usual name if unknown."""
    for one in around(built, ast.Assign) if built is not None else []:
        assert isinstance(one, ast.Assign)
        if len(one.targets) == 1 and isinstance(one.targets[0], ast.Name | ast.Attribute):
            return ast.unparse(one.targets[0])
    return usual


def bound(statement: ast.AST) -> list[str]:
    """Return the names that one assignment binds."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def compares(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """Return the pairs that are compared for equality: `a == b`, `a.eq(b)`, `torch.eq(a, b)`."""
    found: list[tuple[ast.expr, ast.expr]] = []
    for one in ast.walk(node):
        if isinstance(one, ast.Compare) and len(one.ops) == 1 and isinstance(one.ops[0], ast.Eq):
            found.append((one.left, one.comparators[0]))
        elif called(one) == "eq" and isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute):
            both = [*one.args] if len(one.args) == 2 else [one.func.value, *one.args]
            if len(both) == 2:
                found.append((both[0], both[1]))
    return found


def counts_right(node: ast.AST) -> bool:
    """Return True if a node sums or averages a comparison for equality: the accuracy of a batch."""
    return bool(compares(node)) and bool(calls(node, *COUNTING))


def at(file: str, node: ast.AST, function: str = "") -> Place:
    """Return the place of a node."""
    return Place(file, int(node.lineno), function)  # type: ignore[attr-defined]


def loss_line(backward: Place | None) -> Place | None:
    """Return the line that computed what a line calls `backward` on; that line itself if it names nothing."""
    if backward is None:
        return None
    found = []
    for statement in around(backward, ast.Expr)[:1]:
        for call in calls(statement, "backward"):
            rooted = [call.func.value] if isinstance(call.func, ast.Attribute) else []
            for part in [*rooted, *call.args]:
                named = [one.id for one in ast.walk(part) if isinstance(one, ast.Name)]
                found += [line for name in named if (line := assigned_line(backward, name)) is not None]
    own = [one for one in found if _same_function(backward, one)]
    return max(own, key=lambda one: one.line, default=backward)


def _same_function(one: Place, other: Place) -> bool:
    first, second = (around(place, ast.FunctionDef, ast.AsyncFunctionDef)[:1] for place in (one, other))
    return first == second


def assigned_line(place: Place, name: str) -> Place | None:
    """Return the last assignment of a name before a line, in its own function or at the module's level."""
    found = [
        node
        for node in nodes(place.file, ast.Assign, ast.AnnAssign)
        if name in bound(node) and node.lineno <= place.line  # type: ignore[attr-defined]
    ]
    return at(place.file, max(found, key=lambda node: node.lineno)) if found else None  # type: ignore[attr-defined]
