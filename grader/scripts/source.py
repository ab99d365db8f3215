"""Read the script's text for what a line stands in."""

import ast
import linecache
from collections.abc import Iterator
from functools import cache

from grader.scripts.places import Place

_FLAG, _MOST_EDITS = "requires_grad", 2
_SETTINGS = ("lr", "weight_decay", "momentum", "betas", "eps", "alpha", "dampening", "nesterov", "amsgrad")
"""Settings of optimizers, which lie in their groups."""


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
    judged = [_judged(whole, node) for node in sorted(found, key=lambda node: -node.lineno)]
    return [
        (Place(place.file, node.lineno, place.function), ast.unparse(_returned(whole, node)))
        for node in judged
    ]


def _returned(whole: ast.Module, test: ast.expr) -> ast.expr:
    """Return what a called function of the file returns, if it does nothing else; else the test itself."""
    if not isinstance(test, ast.Call):
        return test
    name = ast.unparse(test.func).rsplit(".", 1)[-1]
    for node in ast.walk(whole):
        if isinstance(node, ast.FunctionDef) and node.name == name and isinstance(node.body[-1], ast.Return):
            return node.body[-1].value or test
    return test


def _judged(whole: ast.Module, branch: ast.If) -> ast.expr:
    """Return what a branch tests: of a name the value that was last assigned to it above."""
    made = [
        node.value
        for node in ast.walk(whole)
        if isinstance(node, ast.Assign)
        and isinstance(branch.test, ast.Name)
        and node.lineno < branch.lineno
        and any(isinstance(one, ast.Name) and one.id == branch.test.id for one in node.targets)
    ]
    return max(made, key=lambda node: node.lineno) if made else branch.test


def line_of(place: Place) -> str:
    """Return the text of a line."""
    return linecache.getline(place.file, place.line)


def is_conditional(place: Place) -> bool:
    """Return True if a condition decides whether a line runs, or whether gradients are on there."""
    whole = tree(place.file)
    if whole is None:
        return False
    for node in ast.walk(whole):
        if not getattr(node, "lineno", place.line + 1) <= place.line <= (getattr(node, "end_lineno", 0) or 0):
            continue
        if isinstance(node, ast.If | ast.IfExp) and "__name__" not in ast.unparse(node.test):
            return True
        if isinstance(node, ast.With):
            contexts = [ast.unparse(item.context_expr) for item in node.items]
            if any(" if " in one or "set_grad_enabled" in one or one.isidentifier() for one in contexts):
                return True
    return False


def assigned_attributes(file: str) -> dict[str, list[Place]]:
    """Return the lines that assign `….requires_grad` misspelt or an optimizer's setting, by the attribute's name.

    What a class keeps of its own, `self.lr = …`, is left out; so is what something in the file reads again.
    """
    whole = tree(file)
    found: dict[str, list[Place]] = {}
    kept: set[str] = set()
    for node in ast.walk(whole) if whole is not None else ():
        if not isinstance(node, ast.Attribute) or not isinstance(node.ctx, ast.Store):
            continue
        own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
        written = ast.unparse(node.value).lower()
        if own and is_misspelt(node.attr):
            kept.add(node.attr)
        if not own and (is_misspelt(node.attr) or (node.attr in _SETTINGS and "opt" in written)):
            found.setdefault(node.attr, []).append(Place(file, node.lineno))
    return {
        name: lines
        for name, lines in found.items()
        if whole is not None and name not in kept and not _is_read(whole, name)
    }


def is_misspelt(name: str) -> bool:
    """Return True for a name that is hardly another one than `requires_grad`."""
    return name != _FLAG and abs(len(name) - len(_FLAG)) <= _MOST_EDITS and _edits(name, _FLAG) <= _MOST_EDITS


