"""Draft edits of expressions, and whole statements rewritten: what the solution has differently, and usual slips.

For each of the learner's statements there are three sources of drafts:

- the solution's statement for the same step, in the learner's names (`translated_solution`); where there is none, the
  solution's statements without a counterpart: those for whose step the learner seems to have no statement;
- something that the solution has around an equal expression, as `round(…)` around `total * ratio`;
- usual slips: `mutations` of each expression, and edits of the statement's whole value, such as `/ n` or `.item()`
  after it.

Example: the learner has `loss = loss_fn(out, yb) / n`, the solution `loss = loss_fn(out, yb) / len(xb)`. The first
source puts `len(xb)` in the place of `n`, at little more than `_DIFFERENCE_COST` (see `Draft.cost`). From the third
come `loss_fn(out, yb)` without the division, other divisors, and in a loop `loss += …`, each at about `_SLIP_COST`.

`small_edits` calls `expression_drafts`. A slip in any expression is added in `mutations`, one of a statement's whole
value in `_whole_value_edits`; what comes from the solution gets its kind from `edit_kinds.kind_of`.
"""

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.judging.repair.definition_text import DefinitionText, Statement
from grader.judging.repair.differing_pairs import (
    COMPREHENSION,
    differing_pairs,
    is_respelling,
    parts_that_run,
)
from grader.judging.repair.edit_drafts import Draft, Kind
from grader.judging.repair.edit_kinds import kind_of, kind_of_rewrite
from grader.judging.repair.edit_material import EditMaterial, is_quotient
from grader.judging.repair.mutations import mutations, other_operators
from grader.judging.repair.places import is_of_use_in
from grader.judging.repair.translated_solution import (
    EnclosingExpression,
    TranslatedSolution,
    TranslatedStatement,
)
from grader.judging.variables import variable_name
from grader.submission.syntax import is_compound, own_parts

_DIFFERENCE_COST = 1.0
"""Cost of taking an expression from the solution's statement for the same step."""
_ENCLOSING_COST = 1.6
"""Cost of putting around an expression what the solution has around the same expression."""
_WHOLE_STATEMENT_COST = 2.2
"""Cost of taking the solution's statement for the same step as a whole; more is added the less alike the two are."""
_NO_COUNTERPART_COST = 3.0
"""Cost of taking a statement of the solution for whose step the learner seems to have none."""
_NOT_CALLED_COST = 0.2
"""Cost of calling a method that stands alone without `()`; such a line does nothing, so it is certainly a mistake."""
_SLIP_COST = 3.0
"""Cost of a usual slip, before what is added for its kind."""
_SAME_WORDS_COST = 1.5
"""Added cost of a usual slip in a statement that has the solution's words, and so is probably right."""
_COST_PER_NODE = 0.04
"""Added cost for each node of the new expression's syntax tree, so that the smaller of two changes is tried first. Of a
larger expression that the solution has around the same one, only the nodes that are expressions count."""
_COST_PER_PAIR = 0.25
"""Added cost for each differing pair of expressions before this one (`differing_pairs`)."""
_COST_PER_VERSION = 1.0
"""Added cost for each version of the solution's statement before this one."""
_ASSIGNMENT_BONUS = 0.05
"""Subtracted if the value of a variable is changed where it is assigned: a tutor would point there."""
_UNALIKE_COST = 2.0
"""Added cost of taking the solution's whole statement, multiplied by how unlike (0 to 1) the learner's is."""

