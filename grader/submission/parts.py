"""The part of a program that one exercise leans on, and its form: what is left of it without all that does not run.

Parts of one form do the same. A class of a thousand writes the same five lines again and again, with other comments and
other names for what is computed on the way.

Only a part is made about which this is certain: imports, functions and plain constants, which look at no names and no
frames and keep nothing from one call to the next.
"""

import ast
import builtins
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from grader.submission.statements import Block, bound_by, read_by, without_others

MAX_CHARS = 100_000
"""Of the program; our longest lesson's has half as many."""
_KNOWN_PACKAGES = {
    *("torch", "numpy", "math", "random", "copy", "itertools", "functools", "collections", "operator"),
    *("typing", "contextlib", "statistics", "warnings"),
}
"""What is imported from these tells a program nothing of the names in it."""
_LOOKS_AT_NAMES = {
    *("eval", "exec", "compile", "locals", "globals", "vars", "dir"),
    *("getattr", "setattr", "delattr", "hasattr", "input", "open", "breakpoint", "help"),
}
_BUILT_IN = {*dir(builtins)}
_RUN_AT_LOAD = {
    *("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "no_grad", "range"),
    *("dataclass", "dataclasses.dataclass", "field", "dataclasses.field"),
}
"""Calls in decorators, defaults and class bodies that a program may make while it is loaded."""
_BINDS = (
    *(ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef),
    *(ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Try, ast.Pass),
)
_DECORATORS = {"torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()"}
_HARMLESS = {"__class__", "__name__"}
_NEVER_CERTAIN = (ast.Global, ast.Nonlocal, ast.ClassDef, ast.AsyncFunctionDef, ast.Await, ast.Match)


@dataclass(frozen=True)
class Part:
    """What an exercise needs of a program."""

    form: str
    """Equal for parts that do the same: without comments, docstrings, layout and the names of local variables."""
    text: str
    """A program of its own, each line where it was."""


def parts(text: str, exercises: Collection[str]) -> dict[str, Part]:
    """Those of these exercises whose part of the program is certain to do the same wherever it stands.

    Args:
        text: a program.
        exercises: names.

    Returns:
        By name; empty for a program that runs something while it is loaded.
    """
    if len(text) > MAX_CHARS:
        return {}
    try:
        program = _Program(text)
        found = {name: program.part(name) for name in exercises}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return {name: part for name, part in found.items() if part is not None}


class _Program:
    """A program whose statements are found by the names that they bind."""

    def __init__(self, text: str) -> None:
        body = tuple(ast.parse(text).body)
        self._block = Block(tuple(text.split("\n")), body, frozenset())
        self._is_quiet = all(map(_runs_nothing, body))
        self._places: dict[str, int] = {}
        self._bound_again: set[str] = set()
        for place, statement in enumerate(body):
            for name in bound_by(statement):
                if self._places.setdefault(name, place) != place:
                    self._bound_again.add(name)
        self._functions = {s.name for s in body if isinstance(s, ast.FunctionDef)}
        self._forms: dict[int, str | None] = {}
        self._reads: dict[int, list[str]] = {}

    def part(self, name: str) -> Part | None:
        """What this name needs; None where it is not certain that this does the same alone."""
        if not self._is_quiet or "*" in self._places:
            return None
        order: dict[int, None] = {}
        waiting = [name]
        while waiting:
            name = waiting.pop()
            place = self._places.get(name)
            if place is None and name in _BUILT_IN:
                continue
            if place is None or name in self._bound_again:
                return None
            if place not in order:
                order[place] = None
                waiting += self._read_at(place)
        forms = [self._form_of(place) for place in order]
        if None in forms:
            return None
        return Part("\n".join(map(str, forms)), "\n".join(without_others(self._block, sorted(order))))

    def _read_at(self, place: int) -> list[str]:
        if place not in self._reads:
            self._reads[place] = sorted(read_by(self._block.body[place]))
        return self._reads[place]

    def _form_of(self, place: int) -> str | None:
        if place not in self._forms:
            statement = self._block.body[place]
            certain = _is_certain(statement, self._functions, self._places)
            self._forms[place] = _form(statement, self._places) if certain else None
        return self._forms[place]


def _runs_nothing(statement: ast.stmt) -> bool:
    """Whether a top-level statement only binds names, and calls nothing for it but what is harmless."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    called = (ast.unparse(call.func) for call in _calls_at_load(statement))
    return isinstance(statement, _BINDS) and all(name in _RUN_AT_LOAD for name in called)


def _calls_at_load(statement: ast.stmt) -> Iterator[ast.Call]:
    """Calls outside of function bodies."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        elif isinstance(node, ast.Lambda):
            waiting.append(node.args)
        else:
            waiting += ast.iter_child_nodes(node)


def _is_certain(statement: ast.stmt, functions: Collection[str], bound: Collection[str]) -> bool:
    """Whether a top-level statement does the same wherever it stands, whatever was called before.

    Args:
        statement: the one that is asked about.
        functions: the program's own. What is only called keeps nothing; `f.calls` and `g = f` may.
        bound: all names of the program's top level.
    """
    if isinstance(statement, ast.Assign):
        return isinstance(statement.targets[0], ast.Name) and _is_fixed(statement.value)
    if not isinstance(statement, ast.FunctionDef):
        return _is_known_import(statement)
    nodes = [*ast.walk(statement)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return {ast.unparse(decorator) for decorator in statement.decorator_list} <= _DECORATORS and all(
        _is_certain_inside(node)
        and not (isinstance(node, ast.Name) and node.id in functions and id(node) not in called)
        and not _writes_into(node, bound)
        for node in nodes
    )


def _writes_into(node: ast.AST, bound: Collection[str]) -> bool:
    """Whether it assigns to a part of something that stands at the top level, as `torch.calls = 1` does."""
    if not isinstance(node, ast.Attribute | ast.Subscript) or isinstance(node.ctx, ast.Load):
        return False
    root: ast.expr = node
    while isinstance(root, ast.Attribute | ast.Subscript):
        root = root.value
    return isinstance(root, ast.Name) and root.id in bound


def _is_known_import(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and not statement.level:
        modules = [statement.module or ""]
    else:
        return False
    return all(module.partition(".")[0] in _KNOWN_PACKAGES for module in modules)


def _is_certain_inside(node: ast.AST) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return _is_known_import(node)
    if isinstance(node, ast.Attribute):
        return not node.attr.startswith("_") or node.attr in _HARMLESS
    if isinstance(node, ast.Name):
        return node.id not in _LOOKS_AT_NAMES and not node.id.startswith("__")
    if isinstance(node, ast.arguments):
        return all(map(_is_fixed, [*node.defaults, *filter(None, node.kw_defaults)]))
    return not isinstance(node, _NEVER_CERTAIN)


def _is_fixed(value: ast.expr) -> bool:
    """Whether it is a value that nothing changes: a number, a text, `torch.float32`."""
    if isinstance(value, ast.UnaryOp):
        return _is_fixed(value.operand)
    if isinstance(value, ast.Tuple):
        return all(map(_is_fixed, value.elts))
    if isinstance(value, ast.Attribute):
        return isinstance(value.value, ast.Name) and value.value.id in _KNOWN_PACKAGES
    return isinstance(value, ast.Constant)


def _form(statement: ast.stmt, bound: Collection[str]) -> str:
    """What a statement does, as text; it is changed on the way. `bound`: names of the program's top level."""
    if isinstance(statement, ast.FunctionDef):
        _Bare(_variables(statement) - {*bound} - _BUILT_IN).visit(statement)
    return ast.dump(statement)


def _variables(function: ast.FunctionDef) -> set[str]:
    """Names that it gives to what it computes. Those of arguments stay: who calls it may say them."""
    nodes = [*ast.walk(function)]
    stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    others = {n.arg for n in nodes if isinstance(n, ast.arg)}
    others |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ExceptHandler) and n.name}
    others |= {n.asname or n.name.partition(".")[0] for n in nodes if isinstance(n, ast.alias)}
    return stored - others


class _Bare(ast.NodeTransformer):
    """Takes docstrings out, and numbers variables in the order in which they appear."""

    def __init__(self, variables: Collection[str]) -> None:
        self._variables = variables
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self._variables:
            node.id = self._numbers.setdefault(node.id, f"#{len(self._numbers)}")  # which is nobody's name
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if len(node.body) > 1 and ast.get_docstring(node, clean=False) is not None:
            del node.body[0]
        return self.generic_visit(node)
