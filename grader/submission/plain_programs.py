"""Decide whether a program is *plain*: it only imports and defines.

Loading a plain program runs none of its own functions, and the library names in it mean what they say, so each function
can be looked at without the rest (see `exercise_parts`). The check is an allow-list: whatever is not known to be
harmless makes a program not plain, which costs only time.
"""

import ast
from collections.abc import Collection, Iterable, Iterator

from grader.submission.syntax import arguments_of, names_changed

_DECORATORS = {
    *("torch.no_grad", "torch.inference_mode", "torch.enable_grad", "no_grad"),
    *("staticmethod", "classmethod", "property", "contextmanager", "contextlib.contextmanager"),
    *("dataclass", "dataclasses.dataclass"),
}
"""Decorators that only wrap what they decorate."""
_CALLS = {"field", "dataclasses.field"}
"""Functions that may be called at top level, beside `range`."""
_BASES = {"object", "Exception", "ValueError", "RuntimeError", "Optimizer", "Dataset", "Module", "NamedTuple"}
"""Base classes that run nothing when a class is derived from them."""
_BASES_FROM = {"torch", "nn", "optim", "io"}
"""Modules whose classes are such bases too."""
_TRUSTED_LIBRARY_NAMES = {
    name.partition(".")[0] for name in (*_DECORATORS, *_CALLS, *_BASES, *_BASES_FROM, "range")
}
"""Names that the rules below trust to mean the library's object. A program that binds one of them itself is not
plain."""
_DUNDER_METHODS = {
    *("__init__", "__post_init__", "__call__", "__repr__", "__str__", "__len__", "__iter__", "__next__"),
    *("__enter__", "__exit__", "__eq__", "__getitem__", "__deepcopy__"),
}
"""Dunder methods that do not run while a class with one of the allowed bases is defined. (With other bases some do: the
class statement of an `Enum` calls `__init__`.)"""
_ALLOWED_NODES = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.UnaryOp, ast.unaryop),
    *(ast.Tuple, ast.List, ast.Dict, ast.Set, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp),
    *(ast.JoinedStr, ast.FormattedValue, ast.keyword, ast.expr_context),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
)
"""Nodes that may be in a value that is computed at top level; some others are allowed under conditions."""
_OPERATORS = (ast.Sub, ast.Div, ast.FloorDiv, ast.BitOr)
"""Operators allowed at top level. Not powers and products: `9 ** 9 ** 9` is a constant too, and never ends."""
_SUMMANDS = (ast.Constant, ast.JoinedStr, ast.UnaryOp, ast.BinOp, ast.Attribute)
"""Operands allowed in a sum. Not names: `a = b + b` thirty times over fills the memory."""
_MAX_RANGE = 1_000
"""Largest bound of a `range` at top level, so that a loop over it takes no noticeable time."""


def is_plain(body: Iterable[ast.stmt]) -> bool:
    """Return True if the top-level statements of a program only import and define."""
    statements = [*body]
    own = {name for statement in statements for name in bindings(statement)}
    course = {name for s in statements for name, target in imported(s) if target.startswith("grader.")}
    return (
        own.isdisjoint(_TRUSTED_LIBRARY_NAMES)
        and all(_is_plain(statement, course, own) for statement in statements)
        and not any(isinstance(node, ast.Global) for statement in statements for node in ast.walk(statement))
    )


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield each name that an import binds with its dotted target: `("F", "torch.nn.functional")`.

    Nothing for a node that is not an import.
    """
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}.{alias.name}"


def bindings(statement: ast.stmt) -> set[str]:
    """Return the names that a statement of a plain program binds, except by importing."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    return names_changed(ast.walk(statement))


def _is_plain(statement: ast.stmt, course: Collection[str], own: Collection[str]) -> bool:
    """Return True if one top-level statement is plain.

    Args:
        statement: the statement.
        course: names that the program imported from `grader` (`check` and the like).
        own: names that the program binds.
    """
    match statement:
        case ast.Expr(value):
            return isinstance(value, ast.Constant) or _is_course_call(value, course)
        case ast.ImportFrom(level=level, names=names):
            return not level and all(alias.name != "*" for alias in names)
        case ast.FunctionDef():
            return _is_plain_function(statement)
        case ast.ClassDef():
            return _is_plain_class(statement, own)
        case ast.If(test, body, orelse):
            return _is_value(test) and all(map(_assigns, (*body, *orelse)))
    return isinstance(statement, ast.Import) or _assigns(statement)


