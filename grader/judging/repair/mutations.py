"""Propose what the learner may have meant to write instead of a single expression.

For `i < n` the proposals are `i <= n`, `i > n` and `i >= n`, because beginners confuse these. Of the solution, only its
constants and divisors are used (`EditMaterial`). `expression_edits` drafts an edit for each proposal. A new slip goes
into the `_other_…` function of its kind of expression, or into `mutations` itself if it is one line.

The numbers in the functions below are extra costs (`Mutation.extra_cost`).
"""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

from grader.judging.repair.edit_drafts import Kind
from grader.judging.repair.edit_material import EditMaterial

_OTHER_COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE, ast.Eq),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt, ast.Eq),
    ast.Eq: (ast.NotEq, ast.GtE, ast.Gt),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
"""Comparison operators that may have been meant instead, the likeliest first."""
_OTHER_OPERATORS: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div,),
}
"""Arithmetic operators that may have been meant instead, the likeliest first."""
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
"""Functions and methods that may have been meant instead, the likeliest first."""
_SAME_VALUE_METHODS = ("item", "detach", "float", "double", "clone", "cpu")
"""Methods that return the same value in another form: a call of one may be superfluous."""


class Mutation(NamedTuple):
    """An expression that the learner may have meant."""

    extra_cost: float
    """What to add to the cost of a usual slip (`expression_edits`); negative for the likeliest."""
    kind: Kind
    expression: ast.expr


def mutations(node: ast.expr, material: EditMaterial) -> Iterator[Mutation]:
    """Yield the expressions that the learner may have meant instead of `node`.

    Do not modify them, because they share nodes with the learner's tree and with one another.

    Args:
        node: an expression of the learner's.
        material: what the proposals may use besides the parts of `node`.
    """
    if isinstance(node, ast.Compare):
        yield from _other_comparisons(node, material)
    elif isinstance(node, ast.BinOp):
        yield from _other_calculations(node, material)
    elif isinstance(node, ast.BoolOp):
        yield from _other_conditions(node)
    elif isinstance(node, ast.UnaryOp):
        yield Mutation(0.3, "condition" if isinstance(node.op, ast.Not) else "operator", node.operand)
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)
    elif isinstance(node, ast.Constant):
        yield from _other_constants(node, material)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield from _other_names(node, material)
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield from _other_slices(node, node.slice)
    elif isinstance(node, ast.IfExp):
        yield Mutation(0.8, "no-condition", node.body)
        yield Mutation(0.8, "no-condition", node.orelse)


def other_operators(operator: ast.operator) -> list[ast.operator]:
    """Return the arithmetic operators that may have been meant instead of this one, the likeliest first."""
    return [other() for other in _OTHER_OPERATORS.get(type(operator), ())]


def _other_comparisons(node: ast.Compare, material: EditMaterial) -> Iterator[Mutation]:
    """Yield other comparison operators, and a condition that holds in the last round too (`_or_at_the_end`)."""
    for index, operator in enumerate(node.ops):
        for rank, other in enumerate(_OTHER_COMPARISONS.get(type(operator), ())):
            changed = copy.deepcopy(node)
            changed.ops[index] = other()
            yield Mutation(0.1 + 0.3 * rank, "compare", changed)
    yield from _or_at_the_end(node, material)


def _or_at_the_end(node: ast.Compare, material: EditMaterial) -> Iterator[Mutation]:
    """Yield `(i + 1) % k == 0 or i + 1 == n` for `(i + 1) % k == 0`, which forgets a last group shorter than `k`."""
    remainder = node.left
    if isinstance(remainder, ast.BinOp) and isinstance(remainder.op, ast.Mod):
        for rank, loop_length in enumerate(material.loop_lengths):
            is_last = ast.Compare(remainder.left, [ast.Eq()], [loop_length])
            yield Mutation(0.1 + 0.2 * rank, "condition", ast.BoolOp(ast.Or(), [node, is_last]))


