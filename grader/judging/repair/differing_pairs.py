"""Find the expressions in which a learner's statement and the solution's for the same step differ.

Example: for `loss = h(x) / n` and `loss = h(x) / len(xb)` they are `n` beside `len(xb)`, and the quotients. For each
pair `expression_edits` drafts an edit: the solution's expression put in the place of the learner's. As edits replace
the learner's code, `old` is the learner's tree everywhere here, and `new` the solution's.

`is_respelling` knows what may be written in two ways, `_parts_to_compare` which parts of two expressions belong
together. `is_respelling`, `parts_that_run` and `COMPREHENSION` serve other modules of this folder, too.
"""

import ast
import builtins
import copy
import re
from collections.abc import Iterator
from typing import NamedTuple

from grader.submission.syntax import own_parts

COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
"""Expressions with a `for` inside."""
_BEGINS_WITH_MODULE = re.compile(
    r"(torch|nn|optim|utils|functional|contextlib|functools|math|copy|random|itertools|statistics|np|numpy|dist)(\.\w+)+"
)
"""Matches a dotted name that begins with a name by which programs know a module: it is a module or in one."""


class DifferingPair(NamedTuple):
    """An expression of the learner's, and the one that the solution has in its place."""

    old: ast.expr
    new: ast.expr


def differing_pairs(old: ast.AST, new: ast.AST) -> Iterator[DifferingPair]:
    """Yield pairs of expressions in which the learner's tree and the solution's differ, each after the pairs inside it.

    For `loss / n` and `loss / len(xb)` these are (`n`, `len(xb)`) and the two quotients. Expressions that differ in the
    order of keyword arguments or in how functions of modules are written (`nn.ReLU`, `torch.nn.ReLU`) are no pair.
    Nothing inside an f-string of the learner's is in one, since the positions there are not reliable.
    """
    if is_respelling(old, new) or isinstance(old, ast.JoinedStr):
        return
    for old_part, new_part in _parts_to_compare(old, new):
        yield from differing_pairs(old_part, new_part)
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        yield DifferingPair(old, new)


