"""Match the learner's names with the solution's names that play the same role, by how each is bound and used.

Parameters are matched by name, then by position. Each other name is described by a bag of words: what is assigned to
it, which attributes are read from it, which calls it is passed to, its place in a loop's targets or in the returned
tuple. Two names are as alike as their bags overlap, with a bonus for the same spelling; the most alike pairs are
taken first. This is done twice, because in the second round the descriptions can mention names matched in the first.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()`. `s` is matched with
`total` (the target of `+=`, read by `return`) and `value` with `loss` (bound to the call of `model`, read by
`.item`).
"""

import ast
from collections import Counter
from collections.abc import Iterator

from grader.submission.syntax import Definition, methods

_SAME_NAME_BONUS = 0.35
"""Bonus for the same spelling, on a scale on which 1 is the same use throughout."""
_MIN_SCORE = 0.2
"""Minimum score of two names that can be matched."""

Roles = dict[str, list[str]]
"""At most two of the learner's names for each of the solution's, the likeliest first."""


def roles(learner: Definition, solution: Definition) -> Roles:
    """Match the learner's names with the solution's; a name of the solution without a match has an empty list.

    Args:
        learner: the learner's definition.
        solution: the solution's.
    """
    pairs = _parameters(learner, solution)
    local = own_names(solution) - set(pairs)
    candidates = own_names(learner) - set(pairs.values())
    solution_bound_by, learner_bound_by = _bindings(solution), _bindings(learner)
    found: Roles = {}
    known = dict(pairs)
    for _ in range(2):  # the second round describes uses with the names matched in the first
        right = _uses(solution, local, {name: f"#{i}" for i, name in enumerate(sorted(known))})
        numbers = {known[name]: f"#{i}" for i, name in enumerate(sorted(known))}
        wrong = _uses(learner, candidates, numbers)
        scores = sorted(
            (
                (-_likeness(right[name], wrong[other]) - _SAME_NAME_BONUS * (name == other), name, other)
                for name in local
                for other in candidates
                if solution_bound_by[name] & learner_bound_by[other]
            ),
        )
        found = {name: [] for name in sorted(local)}  # sorted: sets have another order in each process
        known = dict(pairs)
        taken = set(pairs.values())
        for score, name, other in scores:
            if -score < _MIN_SCORE:
                break
            found[name].append(other)
            if name not in known and other not in taken:
                known[name] = other
                taken.add(other)
    for name, others in found.items():
        # The match comes first, even if a more alike name was taken by another; the runner-up is kept.
        if name in known:
            others.remove(known[name])
            others.insert(0, known[name])
        found[name] = others[:2]
    return found | {name: [other] for name, other in pairs.items()}


def renamed(node: ast.AST, names: dict[str, str]) -> ast.AST:
    """Return a copy with names and `self.` attributes replaced; keys and values of `names` are like `x` or `self.x`."""
    key = key_of(node)
    if key is not None and key in names and isinstance(node, ast.Name | ast.Attribute):
        name = names[key]
        if name.startswith("self."):
            return ast.Attribute(ast.Name("self", ast.Load()), name.removeprefix("self."), node.ctx)
        return ast.Name(name, node.ctx)
    copy = type(node)(**{field: _renamed(value, names) for field, value in ast.iter_fields(node)})
    if isinstance(copy, ast.arg):
        copy.arg = names.get(copy.arg, copy.arg)
    return ast.copy_location(copy, node)