def _is_course_call(value: ast.expr, course: Collection[str]) -> bool:
    """Return True for a call such as `check(train_step)` below an exercise: it does nothing while a class is graded."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in course
        and all(isinstance(argument, ast.Name | ast.Constant) for argument in value.args)
        and all(isinstance(keyword.value, ast.Constant) for keyword in value.keywords)
    )


def _assigns(statement: ast.stmt) -> bool:
    """Return True for an assignment of plain values to plain names, and for `pass`."""
    match statement:
        case ast.Pass():
            return True
        case ast.Assign(targets, value):
            return all(map(_is_name, targets)) and _is_value(value)
        case ast.AnnAssign(target, annotation, value):
            return _is_name(target) and _is_value(annotation) and (value is None or _is_value(value))
        case ast.AugAssign(target, operator, value):
            return _is_name(target) and _is_cheap_operation(operator, value) and _is_value(value)
    return False


def _is_name(target: ast.expr) -> bool:
    """Return True for a name or a tuple of names; False for a part of an object, such as `torch.calls`."""
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_is_name, target.elts)))


def _is_plain_function(function: ast.FunctionDef) -> bool:
    """Return True if a function's decorators, annotations and defaults are plain; its body does not run at load."""
    arguments = function.args
    annotations = [argument.annotation for argument in arguments_of(arguments)]
    values = [*annotations, function.returns, *arguments.defaults, *arguments.kw_defaults]
    return all(map(_is_plain_decorator, function.decorator_list)) and all(
        _is_value(value) for value in values if value is not None
    )


def _is_plain_class(cls: ast.ClassDef, own: Collection[str]) -> bool:
    """Return True if the bases, decorators and members of a class are plain."""
    bases = {_dotted(base) for base in cls.bases}
    return (
        not cls.keywords
        and all(base in _BASES or base in own or base.partition(".")[0] in _BASES_FROM for base in bases)
        and all(map(_is_plain_decorator, cls.decorator_list))
        and all(map(_is_plain_member, cls.body))
    )


def _is_plain_member(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef):
        name = statement.name
        return _is_plain_function(statement) and (not name.startswith("__") or name in _DUNDER_METHODS)
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return _assigns(statement)


def _is_plain_decorator(decorator: ast.expr) -> bool:
    """Return True for a known decorator with constant arguments: `@torch.no_grad()`, `@dataclass(frozen=True)`."""
    if isinstance(decorator, ast.Call):
        said = [*decorator.args, *(keyword.value for keyword in decorator.keywords)]
        fixed = all(isinstance(value, ast.Constant) for value in said)
        return fixed and _dotted(decorator.func) in _DECORATORS
    return _dotted(decorator) in _DECORATORS


def _dotted(node: ast.expr) -> str:
    """Return a chain of names as text (`torch.nn.Module`); empty for any other expression."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def _is_value(value: ast.expr) -> bool:
    """Return True if computing the expression runs none of the program's code and is quick: at most one short loop."""
    loops = 0
    waiting: list[ast.AST] = [value]
    while waiting:
        node = waiting.pop()
        loops += isinstance(node, ast.comprehension)
        if isinstance(node, ast.Lambda):  # its defaults are computed now, its body is not
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.BinOp) and _is_cheap_operation(node.op, node.left, node.right):
            waiting += [node.left, node.right]
        elif isinstance(node, _ALLOWED_NODES) or (isinstance(node, ast.Call) and _is_allowed_call(node)):
            waiting += ast.iter_child_nodes(node)
        else:
            return False
    return loops <= 1


def _is_cheap_operation(operator: ast.operator, *values: ast.expr) -> bool:
    """Return True for cheap operations: `0.5 + 1`, `best - worst`, and `Tensor | None` in an annotation."""
    return isinstance(operator, _OPERATORS) or (
        isinstance(operator, ast.Add) and all(isinstance(value, _SUMMANDS) for value in values)
    )


def _is_allowed_call(call: ast.Call) -> bool:
    """Return True for `field(...)` and for a `range` with small constant bounds."""
    name = _dotted(call.func)
    if name != "range":
        return name in _CALLS
    ends = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
    return len(ends) == len(call.args) and all(isinstance(n, int) and n <= _MAX_RANGE for n in ends)
