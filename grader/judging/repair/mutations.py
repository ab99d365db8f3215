"""Propose what a single expression of the learner's may have been meant to be.

For `i < n` the proposals are `i <= n`, `i > n` and `i >= n`: slips that beginners make in any program. Of the solution
only the constants and the divisors are used (`Scope`). `expression_edits` tries the proposals on every expression of
the learner's definition.
"""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

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
"""Name of a function or method -> the functions and methods that may be meant instead, the likeliest first."""
_SAME_VALUE_METHODS = ("item", "detach", "float", "double", "clone", "cpu")
"""Methods that return the same value in another form: a call of one may be superfluous."""


class Mutation(NamedTuple):
    """An expression that may have been meant."""

    extra_cost: float
    """Added to the usual cost of an edit, by which edits are tried in order; negative for the likeliest."""
    kind: Kind
    expression: ast.expr


def mutations(node: ast.expr, scope: Scope) -> Iterator[Mutation]:
    """Yield the expressions that may have been meant instead of `node`. Do not modify them: they share nodes."""
    if isinstance(node, ast.Compare):
        yield from _other_comparisons(node, scope)
    elif isinstance(node, ast.BinOp):
        yield from _other_calculations(node, scope)
    elif isinstance(node, ast.BoolOp):
        yield from _other_conditions(node)
    elif isinstance(node, ast.UnaryOp):
        yield Mutation(0.3, "condition" if isinstance(node.op, ast.Not) else "operator", node.operand)
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node, scope)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _other_names(node, scope)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield from _other_slices(node, node.slice)
    elif isinstance(node, ast.IfExp):
        yield Mutation(0.8, "no-condition", node.body)
        yield Mutation(0.8, "no-condition", node.orelse)


