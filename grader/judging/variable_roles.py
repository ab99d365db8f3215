"""Match the learner's variables with the solution's that play the same role, by how they are bound and used.

Parameters are matched by name, then by position. Every other variable is described by words: what is assigned to it,
which attributes are read from it, to which calls it is passed, and at which position it stands in a loop's targets or
in the returned tuple. Two variables are as alike as their words overlap, with a bonus for the same spelling; the most
alike pairs are matched first. Variables are described and matched twice: the second time, the words also mention the
variables that were matched the first time, so they tell more.

A variable is named `x`, or `self.x` if it is an attribute of the object.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()`. `s` is matched with
`total` (the target of `+=`, read by `return`) and `value` with `loss` (bound to the call of `model`, read by
`.item`).
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from grader.submission.syntax import Definition, methods

_SAME_SPELLING_BONUS = 0.35
"""Bonus on the likeness of two variables with the same spelling; likeness is from 0 to 1."""
_MIN_SCORE = 0.2
"""Two variables are matched only if their likeness and the bonus add up to at least this."""

VariableMatches = dict[str, list[str]]
"""For each of the solution's variables, at most two of the learner's: the match, then the second choice.

Empty list: no variable of the learner's is like it.
"""
_Binding = Literal["for", "with", "=", "def"]
"""How a name gets its value: as the target of a loop, of a `with`, of an assignment, or as a parameter."""


def match_variables(learner: Definition, solution: Definition) -> VariableMatches:
    """Match the learner's variables with the solution's.

    Args:
        learner: the learner's definition.
        solution: the solution's.
    """
    parameters = _match_parameters(learner, solution)
    first_matches = _match_best_first(_similar_pairs(learner, solution, parameters, parameters), parameters)
    pairs = _similar_pairs(learner, solution, parameters, first_matches)
    matches = _match_best_first(pairs, parameters)
    # Sorted, because a set has another order in each process.
    similar: VariableMatches = {name: [] for name in sorted(bound_names(solution) - set(parameters))}
    for name, other in pairs:
        similar[name].append(other)
    for name, others in similar.items():
        if name in matches:
            # A variable that is more alike may have been matched with another; it stays as the second choice.
            others.remove(matches[name])
            others.insert(0, matches[name])
        del others[2:]
    return similar | {name: [other] for name, other in parameters.items()}


def rename_variables(node: ast.AST, new_names: dict[str, str]) -> ast.AST:
    """Return a copy of a tree in which variables have new names.

    Args:
        node: the tree; it is not modified.
        new_names: new name by old name, each `x` or `self.x`; other variables keep theirs.
    """
    old_name = variable_name(node)
    if old_name is not None and old_name in new_names and isinstance(node, ast.Name | ast.Attribute):
        new_name = new_names[old_name]
        if new_name.startswith("self."):
            return ast.Attribute(ast.Name("self", ast.Load()), new_name.removeprefix("self."), node.ctx)
        return ast.Name(new_name, node.ctx)
    copy = type(node)(**{field: _rename_in_field(value, new_names) for field, value in ast.iter_fields(node)})
    if isinstance(copy, ast.arg):
        copy.arg = new_names.get(copy.arg, copy.arg)
    return ast.copy_location(copy, node)


def bound_names(node: ast.AST) -> set[str]:
    """Return the names that a definition binds: parameters, variables, and attributes that it stores on `self`."""
    return {name for child in ast.walk(node) if (name := _name_bound_by(child)) is not None}


def variable_name(node: ast.AST) -> str | None:
    """Return the name of the variable that the node is, `x` or `self.x`; None if it is anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def _rename_in_field(value: object, new_names: dict[str, str]) -> object:
    """Return a copy of the value of an AST field (a node, a list of nodes, or anything else) with new names."""
    if isinstance(value, list):
        return [_rename_in_field(item, new_names) for item in value]
    return rename_variables(value, new_names) if isinstance(value, ast.AST) else value


def _name_bound_by(node: ast.AST) -> str | None:
    """Return the name that this node itself binds; None if it binds none."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return variable_name(node)
    return None


def _match_parameters(learner: Definition, solution: Definition) -> dict[str, str]:
    """Return the learner's parameter for each of the solution's: the one of that name, else the one at that position.

    Parameters of methods are matched between methods of the same name.
    """
    matches: dict[str, str] = {}
    learner_functions = {f.name: f for f in _functions(learner)}
    for function in _functions(solution):
        other = learner_functions.get(function.name)
        if other is None:
            continue
        solutions, learners = _parameter_names(function), _parameter_names(other)
        matches |= {name: name for name in solutions if name in learners}
        matches |= {
            name: learners_name
            for name, learners_name in zip(solutions, learners, strict=False)
            if name not in learners and learners_name not in solutions
        }
    return matches


def _functions(node: Definition) -> Iterator[ast.FunctionDef]:
    """Yield the definition itself if it is a function, the methods if it is a class."""
    if isinstance(node, ast.FunctionDef):
        yield node
    else:
        yield from methods(node).values()


def _parameter_names(function: ast.FunctionDef) -> list[str]:
    parameters = function.args
    return [p.arg for p in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)]


def _similar_pairs(
    learner: Definition, solution: Definition, parameters: dict[str, str], matches: dict[str, str]
) -> list[tuple[str, str]]:
    """Return pairs of a variable of the solution's and one of the learner's that is like it, the most alike first.

    Args:
        learner: the learner's definition.
        solution: the solution's.
        parameters: learner's parameter by the solution's; they are in no pair.
        matches: all matches known so far, learner's name by the solution's, which the descriptions mention.
    """
    solution_names = bound_names(solution) - set(parameters)
    learner_names = bound_names(learner) - set(parameters.values())
    solution_bindings, learner_bindings = _bindings(solution), _bindings(learner)
    labels = {name: f"#{number}" for number, name in enumerate(sorted(matches))}
    solution_uses = _describe_uses(solution, solution_names, labels)
    learner_uses = _describe_uses(
        learner, learner_names, {matches[name]: label for name, label in labels.items()}
    )
    scored = sorted(
        # Negative, so that the best pairs come first; equally good ones are in the order of the alphabet.
        (-_score(name, other, solution_uses, learner_uses), name, other)
        for name in solution_names
        for other in learner_names
        if solution_bindings[name] & learner_bindings[other]
    )
    return [(name, other) for negative_score, name, other in scored if -negative_score >= _MIN_SCORE]


def _match_best_first(pairs: Sequence[tuple[str, str]], parameters: dict[str, str]) -> dict[str, str]:
    """Return the parameters' matches and, from the first pair to the last, each whose variables both are still free."""
    matches = dict(parameters)
    taken = set(parameters.values())
    for name, other in pairs:
        if name not in matches and other not in taken:
            matches[name] = other
            taken.add(other)
    return matches


