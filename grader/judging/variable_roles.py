"""Match the learner's variables with the solution's that play the same role, by how they are set and used.

Parameters are matched by name, then by position. Every other variable is described by words (the table below). Two
variables are as alike as their words overlap, with a bonus for the same spelling; the most alike pairs are matched
first. Variables are described and matched twice: the second time, the words also mention the variables that were
matched the first time, so they tell more.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()`. `s` is matched with
`total` (target of `+=`) and `value` with `loss` (read by `.item`).

The words of a variable `v`, where `#0`, `#1` … are labels of matched variables, and `_` is any other name:

    v = f(x)           `= #0(#1)`
    v += x             `Add= True` (it is the target) and `Add= #1`; for `x`: `Add= False` and `Add= #1`
    v.item()           `.item`
    f(v)               `in #0`
    v(x)               `called`
    v + x              `Add True` (it is on the left); for `x`: `Add False`
    v < x, v[0], …     `Compare`, `Subscript`, `For`, `Return`: the kind of node around it
    for v, w in f(x)   `each 0` and `each 0 of #0(#1)`
    return v, f(w)     `returned 0`; for `w`: `returned 1`

A new word goes into `_words_of_occurrence` if the node directly around the variable tells it, else into
`_describe_uses`.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from grader.judging.variables import rename_variables, variable_name, variables_in
from grader.submission.syntax import Definition, methods

_SAME_SPELLING_BONUS = 0.35
"""Added to the likeness, which is from 0 to 1, of two variables with the same spelling."""
_MIN_SCORE = 0.2
"""Two variables are matched only if their likeness and the bonus add up to at least this."""
_MAX_CANDIDATES = 2
"""Maximum number of the learner's variables that are returned for one of the solution's: match and runner-up."""

VariableMatches = dict[str, list[str]]
"""By each of the solution's variables, at most `_MAX_CANDIDATES` of the learner's that are like it, the best first.

If it was matched, the first is its match. If not, the list may still begin with a variable that was matched elsewhere:
the lists do not tell the two apart. The list is empty if the learner has no variable like it. Variables are named as
`judging.variables` names them.
"""
_Matches = dict[str, str]
"""The learner's variable by the solution's."""
_WordsOfEach = dict[str, Counter[str]]
"""The words that describe how a variable is set and used, by the variable."""
_Source = Literal["for", "with", "=", "parameter"]
"""Where a variable gets its value from: a loop, a `with`, an assignment, or the caller."""


def match_variables(learner: Definition, solution: Definition) -> VariableMatches:
    """Match the learner's variables with the solution's.

    Args:
        learner: the learner's definition.
        solution: the solution's.
    """
    parameters, pairs, matches = _matched(learner, solution)
    # Sorted, because a set has another order in each process.
    similar: VariableMatches = {name: [] for name in sorted(variables_in(solution) - set(parameters))}
    for solution_name, learner_name in pairs:
        similar[solution_name].append(learner_name)
    for solution_name, learner_names in similar.items():
        if solution_name in matches:
            # Its match comes first, although the list may begin with one more like it that was matched elsewhere.
            learner_names.remove(matches[solution_name])
            learner_names.insert(0, matches[solution_name])
        del learner_names[_MAX_CANDIDATES:]
    return similar | {solution_name: [learner_name] for solution_name, learner_name in parameters.items()}


def matches_of_variables(learner: Definition, solution: Definition) -> dict[str, str]:
    """Return the learner's variable that is the match of each of the solution's, parameters included."""
    parameters, _, matches = _matched(learner, solution)
    return matches | parameters


def _matched(learner: Definition, solution: Definition) -> tuple[_Matches, list[tuple[str, str]], _Matches]:
    """Return the parameters' matches, the similar pairs of other variables, the likest first, and their matches."""
    parameters = _match_parameters(learner, solution)
    first_matches = _match_best_first(_similar_pairs(learner, solution, parameters, parameters), parameters)
    pairs = _similar_pairs(learner, solution, parameters, first_matches)
    return parameters, pairs, _match_best_first(pairs, parameters)


