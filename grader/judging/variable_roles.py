"""Match the learner's variables with the solution's that play the same role, by how they are bound and used.

Parameters are matched by name, then by position. Every other variable is described by words: what is assigned to it,
which attributes are read from it, to which calls it is passed, and at which position it stands in a loop's targets or
in the returned tuple. Two variables are as alike as their words overlap, with a bonus for the same spelling; the most
alike pairs are matched first. Variables are described and matched twice: the second time, the words also mention the
variables that were matched the first time, so they tell more.

A variable is named `x`, or `self.x` if it is an attribute of the object.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()`. `s` is matched with
`total` (target of `+=`) and `value` with `loss` (read by `.item`).
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from grader.submission.syntax import Definition, methods

_SAME_SPELLING_BONUS = 0.35
"""Added to the likeness, which is from 0 to 1, of two variables with the same spelling."""
_MIN_SCORE = 0.2
"""Two variables are matched only if their likeness and the bonus add up to at least this."""

VariableMatches = dict[str, list[str]]
"""By each of the solution's variables, at most two of the learner's that are like it, the best first.

If it was matched, the first is its match. The list is empty if the learner has no variable like it.
"""
_Matches = dict[str, str]
"""The learner's variable by the solution's."""
_Uses = dict[str, Counter[str]]
"""The words that describe how a variable is bound and used, by the variable."""
_Binding = Literal["for", "with", "=", "def"]
"""How a variable gets its value: as target of a loop, of a `with` or of an assignment, or as a parameter."""


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
    for solution_name, learner_name in pairs:
        similar[solution_name].append(learner_name)
    for solution_name, learner_names in similar.items():
        if solution_name in matches:
            # Its match comes first, although the list may begin with one more like it that was matched elsewhere.
            learner_names.remove(matches[solution_name])
            learner_names.insert(0, matches[solution_name])
        del learner_names[2:]
    return similar | {solution_name: [learner_name] for solution_name, learner_name in parameters.items()}


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


def _match_parameters(learner: Definition, solution: Definition) -> _Matches:
    """Return the parameters' matches: the learner's parameter of the same name, else the one at the same position.

    Parameters of methods are matched between methods of the same name. If two methods of the solution have a parameter
    of the same name, the last match counts for both.
    """
    matches: _Matches = {}
    learner_functions = {f.name: f for f in _functions(learner)}
    for function in _functions(solution):
        learner_function = learner_functions.get(function.name)
        if learner_function is None:
            continue
        solution_names, learner_names = _parameter_names(function), _parameter_names(learner_function)
        matches |= {name: name for name in solution_names if name in learner_names}
        matches |= {
            solution_name: learner_name
            for solution_name, learner_name in zip(solution_names, learner_names, strict=False)
            if solution_name not in learner_names and learner_name not in solution_names
        }
    return matches


def _functions(node: Definition) -> Iterator[ast.FunctionDef]:
    """Yield the definition itself if it is a function, the methods if it is a class."""
    if isinstance(node, ast.FunctionDef):
        yield node
    else:
        yield from methods(node).values()


def _parameter_names(function: ast.FunctionDef) -> list[str]:
    """Return the names of a function's parameters, without `*args` and `**kwargs`."""
    parameters = function.args
    return [p.arg for p in (*parameters.posonlyargs, *parameters.args, *parameters.kwonlyargs)]


def _similar_pairs(
    learner: Definition, solution: Definition, parameters: _Matches, matches: _Matches
) -> list[tuple[str, str]]:
    """Return pairs of similar variables, the solution's and the learner's, the most alike first.

    A variable may be in several pairs.

    Args:
        learner: the learner's definition.
        solution: the solution's.
        parameters: matches of the parameters, which are in no pair.
        matches: all matches known so far, which the descriptions mention.
    """
    solution_names = bound_names(solution) - set(parameters)
    learner_names = bound_names(learner) - set(parameters.values())
    solution_bindings, learner_bindings = _bindings(solution), _bindings(learner)
    labels = {name: f"#{number}" for number, name in enumerate(sorted(matches))}
    learner_labels = {matches[name]: label for name, label in labels.items()}
    solution_uses = _describe_uses(solution, solution_names, labels)
    learner_uses = _describe_uses(learner, learner_names, learner_labels)
    scored = sorted(
        # Negative, so that the best pairs come first; equally good ones are in the order of the alphabet.
        (-_score(solution_name, learner_name, solution_uses, learner_uses), solution_name, learner_name)
        for solution_name in solution_names
        for learner_name in learner_names
        # Only names that are bound in the same way at least once: a loop variable plays no assigned variable's role.
        if solution_bindings[solution_name] & learner_bindings[learner_name]
    )
    return [(name, other) for negative_score, name, other in scored if -negative_score >= _MIN_SCORE]


