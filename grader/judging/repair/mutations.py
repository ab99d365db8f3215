"""Mutate single expressions as beginners get them wrong in any program, whatever the solution has.

`expression_edits` tries these on every expression of the learner's definition.
"""

import ast
import copy
from collections.abc import Iterator

from grader.judging.repair.edit_candidates import Kind
from grader.judging.repair.names_in_reach import Scope

_OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq, ast.GtE, ast.Gt),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""Comparison operators that may be meant instead, the likeliest first."""
_OTHER_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div,),
}
"""Arithmetic operators that may be meant instead, the likeliest first."""
_OTHER_FUNCTIONS = {
    "train": ("eval",),
    "eval": ("train",),
    "add_": ("sub_",),
    "sub_": ("add_",),
    "mul_": ("div_",),
    "div_": ("mul_",),
    "sum": ("mean", "norm"),
    "mean": ("sum",),
    "norm": ("sum",),
    "ceil": ("floor",),
    "floor": ("ceil",),
    "max": ("min",),
    "min": ("max",),
    "int": ("round",),
}
"""Functions and methods that may be meant instead, by name."""


def mutations(node: ast.expr, scope: Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield what an expression may be meant to be, each as (cost, kind, expression).

    The cost is added to the usual one; the lower, the likelier.
    """
    if isinstance(node, ast.Compare):
        yield from _other_comparisons(node, scope)
    elif isinstance(node, ast.BinOp):
        yield from _other_calculations(node, scope)
    elif isinstance(node, ast.BoolOp):
        for index in range(len(node.values)):
            rest = node.values[:index] + node.values[index + 1 :]
            yield 0.2, "condition", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
        yield (
            0.4,
            "condition",
            ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values),
        )
    elif isinstance(node, ast.UnaryOp):
        yield 0.3, "operator", node.operand
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node, scope)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _other_names(node, scope)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield 0.8, "expression", node.value
        yield from _other_slices(node, node.slice)
    elif isinstance(node, ast.IfExp):
        yield 0.8, "no-condition", node.body
        yield 0.8, "no-condition", node.orelse


def _other_names(node: ast.Name, scope: Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield the name plus or minus one if it is a number, and other names that are like it."""
    if node.id in scope.numbers:
        plus = ast.BinOp(ast.Name(node.id, ast.Load()), ast.Add(), ast.Constant(1))
        yield 0.6, "off-by-one", plus
        yield 0.9, "off-by-one", ast.BinOp(plus.left, ast.Sub(), ast.Constant(1))
    for number, (extra, other) in enumerate(scope.siblings(node)):
        yield extra + 0.1 * number, "name", ast.Name(other, ast.Load())
    for number, other in enumerate(scope.groups.get(node.id, ())):
        yield 0.8 + 0.1 * number, "name", ast.Name(other, ast.Load())


def _other_slices(node: ast.Subscript, part: ast.Slice) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield `xs[i : i + n]` for `xs[i:n]`, and slices that end one later or one earlier."""
    if part.upper is None:
        return
    ends = [ast.BinOp(part.upper, op, ast.Constant(1)) for op in (ast.Add(), ast.Sub())]
    if part.lower is not None:
        ends.insert(0, ast.BinOp(part.lower, ast.Add(), part.upper))
    for number, upper in enumerate(ends):
        changed = ast.Slice(part.lower, upper, part.step)
        yield (
            0.2 + 0.2 * number,
            "off-by-one" if number else "expression",
            ast.Subscript(node.value, changed, node.ctx),
        )


def _other_comparisons(node: ast.Compare, scope: Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield other comparison operators, and an additional condition for the end of the loop."""
    for index, operator in enumerate(node.ops):
        for number, other in enumerate(_OTHER_COMPARISONS.get(type(operator), ())):
            changed = copy.deepcopy(node)
            changed.ops[index] = other()
            yield 0.1 + 0.3 * number, "compare", changed
    yield from _or_at_the_end(node, scope)


def _or_at_the_end(node: ast.Compare, scope: Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield `(i + 1) % k == 0 or i + 1 == n` for `(i + 1) % k == 0`: the last round counts, too."""
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
        for number, count in enumerate(scope.lengths):
            end = ast.Compare(left.left, [ast.Eq()], [count])
            yield 0.1 + 0.2 * number, "condition", ast.BoolOp(ast.Or(), [node, end])


def _other_calculations(node: ast.BinOp, scope: Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield one operand alone, other operators, swapped operands, and other divisors."""
    quotient = isinstance(node.op, ast.Div | ast.FloorDiv)
    kind: Kind = "divisor" if quotient else "operator"
    yield 0.1 if quotient else 0.4, kind, node.left
    if not quotient:
        yield 0.6, "operator", node.right
    for number, other in enumerate(_OTHER_OPERATORS.get(type(node.op), ())):
        yield 0.5 + 0.3 * number, kind, ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.Sub | ast.Div):
        yield 0.9, kind, ast.BinOp(node.right, node.op, node.left)
    if quotient:
        for number, divisor in enumerate(scope.divisors):
            yield 0.1 + 0.15 * number, "divisor", ast.BinOp(node.left, node.op, divisor)


def _other_calls(node: ast.Call) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield other functions, the object without a conversion, and fewer or swapped arguments."""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else None
    name = method or (node.func.id if isinstance(node.func, ast.Name) else "")
    for other in _OTHER_FUNCTIONS.get(name, ()):
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = other
        elif isinstance(changed.func, ast.Name):
            changed.func.id = other
        yield 0.3, "method", changed
    if isinstance(node.func, ast.Attribute) and method in (
        "item",
        "detach",
        "float",
        "double",
        "clone",
        "cpu",
    ):
        yield 0.3, "tensor-or-number", node.func.value
    if name in ("float", "int") and len(node.args) == 1:
        yield 0.5, "tensor-or-number", node.args[0]
    for index in range(len(node.args) - 1):
        changed = copy.deepcopy(node)
        changed.args[index : index + 2] = reversed(changed.args[index : index + 2])
        yield 0.5, "argument-order", changed
    for index in range(len(node.keywords)):
        changed = copy.deepcopy(node)
        del changed.keywords[index]
        yield 0.4, "argument", changed


def _other_constants(node: ast.Constant, scope: Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Yield the other boolean, or numbers near by and those that the solution has; none below 0."""
    value = node.value
    if isinstance(value, bool):
        yield 0.1, "value", ast.Constant(not value)
    elif isinstance(value, int | float):
        near = [c.value for c in scope.constants if isinstance(c.value, int | float)]
        others = dict.fromkeys([*(type(value)(value + d) for d in (1, -1)), *near])
        for number, other in enumerate(
            o for o in others if o != value and not isinstance(o, bool) and o >= 0
        ):
            yield 0.5 + 0.2 * number, "value", ast.Constant(other)