# What is added to the cost of a usual slip, or subtracted, for an edit of a statement's whole value.
_NEGATION_COST = 0.6
"""Added if a condition is negated."""
_DIVISOR_COST = 0.3
"""Added if the value is divided or multiplied by a divisor."""
_COST_PER_DIVISOR = 0.15
"""Added for each divisor that is tried before this one."""
_INTERMEDIATE_DIVISOR_COST = 0.6
"""Added if the statement is an assignment: what is summed or returned needs a divisor more often."""
_UNREAD_DIVISOR_BONUS = 2.0
"""Subtracted for a count that is computed and never read: most likely, it is a forgotten divisor."""
_PRODUCT_COST = 0.2
"""Added further if the value is multiplied."""
_AS_NUMBER_COST = 0.2
"""Added if `.item()` is put after a value that is summed, returned or passed on, which should often be a number."""
_ASSIGNED_AS_NUMBER_COST = 0.9
"""Added if `.item()` is put after a value that is only assigned."""
_EXTRA_COST_AS = {"item": 0.0, "detach": 0.3, "clone": 0.6}
"""Added further, by the method."""
_PLAIN_ASSIGNMENT_COST = 0.4
"""Added if `x += …` becomes `x = …`."""
_OTHER_OPERATOR_COST = 0.5
"""Added if `x += …` becomes `x -= …`, or gets another operator that may have been meant."""
_COST_PER_OPERATOR = 0.3
"""Added for each such operator that is tried before this one."""
_ADDING_COST = 0.6
"""Added if `x = …` in a loop becomes `x += …`."""
_LOST_SUM_BONUS = 1.6
"""Subtracted instead, if each round overwrites the value of the round before, which nothing in the loop reads."""

_COLLECTION = ast.Tuple | ast.List | ast.Set | ast.Dict | COMPREHENSION
"""Expressions that `ast.unparse` puts in brackets; a tuple and a generator, in parentheses."""
_NO_PARENTHESES_NEEDED = (
    ast.Name | ast.Attribute | ast.Constant | ast.JoinedStr | ast.Call | ast.Subscript | _COLLECTION
)
"""Expressions that need no more parentheses inside another expression."""
_METHODS_ABOUT_A_VALUE = ("backward", "append", "add_", "sub_", "mul_")
"""Methods whose first argument is the value that the statement is about; of `backward()` without one, the receiver."""
_RETURNS_PLAIN_NUMBERS = re.compile(r"float|int|len|.*\.(item|tolist)", re.DOTALL)
"""Matches the code of a function or method that returns plain numbers. (`.float()` returns a tensor.)"""


def expression_drafts(definition: DefinitionText, solution: TranslatedSolution) -> Iterator[Draft]:
    """Yield all edits of expressions, and statements rewritten.

    Args:
        definition: the learner's function or class, or a helper that it calls.
        solution: the solution in the learner's names.
    """
    material = EditMaterial(definition, solution)
    for statement in definition.statements:
        translated = solution.by_counterpart.get(statement)
        if translated is None:
            yield from _from_statements_without_counterpart(definition, solution, statement)
        elif not _is_respelt_simple_statement(translated.versions[0], statement.node):
            yield from _from_translated(definition, translated, statement)
        has_same_words = translated is not None and translated.likeness == 1.0
        slip_cost = _SLIP_COST + _SAME_WORDS_COST * has_same_words
        for node, is_function_name in _expressions(statement):
            if not is_function_name:
                for slip in mutations(node, material):
                    cost = slip_cost + slip.extra_cost
                    yield _replacement_draft(definition, node, slip.expression, cost, slip.kind)
            for enclosing in _enclosing_in_solution(node, statement, solution):
                cost = _ENCLOSING_COST + _COST_PER_NODE * enclosing.size
                yield _replacement_draft(definition, node, enclosing.expression, cost, "expression")
        yield from _whole_value_edits(definition, statement, material, slip_cost)


def _is_respelt_simple_statement(one: ast.stmt, other: ast.stmt) -> bool:
    """Return True if two simple statements are equal but for spelling; always False for a compound one."""
    return not is_compound(other) and is_respelling(one, other)


class _Expression(NamedTuple):
    """An expression in a statement of the learner's."""

    node: ast.expr
    is_function_name: bool
    """True for `len` in `len(xs)`, which hardly stands there for another variable."""


def _expressions(statement: Statement) -> Iterator[_Expression]:
    """Yield the expressions of a statement, without those of its body, of annotations, and of f-strings.

    Annotations change nothing; in f-strings, positions are not reliable.
    """
    for part in parts_that_run(statement.node):
        nodes = list(ast.walk(part))
        called = [n.func for n in nodes if isinstance(n, ast.Call)]
        left_out = {
            inner for n in nodes if isinstance(n, ast.JoinedStr | ast.arg) for inner in ast.walk(n)
        }  # an `arg` has only its annotation inside
        for node in nodes:
            if isinstance(node, ast.expr) and node not in left_out:
                yield _Expression(node, isinstance(node, ast.Name) and node in called)


