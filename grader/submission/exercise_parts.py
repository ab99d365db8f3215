"""Recognize programs that do the same, so that a class's identical answers are run only once.

In a class of a thousand, the same five lines are handed in again and again, with other comments and other names for
intermediate results. This module cuts out the *part* of a program that one exercise needs (its function and everything
the function uses, transitively) and computes the part's *form*: its syntax tree as text, without comments, docstrings
and layout, and with local variables renamed in order of appearance. Two parts with equal forms behave equally.
`grader.grading.right_programs` remembers the forms that passed.

Example: these two have the same form, because only a comment, a docstring and the name of a local variable differ.

    def train_step(model, x):           def train_step(model, x):
        # forward                           '''One step.'''
        out = model(x)                      pred = model(x)
        return out.mean()                   return pred.mean()

That is safe only if a part behaves the same alone as inside its program. So two conditions are checked, and there is no
part where one fails. First, the whole program must be plain (`plain_programs`): code that runs while a program is
loaded could change anything. Second, everything the exercise needs must be pure: functions and constants that keep
nothing from one call to the next and do not look at names or source lines (`locals()`, `inspect`). The check for such
looks is not complete, but hiding one well enough gains no more than copying a right program would.
"""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.base.package import NOTEBOOK_FUNCTIONS
from grader.submission.plain_programs import bindings, imported, is_plain
from grader.submission.statements import Block, keep_only
from grader.submission.syntax import arguments_of, is_constant, names_changed, parse, unrenamable_names

_PURE_PACKAGES = {
    *("torch", "numpy", "math", "random", "copy", "itertools", "functools", "collections"),
    *("typing", "contextlib", "statistics"),
}
_SAFE_IMPORTS = {
    *("torch.nn", "torch.optim", "torch.nn.functional", "torch.Tensor", "torch.no_grad", "torch.utils.data"),
    *("torch.utils.data.DataLoader", "torch.utils.data.TensorDataset", "torch.utils.data.Dataset"),
    *("torch.optim.Optimizer", "torch.nn.utils.clip_grad_norm_", "typing.Any", "collections.abc.Iterable"),
    *("dataclasses.dataclass", "itertools.islice", "pathlib.Path"),
    *(f"grader.{name}" for name in NOTEBOOK_FUNCTIONS),
    *_PURE_PACKAGES,
}
"""Imports that cannot fail where grading works. Any other import may fail, which the learner is told about, so it is
included in the form of every part of its program."""
_INTROSPECTION_BUILTINS = {
    *("eval", "exec", "compile", "locals", "globals", "vars", "dir"),
    *("getattr", "setattr", "delattr", "hasattr", "input", "open", "breakpoint", "help"),
}
"""Built-in functions that look at names, or at more than their arguments."""
_ESCAPE_ATTRIBUTES = {
    *("builtins", "sys", "os", "inspect", "importlib", "traceback", "linecache", "warnings", "operator"),
    *("gc", "types", "ctypes", "threading", "jit", "fx"),
    *("lineno", "tb_lineno", "tb_frame", "push", "ExitStack"),
}
"""Attributes through which a function could reach what `_INTROSPECTION_BUILTINS` forbids, e.g. `torch.sys`.

The list is not complete: it blocks the short ways."""
_HARMLESS = {"__class__", "__name__"}
"""Attributes that begin with `_` and are allowed all the same."""
_NEVER_PURE = (ast.ClassDef, ast.AsyncFunctionDef, ast.Await, ast.Match)
_BUILT_IN = {*dir(builtins)}
_SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass(frozen=True)
class Part:
    """The statements of a program that one exercise needs."""

    form: str
    """Canonical text, without comments, docstrings, layout and the names of local variables; parts with equal forms
    behave equally."""
    text: str
    """The part as a program of its own, each line at its original line number, other lines blank."""


def parts(text: str, exercises: Collection[str]) -> dict[str, Part] | None:
    """Return the part of each exercise whose part behaves the same alone as inside the program.

    Args:
        text: a program.
        exercises: names of the exercises to look up.

    Returns:
        Parts by exercise name, without the exercises that need something impure. None if the program does not parse or
        is not plain: nothing is then known about anything that runs in the same process.
    """
    try:
        body = parse(text)
        if not is_plain(body):
            return None
        program = _Program(text, body)
        found = {name: program.part(name) for name in exercises}
    except (ValueError, RecursionError, MemoryError):  # it does not parse, or has a number of 5,000 digits
        return None
    return {name: part for name, part in found.items() if part is not None}