def _bindings(definition: ast.AST) -> dict[str, set[_Binding]]:
    """Return all ways in which each name is bound.

    Names that share no way are never matched: a loop variable does not play the role of an assigned one.
    """
    found: dict[str, set[_Binding]] = {}
    for node in ast.walk(definition):
        targets = [getattr(node, "target", None), getattr(node, "optional_vars", None)]
        targets += getattr(node, "targets", [])
        binding: _Binding = (
            "for"
            if isinstance(node, ast.For | ast.comprehension)
            else "with"
            if isinstance(node, ast.withitem)
            else "="
        )
        for target in filter(None, targets):
            for inner in ast.walk(target):
                if (name := variable_name(inner)) is not None:
                    found.setdefault(name, set()).add(binding)
    return {name: found.get(name, {"def"}) for name in bound_names(definition)}


def _describe_uses(definition: ast.AST, names: set[str], labels: dict[str, str]) -> dict[str, Counter[str]]:
    """Return the words that describe how each of the names is bound and used.

    Names within a word are replaced by their labels, or by `_`. Matched variables of two programs have the same label,
    so words of the two can be equal. Example: in `loss = loss_fn(model(xb), yb)`, with the labels #0 to #3 for the
    parameters in the order of the alphabet, `loss` gets the word `= #0(#1(#2), #3)`.
    """
    uses: dict[str, Counter[str]] = {name: Counter() for name in names}
    for parent in ast.walk(definition):
        for child in ast.iter_child_nodes(parent):
            name = variable_name(child)
            if name in uses:
                uses[name].update(_words_of_occurrence(parent, child, labels))
        if isinstance(parent, ast.For | ast.comprehension):
            for index, target in enumerate(_targets(parent.target)):
                name = variable_name(target)
                if name in uses:
                    iterable = _code_with_labels(parent.iter, labels)
                    uses[name].update([f"each {index}", f"each {index} of {iterable}"])
        if isinstance(parent, ast.Return) and parent.value is not None:
            for index, part in enumerate(_targets(parent.value)):
                for node in ast.walk(part):
                    if (name := variable_name(node)) in uses:
                        uses[name].update([f"returned {index}"])
    return uses


def _words_of_occurrence(parent: ast.AST, child: ast.AST, labels: dict[str, str]) -> Iterator[str]:
    """Yield the words for one occurrence of a variable: the node `child`, directly inside the node `parent`."""
    if isinstance(parent, ast.Attribute):
        yield f".{parent.attr}"
    elif isinstance(parent, ast.Call):
        yield "called" if parent.func is child else f"in {_code_with_labels(parent.func, labels)}"
    elif isinstance(parent, ast.Assign | ast.AnnAssign | ast.NamedExpr) and parent.value is not None:
        if parent.value is not child:
            yield f"= {_code_with_labels(parent.value, labels)}"
    elif isinstance(parent, ast.AugAssign):
        yield f"{type(parent.op).__name__}= {parent.target is child}"
        yield f"{type(parent.op).__name__}= {_code_with_labels(parent.value, labels)}"
    elif isinstance(parent, ast.BinOp):
        yield f"{type(parent.op).__name__} {parent.left is child}"
    elif isinstance(parent, ast.Compare | ast.Subscript | ast.For | ast.Return):
        yield type(parent).__name__


def _targets(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple, those of nested tuples too; for any other node, a list of the node alone."""
    if isinstance(node, ast.Tuple):
        return [inner for element in node.elts for inner in _targets(element)]
    return [node]


def _code_with_labels(node: ast.AST, labels: dict[str, str]) -> str:
    """Return the node's code with every name replaced by its label, or by `_` if it has none."""
    new_names = {n.id: labels.get(n.id, "_") for n in ast.walk(node) if isinstance(n, ast.Name)}
    return ast.unparse(rename_variables(node, new_names))


def _score(
    name: str, other: str, solution_uses: dict[str, Counter[str]], learner_uses: dict[str, Counter[str]]
) -> float:
    """Return the likeness of the solution's variable `name` and the learner's `other`, plus the bonus if it is due."""
    bonus = _SAME_SPELLING_BONUS if name == other else 0.0
    return _likeness(solution_uses[name], learner_uses[other]) + bonus


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the words in common as a share of all words, from 0 to 1; 0 if there are none."""
    total = sum((one | other).values())
    return sum((one & other).values()) / total if total else 0.0