# ---- from the solution -----------------------------------------------------------------------------


def _from_translated(
    definition: DefinitionText, translated: TranslatedStatement, statement: Statement
) -> Iterator[Draft]:
    """Yield the statement with one expression of `translated`, the solution's statement for the same step, put in.

    If the replaced expression is a variable that is assigned only once, also yield that assignment with the solution's
    expression as its value. In the place of a simple statement, also yield `translated` as a whole.
    """
    for version_index, version in enumerate(translated.versions):
        for pair_index, (old, new) in enumerate(differing_pairs(statement.node, version)):
            size = sum(1 for _ in ast.walk(new))
            cost = _DIFFERENCE_COST + _COST_PER_PAIR * pair_index + _COST_PER_NODE * size
            cost += _COST_PER_VERSION * version_index
            yield _replacement_draft(definition, old, new, cost, kind_of(old, new, statement))
            assignment = definition.sole_assignments.get(old.id) if isinstance(old, ast.Name) else None
            if assignment is not None:
                kind = kind_of(assignment.value, new, assignment.statement)
                yield _replacement_draft(definition, assignment.value, new, cost - _ASSIGNMENT_BONUS, kind)
        if not is_compound(statement.node) and statement.has_own_lines:
            cost = _WHOLE_STATEMENT_COST + _UNALIKE_COST * (1 - translated.likeness)
            cost += _COST_PER_VERSION * version_index
            yield _rewrite_draft(definition, statement, version, cost, kind_of_rewrite(statement, version))


def _from_statements_without_counterpart(
    definition: DefinitionText, solution: TranslatedSolution, statement: Statement
) -> Iterator[Draft]:
    """Yield, in the place of a simple statement, each of the solution's that has its type and no counterpart.

    None is taken from another method. Of an `if`, only the condition is replaced; other compound statements stay.
    """
    for translated in solution.statements:
        if translated.counterpart is not None:
            continue
        if not is_of_use_in(statement.block.method, translated, definition):
            continue
        version = translated.versions[0]
        if type(version) is type(statement.node) and not is_compound(version):
            if statement.has_own_lines:
                kind = kind_of_rewrite(statement, version)
                yield _rewrite_draft(definition, statement, version, _NO_COUNTERPART_COST, kind)
        elif isinstance(version, ast.If) and isinstance(statement.node, ast.If):
            test = statement.node.test
            yield _replacement_draft(definition, test, version.test, _NO_COUNTERPART_COST, "condition")


def _enclosing_in_solution(
    node: ast.expr, statement: Statement, solution: TranslatedSolution
) -> Iterator[EnclosingExpression]:
    """Yield the larger expressions that the solution has around an expression equal to `node`.

    Those that the statement has already are left out: `loss_fn(out, yb).item()` would become `….item().item()`.
    """
    if not isinstance(node, ast.BinOp | ast.Call):
        return
    if found := solution.enclosing_expressions.get(ast.dump(node), ()):
        written = {ast.dump(n) for part in own_parts(statement.node) for n in ast.walk(part)}
        yield from (enclosing for enclosing in found if ast.dump(enclosing.expression) not in written)


# ---- around a whole value --------------------------------------------------------------------------


def _whole_value_edits(
    definition: DefinitionText, statement: Statement, material: EditMaterial, slip_cost: float
) -> Iterator[Draft]:
    """Yield edits of a statement's value as a whole: called, divided, multiplied, detached or made a number.

    Also yield the condition of an `if` or `assert` negated, unless `mutations` do, and other assignments
    (`_other_assignment`).

    Args:
        definition: the learner's function or class.
        statement: one of its statements.
        material: what the edits may use.
        slip_cost: cost of a usual slip in this statement.
    """
    node = statement.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute):
        call = ast.Call(node.value, [], [])
        yield _replacement_draft(definition, node.value, call, _NOT_CALLED_COST, "not-called")
    for value in _whole_values(node):
        if not isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Lambda):
            yield from _quotients_and_products(definition, node, value, material, slip_cost)
            yield from _as_number_or_copy(definition, node, value, slip_cost)
    test = getattr(node, "test", None)
    if isinstance(test, ast.expr) and not isinstance(node, ast.While) and not _is_negated_by_mutation(test):
        yield _replacement_draft(
            definition, test, ast.UnaryOp(ast.Not(), test), slip_cost + _NEGATION_COST, "condition"
        )
    yield from _other_assignment(definition, statement, slip_cost)