def _other_calculations(node: ast.BinOp, material: EditMaterial) -> Iterator[Mutation]:
    """Yield each operand alone, other operators, `b - a` for `a - b`, `b / a` for `a / b`, other groups and divisors.

    The divisor of a quotient is not yielded alone: the division may be superfluous, but hardly the dividend.
    """
    divides = isinstance(node.op, ast.Div | ast.FloorDiv)
    kind: Kind = "divisor" if divides else "operator"
    yield Mutation(0.1 if divides else 0.4, kind, node.left)
    if not divides:
        yield Mutation(0.6, "operator", node.right)
    for rank, other in enumerate(other_operators(node.op)):
        yield Mutation(0.5 + 0.3 * rank, "operator", ast.BinOp(node.left, other, node.right))
    if isinstance(node.op, ast.Sub | ast.Div):
        yield Mutation(0.9, kind, ast.BinOp(node.right, node.op, node.left))
    yield from _regrouped(node)
    if divides:
        for rank, divisor in enumerate(material.divisors):
            yield Mutation(0.1 + 0.15 * rank, "divisor", ast.BinOp(node.left, node.op, divisor))


def _regrouped(node: ast.BinOp) -> Iterator[Mutation]:
    """Yield `a / c + b` and `a + b / c` for `(a + b) / c`, and the same with `-` for `+` and `*` for `/`."""
    inner = node.left
    outer_is_product = isinstance(node.op, ast.Mult | ast.Div)
    if not (outer_is_product and isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Add | ast.Sub)):
        return
    first = ast.BinOp(inner.left, node.op, node.right)
    last = ast.BinOp(inner.right, node.op, node.right)
    yield Mutation(0.4, "operator", ast.BinOp(first, inner.op, inner.right))
    yield Mutation(0.6, "operator", ast.BinOp(inner.left, inner.op, last))


def _other_conditions(node: ast.BoolOp) -> Iterator[Mutation]:
    """Yield `a and b` without each of its parts, and with `or` for `and`, or the reverse."""
    for index in range(len(node.values)):
        rest = node.values[:index] + node.values[index + 1 :]
        yield Mutation(0.2, "condition", rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield Mutation(0.4, "condition", ast.BoolOp(other, node.values))


def _other_calls(node: ast.Call) -> Iterator[Mutation]:
    """Yield other functions, the value without a conversion, neighbouring arguments swapped, and one keyword less."""
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


def _other_constants(node: ast.Constant, material: EditMaterial) -> Iterator[Mutation]:
    """Yield the other boolean; for a number one more, one less, and the solution's numbers, except negative ones."""
    value = node.value
    if isinstance(value, bool):
        yield Mutation(0.1, "value", ast.Constant(not value))
    elif isinstance(value, int | float):
        # A bool is an `int` too, and as a key `True` would take the place of 1.
        solution_numbers = [
            c.value
            for c in material.solution_constants
            if isinstance(c.value, int | float) and not isinstance(c.value, bool)
        ]
        others = dict.fromkeys([value + 1, value - 1, *solution_numbers])  # each number once
        # A negative number is not one constant, but a minus before one.
        for rank, other in enumerate(o for o in others if o != value and o >= 0):
            yield Mutation(0.5 + 0.2 * rank, "value", ast.Constant(other))


def _other_names(node: ast.Name, material: EditMaterial) -> Iterator[Mutation]:
    """Yield `self.n`, `n + 1` and `n - 1`, and names that resemble `n` or are used like it.

    `self.n` is yielded only where there is no plain `n` (`EditMaterial.is_attribute_only`), `n + 1` and `n - 1` only if
    `n` looks like a number.
    """
    if material.is_attribute_only(node):
        yield Mutation(-2.0, "name", ast.Attribute(ast.Name("self", ast.Load()), node.id, ast.Load()))
    if node.id in material.numeric_names:
        one_more = ast.BinOp(ast.Name(node.id, ast.Load()), ast.Add(), ast.Constant(1))
        yield Mutation(0.6, "off-by-one", one_more)
        yield Mutation(0.9, "off-by-one", ast.BinOp(one_more.left, ast.Sub(), ast.Constant(1)))
    for rank, (extra_cost, other) in enumerate(material.similar_names(node)):
        yield Mutation(extra_cost + 0.1 * rank, "name", ast.Name(other, ast.Load()))
    for rank, other in enumerate(material.names_used_alike.get(node.id, ())):
        yield Mutation(0.8 + 0.1 * rank, "name", ast.Name(other, ast.Load()))


def _other_slices(node: ast.Subscript, part: ast.Slice) -> Iterator[Mutation]:
    """Yield `xs`, `xs[i : i + n]`, `xs[i : n + 1]` and `xs[i : n - 1]` for `xs[i:n]`.

    For `xs[i:]` only `xs` is yielded; for `xs[:n]` all but `xs[i : i + n]`.
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
