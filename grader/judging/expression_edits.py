"""Edits inside a line: what its partner in the solution says differently, and what beginners get wrong anywhere."""

import ast
import copy
from collections.abc import Iterator
from functools import cached_property

from grader.judging.donors import Donors
from grader.judging.drafts import Draft, Kind
from grader.judging.program_text import Definition, Statement, header, is_compound
from grader.judging.roles import key_of

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
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
_CALCULATED: dict[type[ast.operator], tuple[type[ast.operator], ...]] = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div,),
    ast.Div: (ast.Mult, ast.FloorDiv),
    ast.FloorDiv: (ast.Div,),
}
_METHODS = {
    "train": ("eval",),
    "eval": ("train",),
    "add_": ("sub_",),
    "sub_": ("add_",),
    "mul_": ("div_",),
    "div_": ("mul_",),
    "sum": ("mean",),
    "mean": ("sum",),
    "ceil": ("floor",),
    "floor": ("ceil",),
    "max": ("min",),
    "min": ("max",),
    "int": ("round",),
}
_SIMPLE = ast.Name | ast.Attribute | ast.Constant | ast.Call | ast.Subscript


def expression_drafts(definition: Definition, donors: Donors) -> Iterator[Draft]:
    """All edits inside lines."""
    scope = _Scope(definition, donors)
    for statement in definition.statements:
        donor = donors.partners.get(statement)
        known = donor.likeness if donor is not None else 0.5
        if (donor is not None and donor.likeness < 1.0) or (
            donor is not None and is_compound(statement.node)
        ):
            yield from _as_partner(definition, donors, statement)
        elif donor is None:
            yield from _as_others(definition, donors, statement)
        cost = 3.0 + 1.5 * (known == 1.0)
        for part in header(statement.node):
            for node in ast.walk(part):
                if isinstance(node, ast.expr) and not _in_text(part, node):
                    for extra, kind, new in _mutations(node, statement, scope):
                        yield _replaced(definition, node, new, cost + extra, kind)
        yield from _whole(definition, statement, scope, cost)


def _other_exception(definition: Definition, donors: Donors, statement: Statement) -> Iterator[Draft]:
    """Its message is nobody's business."""
    assert isinstance(statement.node, ast.Raise)
    raised = statement.node.exc
    own = raised.func if isinstance(raised, ast.Call) else raised
    kinds = dict.fromkeys(
        n.func.id
        for d in donors.donors
        for n in (getattr(d.theirs.node, "exc", None),)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    )
    if isinstance(own, ast.Name):
        for name in kinds:
            yield _replaced(definition, own, ast.Name(name, ast.Load()), 1.5, "name")


# ---- what the partner says -------------------------------------------------------------------------


def _as_partner(definition: Definition, donors: Donors, statement: Statement) -> Iterator[Draft]:
    donor = donors.partners[statement]
    for number, version in enumerate(donor.versions):
        pairs = list(_differing(statement.node, version))
        for depth, (old, new) in enumerate(pairs):
            size = sum(1 for _ in ast.walk(new))
            cost = 1.0 + 0.25 * depth + 0.04 * size + 1.0 * number
            if isinstance(old, ast.expr) and isinstance(new, ast.expr):
                yield _replaced(definition, old, new, cost, _kind_of(old, new, statement))
        if not is_compound(statement.node) and statement.alone:
            yield _rewritten(definition, statement, version, 2.2 + 2 * (1 - donor.likeness) + number)


def _as_others(definition: Definition, donors: Donors, statement: Statement) -> Iterator[Draft]:
    """A line that has no partner becomes one of the solution's of its kind that have none either."""
    for donor in donors.donors:
        version = donor.versions[0]
        if donor.partner is None and type(version) is type(statement.node) and not is_compound(version):
            if statement.alone:
                yield _rewritten(definition, statement, version, 3.0)
        elif donor.partner is None and isinstance(version, ast.If) and isinstance(statement.node, ast.If):
            yield _replaced(definition, statement.node.test, version.test, 3.0, "condition")