def _is_negated_by_mutation(test: ast.expr) -> bool:
    """Return True if the opposite of a condition is among its `mutations`: `z` for `not z`, `a >= b` for `a < b`."""
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    return isinstance(test, ast.Compare) and len(test.ops) == 1


def _whole_values(node: ast.stmt) -> list[ast.expr]:
    """Return the values that a statement assigns, returns or passes on; empty if there are none.

    For a returned tuple these are its entries. For a statement with calls of `_METHODS_ABOUT_A_VALUE` it is the value
    that the innermost such call is about: `loss` for `loss.backward()`, `accelerator.backward(loss)` and
    `losses.append(loss)`.
    """
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        return node.value.elts
    passed = [
        [call.func.value] if call.func.attr == "backward" and not call.args else call.args[:1]
        for part in own_parts(node)
        for call in ast.walk(part)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _METHODS_ABOUT_A_VALUE
    ]
    if passed:
        return passed[-1]
    value = getattr(node, "value", None)
    return [value] if isinstance(value, ast.expr) and not isinstance(node, ast.Expr) else []


def _quotients_and_products(
    definition: DefinitionText, node: ast.stmt, value: ast.expr, material: EditMaterial, slip_cost: float
) -> Iterator[Draft]:
    """Yield the statement with its value divided or multiplied by each of the divisors in `material`.

    Nothing for an annotated assignment, or for a compound statement.
    """
    if not isinstance(node, ast.AugAssign | ast.Assign | ast.Return | ast.Expr):
        return
    for index, divisor in enumerate(material.divisors):
        is_unread = isinstance(divisor, ast.Name) and divisor.id in material.unread_names
        extra = _DIVISOR_COST + _COST_PER_DIVISOR * index
        extra += _INTERMEDIATE_DIVISOR_COST * isinstance(node, ast.Assign)
        extra -= _UNREAD_DIVISOR_BONUS * is_unread
        quotient = ast.BinOp(value, ast.Div(), divisor)
        kind: Kind = "divisor" if is_quotient(value) else "undivided"
        yield _replacement_draft(definition, value, quotient, slip_cost + extra, kind)
        product = ast.BinOp(value, ast.Mult(), divisor)
        yield _replacement_draft(definition, value, product, slip_cost + extra + _PRODUCT_COST, "operator")


def _as_number_or_copy(
    definition: DefinitionText, node: ast.stmt, value: ast.expr, slip_cost: float
) -> Iterator[Draft]:
    """Yield the statement with `.item()`, `.detach()` or `.clone()` after its value, if that is no number already."""
    if isinstance(value, ast.Call) and _RETURNS_PLAIN_NUMBERS.fullmatch(ast.unparse(value.func)):
        return
    is_only_assigned = isinstance(node, ast.Assign | ast.AnnAssign) and value is node.value
    for name in ("item", "detach", "clone"):
        called = ast.Call(ast.Attribute(value, name, ast.Load()), [], [])
        extra = _ASSIGNED_AS_NUMBER_COST if is_only_assigned else _AS_NUMBER_COST
        extra += _EXTRA_COST_AS[name]
        kind: Kind = "copied" if name == "clone" else "tensor-or-number"
        yield _replacement_draft(definition, value, called, slip_cost + extra, kind)


