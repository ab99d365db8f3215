"""Draft edits inside lines: what the solution's statement for the same step has differently, and usual slips.

A donor is a statement of the solution in the learner's names; its partner is the learner's statement for the same step
(`solution_statements`). For each of the learner's statements there are four sources: the expressions in which the
statement's donor differs (`_from_donor`), or, without a donor, a donor of the same kind that has no partner
(`_from_unpaired_donors`); something that the solution has around the same expression (`_enclosing_in_solution`); and
edits that do not depend on the donor (`mutations`, `_whole_value_edits`). Each draft has a cost, the lower the
likelier; the small numbers added to it put the drafts of one source in order.
"""

import ast
from collections.abc import Iterator

from grader.judging.repair.definition import DefinitionText, Statement
from grader.judging.repair.edit_candidates import Draft, Kind
from grader.judging.repair.mutations import mutations
from grader.judging.repair.names_in_reach import Scope, is_quotient
from grader.judging.repair.solution_statements import Donors, header_text
from grader.judging.variable_roles import variable_name
from grader.submission.syntax import is_compound, own_parts

_SIMPLE = ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript
"""Expressions that need no parentheses inside another expression."""
_COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
"""Expressions with a `for` inside."""
_USUAL_COST = 3.0
"""Cost of a usual slip, before what is added for each slip."""
_SAME_WORDS = 1.5
"""Added cost of a usual slip in a statement that has the same words as its donor, and so is probably right."""
_PASS_A_VALUE = ("backward", "append", "add_", "sub_", "mul_")
"""Methods whose receiver (`backward`) or first argument (the others) is the value that the statement is about."""


def expression_drafts(definition: DefinitionText, donors: Donors) -> Iterator[Draft]:
    """Yield all edits inside lines."""
    scope = Scope(definition, donors)
    for statement in definition.statements:
        donor = donors.partners.get(statement)
        same_words = donor is not None and donor.likeness == 1.0
        if donor is None:
            yield from _from_unpaired_donors(definition, donors, statement)
        elif header_text(donor.versions[0]) != header_text(statement.node) or is_compound(statement.node):
            yield from _from_donor(definition, donors, statement)
        cost = _USUAL_COST + _SAME_WORDS * same_words
        for part in own_parts(statement.node):
            functions = [n.func for n in ast.walk(part) if isinstance(n, ast.Call)]
            for node in ast.walk(part):
                if isinstance(node, ast.expr) and not _in_f_string(part, node):
                    if not (isinstance(node, ast.Name) and node in functions):
                        for extra_cost, kind, new in mutations(node, scope):
                            yield _replaced(definition, node, new, cost + extra_cost, kind)
                    for size, new in _enclosing_in_solution(node, donors):
                        yield _replaced(definition, node, new, 1.6 + 0.04 * size, "expression")
        yield from _whole_value_edits(definition, statement, scope, cost)


def _in_f_string(part: ast.AST, node: ast.expr) -> bool:
    """Return True if the expression is inside an f-string, whose parts have no reliable positions."""
    return any(
        node is inner
        for text in ast.walk(part)
        if isinstance(text, ast.JoinedStr)
        for inner in ast.walk(text)
    )


def _from_donor(definition: DefinitionText, donors: Donors, statement: Statement) -> Iterator[Draft]:
    """Yield the statement with one expression taken from its donor, and the statement as its donor has it.

    If the replaced expression is a variable that is assigned once, also yield that assignment with the donor's
    expression as value.
    """
    donor = donors.partners[statement]
    for version_index, version in enumerate(donor.versions):
        for pair_index, (old, new) in enumerate(_differing(statement.node, version)):
            size = sum(1 for _ in ast.walk(new))
            cost = 1.0 + 0.25 * pair_index + 0.04 * size + 1.0 * version_index
            if isinstance(old, ast.expr) and isinstance(new, ast.expr):
                yield _replaced(definition, old, new, cost, _kind_of(old, new, statement))
                assignment = definition.sole_assignments.get(old.id) if isinstance(old, ast.Name) else None
                if assignment is not None:  # a tutor would point at where the variable gets its value
                    kind = _kind_of(assignment.value, new, statement)
                    yield _replaced(definition, assignment.value, new, cost - 0.05, kind)
        if not is_compound(statement.node) and statement.alone:
            yield _rewritten(definition, statement, version, 2.2 + 2 * (1 - donor.likeness) + version_index)


def _from_unpaired_donors(
    definition: DefinitionText, donors: Donors, statement: Statement
) -> Iterator[Draft]:
    """Yield the statement as each donor of its kind that has no partner; of an `if`, only the condition is replaced."""
    for donor in donors.donors:
        version = donor.versions[0]
        if donor.partner is None and type(version) is type(statement.node) and not is_compound(version):
            if statement.alone:
                yield _rewritten(definition, statement, version, 3.0)
        elif donor.partner is None and isinstance(version, ast.If) and isinstance(statement.node, ast.If):
            yield _replaced(definition, statement.node.test, version.test, 3.0, "condition")


