"""Tell which kind of edit it is to put something of the solution into a statement of the learner's.

`expression_edits` asks for each edit that it takes from the solution. Usual slips know their kind without it.

Example: the learner has `loss / n`, the solution `loss / len(xb)`. To put `len(xb)` in the place of `n` is of the kind
"divisor", and so is putting the whole quotient in the place of the other.
"""

import ast

from grader.judging.repair.definition_text import Statement
from grader.judging.repair.edit_drafts import Kind
from grader.judging.repair.edit_material import is_quotient
from grader.judging.variables import variable_name


def kind_of(old: ast.expr, new: ast.expr, statement: Statement) -> Kind:
    """Return the kind that a learner is told if `old`, an expression in the statement, becomes `new`.

    Several kinds may fit; the first in the order below, and in the two functions that go on with it, is returned. If
    edits of a new kind (`edit_drafts.Kind`) can put something of the solution in the place of an expression, the kind
    needs a branch here.
    """
    kind: Kind
    if isinstance(old, ast.Call) and ast.dump(new) in [ast.dump(argument) for argument in old.args]:
        kind = "wrapped"
    elif isinstance(new, ast.Call) and ast.dump(new.func) == ast.dump(old):
        kind = "not-called"
    elif _is_negative_of(old, new) or _is_negative_of(new, old):
        kind = "sign"
    elif isinstance(old, ast.Constant) and isinstance(new, ast.Constant):
        kind = "value"
    elif variable_name(old) is not None and variable_name(new) is not None:
        kind = "name"
    else:
        kind = _kind_of_calculation(old, new, statement) or _kind_of_position(old, new, statement)
    return kind


def _kind_of_calculation(old: ast.expr, new: ast.expr, statement: Statement) -> Kind | None:
    """Return the kind if `new` calculates or compares in another way than `old`; None if it does not."""
    if _has_another_operator(old, new):
        return "operator"
    if is_quotient(old) and is_quotient(new) and ast.dump(old.right) == ast.dump(new.right):
        return kind_of(old.left, new.left, statement)
    if is_quotient(old) or _is_divisor(old, statement):
        return "divisor"
    if is_quotient(new):
        return "undivided"
    if (
        isinstance(old, ast.Compare)
        and isinstance(new, ast.Compare)
        and type(old.ops[0]) is not type(new.ops[0])
    ):
        return "compare"
    return None


def _kind_of_position(old: ast.expr, new: ast.expr, statement: Statement) -> Kind:
    """Return the kind if only the statement, and where `old` stands in it, tells what changes."""
    node = statement.node
    kind: Kind = "expression"
    if isinstance(node, ast.If | ast.While):
        kind = "condition"
    elif isinstance(old, ast.Call) and isinstance(new, ast.Call):
        kind = _kind_of_call(old, new, statement)
    elif any(isinstance(call, ast.Call) and call.func is old for call in ast.walk(node)):
        kind = "method"
    elif isinstance(node, ast.Return):
        kind = "returned"
    elif isinstance(node, ast.Assign) and old is node.value:
        kind = "assigned" if all(isinstance(target, ast.Name) for target in node.targets) else kind
    return kind


def _kind_of_call(old: ast.Call, new: ast.Call, statement: Statement) -> Kind:
    """Return the kind for two calls: for `(x / 2).backward()` and `x.backward()`, that of the receivers."""
    if ast.dump(old.func) == ast.dump(new.func):
        return "argument"
    if (
        isinstance(old.func, ast.Attribute)
        and isinstance(new.func, ast.Attribute)
        and old.func.attr == new.func.attr
        and [*map(ast.dump, old.args)] == [*map(ast.dump, new.args)]
    ):
        return kind_of(old.func.value, new.func.value, statement)
    return "method"


def kind_of_rewrite(statement: Statement, new: ast.stmt) -> Kind:
    """Return the kind that a learner is told if the whole statement becomes `new`."""
    old = statement.node
    if isinstance(old, ast.Assign) and isinstance(new, ast.Assign):
        same_targets = [*map(ast.dump, old.targets)] == [*map(ast.dump, new.targets)]
        return kind_of(old.value, new.value, statement) if same_targets else "expression"
    if isinstance(old, ast.AugAssign) and isinstance(new, ast.AugAssign | ast.Assign):
        return _kind_of_other_assignment(statement, old, new)
    if isinstance(old, ast.Assign) and isinstance(new, ast.AugAssign):
        return _kind_of_other_assignment(statement, new, old)
    if isinstance(old, ast.Return) and isinstance(new, ast.Return):
        return kind_of(old.value, new.value, statement) if old.value and new.value else "returned"
    if isinstance(old, ast.Expr) and isinstance(new, ast.Expr):
        return kind_of(old.value, new.value, statement)
    return "expression"


def _kind_of_other_assignment(
    statement: Statement, one: ast.AugAssign, other: ast.AugAssign | ast.Assign
) -> Kind:
    """Return the kind if one of these becomes the other: "operator" for `x += y` and `x = y` or `x -= y`.

    Args:
        statement: the learner's statement, which is one of the two.
        one: an assignment with an operator.
        other: an assignment with or without one.
    """
    targets = other.targets if isinstance(other, ast.Assign) else [other.target]
    if [*map(ast.dump, targets)] != [ast.dump(one.target)]:
        return "expression"
    if isinstance(other, ast.AugAssign) and type(one.op) is type(other.op):
        return kind_of(one.value, other.value, statement)
    return "operator" if ast.dump(one.value) == ast.dump(other.value) else "expression"


def _is_negative_of(one: ast.expr, other: ast.expr) -> bool:
    """Return True if the one expression is the other with a minus before it."""
    return (
        isinstance(one, ast.UnaryOp)
        and isinstance(one.op, ast.USub)
        and ast.dump(one.operand) == ast.dump(other)
    )


def _has_another_operator(old: ast.expr, new: ast.expr) -> bool:
    """Return True for calculations with the same left operand and different operators, as `a * b` and `a / b`."""
    return (
        isinstance(old, ast.BinOp)
        and isinstance(new, ast.BinOp)
        and type(old.op) is not type(new.op)
        and ast.dump(old.left) == ast.dump(new.left)
    )


def _is_divisor(node: ast.expr, statement: Statement) -> bool:
    """Return True if something in the statement is divided by this node with `/`."""
    return any(is_quotient(part) and part.right is node for part in ast.walk(statement.node))