def _differing(old: ast.AST, new: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    """Pairs of expressions in which two trees differ, the smallest first."""
    if ast.dump(old) == ast.dump(new) or _same_function(old, new) or isinstance(old, ast.JoinedStr):
        return
    ours, others = _children(old), _children(new)
    if type(old) is type(new) and len(ours) == len(others):
        for left, right in zip(ours, others, strict=True):
            yield from _differing(left, right)
    elif isinstance(old, ast.stmt) and isinstance(new, ast.stmt):
        left_value, right_value = getattr(old, "value", None), getattr(new, "value", None)
        if isinstance(left_value, ast.AST) and isinstance(right_value, ast.AST):
            yield from _differing(left_value, right_value)
    else:  # one side has something around it
        for child in ours:
            if type(child) is type(new) and len(_children(child)) == len(others):
                yield from _differing(child, new)
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        yield old, new


def _same_function(old: ast.AST, new: ast.AST) -> bool:
    """`clip_grad_norm_` and `torch.nn.utils.clip_grad_norm_`."""
    last = [
        n.attr if isinstance(n, ast.Attribute) else n.id if isinstance(n, ast.Name) else ""
        for n in (old, new)
    ]
    return type(old) is not type(new) and last[0] == last[1] != ""


def _children(node: ast.AST) -> list[ast.AST]:
    """Expressions directly inside: operators and contexts are told by their parents."""
    if isinstance(node, ast.stmt):
        return [n for n in header(node) if isinstance(n, ast.expr | ast.withitem | ast.arguments)]
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword | ast.comprehension | ast.withitem):
            found += _children(child)
        elif isinstance(child, ast.expr | ast.arguments):
            found.append(child)
    return found


def _kind_of(old: ast.expr, new: ast.expr, statement: Statement) -> Kind:
    """What a learner is told of an expression that becomes another one."""
    kind: Kind = "expression"
    if isinstance(old, ast.Constant) and isinstance(new, ast.Constant):
        kind = "value"
    elif isinstance(old, ast.Name) and isinstance(new, ast.Name):
        kind = "name"
    elif (isinstance(new, ast.BinOp) and isinstance(new.op, ast.Div)) or _is_quotient(old):
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


def _is_quotient(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


# ---- what beginners get wrong anywhere -------------------------------------------------------------


class _Scope:
    """Names and numbers that an expression may be made of."""

    def __init__(self, definition: Definition, donors: Donors) -> None:
        self._definition, self._donors = definition, donors

    @cached_property
    def divisors(self) -> list[ast.expr]:
        """What their values may be divided by: what the solution divides by, then counts of their own."""
        found: dict[str, ast.expr] = {}
        for donor in self._donors.donors:
            for node in (n for part in header(donor.versions[0]) for n in ast.walk(part)):
                if _is_quotient(node) and isinstance(node, ast.BinOp):
                    found[ast.unparse(node.right)] = node.right
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
                found[ast.unparse(node)] = node
        for name in self.numbers:
            found[name] = ast.Name(name, ast.Load())
        for loop in ast.walk(self._definition.node):
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name):
                found[f"len({loop.iter.id})"] = _called("len", loop.iter)
                for target in ast.walk(loop.target):
                    if isinstance(target, ast.Name):
                        found.setdefault(f"len({target.id})", _called("len", ast.Name(target.id, ast.Load())))
        return list(found.values())[:8]

    @cached_property
    def numbers(self) -> list[str]:
        """Names that stand for counts and the like."""
        names: dict[str, None] = {}
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                names[node.target.id] = None
            elif isinstance(node, ast.BinOp | ast.Compare):
                sides = (
                    [node.left, node.right] if isinstance(node, ast.BinOp) else [node.left, *node.comparators]
                )
                names |= {s.id: None for s in sides if isinstance(s, ast.Name)}
            elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
                if ast.unparse(node.iter.func) == "enumerate" and isinstance(node.target, ast.Tuple):
                    names |= {n.id: None for n in node.target.elts[:1] if isinstance(n, ast.Name)}
                elif ast.unparse(node.iter.func) == "range" and isinstance(node.target, ast.Name):
                    names[node.target.id] = None
            elif isinstance(node, ast.Assign) and _counts(node.value):
                names |= {t.id: None for t in node.targets if isinstance(t, ast.Name)}
        read = {
            n.id
            for n in ast.walk(self._definition.node)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
        }
        return sorted(names, key=lambda name: name in read)  # first what was made and is not used

    @cached_property
    def lengths(self) -> list[ast.expr]:
        """How many rounds a loop has: a length that was taken, or that of what it goes over."""
        found: dict[str, ast.expr] = {}
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                if ast.unparse(node.value.func) == "len" and isinstance(node.targets[0], ast.Name):
                    found[node.targets[0].id] = ast.Name(node.targets[0].id, ast.Load())
            elif isinstance(node, ast.For):
                walked = (
                    node.iter.args[0] if isinstance(node.iter, ast.Call) and node.iter.args else node.iter
                )
                if isinstance(walked, ast.Name):
                    found[f"len({walked.id})"] = _called("len", walked)
        return list(found.values())[:3]

    @cached_property
    def constants(self) -> list[ast.Constant]:
        """Those that the solution has."""
        found: dict[str, ast.Constant] = {}
        for donor in self._donors.donors:
            for part in header(donor.versions[0]):
                for node in ast.walk(part):
                    if isinstance(node, ast.Constant) and not isinstance(node.value, str):
                        found[repr(node.value)] = node
        return list(found.values())

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """For each name the others that are used alike: numbers for numbers, targets of one loop, tensors."""
        alike: dict[str, dict[str, None]] = {}
        kinds = [self.numbers]
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.For):
                kinds.append([n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)])
        stored = [
            n.id
            for n in ast.walk(self._definition.node)
            if isinstance(n, ast.Name | ast.NamedExpr) and isinstance(getattr(n, "ctx", None), ast.Store)
        ]
        kinds.append(list(dict.fromkeys(n for n in stored if n not in self.numbers)))
        for names in kinds:
            for name in names:
                alike.setdefault(name, {}).update({n: None for n in names if n != name})
        return {name: list(others)[:6] for name, others in alike.items()}