def _renamed(value: object, names: dict[str, str]) -> object:
    """Rename within the value of an AST field: a node, a list of nodes, or a value without names."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return renamed(value, names) if isinstance(value, ast.AST) else value


def own_names(node: ast.AST) -> set[str]:
    """Return the names that a definition binds: parameters, variables, and attributes that it stores on `self`."""
    return {name for child in ast.walk(node) if (name := _bound(child)) is not None}


def key_of(node: ast.AST) -> str | None:
    """Return `x` or `self.x` for a node that is one of these; None otherwise."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def _bound(node: ast.AST) -> str | None:
    """Return the name that this node binds; None if it binds none."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return key_of(node)
    return None


def _parameters(learner: Definition, solution: Definition) -> dict[str, str]:
    """Return the learner's parameter for each of the solution's: by name, otherwise by position."""
    pairs: dict[str, str] = {}
    learner_functions = {f.name: f for f in _functions(learner)}
    for function in _functions(solution):
        other = learner_functions.get(function.name)
        if other is None:
            continue
        own, right = _arguments(other), _arguments(function)
        pairs |= {name: name for name in right if name in own}
        pairs |= {a: b for a, b in zip(right, own, strict=False) if a not in own and b not in right}
    return pairs


def _functions(node: Definition) -> Iterator[ast.FunctionDef]:
    """Yield the function itself, or the methods of a class."""
    if isinstance(node, ast.FunctionDef):
        yield node
    else:
        yield from methods(node).values()


def _arguments(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _bindings(definition: ast.AST) -> dict[str, set[str]]:
    """Return how each name is bound: by `for`, `with`, `=` or `def`.

    Names that share no kind are never matched: a loop variable does not play the role of an assigned one.
    """
    found: dict[str, set[str]] = {}
    for node in ast.walk(definition):
        targets = [getattr(node, "target", None), getattr(node, "optional_vars", None)]
        targets += getattr(node, "targets", [])
        kind = (
            "for"
            if isinstance(node, ast.For | ast.comprehension)
            else "with"
            if isinstance(node, ast.withitem)
            else "="
        )
        for target in filter(None, targets):
            for inner in ast.walk(target):
                if (name := key_of(inner)) is not None:
                    found.setdefault(name, set()).add(kind)
    return {name: found.get(name, {"def"}) for name in own_names(definition)}


def _uses(definition: ast.AST, names: set[str], known: dict[str, str]) -> dict[str, Counter[str]]:
    """Return the description of each name: words for how it is bound and used.

    Other names within a word are replaced by their labels in `known`, or by `_`.
    """
    uses: dict[str, Counter[str]] = {name: Counter() for name in names}
    for parent in ast.walk(definition):
        for child in ast.iter_child_nodes(parent):
            name = key_of(child)
            if name in uses:
                uses[name].update(_words(parent, child, known))
        if isinstance(parent, ast.For | ast.comprehension):
            for index, target in enumerate(_targets(parent.target)):
                name = key_of(target)
                if name in uses:
                    uses[name].update(
                        [f"each {index}", f"each {index} of {_abstracted_code(parent.iter, known)}"]
                    )
        if isinstance(parent, ast.Return) and parent.value is not None:
            for index, part in enumerate(_targets(parent.value)):
                for node in ast.walk(part):
                    if (name := key_of(node)) in uses:
                        uses[name].update([f"returned {index}"])
    return uses


def _words(parent: ast.AST, child: ast.AST, known: dict[str, str]) -> Iterator[str]:
    """Yield the words for one occurrence of a name (`child`) directly inside `parent`."""
    if isinstance(parent, ast.Attribute):
        yield f".{parent.attr}"
    elif isinstance(parent, ast.Call):
        where = "called" if parent.func is child else f"in {_abstracted_code(parent.func, known)}"
        yield where
    elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is not None:
        if parent.value is not child:
            yield f"= {_abstracted_code(parent.value, known)}"
    elif isinstance(parent, ast.AugAssign):
        yield f"{type(parent.op).__name__}= {parent.target is child}"
        yield f"{type(parent.op).__name__}= {_abstracted_code(parent.value, known)}"
    elif isinstance(parent, ast.BinOp):
        yield f"{type(parent.op).__name__} {parent.left is child}"
    elif isinstance(parent, ast.Compare | ast.Subscript | ast.For | ast.Return):
        yield type(parent).__name__


def _targets(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple, nested ones too; for anything else a list of itself."""
    if isinstance(node, ast.Tuple):
        return [inner for element in node.elts for inner in _targets(element)]
    return [node]


def _abstracted_code(node: ast.AST, known: dict[str, str]) -> str:
    """Return the node's code with every name replaced by its label, or by `_` if it has none."""
    names = {n.id: known.get(n.id, "_") for n in ast.walk(node) if isinstance(n, ast.Name)}
    return ast.unparse(renamed(node, names))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the words in common as a share of all words, from 0 to 1; 0 if there are none."""
    every = sum((one | other).values())
    return sum((one & other).values()) / every if every else 0.0
