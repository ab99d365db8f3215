"""Read where gradients that `torch.autograd.grad` gave without a graph are added to a loss as a penalty."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.scripts.places import Place
from grader.scripts.rules import _reading

_NUMBERS = ("item", "detach", "numpy", "tolist", "backward", "requires_grad_")
_LIBRARIES = ("torch", "F", "nn", "math")
_BINDING = (
    *(ast.Assign, ast.AnnAssign, ast.arguments, ast.AugAssign, ast.NamedExpr, ast.For, ast.AsyncFor),
    *(ast.comprehension, ast.withitem),
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True)
class _Known:
    """What is computed from a line's gradients and numbers alone."""

    names: set[str]
    numbers: frozenset[str]
    """Names that may be factors: settings."""
    functions: set[str] = field(default_factory=set)
    """Functions that return such a value."""

    def holds(self, value: ast.AST) -> bool:
        """Return True if an expression is so computed, and not of numbers alone."""
        return self._is_made(value) and any(
            (isinstance(one, ast.Name) and one.id in self.names) or _reading.called(one) in self.functions
            for one in ast.walk(value)
        )

    def is_term(self, value: ast.AST) -> bool:
        """Return True if an expression is a sum, one summand of which is so computed, alone or times a factor."""
        if not isinstance(value, ast.BinOp):
            return False
        if isinstance(value.op, ast.Div | ast.Mult):
            return self.is_term(value.left)
        sides = (value.left, value.right) if isinstance(value.op, ast.Add | ast.Sub) else ()
        return any(self.is_term(one) or self.holds(one) for one in sides)

    def _is_made(self, value: ast.AST) -> bool:
        if isinstance(value, ast.Name):
            return value.id in self.names
        if isinstance(value, ast.BinOp):
            factor = isinstance(value.op, ast.Mult | ast.Div)
            sides = (value.left, value.right)
            return all(self._is_made(one) or (factor and self._is_number(one)) for one in sides)
        if isinstance(value, ast.UnaryOp | ast.Subscript | ast.Starred):
            return self._is_made(value.operand if isinstance(value, ast.UnaryOp) else value.value)
        if isinstance(value, ast.Tuple | ast.List):
            return all(map(self._is_made, value.elts))
        if isinstance(value, ast.GeneratorExp | ast.ListComp) and len(value.generators) == 1:
            over = value.generators[0]
            inner = self.names | {one.id for one in ast.walk(over.target) if isinstance(one, ast.Name)}
            return self._is_made(over.iter) and _Known(inner, self.numbers, self.functions)._is_made(
                value.elt
            )
        return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and self._is_called(value))

    def _is_called(self, call: ast.Call) -> bool:
        """Return True for a method of such a value, a function of torch of such values, and a known function."""
        name = _reading.called(call)
        if name in self.functions:
            return True
        if name in _NUMBERS or not all(map(self._is_made, call.args)):
            return False
        if isinstance(call.func, ast.Attribute):
            owner = call.func.value
            library = isinstance(owner, ast.Name) and owner.id in _LIBRARIES
            return library or self._is_made(owner)
        return name in ("sum", "abs")

    def _is_number(self, value: ast.AST) -> bool:
        setting = isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name)
        return (setting and "loss" not in _reading.words(value)) or (
            isinstance(value, ast.Name) and value.id in self.numbers
        )


def is_penalty(taken: Place, backward: Place) -> bool:
    """Return True if a loss has a summand that is computed from nothing but the gradients of one line, and numbers."""
    known = _derived(taken)
    for expression in _reading.around(backward, ast.Expr)[:1]:
        for call in _reading.calls(expression, "backward"):
            root = call.func.value if isinstance(call.func, ast.Attribute) else call
            roots = {one.id for one in ast.walk(root) if isinstance(one, ast.Name)}
            if known.is_term(root) or any(map(known.is_term, _bound_to(backward, roots))):
                return True
    return False


def _scope(place: Place) -> ast.AST | None:
    inner = _reading.around(place, *_SCOPES)
    return inner[0] if inner else next(_reading.nodes(place.file, ast.Module), None)


def _bound_to(place: Place, names: set[str]) -> Iterator[ast.expr]:
    """Iterate over what is assigned or added to some names in the function of a line."""
    scope = _scope(place)
    for one in ast.walk(scope) if scope is not None else ():
        if isinstance(one, ast.Assign) and names & set(_reading.bound(one)):
            yield one.value
        elif isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name) and one.target.id in names:
            yield ast.BinOp(one.target, one.op, one.value)


def _derived(taken: Place) -> _Known:
    """Return the names computed from a line's gradients alone, and the function of the line, if it returns one."""
    made = next((one for one in _reading.around(taken, ast.Assign) if _reading.calls(one, "grad")), None)
    scope = _scope(taken)
    if made is None or scope is None:
        return _Known(set(), frozenset())
    known = _Known(set(_reading.bound(made)), _numbers(taken.file))
    found = [one for one in ast.walk(scope) if isinstance(one, ast.Assign | ast.Return)]
    for one in sorted(found, key=lambda one: one.lineno):
        if isinstance(one, ast.Return):
            if one.value is not None and known.holds(one.value):
                known.functions.add(getattr(scope, "name", ""))
        elif one is not made and one.lineno > taken.line:
            bound = set(_reading.bound(one))
            known.names = known.names | bound if known.holds(one.value) else known.names - bound
    return known


def _numbers(file: str) -> frozenset[str]:
    """Return the names that a file binds to numbers only, or takes as arguments with a number as default."""
    numbers: set[str] = set()
    others: set[str] = set()
    for one in _reading.nodes(file, *_BINDING):
        if isinstance(one, ast.arguments):
            given = [*one.posonlyargs, *one.args][-len(one.defaults) :] if one.defaults else []
            pairs = [
                *zip(given, one.defaults, strict=True),
                *zip(one.kwonlyargs, one.kw_defaults, strict=True),
            ]
            numbers |= {argument.arg for argument, value in pairs if isinstance(value, ast.Constant)}
        elif not isinstance(one, ast.Assign | ast.AnnAssign):
            target = one.optional_vars if isinstance(one, ast.withitem) else getattr(one, "target", None)
            others |= {name.id for name in ast.walk(target or one) if isinstance(name, ast.Name)}
        else:
            number = isinstance(getattr(one, "value", None), ast.Constant)
            (numbers if number else others).update(_reading.bound(one))
    return frozenset(numbers - others)