def _mutations(node: ast.expr, statement: Statement, scope: _Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """Other expressions for one, with what they cost more than usual."""
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
        if node.id in scope.numbers:
            plus = ast.BinOp(ast.Name(node.id, ast.Load()), ast.Add(), ast.Constant(1))
            yield 0.6, "off-by-one", plus
            yield 0.9, "off-by-one", ast.BinOp(plus.left, ast.Sub(), ast.Constant(1))
        for number, other in enumerate(scope.groups.get(node.id, ())):
            yield 0.8 + 0.1 * number, "name", ast.Name(other, ast.Load())
    elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
        yield 0.8, "expression", node.value
    elif isinstance(node, ast.IfExp):
        yield 0.8, "no-condition", node.body
        yield 0.8, "no-condition", node.orelse


def _other_comparisons(node: ast.Compare, scope: _Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    for index, operator in enumerate(node.ops):
        for number, other in enumerate(_COMPARED.get(type(operator), ())):
            changed = copy.deepcopy(node)
            changed.ops[index] = other()
            yield 0.1 + 0.3 * number, "compare", changed
    yield from _or_at_the_end(node, scope)


def _or_at_the_end(node: ast.Compare, scope: _Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    """`(i + 1) % k == 0`: or the loop is at its end."""
    left = node.left
    if isinstance(left, ast.BinOp) and isinstance(left.op, ast.Mod):
        for number, count in enumerate(scope.lengths):
            end = ast.Compare(left.left, [ast.Eq()], [count])
            yield 0.1 + 0.2 * number, "condition", ast.BoolOp(ast.Or(), [node, end])


def _other_calculations(node: ast.BinOp, scope: _Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
    quotient = isinstance(node.op, ast.Div | ast.FloorDiv)
    kind: Kind = "divisor" if quotient else "operator"
    yield 0.1 if quotient else 0.4, kind, node.left
    if not quotient:
        yield 0.6, "operator", node.right
    for number, other in enumerate(_CALCULATED.get(type(node.op), ())):
        yield 0.5 + 0.3 * number, kind, ast.BinOp(node.left, other(), node.right)
    if isinstance(node.op, ast.Sub | ast.Div):
        yield 0.9, kind, ast.BinOp(node.right, node.op, node.left)
    if quotient:
        for number, divisor in enumerate(scope.divisors):
            yield 0.1 + 0.15 * number, "divisor", ast.BinOp(node.left, node.op, divisor)


def _other_calls(node: ast.Call) -> Iterator[tuple[float, Kind, ast.expr]]:
    method = node.func.attr if isinstance(node.func, ast.Attribute) else None
    name = method or (node.func.id if isinstance(node.func, ast.Name) else "")
    for other in _METHODS.get(name, ()):
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


def _other_constants(node: ast.Constant, scope: _Scope) -> Iterator[tuple[float, Kind, ast.expr]]:
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


def _whole(definition: Definition, statement: Statement, scope: _Scope, cost: float) -> Iterator[Draft]:
    """Something more around the value of a statement, or around what `backward` is called on."""
    node = statement.node
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Attribute):
        yield _replaced(definition, node.value, ast.Call(node.value, [], []), 0.2, "not-called")
    values = [n for n in (getattr(node, "value", None),) if isinstance(n, ast.expr)]
    for call in (n for part in header(node) for n in ast.walk(part) if isinstance(n, ast.Call)):
        if isinstance(call.func, ast.Attribute) and call.func.attr in (
            "backward",
            "append",
            "add_",
            "sub_",
            "mul_",
        ):
            values = [call.func.value] if call.func.attr == "backward" else [*call.args[:1]]
    if isinstance(node, ast.Return) and isinstance(node.value, ast.Tuple):
        values = [*node.value.elts]
    for value in values:
        if isinstance(value, ast.Constant | ast.List | ast.Dict | ast.Lambda):
            continue
        calculated = isinstance(node, ast.AugAssign | ast.Assign | ast.Return | ast.Expr)
        for number, divisor in enumerate(scope.divisors if calculated else ()):
            extra = 0.3 + 0.15 * number + 0.6 * isinstance(node, ast.Assign)
            yield _replaced(definition, value, ast.BinOp(value, ast.Div(), divisor), cost + extra, "divisor")
            times = ast.BinOp(value, ast.Mult(), divisor)
            yield _replaced(definition, value, times, cost + extra + 0.2, "operator")
        late = isinstance(node, ast.AugAssign | ast.Return) or value is not getattr(node, "value", None)
        for name in ("item", "detach"):
            called = ast.Call(ast.Attribute(value, name, ast.Load()), [], [])
            extra = (0.2 if late else 0.9) + 0.3 * (name == "detach")
            yield _replaced(definition, value, called, cost + extra, "tensor-or-number")
    test = getattr(node, "test", None)
    if isinstance(test, ast.expr) and not isinstance(node, ast.While):
        yield _replaced(definition, test, ast.UnaryOp(ast.Not(), test), cost + 0.6, "condition")
    if isinstance(node, ast.AugAssign) and statement.alone:
        plain = ast.Assign([node.target], node.value)
        yield _rewritten(definition, statement, ast.fix_missing_locations(plain), cost + 0.4, "operator")
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and statement.alone:
        if key_of(node.targets[0]) is not None and statement.block.loops:
            added = ast.AugAssign(node.targets[0], ast.Add(), node.value)
            yield _rewritten(definition, statement, ast.fix_missing_locations(added), cost + 0.6, "operator")


# ---- into text -------------------------------------------------------------------------------------


def _replaced(definition: Definition, old: ast.expr, new: ast.expr, cost: float, kind: Kind) -> Draft:
    text = _written(definition, new)
    if not isinstance(new, _SIMPLE) and not _stands_free(definition, old):
        text = f"({text})"
    first, last, lines = definition.spliced(old, text)
    return Draft(cost, kind, first, last, lines, old.lineno)


def _written(definition: Definition, node: ast.expr) -> str:
    """The learner's own text where a node is theirs, else as Python writes it."""
    return ast.unparse(ast.fix_missing_locations(copy.deepcopy(node)))


def _stands_free(definition: Definition, node: ast.expr) -> bool:
    """Whether an operator may stand there without parentheses: nothing but brackets, commas or `=` around it."""
    line, end = definition.lines[node.lineno - 1], definition.lines[(node.end_lineno or node.lineno) - 1]
    before = line.encode()[: node.col_offset].decode().rstrip()
    after = end.encode()[node.end_col_offset or 0 :].decode().lstrip()
    opened = before.endswith(("(", "[", ",", "=", "return", "if", "while")) and not before.endswith("==")
    return (
        opened and (not after or after.startswith((")", "]", ",", ":", "#"))) and not after.startswith(").")
    )


def _rewritten(
    definition: Definition, statement: Statement, node: ast.stmt, cost: float, kind: Kind = "expression"
) -> Draft:
    lines = [statement.block.indent + line for line in ast.unparse(node).split("\n")]
    return Draft(
        cost, kind, statement.first - 1, statement.last, lines, statement.first, words="\n".join(lines)
    )


def _in_text(part: ast.AST, node: ast.expr) -> bool:
    """Whether it stands inside an f-string, whose parts have no positions to rely on."""
    return any(
        node is inner
        for text in ast.walk(part)
        if isinstance(text, ast.JoinedStr)
        for inner in ast.walk(text)
    )


def _counts(value: ast.expr) -> bool:
    """Whether an assigned value is a number for certain."""
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in ("len", "min", "max", "int", "round", "sum", "float")
    return (
        isinstance(value, ast.BinOp)
        or isinstance(value, ast.Constant)
        and isinstance(value.value, int | float)
    )


def _called(function: str, argument: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(function, ast.Load()), [argument], [])