def _other_assignment(definition: DefinitionText, statement: Statement, slip_cost: float) -> Iterator[Draft]:
    """Yield `x = …` and `x -= …` for `x += …`, and in a loop `x += …` for `x = …` with no other target.

    Which operators may have been meant instead of another, `mutations.other_operators` says.
    """
    node = statement.node
    if not statement.has_own_lines:
        return
    if isinstance(node, ast.AugAssign):
        plain = ast.fix_missing_locations(ast.Assign([node.target], node.value))
        yield _rewrite_draft(definition, statement, plain, slip_cost + _PLAIN_ASSIGNMENT_COST, "operator")
        for rank, operator in enumerate(other_operators(node.op)):
            changed = ast.fix_missing_locations(ast.AugAssign(node.target, operator, node.value))
            cost = slip_cost + _OTHER_OPERATOR_COST + _COST_PER_OPERATOR * rank
            yield _rewrite_draft(definition, statement, changed, cost, "operator")
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and statement.block.loop_depth:
        target = node.targets[0]
        if isinstance(target, ast.Name | ast.Attribute) and variable_name(target) is not None:
            added = ast.fix_missing_locations(ast.AugAssign(target, ast.Add(), node.value))
            extra = -_LOST_SUM_BONUS if _loses_sum(definition, statement, target) else _ADDING_COST
            yield _rewrite_draft(definition, statement, added, slip_cost + extra, "operator")


def _loses_sum(definition: DefinitionText, statement: Statement, target: ast.expr) -> bool:
    """Return True if the target occurs only here in the innermost loop, and in an assignment above it in fewer loops.

    Then each round overwrites it and nothing in the loop reads it, so `total = loss` probably means `total += loss`.
    """
    name = variable_name(target)
    loops = [n for n in ast.walk(definition.node) if isinstance(n, ast.For | ast.While)]
    loops_around = [
        n for n in loops if n.lineno < statement.first_line and statement.last_line <= (n.end_lineno or 0)
    ]
    if not loops_around:
        return False
    # `walk` goes level by level, so the last loop around the statement is the innermost.
    uses_in_loop = [n for n in ast.walk(loops_around[-1]) if variable_name(n) == name]
    assignments_before = (
        s.node
        for s in definition.statements
        if s.block.loop_depth < statement.block.loop_depth
        and s.last_line < statement.first_line
        and isinstance(s.node, ast.Assign)
    )
    names_before = {variable_name(n) for assignment in assignments_before for n in ast.walk(assignment)}
    return len(uses_in_loop) == 1 and name in names_before


# ---- from a new node to a draft --------------------------------------------------------------------


def _replacement_draft(
    definition: DefinitionText, old: ast.expr, new: ast.expr, cost: float, kind: Kind
) -> Draft:
    """Return a draft that puts `new` in the place of `old`, in parentheses where they may be needed."""
    text = ast.unparse(new)
    before = definition.text_before(old)
    if isinstance(old, ast.GeneratorExp) and re.search(r"[\w)\]]$", before):
        # The only argument of a call, as in `sum(x for x in xs)`: it is parsed with the parentheses of the call.
        text = text if isinstance(new, ast.GeneratorExp) else f"({text})"
    elif isinstance(new, ast.Tuple) and re.search(r"\bfor\s*$", before):
        text = text.removeprefix("(").removesuffix(")")
    elif not isinstance(new, _NO_PARENTHESES_NEEDED) and not _is_delimited(definition, old):
        text = f"({text})"
    change = definition.replacement(old, text)
    return Draft(cost, kind, change.start, change.end, change.lines, old.lineno)


def _is_delimited(definition: DefinitionText, node: ast.expr) -> bool:
    """Return True if any other expression may stand in the place of this one without parentheses.

    That is so after `(`, `[`, a comma, a colon, a `=`, `return`, `if` or `while`, if a closing bracket, a comma, a
    colon or the end of the statement follows.
    """
    before = definition.text_before(node).rstrip()
    after = definition.code_after(node)
    opened = before.endswith(("(", "[", ",", ":", "=", "return", "if", "while"))
    compared = before.endswith(("==", "!=", "<=", ">="))
    closed = not after or after.startswith((")", "]", ",", ":"))
    return opened and not compared and closed


def _rewrite_draft(
    definition: DefinitionText, statement: Statement, node: ast.stmt, cost: float, kind: Kind
) -> Draft:
    """Return a draft that replaces the whole statement by `node`."""
    lines = [statement.block.indent + line for line in ast.unparse(node).split("\n")]
    start, end = statement.first_line - 1, statement.last_line
    return Draft(cost, kind, start, end, lines, statement.first_line, changed_code="\n".join(lines))