def _enclosing_in_solution(node: ast.expr, donors: Donors) -> Iterator[tuple[int, ast.expr]]:
    """Yield the larger expressions that the solution has around the same expression, with their number of parts."""
    if not isinstance(node, ast.BinOp | ast.Call):
        return
    yield from donors.around_expressions.get(ast.dump(node), ())


def _differing(old: ast.AST, new: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Yield pairs of expressions in which two trees differ, each after the pairs inside it."""
    if ast.dump(old) == ast.dump(new) or _same_last_name(old, new) or isinstance(old, ast.JoinedStr):
        return
    ours, others = _children(old), _children(new)
    if type(old) is type(new) and len(ours) == len(others):
        for left, right in zip(ours, others, strict=True):
            yield from _differing(left, right)
    elif isinstance(old, ast.stmt) and isinstance(new, ast.stmt):
        left_value, right_value = getattr(old, "value", None), getattr(new, "value", None)
        if isinstance(left_value, ast.AST) and isinstance(right_value, ast.AST):
            yield from _differing(left_value, right_value)
    elif isinstance(old, _COMPREHENSION) and isinstance(new, _COMPREHENSION):
        # A list and a dict are not the same, but may be made from the same things.
        for left, right in zip(_walked_by(old), _walked_by(new), strict=False):
            yield from _differing(left, right)
    else:  # `old` may be what `new` is, with something around it
        for child in ours:
            if others and type(child) is type(new) and len(_children(child)) == len(others):
                yield from _differing(child, new)
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        yield old, new


def _same_last_name(old: ast.AST, new: ast.AST) -> bool:
    """Return True for a plain and a dotted name that end alike: `clip_grad_norm_`, `torch.nn.utils.clip_grad_norm_`."""
    last = [
        n.attr if isinstance(n, ast.Attribute) else n.id if isinstance(n, ast.Name) else ""
        for n in (old, new)
    ]
    return type(old) is not type(new) and last[0] == last[1] != ""


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the expressions directly inside a node, without a compound statement's body.

    Keyword arguments and comprehensions count as the expressions in them. Operators are left out: if they differ, the
    node around them is what differs.
    """
    if isinstance(node, ast.stmt):
        return [n for n in own_parts(node) if isinstance(n, ast.expr | ast.withitem | ast.arguments)]
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword | ast.comprehension | ast.withitem):
            found += _children(child)
        elif isinstance(child, ast.expr | ast.arguments):
            found.append(child)
    return found


def _walked_by(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[ast.AST]:
    """Return the targets, iterables and conditions of a comprehension."""
    return [part for generator in node.generators for part in _children(generator)]


def _kind_of(old: ast.expr, new: ast.expr, statement: Statement) -> Kind:
    """Return the kind that a learner is told if `old` becomes `new`."""
    kind: Kind = "expression"
    if isinstance(old, ast.Call) and ast.dump(new) in [ast.dump(argument) for argument in old.args]:
        kind = "wrapped"
    elif isinstance(old, ast.Constant) and isinstance(new, ast.Constant):
        kind = "value"
    elif isinstance(old, ast.Name) and isinstance(new, ast.Name):
        kind = "name"
    elif is_quotient(new) or is_quotient(old):
        kind = "divisor"
    elif (
        isinstance(old, ast.Compare)
        and isinstance(new, ast.Compare)
        and type(old.ops[0]) is not type(new.ops[0])
    ):
        kind = "compare"
    elif isinstance(statement.node, ast.If | ast.While):
        kind = "condition"
    elif isinstance(old, ast.Call) and isinstance(new, ast.Call):
        kind = "argument" if ast.dump(old.func) == ast.dump(new.func) else "method"
    elif isinstance(statement.node, ast.Return):
        kind = "returned"
    return kind


# ---- around a whole value -----------------------------------------------------------------------------


def _whole_value_edits(
    definition: DefinitionText, statement: Statement, scope: Scope, cost: float
) -> Iterator[Draft]:
    """Yield edits of a statement's value as a whole: called, divided, multiplied, detached or made a number.

    Also yield its condition negated, and `=` made `+=` or the reverse.
    """
    node = statement.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute):
        yield _replaced(definition, node.value, ast.Call(node.value, [], []), 0.2, "not-called")
    for value in _whole_values(node):
        if not isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Lambda):
            yield from _divided_or_multiplied(definition, node, value, scope, cost)
            yield from _number_or_detached(definition, node, value, cost)
    test = getattr(node, "test", None)
    if isinstance(test, ast.expr) and not isinstance(node, ast.While):
        yield _replaced(definition, test, ast.UnaryOp(ast.Not(), test), cost + 0.6, "condition")
    yield from _other_assignment(definition, statement, cost)


def _whole_values(node: ast.stmt) -> list[ast.expr]:
    """Return the values that a statement assigns, returns or passes on.

    These are the entries of a returned tuple; else the tensor of `backward`, or the first argument of calls such as
    `append`; else the assigned or returned value.
    """
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        return node.value.elts
    passed = [
        [call.func.value] if call.func.attr == "backward" else call.args[:1]
        for part in own_parts(node)
        for call in ast.walk(part)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _PASS_A_VALUE
    ]
    if passed:
        return passed[-1]
    value = getattr(node, "value", None)
    return [value] if isinstance(value, ast.expr) and not isinstance(node, ast.Expr) else []


