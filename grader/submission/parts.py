"""The part of a program that one exercise leans on, and its form: what is left of it without all that does not run.

Parts of one form do the same. A class of a thousand writes the same five lines again and again, with other comments and
other names for what is computed on the way.

A part is made only where it does the same alone as in its program. So the program must be plain, one that only imports
and defines; and the part must consist of functions and constants that keep nothing from one call to the next, and look
at no names. (Who hides such a look well enough gains what a copy of a right program would give him.)
"""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

import grader
from grader.submission.plain import bindings, imported, is_plain
from grader.submission.statements import Block, ParseError, parse, without_others

_KNOWN_PACKAGES = {
    *("torch", "numpy", "math", "random", "copy", "itertools", "functools", "collections"),
    *("typing", "contextlib", "statistics", "warnings"),
}
_SURE = {
    *("torch.nn", "torch.optim", "torch.nn.functional", "torch.Tensor", "torch.no_grad", "torch.utils.data"),
    *("torch.utils.data.DataLoader", "torch.utils.data.TensorDataset", "torch.utils.data.Dataset"),
    *("torch.optim.Optimizer", "torch.nn.utils.clip_grad_norm_", "typing.Any", "collections.abc.Iterable"),
    *("dataclasses.dataclass", "itertools.islice", "pathlib.Path"),
}
_SURE |= {f"grader.{name}" for name in grader.__all__}
"""What can be imported for certain; an import of anything else may fail, of which a note is told."""
_LOOKS_AT_NAMES = {
    *("eval", "exec", "compile", "locals", "globals", "vars", "dir"),
    *("getattr", "setattr", "delattr", "hasattr", "input", "open", "breakpoint", "help"),
}
_LEADS_AWAY = {
    *("builtins", "sys", "os", "inspect", "importlib", "traceback", "gc", "types", "operator", "jit", "fx"),
}
"""Attributes by which torch's modules lead to others that look at names: `torch.sys`."""
_HARMLESS = {"__class__", "__name__"}
_BUILT_IN = {*dir(builtins)}
_NEVER_CERTAIN = (ast.ClassDef, ast.AsyncFunctionDef, ast.Await, ast.Match)
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Part:
    """What an exercise needs of a program."""

    form: str
    """Equal for parts that do the same: without comments, docstrings, layout and the names of local variables."""
    text: str
    """A program of its own, each line where it was."""


def parts(text: str, exercises: Collection[str]) -> dict[str, Part] | None:
    """Those of these exercises whose part of the program does the same wherever it stands.

    Args:
        text: a program.
        exercises: names.

    Returns:
        By name; None for a program that is not plain: of what runs in the same process nothing is known then.
    """
    try:
        body = parse(text)
        if not is_plain(body):
            return None
        program = _Program(text, body)
        found = {name: program.part(name) for name in exercises}
    except (ParseError, RecursionError):
        return None
    return {name: part for name, part in found.items() if part is not None}