def _edits(one: str, other: str) -> int:
    """Return how many characters must be put in, taken out or replaced."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        before, row[0] = row[0], number
        for place, against in enumerate(other, 1):
            before, row[place] = (
                row[place],
                min(row[place] + 1, row[place - 1] + 1, before + (letter != against)),
            )
    return row[-1]


def _is_read(whole: ast.Module, name: str) -> bool:
    """Return True if something may read such an attribute of an optimizer or a parameter, or sets the group's own."""
    flag = is_misspelt(name)
    called = {id(node.func) for node in ast.walk(whole) if isinstance(node, ast.Call)}
    for node in ast.walk(whole):
        if isinstance(node, ast.Constant) and node.value == name and (flag or _is_key(whole, node)):
            return True  # `getattr(p, "…")`, `group["lr"] = …`
        if not isinstance(node, ast.Attribute) or node.attr != name or not isinstance(node.ctx, ast.Load):
            continue
        if flag and id(node) not in called:
            return True
        if not flag and "opt" in ast.unparse(node.value).lower():
            return True
    return False


def _is_key(whole: ast.Module, key: ast.Constant) -> bool:
    """Return True if a text is a key that something is assigned to, or the name that `getattr` is given."""
    return any(
        (isinstance(node, ast.Subscript) and node.slice is key and isinstance(node.ctx, ast.Store))
        or (isinstance(node, ast.Call) and key in node.args)
        for node in ast.walk(whole)
    )


def freezing_lines(file: str) -> list[Place]:
    """Return the lines that take parameters from training: `p.requires_grad = False`, `x.requires_grad_(False)`."""
    whole = tree(file)
    return [] if whole is None else [Place(file, line) for line in sorted(set(_freezing(whole)))]


def _freezing(whole: ast.AST) -> Iterator[int]:
    for node in ast.walk(whole):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and node.value.value is False
        ):
            if any(isinstance(one, ast.Attribute) and one.attr == "requires_grad" for one in node.targets):
                yield node.lineno
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            no = bool(node.args) and isinstance(node.args[0], ast.Constant) and node.args[0].value is False
            if node.func.attr == "requires_grad_" and no:
                yield node.lineno


def name_tests(file: str) -> list[Place]:
    """Return the lines that sort parameters by a text in their names: `"norm" in name`, `name.endswith(...)`."""
    whole = tree(file)
    found = set() if whole is None else set(_name_tests(whole))
    texts = {line for line, by_text in found if by_text}
    return [Place(file, line) for line in sorted(texts or {line for line, _ in found})]


def _is_test(node: ast.Return | ast.Assign | ast.Lambda) -> bool:
    """Return True if a value says yes or no about a text: `"norm" in name`, `name.endswith("bias")`."""
    value = node.body if isinstance(node, ast.Lambda) else node.value
    parts = value.values if isinstance(value, ast.BoolOp) else [value]
    return any(
        (isinstance(one, ast.Compare) and isinstance(one.ops[0], ast.In | ast.NotIn))
        or (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Attribute)
            and one.func.attr in ("endswith", "startswith")
        )
        for one in parts
    )


