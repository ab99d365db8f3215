"""Find the expressions in which a learner's statement and the solution's for the same step differ.

Example: for `loss = h(x) / n` and `loss = h(x) / len(xb)` they are `n` beside `len(xb)`, and the quotients. For each
pair `expression_edits` drafts an edit: the solution's expression put in the place of the learner's. `is_same` and
`_end_in_same_name` know what may be written in two ways, `_parts_to_compare` which parts of two expressions belong
together.
"""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

from grader.judging.variables import variable_name
from grader.submission.syntax import own_parts

COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
"""Expressions with a `for` inside."""


class DifferingPair(NamedTuple):
    """An expression of the learner's, and the one that the solution has in its place."""

    old: ast.expr
    new: ast.expr


def differing_pairs(old: ast.AST, new: ast.AST) -> Iterator[DifferingPair]:
    """Yield pairs of expressions in which the learner's tree and the solution's differ, each after the pairs inside it.

    For `loss / n` and `loss / len(xb)` these are (`n`, `len(xb)`) and the two quotients. A plain and a dotted name that
    end alike count as equal, and keyword arguments are compared by name. An f-string of the learner's is not compared.
    """
    if is_same(old, new) or _end_in_same_name(old, new) or isinstance(old, ast.JoinedStr):
        return
    for old_part, new_part in _parts_to_compare(old, new):
        yield from differing_pairs(old_part, new_part)
    if isinstance(old, ast.expr) and isinstance(new, ast.expr):
        yield DifferingPair(old, new)


def _parts_to_compare(old: ast.AST, new: ast.AST) -> list[tuple[ast.AST, ast.AST]]:
    """Return the parts of two trees in pairs that may mean the same."""
    old_children, new_children = _children(old), _children(new)
    if isinstance(old, ast.Call) and isinstance(new, ast.Call) and len(old.args) == len(new.args):
        return [(old.func, new.func), *_arguments_of_both(old, new)]
    if type(old) is type(new) and len(old_children) == len(new_children):
        return list(zip(old_children, new_children, strict=True))
    if isinstance(old, ast.stmt) and isinstance(new, ast.stmt):
        old_value, new_value = getattr(old, "value", None), getattr(new, "value", None)
        if isinstance(old_value, ast.AST) and isinstance(new_value, ast.AST):
            return [(old_value, new_value)]
        return []
    if isinstance(old, COMPREHENSION) and isinstance(new, COMPREHENSION):
        # A list and a dict are not the same, but may be made from the same things.
        return list(zip(_clause_expressions(old), _clause_expressions(new), strict=False))
    # `old` may be something like `new` with more around it, as `float(a * b)` for `a * c`
    alike = [child for child in old_children if type(child) is type(new)]
    return [(child, new) for child in alike if 0 < len(new_children) == len(_children(child))]


def parts_that_run(node: ast.stmt) -> list[ast.AST]:
    """Return the nodes directly inside a statement without those of `own_parts` that are annotations."""
    annotations = (getattr(node, "annotation", None), getattr(node, "returns", None))
    return [part for part in own_parts(node) if part not in annotations]


def is_same(old: ast.AST, new: ast.AST) -> bool:
    """Return True if two trees are equal, whatever the order of keyword arguments."""
    return ast.dump(_with_sorted_keywords(old)) == ast.dump(_with_sorted_keywords(new))


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
    """Yield the arguments of two calls in pairs, by position or by name; without those that only one call has."""
    yield from zip(old.args, new.args, strict=True)
    values = {keyword.arg: keyword.value for keyword in new.keywords}
    for keyword in old.keywords:
        if keyword.arg in values:
            yield keyword.value, values[keyword.arg]


def _end_in_same_name(old: ast.AST, new: ast.AST) -> bool:
    """Return True for a plain and a dotted name that end alike: `clip_grad_norm_`, `torch.nn.utils.clip_grad_norm_`.

    In `k` for `self.k`, however, the `self.` is forgotten.
    """
    if isinstance(old, ast.Name) and isinstance(new, ast.Attribute):
        return old.id == new.attr and variable_name(new) is None
    return isinstance(old, ast.Attribute) and isinstance(new, ast.Name) and old.attr == new.id


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
    """Return the targets, iterables and conditions of a comprehension, without what it makes of them."""
    return [part for generator in node.generators for part in _children(generator)]