class _Program:
    """A plain program, indexed by the names that its top-level statements bind.

    A statement is referred to by its *place*, its index among the top-level statements.
    """

    def __init__(self, text: str, body: Sequence[ast.stmt]) -> None:
        self._lines, self._body = tuple(text.split("\n")), tuple(body)
        self._imports: dict[str, tuple[str, int]] = {}
        """Imported name -> (dotted target, place of the first import)."""
        self._places: dict[str, int] = {}
        """Name bound by anything but an import -> place of its first binding."""
        self._bound_again: set[str] = set()
        """Names bound more than once, to different things."""
        for place, statement in enumerate(body):
            for name, target in imported(statement):
                if self._imports.setdefault(name, (target, place))[0] != target:
                    self._bound_again.add(name)
            for name in bindings(statement):
                if self._places.setdefault(name, place) != place:
                    self._bound_again.add(name)
        self._bound_again |= self._imports.keys() & self._places.keys()
        self._bound = self._imports.keys() | self._places.keys()
        self._functions = {s.name for s in body if isinstance(s, ast.FunctionDef)}
        self._doubtful_imports = sorted({*_doubtful_imports(body)})
        self._tree_for_forms = parse(text)
        """A second syntax tree: computing a form changes the tree, and `_body` must stay as it is."""
        self._needs: dict[int, frozenset[str] | None] = {}
        self._forms: dict[int, str] = {}

    def part(self, name: str) -> Part | None:
        """Return the part that `name` needs; None if something in it is not pure."""
        reached, order = {name}, [name]
        for needed in order:  # the list grows while it is iterated
            needs = self._needs_of(needed)
            if needs is None:
                return None
            order += sorted(needs - reached)
            reached |= needs
        imports = sorted(f"{n} = {self._imports[n][0]}" for n in order if n in self._imports)
        places = dict.fromkeys(self._places[n] for n in order if n in self._places)
        form = [*self._doubtful_imports, *imports, *map(self._form_at, places)]
        loaded = {p for p, s in enumerate(self._body) if isinstance(s, ast.Import | ast.ImportFrom)}
        block = Block(self._lines, self._body, frozenset())
        return Part("\n".join(form), "\n".join(keep_only(block, sorted(loaded | places.keys()))))

    def _needs_of(self, name: str) -> frozenset[str] | None:
        """Return the top-level names that `name` uses directly; None if `name` is not pure."""
        if name in self._bound_again or name not in self._bound:
            return None
        if name in self._imports:
            return frozenset() if _is_pure_import(self._imports[name][0]) else None
        place = self._places[name]
        if place not in self._needs:
            match self._body[place]:
                case ast.FunctionDef() as function:
                    self._needs[place] = self._needs_of_function(function, place)
                case ast.Assign(value=ast.expr() as value) | ast.AnnAssign(value=ast.expr() as value):
                    self._needs[place] = (
                        self._names_read_at_load([value], place) if _is_constant(value) else None
                    )
                case _:
                    self._needs[place] = None
        return self._needs[place]

    def _needs_of_function(self, function: ast.FunctionDef, place: int) -> frozenset[str] | None:
        """Return the top-level names that a function uses; None if it is not pure."""
        arguments = function.args
        own = {argument.arg for argument in arguments_of(arguments)} | _own_variables(function.body)
        nodes = [*ast.walk(function)]
        defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        if not (
            all(map(_is_constant, defaults))
            and all(self._is_pure(node, own) for node in nodes)
            and self._never_passes_functions_on(nodes)
        ):
            return None
        header = [*function.decorator_list, arguments, *([function.returns] if function.returns else [])]
        at_load = self._names_read_at_load(header, place)
        # A name may be local to a nested function and need nothing from the top level. It is counted all the same:
        # a part with too much in it is still right, a part with too little is not.
        named = _names(inner for statement in function.body for inner in ast.walk(statement)) - own
        if at_load is None or named - self._bound - _BUILT_IN - names_changed(nodes) - {
            *unrenamable_names(function)
        }:
            return None
        return at_load | (named & self._bound)

    def _names_read_at_load(self, nodes: Iterable[ast.AST], place: int) -> frozenset[str] | None:
        """Return the top-level names that `nodes` read while the statement at `place` is loaded.

        None if one of them is not bound before `place`: loading the statement would fail.
        """
        named = _names(inner for node in nodes for inner in ast.walk(node))
        needed = named & self._bound
        first = {n: self._imports[n][1] if n in self._imports else self._places[n] for n in needed}
        if named - self._bound - _BUILT_IN or any(at >= place for at in first.values()):
            return None
        return frozenset(needed)

    def _is_pure(self, node: ast.AST, own: Collection[str]) -> bool:
        """Return True if a node of a function behaves the same everywhere and keeps nothing from one call to the next.

        Args:
            node: any node of the function's tree.
            own: the function's arguments and local variables.
        """
        if isinstance(node, ast.Import | ast.ImportFrom):
            return all(_is_pure_import(target) for _, target in imported(node))
        if isinstance(node, ast.Name):
            return node.id not in _INTROSPECTION_BUILTINS and not node.id.startswith("__")
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            root = _root(node)  # `torch.calls = 1` would survive the call
            if isinstance(root, ast.Name) and root.id in self._bound and root.id not in own:
                return False
        if isinstance(node, ast.Attribute):
            return node.attr not in _ESCAPE_ATTRIBUTES and (
                not node.attr.startswith("_") or node.attr in _HARMLESS
            )
        return not isinstance(node, _NEVER_PURE)

    def _never_passes_functions_on(self, nodes: Sequence[ast.AST]) -> bool:
        """Return True if the program's functions are only called, neither passed on (`g = f`) nor written to."""
        called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
        return not any(
            isinstance(node, ast.Name) and node.id in self._functions and id(node) not in called
            for node in nodes
        )

    def _form_at(self, place: int) -> str:
        """Return the form of the statement at `place`."""
        if place not in self._forms:
            statement = self._tree_for_forms[place]
            if isinstance(statement, ast.FunctionDef):
                _Canonicalize(_renamable_variables(statement) - self._bound).visit(statement)
            self._forms[place] = ast.dump(statement)
        return self._forms[place]