class _Program:
    """A plain program, whose statements are found by the names that they bind."""

    def __init__(self, text: str, body: Sequence[ast.stmt]) -> None:
        self._block = Block(tuple(text.split("\n")), tuple(body), frozenset())
        self._imports: dict[str, tuple[str, int]] = {}
        """For each name what was imported, and where first."""
        self._places: dict[str, int] = {}
        """Where each of the other names is bound."""
        self._unclear: set[str] = set()
        """Names that mean one thing first and another later."""
        for place, statement in enumerate(body):
            for name, target in imported(statement):
                if self._imports.setdefault(name, (target, place))[0] != target:
                    self._unclear.add(name)
            for name in bindings(statement):
                if self._places.setdefault(name, place) != place:
                    self._unclear.add(name)
        self._unclear |= self._imports.keys() & self._places.keys()
        self._bound = self._imports.keys() | self._places.keys()
        self._may_fail = sorted({*_unsure(body)})
        self._functions = {s.name for s in body if isinstance(s, ast.FunctionDef)}
        self._read: dict[int, frozenset[str] | None] = {}
        self._forms: dict[int, str] = {}

    def part(self, name: str) -> Part | None:
        """What this name needs; None where that does not do the same alone."""
        reached, order = {name}, [name]
        for needed in order:  # grows on the way
            place = self._places.get(needed)
            read = frozenset() if place is None else self._read_at(place)
            if read is None or needed in self._unclear:
                return None
            if place is None and not _is_known(self._imports[needed][0]):
                return None
            order += sorted(read - reached)
            reached |= read
        imports = [f"{n} = {self._imports[n][0]}" for n in order if n in self._imports]
        places = dict.fromkeys(self._places[n] for n in order if n in self._places)
        form = [*self._may_fail, *sorted(imports), *map(self._form_of, places)]
        kept = {
            *places,
            *(p for p, s in enumerate(self._block.body) if isinstance(s, ast.Import | ast.ImportFrom)),
        }
        return Part("\n".join(form), "\n".join(without_others(self._block, sorted(kept))))

    def _read_at(self, place: int) -> frozenset[str] | None:
        """Names of the top level that a statement needs; None where it does not do the same everywhere."""
        if place not in self._read:
            self._read[place] = self._reads(self._block.body[place], place)
        return self._read[place]

    def _reads(self, statement: ast.stmt, place: int) -> frozenset[str] | None:
        if isinstance(statement, ast.FunctionDef):
            arguments, inside = statement.args, statement.body
            own = {argument.arg for argument in _each(arguments)} | _stored(inside)
            at_load = [
                *statement.decorator_list,
                arguments,
                *([statement.returns] if statement.returns else []),
            ]
            defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
            certain = all(self._is_certain(node, own) for node in _walked([statement]))
            certain = certain and all(map(_is_fixed, defaults)) and self._only_calls(inside)
        elif isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            own, inside, at_load = set(), [], [statement.value]
            certain = _is_fixed(statement.value)
        else:
            return None
        early = _names(_walked(at_load))
        named = _names(_walked(inside)) - own  # also those that mean something else in a function inside
        unknown = (early | (named - _made(inside))) - self._bound - _BUILT_IN
        if not certain or unknown or any(self._place(name) >= place for name in early & self._bound):
            return None
        return frozenset((named | early) & self._bound)

    def _place(self, name: str) -> int:
        """Where it is bound first."""
        return self._imports[name][1] if name in self._imports else self._places[name]

    def _is_certain(self, node: ast.AST, own: Collection[str]) -> bool:
        """Whether a node of a function does the same everywhere, and keeps nothing; `own`: the function's arguments."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            return all(_is_known(target) for _, target in imported(node))
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = _root(node)
            if isinstance(root, ast.Name) and root.id in self._bound and root.id not in own:
                return False
        if isinstance(node, ast.Attribute):
            return node.attr not in _LEADS_AWAY and (not node.attr.startswith("_") or node.attr in _HARMLESS)
        if isinstance(node, ast.Name):
            return node.id not in _LOOKS_AT_NAMES and not node.id.startswith("__")
        return not isinstance(node, _NEVER_CERTAIN)

    def _only_calls(self, body: Iterable[ast.stmt]) -> bool:
        """Whether the program's functions are only called there, not handed on or written to: `f.calls`, `g = f`."""
        nodes = [*_walked(body)]
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return not any(
            isinstance(node, ast.Name) and node.id in self._functions and id(node) not in called
            for node in nodes
        )

    def _form_of(self, place: int) -> str:
        """What a statement does, as text. It is changed on the way: what it reads is known by now."""
        if place not in self._forms:
            statement = self._block.body[place]
            if isinstance(statement, ast.FunctionDef):
                _Bare(self._variables(statement)).visit(statement)
            self._forms[place] = ast.dump(statement)
        return self._forms[place]

    def _variables(self, function: ast.FunctionDef) -> set[str]:
        """Names that it gives to what it computes. Those of arguments stay: who calls it may say them."""
        nodes = [*ast.walk(function)]
        if any(isinstance(node, ast.ExceptHandler) and node.name for node in nodes):
            return set()  # a message may name a variable
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        others = {n.arg for n in nodes if isinstance(n, ast.arg)}
        others |= {n.name for n in nodes if isinstance(n, ast.FunctionDef)}
        others |= {name for n in nodes for name, _ in imported(n)}
        others |= {name for n in nodes if isinstance(n, ast.Nonlocal) for name in n.names}
        return {name for name in stored - others - _BUILT_IN if name not in self._bound}


def _is_known(target: str) -> bool:
    """Whether what is imported tells a program nothing of the names in it."""
    package, *path = target.split(".")
    return package in _KNOWN_PACKAGES and _LEADS_AWAY.isdisjoint(path)


def _unsure(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Imports of which it is not certain that they load without a word."""
    for statement in body:
        for name, target in imported(statement):
            if target not in _SURE and target not in _KNOWN_PACKAGES:
                yield f"{name} = {target}"
        if isinstance(statement, ast.Import):  # `import torch.x` binds `torch`
            yield from (
                a.name for a in statement.names if a.name not in _SURE and a.name not in _KNOWN_PACKAGES
            )


def _walked(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from ast.walk(node)


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _made(body: Iterable[ast.stmt]) -> set[str]:
    """Names that are bound somewhere inside a function."""
    nodes = [*_walked(body)]
    made = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    made |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    made |= {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ExceptHandler) and n.name}
    return made | {name for n in nodes for name, _ in imported(n)}


def _stored(body: Iterable[ast.stmt]) -> set[str]:
    """Variables of the function itself, which hide what the top level calls so: not those of what is defined in it."""
    found: set[str] = set()
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return found


def _each(arguments: ast.arguments) -> Iterator[ast.arg]:
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _is_fixed(value: ast.expr) -> bool:
    """Whether it is a value that nothing changes: a number, a text, `torch.float32`."""
    if isinstance(value, ast.UnaryOp):
        return _is_fixed(value.operand)
    if isinstance(value, ast.Tuple):
        return all(map(_is_fixed, value.elts))
    if isinstance(value, ast.Attribute):
        return isinstance(value.value, ast.Name) and value.value.id in _KNOWN_PACKAGES
    return isinstance(value, ast.Constant)


class _Bare(ast.NodeTransformer):
    """Takes out what does not run, and numbers variables in the order in which they appear."""

    def __init__(self, variables: Collection[str]) -> None:
        self._variables = variables
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self._variables:
            node.id = self._numbers.setdefault(node.id, f"#{len(self._numbers)}")  # which is nobody's name
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        return self.generic_visit(
            ast.Assign([node.target], node.value)
        )  # what a variable is said to be is not read

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [statement for statement in node.body if not _does_nothing(statement)] or [ast.Pass()]
        return self.generic_visit(node)


def _does_nothing(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )
