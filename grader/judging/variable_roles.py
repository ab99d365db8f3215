"""Which of the learner's names plays the part of which of the solution's: told by how each is bound and used."""

import ast
from collections import Counter
from collections.abc import Iterator

_SAME_NAME = 0.35
"""What the same name counts for, where 1 is the same use throughout."""
_ALIKE = 0.2
"""Below this, two names have nothing to do with each other."""

Definition = ast.FunctionDef | ast.ClassDef
Roles = dict[str, list[str]]
"""For each name of the solution the learner's names that may stand in its place, the likeliest first."""


def roles(theirs: Definition, solution: Definition) -> Roles:
    """Match names by use, in two rounds: the second knows what the first found for the names beside them."""
    pairs = _parameters(theirs, solution)
    local = own_names(solution) - set(pairs)
    candidates = own_names(theirs) - set(pairs.values())
    bound_by, its_bound_by = _bindings(solution), _bindings(theirs)
    found: Roles = {}
    known = dict(pairs)
    for _ in range(2):
        right = _uses(solution, local, {name: f"#{i}" for i, name in enumerate(sorted(known))})
        numbers = {known[name]: f"#{i}" for i, name in enumerate(sorted(known))}
        wrong = _uses(theirs, candidates, numbers)
        scores = sorted(
            (
                (-_likeness(right[name], wrong[other]) - _SAME_NAME * (name == other), name, other)
                for name in local
                for other in candidates
                if bound_by[name] & its_bound_by[other]
            ),
        )
        found = {name: [] for name in sorted(local)}  # in one order, whatever the process's hashes
        known = dict(pairs)
        taken = set(pairs.values())
        for score, name, other in scores:
            if -score < _ALIKE:
                break
            found[name].append(other)
            if name not in known and other not in taken:
                known[name] = other
                taken.add(other)
    for name, others in found.items():
        if name in known:
            others.remove(known[name])
            others.insert(0, known[name])
        found[name] = others[:2]
    return found | {name: [other] for name, other in pairs.items()}


def renamed(node: ast.AST, names: dict[str, str]) -> ast.AST:
    """A copy with other names."""
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
    """What stands in a field: a node, a list of them, or a value that has no names."""
    if isinstance(value, list):
        return [_renamed(item, names) for item in value]
    return renamed(value, names) if isinstance(value, ast.AST) else value


def own_names(node: ast.AST) -> set[str]:
    """Names that a definition binds itself: parameters, variables, and what it stores on `self`."""
    return {name for child in ast.walk(node) if (name := _bound(child)) is not None}


def key_of(node: ast.AST) -> str | None:
    """`x`, or `self.x`."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def _bound(node: ast.AST) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return key_of(node)
    return None


def _parameters(theirs: Definition, solution: Definition) -> dict[str, str]:
    """The solution's parameters and theirs: of the same name, else at the same position."""
    pairs: dict[str, str] = {}
    mine = {f.name: f for f in _functions(theirs)}
    for function in _functions(solution):
        other = mine.get(function.name)
        if other is None:
            continue
        own, right = _arguments(other), _arguments(function)
        pairs |= {name: name for name in right if name in own}
        pairs |= {a: b for a, b in zip(right, own, strict=False) if a not in own and b not in right}
    return pairs


def _functions(node: Definition) -> Iterator[ast.FunctionDef]:
    if isinstance(node, ast.FunctionDef):
        yield node
    else:
        yield from (n for n in node.body if isinstance(n, ast.FunctionDef))


def _arguments(function: ast.FunctionDef) -> list[str]:
    arguments = function.args
    return [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _bindings(definition: ast.AST) -> dict[str, set[str]]:
    """By which kinds of statements each name is bound: what a loop counts is not what an assignment keeps."""
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
    """For each name the words that say how it is bound and used; other names in them are known or `_`."""
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
                    uses[name].update([f"each {index}", f"each {index} of {_sketch(parent.iter, known)}"])
        if isinstance(parent, ast.Return) and parent.value is not None:
            for index, part in enumerate(_targets(parent.value)):
                for node in ast.walk(part):
                    if (name := key_of(node)) in uses:
                        uses[name].update([f"returned {index}"])
    return uses


def _words(parent: ast.AST, child: ast.AST, known: dict[str, str]) -> Iterator[str]:
    if isinstance(parent, ast.Attribute):
        yield f".{parent.attr}"
    elif isinstance(parent, ast.Call):
        where = "called" if parent.func is child else f"in {_sketch(parent.func, known)}"
        yield where
    elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is not None:
        if parent.value is not child:
            yield f"= {_sketch(parent.value, known)}"
    elif isinstance(parent, ast.AugAssign):
        yield f"{type(parent.op).__name__}= {parent.target is child}"
        yield f"{type(parent.op).__name__}= {_sketch(parent.value, known)}"
    elif isinstance(parent, ast.BinOp):
        yield f"{type(parent.op).__name__} {parent.left is child}"
    elif isinstance(parent, ast.Compare | ast.Subscript | ast.For | ast.Return):
        yield type(parent).__name__


def _targets(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Tuple):
        return [inner for element in node.elts for inner in _targets(element)]
    return [node]


def _sketch(node: ast.AST, known: dict[str, str]) -> str:
    names = {n.id: known.get(n.id, "_") for n in ast.walk(node) if isinstance(n, ast.Name)}
    return ast.unparse(renamed(node, names))


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Shared words against all words."""
    every = sum((one | other).values())
    return sum((one & other).values()) / every if every else 0.0
