"""Whether a program only imports and defines: loading it runs nothing of its own, and names stay what they are."""

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence

_DECORATORS = {
    *("torch.no_grad", "torch.no_grad()", "torch.inference_mode()", "torch.enable_grad()", "no_grad()"),
    *("staticmethod", "classmethod", "property", "contextmanager", "contextlib.contextmanager"),
    *("dataclass", "dataclasses.dataclass", "dataclass(frozen=True)", "dataclasses.dataclass(frozen=True)"),
}
_CALLS = {"field", "dataclasses.field"}
_LONGEST_RANGE = 1_000_000
_METHODS = {
    *("__init__", "__post_init__", "__call__", "__repr__", "__str__", "__len__", "__iter__", "__next__"),
    *("__enter__", "__exit__", "__eq__", "__getitem__", "__deepcopy__"),
}
"""Methods with such names that no class statement calls."""
_VALUES = (
    *(
        ast.Constant,
        ast.Name,
        ast.Attribute,
        ast.Subscript,
        ast.Slice,
        ast.Tuple,
        ast.List,
        ast.Dict,
        ast.Set,
    ),
    *(ast.UnaryOp, ast.unaryop, ast.BinOp, ast.BoolOp, ast.boolop, ast.Compare, ast.cmpop, ast.IfExp),
    *(ast.JoinedStr, ast.FormattedValue, ast.keyword, ast.expr_context),
    *(ast.Add, ast.Sub, ast.Div, ast.FloorDiv, ast.BitOr),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.comprehension),
)
"""No powers and no products: `9 ** 9 ** 9` is a constant too."""


def is_plain(body: Iterable[ast.stmt]) -> bool:
    """Whether these statements of a program's top level only import and define."""
    statements = [*body]
    asked = {name for s in statements for name, target in imported(s) if target.partition(".")[0] == "grader"}
    return all(_only_binds(statement, asked) for statement in statements) and not any(
        isinstance(node, ast.Global) for statement in statements for node in ast.walk(statement)
    )


def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Each name that an import binds, with what it stands for then: `F`, `torch.nn.functional`."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            root = alias.name.partition(".")[0]
            yield (alias.asname, alias.name) if alias.asname else (root, root)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}.{alias.name}"


def bindings(statement: ast.stmt) -> set[str]:
    """Names that another statement of a plain program binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    nodes = ast.walk(statement)
    return {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}


def _only_binds(statement: ast.stmt, asked: Collection[str]) -> bool:
    match statement:
        case ast.Expr(value):
            return isinstance(value, ast.Constant) or _asks_the_course(value, asked)
        case ast.ImportFrom(level=level, names=names):
            return not level and all(alias.name != "*" for alias in names)
        case ast.FunctionDef():
            return _defines(statement)
        case ast.ClassDef():
            return _defines_class(statement)
        case ast.If(test, body, orelse):
            return _is_value(test) and all(map(_assigns, (*body, *orelse)))
    return isinstance(statement, ast.Import) or _assigns(statement)


def _asks_the_course(value: ast.expr, asked: Collection[str]) -> bool:
    """`check(train_step)`, which does nothing while it is graded."""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Name)
        and value.func.id in asked
        and all(isinstance(argument, ast.Name | ast.Constant) for argument in value.args)
        and all(isinstance(keyword.value, ast.Constant) for keyword in value.keywords)
    )


def _assigns(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Pass):
        return True
    if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return False
    targets: Sequence[ast.expr] = (
        statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    )
    if isinstance(statement, ast.AugAssign) and not isinstance(statement.op, _VALUES):
        return False
    said = [statement.annotation] if isinstance(statement, ast.AnnAssign) else []
    value = [] if statement.value is None else [statement.value]
    return all(map(_is_name, targets)) and all(map(_is_value, (*said, *value)))


def _is_name(target: ast.expr) -> bool:
    """Whether it is a name or several, and no part of something: `torch.calls`."""
    return isinstance(target, ast.Name) or (isinstance(target, ast.Tuple) and all(map(_is_name, target.elts)))


def _defines(function: ast.FunctionDef) -> bool:
    arguments = function.args
    own = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    said = [argument.annotation for argument in own if argument is not None]
    values = [*said, function.returns, *arguments.defaults, *arguments.kw_defaults]
    return _is_decorated_plainly(function) and all(_is_value(value) for value in values if value is not None)


def _defines_class(cls: ast.ClassDef) -> bool:
    return (
        _is_decorated_plainly(cls)
        and not cls.keywords
        and all(map(_is_value, cls.bases))
        and all(map(_is_plain_member, cls.body))
    )


def _is_plain_member(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.FunctionDef):
        return _defines(statement) and (not statement.name.startswith("__") or statement.name in _METHODS)
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return _assigns(statement)


def _is_decorated_plainly(definition: ast.FunctionDef | ast.ClassDef) -> bool:
    return {ast.unparse(decorator) for decorator in definition.decorator_list} <= _DECORATORS


def _is_value(value: ast.expr) -> bool:
    """Whether to compute it runs nothing of the program's, and takes no time."""
    waiting: list[ast.AST] = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda):  # what is in it does not run
            waiting += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, _VALUES) or (isinstance(node, ast.Call) and _is_harmless(node)):
            waiting += ast.iter_child_nodes(node)
        else:
            return False
    return True


def _is_harmless(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name) and call.func.id == "range":
        numbers = [argument.value for argument in call.args if isinstance(argument, ast.Constant)]
        return len(numbers) == len(call.args) and all(
            isinstance(number, int) and number <= _LONGEST_RANGE for number in numbers
        )
    return ast.unparse(call.func) in _CALLS