def _divided_or_multiplied(
    definition: DefinitionText, node: ast.stmt, value: ast.expr, scope: Scope, cost: float
) -> Iterator[Draft]:
    """Yield the statement with its value divided, and multiplied, by each of the scope's divisors."""
    if not isinstance(node, ast.AugAssign | ast.Assign | ast.Return | ast.Expr):
        return
    for index, divisor in enumerate(scope.divisors):
        extra = 0.3 + 0.15 * index + 0.6 * isinstance(node, ast.Assign)
        # A count that is computed and never read is most likely a forgotten divisor.
        extra -= 2.0 * (isinstance(divisor, ast.Name) and divisor.id in scope.unused)
        yield _replaced(definition, value, ast.BinOp(value, ast.Div(), divisor), cost + extra, "divisor")
        product = ast.BinOp(value, ast.Mult(), divisor)
        yield _replaced(definition, value, product, cost + extra + 0.2, "operator")


def _number_or_detached(
    definition: DefinitionText, node: ast.stmt, value: ast.expr, cost: float
) -> Iterator[Draft]:
    """Yield the statement with `.item()` and with `.detach()` after its value."""
    # What is summed, returned or passed on should be a number more often than what is assigned.
    assigned = not isinstance(node, ast.AugAssign | ast.Return) and value is getattr(node, "value", None)
    for name in ("item", "detach"):
        called = ast.Call(ast.Attribute(value, name, ast.Load()), [], [])
        extra = (0.9 if assigned else 0.2) + 0.3 * (name == "detach")
        yield _replaced(definition, value, called, cost + extra, "tensor-or-number")


def _other_assignment(definition: DefinitionText, statement: Statement, cost: float) -> Iterator[Draft]:
    """Yield `x = …` for `x += …` (or another operator), and inside a loop `x += …` for `x = …`."""
    node = statement.node
    if isinstance(node, ast.AugAssign) and statement.alone:
        plain = ast.fix_missing_locations(ast.Assign([node.target], node.value))
        yield _rewritten(definition, statement, plain, cost + 0.4, "operator")
    elif isinstance(node, ast.Assign) and statement.alone and statement.block.loop_depth:
        target = node.targets[0]
        if isinstance(target, ast.Name | ast.Attribute) and variable_name(target) is not None:
            added = ast.fix_missing_locations(ast.AugAssign(target, ast.Add(), node.value))
            extra = -1.6 if _overwritten_each_round(definition, statement, target) else 0.6
            yield _rewritten(definition, statement, added, cost + extra, "operator")


def _overwritten_each_round(definition: DefinitionText, statement: Statement, target: ast.expr) -> bool:
    """Return True if the target occurs in an assignment before the loop, and in the innermost loop only here.

    So `total = loss` probably means `total += loss`.
    """
    key = variable_name(target)
    loops = [n for n in ast.walk(definition.node) if isinstance(n, ast.For | ast.While)]
    around = [
        n for n in loops if n.lineno < statement.first_line and statement.last_line <= (n.end_lineno or 0)
    ]
    # `walk` goes level by level, so the last loop around the statement is the innermost.
    inside = [n for n in ast.walk(around[-1]) if variable_name(n) == key] if around else []
    before = {
        variable_name(n)
        for s in definition.statements
        if s.block.loop_depth < statement.block.loop_depth
        and s.last_line < statement.first_line
        and isinstance(s.node, ast.Assign)
        for n in ast.walk(s.node)
    }
    return len(inside) == 1 and key in before


# ---- into text -------------------------------------------------------------------------------------


def _replaced(definition: DefinitionText, old: ast.expr, new: ast.expr, cost: float, kind: Kind) -> Draft:
    """Return a draft that puts `new` in the place of `old`, in parentheses where these are needed."""
    text = ast.unparse(new)
    if not isinstance(new, _SIMPLE) and not _is_delimited(definition, old):
        text = f"({text})"
    start, end, lines = definition.replacement(old, text)
    return Draft(cost, kind, start, end, lines, old.lineno)


def _is_delimited(definition: DefinitionText, node: ast.expr) -> bool:
    """Return True if only brackets, commas, keywords or an assignment's `=` are around an expression.

    Any other expression may then stand in its place without parentheses.
    """
    before = definition.text_before(node).rstrip()
    after = definition.code_after(node)
    opened = before.endswith(("(", "[", ",", "=", "return", "if", "while"))
    compared = before.endswith(("==", "!=", "<=", ">="))
    closed = not after or after.startswith((")", "]", ",", ":"))
    return opened and not compared and closed and not after.startswith(").")


def _rewritten(
    definition: DefinitionText, statement: Statement, node: ast.stmt, cost: float, kind: Kind = "expression"
) -> Draft:
    """Return a draft that replaces the whole statement by `node`."""
    lines = [statement.block.indent + line for line in ast.unparse(node).split("\n")]
    start, end = statement.first_line - 1, statement.last_line
    return Draft(cost, kind, start, end, lines, statement.first_line, code="\n".join(lines))