def _match_best_first(pairs: Sequence[tuple[str, str]], parameters: _Matches) -> _Matches:
    """Return the parameters' matches and those of the pairs: the first pair in which both variables are free counts."""
    matches = dict(parameters)
    taken = set(parameters.values())
    for solution_name, learner_name in pairs:
        if solution_name not in matches and learner_name not in taken:
            matches[solution_name] = learner_name
            taken.add(learner_name)
    return matches


def _bindings(definition: ast.AST) -> dict[str, set[_Binding]]:
    """Return the ways in which each variable of a definition is bound; a variable may be bound in several.

    In `a[i] = x`, `a` and `i` count as bound too; it does no harm, since both are compared in the same way.
    """
    found: dict[str, set[_Binding]] = {}
    for node in ast.walk(definition):
        targets = [getattr(node, "target", None), getattr(node, "optional_vars", None)]
        targets += getattr(node, "targets", [])
        for target in filter(None, targets):
            for inner in ast.walk(target):
                if (name := variable_name(inner)) is not None:
                    found.setdefault(name, set()).add(_binding_by(node))
    return {name: found.get(name, {"def"}) for name in bound_names(definition)}


def _binding_by(node: ast.AST) -> _Binding:
    """Return how a node with targets binds them."""
    if isinstance(node, ast.For | ast.comprehension):
        return "for"
    return "with" if isinstance(node, ast.withitem) else "="


def _describe_uses(definition: ast.AST, names: set[str], labels: dict[str, str]) -> _Uses:
    """Return the words that describe how each of the names is bound and used.

    Names within a word are replaced by their labels, or by `_`; attributes of `self` keep their names. Matched
    variables of two programs have the same label, so words of the two can be equal. Example: in
    `loss = loss_fn(model(xb), yb)`, with the labels #0 to #3 for the parameters in the order of the alphabet, `loss`
    gets the word `= #0(#1(#2), #3)`.
    """
    uses: _Uses = {name: Counter() for name in names}
    for parent in ast.walk(definition):
        for child in ast.iter_child_nodes(parent):
            name = variable_name(child)
            if name in uses:
                uses[name].update(_words_of_occurrence(parent, child, labels))
        if isinstance(parent, ast.For | ast.comprehension):
            for index, target in enumerate(_elements(parent.target)):
                name = variable_name(target)
                if name in uses:
                    iterable = _code_with_labels(parent.iter, labels)
                    uses[name].update([f"each {index}", f"each {index} of {iterable}"])
        if isinstance(parent, ast.Return) and parent.value is not None:
            for index, part in enumerate(_elements(parent.value)):
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
        yield f"{type(parent.op).__name__}= {parent.target is child}"  # `Add= True`: the target of `+=`
        yield f"{type(parent.op).__name__}= {_code_with_labels(parent.value, labels)}"
    elif isinstance(parent, ast.BinOp):
        yield f"{type(parent.op).__name__} {parent.left is child}"
    elif isinstance(parent, ast.Compare | ast.Subscript | ast.For | ast.Return):
        yield type(parent).__name__


def _elements(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple, those of nested tuples too; for any other node, a list of the node alone."""
    if isinstance(node, ast.Tuple):
        return [inner for element in node.elts for inner in _elements(element)]
    return [node]


def _code_with_labels(node: ast.AST, labels: dict[str, str]) -> str:
    """Return the node's code with every name replaced by its label, or by `_` if it has none."""
    new_names = {n.id: labels.get(n.id, "_") for n in ast.walk(node) if isinstance(n, ast.Name)}
    return ast.unparse(rename_variables(node, new_names))


def _score(solution_name: str, learner_name: str, solution_uses: _Uses, learner_uses: _Uses) -> float:
    """Return the likeness of two variables, plus the bonus if they have the same spelling."""
    bonus = _SAME_SPELLING_BONUS if solution_name == learner_name else 0.0
    return _likeness(solution_uses[solution_name], learner_uses[learner_name]) + bonus


def _likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the number of common words as a share of all words, from 0 to 1; 0 if there are no words."""
    total = sum((one | other).values())
    return sum((one & other).values()) / total if total else 0.0