def _name_tests(whole: ast.AST) -> Iterator[tuple[int, bool]]:
    """Iterate over the lines of such tests; True if the text itself stands there, False for lists and dimensions."""
    for node in ast.walk(whole):
        if isinstance(node, ast.If | ast.IfExp):
            tests = [node.test]
        elif isinstance(node, ast.comprehension):
            tests = node.ifs
        elif isinstance(node, ast.Return | ast.Assign | ast.Lambda) and _is_test(node):
            tests = [node.body if isinstance(node, ast.Lambda) else node.value]  # type: ignore[list-item]
        else:
            continue
        for test in tests:
            written = ast.unparse(test)
            texts = [
                one.value.lower()
                for one in ast.walk(test)
                if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            lists = any(
                word in written for word in ("no_decay", "nodecay", "skip", "exclude", "ndim", "dim()")
            )
            named = any(word in one for one in texts for word in ("norm", "bias", "ln", "bn"))
            if lists or named:
                yield test.lineno, named


def gradient_sums(file: str) -> list[Place]:
    """Return the lines that sum gradients over replicas in functions where nothing is divided."""
    whole = tree(file)
    if whole is None:
        return []
    scopes: list[ast.AST] = [node for node in ast.walk(whole) if isinstance(node, ast.FunctionDef)]
    found = set()
    for node in ast.walk(whole):
        if not (_becomes_gradient(node) if isinstance(node, ast.stmt) else _sums_gradients(node)):
            continue
        around = [one for one in scopes if one.lineno <= node.lineno <= (one.end_lineno or 0)]  # type: ignore[attr-defined]
        if not _divides(max(around, key=lambda one: one.lineno) if around else whole):  # type: ignore[attr-defined]
            found.add(node.lineno)  # type: ignore[attr-defined]
    return [Place(file, line) for line in sorted(found)]


def gradient_clearings(file: str) -> list[Place]:
    """Return the lines that clear one gradient: `w.grad.zero_()`, `w.grad = None`."""
    whole = tree(file)
    found = set()
    for node in ast.walk(whole) if whole is not None else ():
        if isinstance(node, ast.Assign):
            ends = any(ast.unparse(one).endswith(".grad") for one in node.targets)
            clears = ends and ast.unparse(node.value) == "None"
        else:
            method = node.func if isinstance(node, ast.Call) else None
            named = isinstance(method, ast.Attribute) and method.attr == "zero_"
            clears = isinstance(method, ast.Attribute) and named and _is_gradient(method.value)
        if clears:
            found.add(node.lineno)  # type: ignore[attr-defined]
    return [Place(file, line) for line in sorted(found)]


def gradient_divisions(file: str) -> list[Place]:
    """Return the lines that divide gradients: `p.grad /= n`, `p.grad.div_(n)`, `p.grad = p.grad / n`."""
    whole = tree(file)
    if whole is None:
        return []
    found = set()
    for node in ast.walk(whole):
        if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div | ast.Mult):
            divided = _is_gradient(node.target)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
            both = isinstance(node.value.op, ast.Div | ast.Mult) and _is_gradient(node.value.left)
            divided = both and _is_gradient(node.targets[0])
        else:
            method = node.func if isinstance(node, ast.Call) else None
            named = isinstance(method, ast.Attribute) and method.attr in ("div_", "mul_")
            divided = isinstance(method, ast.Attribute) and named and _is_gradient(method.value)
        if divided:
            found.add(node.lineno)  # type: ignore[attr-defined]
    return [Place(file, line) for line in sorted(found)]


def _is_gradient(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and ast.unparse(node).endswith((".grad", ".grad.data"))


def _becomes_gradient(node: ast.stmt) -> bool:
    """Return True for a sum that becomes a gradient, `p.grad = sum(…)`, and for `total += p.grad`."""
    if isinstance(node, ast.AugAssign):
        return isinstance(node.op, ast.Add) and _is_gradient(node.value)
    if not isinstance(node, ast.Assign) or not _is_gradient(node.targets[0]):
        return False
    return isinstance(node.value, ast.Call) and ast.unparse(node.value.func).rsplit(".", 1)[-1] == "sum"


def _sums_gradients(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    called = ast.unparse(node.func)
    if called.rsplit(".", 1)[-1] == "all_reduce":
        written = ast.unparse(node)
        return bool(node.args) and ".grad" in ast.unparse(node.args[0]) and "AVG" not in written
    if called == "sum":
        return bool(node.args) and _gradients(node.args[0])
    if isinstance(node.func, ast.Attribute) and node.func.attr == "sum":
        stacked = node.func.value
        return isinstance(stacked, ast.Call) and any(map(_gradients, stacked.args))
    return False


def _gradients(node: ast.expr) -> bool:
    """Return True for `[p.grad for p in …]`."""
    if not isinstance(node, ast.ListComp | ast.GeneratorExp):
        return False
    element = ast.unparse(node.elt)
    return element.endswith((".grad", ".grad.data", ".grad.detach()", ".grad.clone()"))


def _divides(scope: ast.AST) -> bool:
    for node in ast.walk(scope):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Div):
            return True
        if isinstance(node, ast.Attribute) and node.attr in ("div_", "div", "mean", "AVG", "mul_"):
            return True
    return False