def _other_conditions(node: ast.BoolOp) -> Iterator[Mutation]:
    """Yield `a and b` without each of its parts, and with `or` for `and`, or the reverse."""
    for index in range(len(node.values)):
        rest = node.values[:index] + node.values[index + 1 :]
        yield Mutation(0.2, "condition", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield Mutation(0.4, "condition", ast.BoolOp(other, node.values))


def _other_names(node: ast.Name, scope: Scope) -> Iterator[Mutation]:
    """Yield `n + 1` and `n - 1` if `n` holds a number, and names that share a word with `n` or are used like it."""
    if node.id in scope.numbers:
        plus = ast.BinOp(ast.Name(node.id, ast.Load()), ast.Add(), ast.Constant(1))
        yield Mutation(0.6, "off-by-one", plus)
        yield Mutation(0.9, "off-by-one", ast.BinOp(plus.left, ast.Sub(), ast.Constant(1)))
    for rank, (extra_cost, other) in enumerate(scope.siblings(node)):
        yield Mutation(extra_cost + 0.1 * rank, "name", ast.Name(other, ast.Load()))
    for rank, other in enumerate(scope.groups.get(node.id, ())):
        yield Mutation(0.8 + 0.1 * rank, "name", ast.Name(other, ast.Load()))


def _other_slices(node: ast.Subscript, part: ast.Slice) -> Iterator[Mutation]:
    """Yield `xs`, `xs[i : i + n]`, `xs[i : n + 1]` and `xs[i : n - 1]` for `xs[i:n]`.

    Without an `n` only `xs`; without an `i` all but `xs[i : i + n]`.
    """
    yield Mutation(0.8, "expression", node.value)
    if part.upper is None:
        return
    ends: list[tuple[Kind, ast.expr]] = []
    if part.lower is not None:
        ends.append(("expression", ast.BinOp(part.lower, ast.Add(), part.upper)))
    ends.append(("off-by-one", ast.BinOp(part.upper, ast.Add(), ast.Constant(1))))
    ends.append(("off-by-one", ast.BinOp(part.upper, ast.Sub(), ast.Constant(1))))
    for rank, (kind, upper) in enumerate(ends):
        changed = ast.Slice(part.lower, upper, part.step)
        yield Mutation(0.2 + 0.2 * rank, kind, ast.Subscript(node.value, changed, node.ctx))


def _other_comparisons(node: ast.Compare, scope: Scope) -> Iterator[Mutation]:
    """Yield other comparison operators, and an additional condition for the end of the loop."""
    for index, operator in enumerate(node.ops):
        for rank, other in enumerate(_OTHER_COMPARISONS.get(type(operator), ())):
            changed = copy.deepcopy(node)
            changed.ops[index] = other()
            yield Mutation(0.1 + 0.3 * rank, "compare", changed)
    yield from _or_at_the_end(node, scope)


def _or_at_the_end(node: ast.Compare, scope: Scope) -> Iterator[Mutation]:
    """Yield `(i + 1) % k == 0 or i + 1 == n` for `(i + 1) % k == 0`, which forgets the last round of the loop."""
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
        for rank, rounds in enumerate(scope.lengths):
            end = ast.Compare(left.left, [ast.Eq()], [rounds])
            yield Mutation(0.1 + 0.2 * rank, "condition", ast.BoolOp(ast.Or(), [node, end]))


def _other_calculations(node: ast.BinOp, scope: Scope) -> Iterator[Mutation]:
    """Yield one operand alone, other operators, `b - a` for `a - b`, and other divisors.

    Of a quotient only the dividend is yielded alone: the division may be superfluous, but hardly the dividend.
    """
    divides = isinstance(node.op, ast.Div | ast.FloorDiv)
    kind: Kind = "divisor" if divides else "operator"
    yield Mutation(0.1 if divides else 0.4, kind, node.left)
    if not divides:
        yield Mutation(0.6, "operator", node.right)
    for rank, other in enumerate(_OTHER_OPERATORS.get(type(node.op), ())):
        yield Mutation(0.5 + 0.3 * rank, kind, ast.BinOp(node.left, other(), node.right))
    if isinstance(node.op, ast.Sub | ast.Div):
        yield Mutation(0.9, kind, ast.BinOp(node.right, node.op, node.left))
    if divides:
        for rank, divisor in enumerate(scope.divisors):
            yield Mutation(0.1 + 0.15 * rank, "divisor", ast.BinOp(node.left, node.op, divisor))


def _other_calls(node: ast.Call) -> Iterator[Mutation]:
    """Yield other functions, the converted value itself, two neighbouring arguments swapped, and one keyword less."""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else None
    name = method or (node.func.id if isinstance(node.func, ast.Name) else "")
    for other in _OTHER_FUNCTIONS.get(name, ()):
        changed = copy.deepcopy(node)
        if isinstance(changed.func, ast.Attribute):
            changed.func.attr = other
        elif isinstance(changed.func, ast.Name):
            changed.func.id = other
        yield Mutation(0.3, "method", changed)
    if isinstance(node.func, ast.Attribute) and method in _SAME_VALUE_METHODS:
        yield Mutation(0.3, "tensor-or-number", node.func.value)
    if name in ("float", "int") and len(node.args) == 1:
        yield Mutation(0.5, "tensor-or-number", node.args[0])
    for index in range(len(node.args) - 1):
        changed = copy.deepcopy(node)
        changed.args[index : index + 2] = reversed(changed.args[index : index + 2])
        yield Mutation(0.5, "argument-order", changed)
    for index in range(len(node.keywords)):
        changed = copy.deepcopy(node)
        del changed.keywords[index]
        yield Mutation(0.4, "argument", changed)


def _other_constants(node: ast.Constant, scope: Scope) -> Iterator[Mutation]:
    """Yield the other boolean; for a number one more, one less, and the solution's numbers, except negative ones."""
    value = node.value
    if isinstance(value, bool):
        yield Mutation(0.1, "value", ast.Constant(not value))
    elif isinstance(value, int | float):
        of_solution = [c.value for c in scope.constants if isinstance(c.value, int | float)]
        others = dict.fromkeys([value + 1, value - 1, *of_solution])
        for rank, other in enumerate(o for o in others if o != value and not isinstance(o, bool) and o >= 0):
            yield Mutation(0.5 + 0.2 * rank, "value", ast.Constant(other))