def _parts_to_compare(old: ast.AST, new: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Return the parts of two trees in pairs that may mean the same, by the first of these cases that fits:

    1. Two calls with as many positional arguments, of the same function, or of as much in all: function and arguments.
    2. Two nodes of one type with as many children: the children in order.
    3. Two statements, such as `return a` and `x = b`, or `if a:` and `while b:`: value and value, condition and
       condition.
    4. Two comprehensions: what they make of each element, if both make one thing or both pairs; then the clauses.
    5. A node inside which something like the other stands, as in `float(a * b)` for `a * c`: that, and the other.
    """
    old_children, new_children = _children(old), _children(new)
    if isinstance(old, ast.Call) and isinstance(new, ast.Call):
        are_similar = len(old.args) == len(new.args) or len(old_children) == len(new_children)
        if are_similar or is_respelling(old.func, new.func):
            return [(old.func, new.func), *_arguments_of_both(old, new)]
    elif type(old) is type(new) and len(old_children) == len(new_children):
        return list(zip(old_children, new_children, strict=True))
    if isinstance(old, ast.stmt) and isinstance(new, ast.stmt):
        parts = [(getattr(old, name, None), getattr(new, name, None)) for name in ("value", "test")]
        return [(a, b) for a, b in parts if isinstance(a, ast.AST) and isinstance(b, ast.AST)]
    if isinstance(old, COMPREHENSION) and isinstance(new, COMPREHENSION):
        # A list and a dict are not the same, but may be made from the same things.
        old_made, new_made = _made_of_each(old), _made_of_each(new)
        made = zip(old_made, new_made, strict=True) if len(old_made) == len(new_made) else ()
        return [*made, *zip(_clause_expressions(old), _clause_expressions(new), strict=False)]
    alike = [child for child in old_children if type(child) is type(new)]
    return [(child, new) for child in alike if 0 < len(new_children) == len(_children(child))]


def parts_that_run(node: ast.stmt) -> list[ast.AST]:
    """Return `own_parts` of a statement without annotations."""
    annotations = (getattr(node, "annotation", None), getattr(node, "returns", None))
    return [part for part in own_parts(node) if part not in annotations]


def is_respelling(old: ast.AST, new: ast.AST) -> bool:
    """Return True if two trees are equal but for spelling.

    The order of keyword arguments and the modules before the name of a function are spelling: `nn.utils.f(x, a=1, b=2)`
    and `f(x, b=2, a=1)`. `self.k` and `k`, or `batch.x` and `x`, may be different things.
    """
    return _differ_in_modules_only(_with_sorted_keywords(old), _with_sorted_keywords(new))


def _with_sorted_keywords(node: ast.AST) -> ast.AST:
    """Return the tree, or a copy of it, with the keyword arguments of each call sorted by name."""
    if not any(isinstance(call, ast.Call) and len(call.keywords) > 1 for call in ast.walk(node)):
        return node
    node = copy.deepcopy(node)
    for call in ast.walk(node):
        if isinstance(call, ast.Call):
            call.keywords.sort(key=lambda keyword: keyword.arg or "")  # `**options` has no name
    return node


def _arguments_of_both(old: ast.Call, new: ast.Call) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield the arguments of two calls in pairs, without those that only one call has.

    Arguments belong together by position or by name. What one call has by position, and the other by name, is paired in
    order: in `f(x, 1)` and `f(x, dim=0)`, `1` and `0`.
    """
    yield from zip(old.args, new.args, strict=False)
    old_named = {keyword.arg: keyword.value for keyword in old.keywords}
    new_named = {keyword.arg: keyword.value for keyword in new.keywords}
    for name, value in old_named.items():
        if name in new_named:
            yield value, new_named[name]
    count = min(len(old.args), len(new.args))
    yield from zip(old.args[count:], _without(new_named, old_named), strict=False)
    yield from zip(_without(old_named, new_named), new.args[count:], strict=False)


def _without(named: dict[str | None, ast.expr], others: dict[str | None, ast.expr]) -> list[ast.expr]:
    """Return the values of keyword arguments whose names are not among the others'."""
    return [value for name, value in named.items() if name not in others]


def _differ_in_modules_only(old: object, new: object) -> bool:
    """Return True if two trees, or values of their fields, are equal but for the modules before names."""
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_differ_in_modules_only, old, new))
    if not isinstance(old, ast.AST) or not isinstance(new, ast.AST):
        return type(old) is type(new) and old == new
    if _end_in_same_name(old, new):
        return True
    names = [name for name in old._fields if name != "ctx"]
    return type(old) is type(new) and all(
        _differ_in_modules_only(getattr(old, name, None), getattr(new, name, None)) for name in names
    )


def _end_in_same_name(old: ast.AST, new: ast.AST) -> bool:
    """Return True if one name is the other with modules before it: `torch.nn.utils.f`, `nn.utils.f` and `f`.

    Not if the shorter one is another function: Python's own, as `sum` beside `torch.sum`, or one of the module
    `random`, as `random.seed` beside `np.random.seed`.
    """
    if not isinstance(old, ast.Name | ast.Attribute) or not isinstance(new, ast.Name | ast.Attribute):
        return False
    shorter, longer = sorted(
        (re.sub(r"^F\.", "torch.nn.functional.", ast.unparse(node)) for node in (old, new)), key=len
    )
    if shorter != longer and (hasattr(builtins, shorter) or shorter.split(".")[0] == "random"):
        return False
    return f".{longer}".endswith(f".{shorter}") and _BEGINS_WITH_MODULE.fullmatch(longer) is not None


def _children(node: ast.AST) -> list[ast.AST]:
    """Return the nodes to compare directly inside a node: expressions, parameters, and the items of a `with`.

    Keyword arguments, and the clauses `for … in … if …`, count as the expressions in them; parameters count as their
    default values. A compound statement's body is left out, and so are annotations, which change nothing, and
    operators: if they differ, the node around them is what differs.
    """
    if isinstance(node, ast.stmt):
        return [n for n in parts_that_run(node) if isinstance(n, ast.expr | ast.withitem | ast.arguments)]
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.keyword | ast.comprehension):
            found += _children(child)
        elif isinstance(child, ast.expr | ast.arguments):
            found.append(child)
    return found


def _clause_expressions(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[ast.AST]:
    """Return the targets, iterables and conditions of a comprehension."""
    return [part for generator in node.generators for part in _children(generator)]


def _made_of_each(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> list[ast.expr]:
    """Return what stands before the first `for` of a comprehension: one expression, or key and value."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