def word_likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the number of common words as a share of all words, from 0 to 1; 0 if there are no words."""
    shared = (one & other).total()
    total = one.total() + other.total() - shared
    return shared / total if total else 0.0


def _match_parameters(learner: Definition, solution: Definition) -> _Matches:
    """Return the parameters' matches: the learner's parameter of the same name, else the one at the same position.

    The latter only if it has the name of no parameter of the solution's. Parameters of methods are matched between
    methods of the same name. If two methods of the solution have a parameter of the same name, the last match counts
    for both.
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
    solution_names = variables_in(solution) - set(parameters)
    learner_names = variables_in(learner) - set(parameters.values())
    solution_sources, learner_sources = _value_sources(solution), _value_sources(learner)
    labels = {name: f"#{number}" for number, name in enumerate(sorted(matches))}
    learner_labels = {matches[name]: label for name, label in labels.items()}
    solution_words = _describe_uses(solution, solution_names, labels)
    learner_words = _describe_uses(learner, learner_names, learner_labels)
    scored = sorted(
        # Negative, so that the best pairs come first; equally good ones are in the order of the alphabet.
        (-_score(solution_name, learner_name, solution_words, learner_words), solution_name, learner_name)
        for solution_name in solution_names
        for learner_name in learner_names
        # Only if both have a source in common: a loop variable plays no assigned variable's role.
        if solution_sources[solution_name] & learner_sources[learner_name]
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


def _value_sources(definition: ast.AST) -> dict[str, set[_Source]]:
    """Return where each variable of a definition gets its value from; it may have several sources.

    In `a[i] = x`, `a` and `i` count as assigned too. That does no harm, since both programs are read in the same way.
    """
    found: dict[str, set[_Source]] = {}
    for node in ast.walk(definition):
        targets = [getattr(node, "target", None), getattr(node, "optional_vars", None)]
        targets += getattr(node, "targets", [])
        for target in filter(None, targets):
            for inner in ast.walk(target):
                if (name := variable_name(inner)) is not None:
                    found.setdefault(name, set()).add(_source_of_targets(node))
    return {name: found.get(name, {"parameter"}) for name in variables_in(definition)}


def _source_of_targets(node: ast.AST) -> _Source:
    """Return from which source a node with targets sets them."""
    if isinstance(node, ast.For | ast.comprehension):
        return "for"
    return "with" if isinstance(node, ast.withitem) else "="


def _describe_uses(definition: ast.AST, names: set[str], labels: dict[str, str]) -> _WordsOfEach:
    """Return the words that describe how each of the names is set and used (see the table of the module).

    Names within a word are replaced by their labels, or by `_`; the names of attributes stay. Matched variables of two
    programs have the same label, so words of the two can be equal. Example: in `loss = loss_fn(model(xb), yb)`, with
    the labels #0 to #3 for `loss_fn`, `model`, `xb` and `yb`, `loss` gets the word `= #0(#1(#2), #3)`.
    """
    words: _WordsOfEach = {name: Counter() for name in names}
    for parent in ast.walk(definition):
        for child in ast.iter_child_nodes(parent):
            name = variable_name(child)
            if name in words:
                words[name].update(_words_of_occurrence(parent, child, labels))
        if isinstance(parent, ast.For | ast.comprehension):
            for index, target in enumerate(_elements(parent.target)):
                name = variable_name(target)
                if name in words:
                    iterable = _code_with_labels(parent.iter, labels)
                    words[name].update([f"each {index}", f"each {index} of {iterable}"])
        if isinstance(parent, ast.Return) and parent.value is not None:
            for index, part in enumerate(_elements(parent.value)):
                for node in ast.walk(part):
                    if (name := variable_name(node)) in words:
                        words[name].update([f"returned {index}"])
    return words


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


def _score(
    solution_name: str, learner_name: str, solution_words: _WordsOfEach, learner_words: _WordsOfEach
) -> float:
    """Return the likeness of two variables, plus the bonus if they have the same spelling."""
    bonus = _SAME_SPELLING_BONUS if solution_name == learner_name else 0.0
    return word_likeness(solution_words[solution_name], learner_words[learner_name]) + bonus