def _doubtful_imports(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the imports that may fail, as text for the form."""
    for statement in body:
        for name, target in imported(statement):
            if target not in _SAFE_IMPORTS:
                yield f"{name} = {target}"
        if isinstance(statement, ast.Import):  # `import torch.x` binds `torch`
            yield from (alias.name for alias in statement.names if alias.name not in _SAFE_IMPORTS)


def _is_pure_import(target: str) -> bool:
    """Return True if a dotted target belongs to a pure package and leads nowhere else."""
    package, *path = target.split(".")
    return package in _PURE_PACKAGES and _ESCAPE_ATTRIBUTES.isdisjoint(path)


def _is_constant(value: ast.expr) -> bool:
    """Return True for an immutable value: a number, a string, `torch.float32`, or a tuple of such values."""
    if isinstance(value, ast.UnaryOp):
        return _is_constant(value.operand)
    if isinstance(value, ast.Tuple):
        return all(map(_is_constant, value.elts))
    if isinstance(value, ast.Attribute):
        return isinstance(value.value, ast.Name) and value.value.id in _PURE_PACKAGES
    return isinstance(value, ast.Constant)


def _root(node: ast.expr) -> ast.expr:
    """Return what a chain of attributes and subscripts starts from: `a` for `a.b[0].c`."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that occur among these nodes."""
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _own_variables(body: Iterable[ast.stmt]) -> set[str]:
    """Return the function's own local variables, which shadow top-level names; not those of nested scopes."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = [*body]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return names_changed(found)


def _renamable_variables(function: ast.FunctionDef) -> set[str]:
    """Return the variables that can be renamed without changing behaviour.

    Arguments are not among them, because a caller may pass them by keyword.
    """
    nodes = [*ast.walk(function)]
    if any(isinstance(node, ast.ExceptHandler) and node.name for node in nodes):
        return set()  # the text of a caught error may contain a variable's name
    return names_changed(nodes) - {*unrenamable_names(function)} - _BUILT_IN


class _Canonicalize(ast.NodeTransformer):
    """Remove from a function what does not run, and rename variables to `#0`, `#1` … in order of appearance."""

    def __init__(self, variables: Collection[str]) -> None:
        self._variables = variables
        self._numbers: dict[str, str] = {}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if node.id in self._variables:
            # `#` cannot occur in a real name.
            node.id = self._numbers.setdefault(node.id, f"#{len(self._numbers)}")
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Drop the annotation of a local variable: Python does not evaluate it inside a function."""
        if node.value is None or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        return self.generic_visit(ast.Assign([node.target], node.value))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.body = [statement for statement in node.body if not _does_nothing(statement)] or [ast.Pass()]
        return self.generic_visit(node)


def _does_nothing(statement: ast.stmt) -> bool:
    """Return True for `pass`, a docstring or another bare constant."""
    return isinstance(statement, ast.Pass) or is_constant(statement)
