"""Match the learner's variables with the solution's that play the same role, by how they are set and used.

Parameters are matched by name, then by position. All other variables, and parameters that this leaves over, are
described by words (the table below). Two of them can be matched only if there is a way (`_Source`) in which both get
values, and if they are alike enough (`_MIN_SCORE`): the more words they share, the more alike they are, and the same
spelling earns a bonus. The most alike pairs are matched first. Variables are described and matched twice: the first
time the words mention only the matched parameters, the second time every variable matched the first time, so they tell
more.

Example: the solution has `total += loss.item() * len(xb)`, the learner `s += value.item()`. `s` is matched with
`total` (target of `+=`) and `value` with `loss` (read by `.item`).

The words of a variable `v`, where `#0`, `#1` … are labels of matched variables, and `_` is any other name (attributes
keep their names, so no word tells that `self.x` of one program is matched with `self.y` of the other):

    v = f(x)           `= #0(#1)`
    v += x             `Add= target` and `Add= #1`; for `x`: `Add= value` and `Add= #1`
    v.item()           `.item`
    f(v)               `in #0`
    v(x)               `called`
    v + x              `Add left`; for `x`: `Add right`
    v < x, v[0], …     `Compare`, `Subscript`, `For`, `Return`: the kind of node around it
    for v, w in f(x)   `each 0` and `each 0 of #0(#1)`
    return v, f(w)     `returned 0`; for `w`: `returned 1`

A new word goes into `_words_of_occurrence` if the node directly around the variable tells it, else into
`_describe_uses`.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from grader.judging.variables import rename_variables, variable_name, variables_in
from grader.submission.syntax import Definition, methods

# Both numbers were set by hand, so that the lines of `tests/first_tries` and `tests/unlisted` are found.
_SAME_SPELLING_BONUS = 0.35
"""Added to the likeness, which is from 0 to 1, of two variables with the same spelling."""
_MIN_SCORE = 0.2
"""Two variables are matched only if their likeness and the bonus add up to at least this."""
_MAX_CANDIDATES = 2
"""Maximum number of the learner's variables that are returned for one of the solution's; `translated_solution` tries no
third."""

Candidates = dict[str, list[str]]
"""By each of the solution's variables, at most `_MAX_CANDIDATES` of the learner's that are like it.

For a matched variable, its match comes first, then the one most like it among the others; for a parameter that is
matched by name or position, its match alone. For any other variable, they are the most alike ones, the best first; each
is the match of another variable. The list is empty if the learner has no variable that is like this one. Variables are
named as `judging.variables` names them.
"""
_Matches = dict[str, str]
"""The learner's variable by the solution's."""
_WordsOfEach = dict[str, Counter[str]]
"""The words that describe how a variable is set and used, by the variable."""
_Source = Literal["for", "with", "=", "parameter"]
"""Where a variable gets its value from: a loop or comprehension, a `with`, an assignment (`del` counts as one), or the
caller."""


class _Pair(NamedTuple):
    """Names of two variables that may play the same role."""

    solution: str
    learner: str


class _Matching(NamedTuple):
    """What the two passes over a learner's definition and the solution's come to."""

    parameters: _Matches
    """Matches of the parameters that are matched by name or position."""
    similar_pairs: list[_Pair]
    """Pairs of similar variables other than these, the most alike first; a variable may be in several."""
    matches: _Matches
    """All matches: those of `parameters`, then the pairs that were chosen."""


def candidates_by_variable(learner: Definition, solution: Definition) -> Candidates:
    """Return the learner's variables that may play the role of each of the solution's, for callers that try several."""
    matching = _match_in_two_passes(learner, solution)
    # Sorted, because a set has another order in each process.
    candidates: Candidates = {name: [] for name in sorted(variables_in(solution) - set(matching.parameters))}
    for pair in matching.similar_pairs:
        candidates[pair.solution].append(pair.learner)
    for solution_name, learner_names in candidates.items():
        if solution_name in matching.matches:
            # Its match comes first, although the list may begin with one more like it that was matched elsewhere.
            learner_names.remove(matching.matches[solution_name])
            learner_names.insert(0, matching.matches[solution_name])
        del learner_names[_MAX_CANDIDATES:]
    return candidates | {name: [learner_name] for name, learner_name in matching.parameters.items()}


def match_by_variable(learner: Definition, solution: Definition) -> dict[str, str]:
    """Return the learner's variable that plays the role of each of the solution's; unmatched ones are left out."""
    return _match_in_two_passes(learner, solution).matches


def word_likeness(one: Counter[str], other: Counter[str]) -> float:
    """Return the number of common words as a share of all words, from 0 to 1; 0 if there are no words."""
    shared = (one & other).total()
    total = one.total() + other.total() - shared
    return shared / total if total else 0.0


def _match_in_two_passes(learner: Definition, solution: Definition) -> _Matching:
    """Match parameters, then the most alike pairs of the other variables, then these again by words that tell more."""
    parameters = _match_parameters(learner, solution)
    # In the first pass, the words can mention no other matches than the parameters'.
    first_pairs = _similar_pairs(learner, solution, parameters, known_matches=parameters)
    first_matches = _match_greedily(first_pairs, parameters)
    pairs = _similar_pairs(learner, solution, parameters, known_matches=first_matches)
    return _Matching(parameters, pairs, _match_greedily(pairs, parameters))


def _match_parameters(learner: Definition, solution: Definition) -> _Matches:
    """Return the parameters' matches: the learner's parameter of the same name, else the one at the same position.

    The one at the same position counts only if no parameter of the solution has its name. Parameters are matched
    between functions, or methods, of the same name. If two methods of the solution have a parameter of the same name,
    the last match counts for both.
    """
    matches: _Matches = {}
    learner_functions = {function.name: function for function in _functions(learner)}
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
    arguments = function.args
    return [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def _similar_pairs(
    learner: Definition, solution: Definition, parameter_matches: _Matches, known_matches: _Matches
) -> list[_Pair]:
    """Return pairs of similar variables, the most alike first. A variable may be in several pairs.

    Args:
        learner: the learner's definition.
        solution: the solution's.
        parameter_matches: matches of the parameters by name or position; these variables are in no pair.
        known_matches: all matches known so far, which the words mention.
    """
    solution_names = variables_in(solution) - set(parameter_matches)
    learner_names = variables_in(learner) - set(parameter_matches.values())
    solution_sources, learner_sources = _value_sources(solution), _value_sources(learner)
    labels = {name: f"#{number}" for number, name in enumerate(sorted(known_matches))}
    learner_labels = {known_matches[name]: label for name, label in labels.items()}
    solution_words = _describe_uses(solution, solution_names, labels)
    learner_words = _describe_uses(learner, learner_names, learner_labels)
    scored = sorted(
        # Negative, so that the best pairs come first; equally good ones are in the order of the alphabet.
        (-_score(solution_name, learner_name, solution_words, learner_words), solution_name, learner_name)
        for solution_name in solution_names
        for learner_name in learner_names
        # A loop variable plays no assigned variable's role.
        if solution_sources[solution_name] & learner_sources[learner_name]
    )
    return [
        _Pair(solution_name, learner_name)
        for negative_score, solution_name, learner_name in scored
        if -negative_score >= _MIN_SCORE
    ]


def _match_greedily(pairs: Sequence[_Pair], parameter_matches: _Matches) -> _Matches:
    """Return the parameters' matches, and each pair in which neither variable is matched yet, in the pairs' order."""
    matches = dict(parameter_matches)
    taken = set(parameter_matches.values())
    for pair in pairs:
        if pair.solution not in matches and pair.learner not in taken:
            matches[pair.solution] = pair.learner
            taken.add(pair.learner)
    return matches


def _value_sources(definition: ast.AST) -> dict[str, set[_Source]]:
    """Return where each variable of a definition gets its value from: all the ways it is set, else "parameter".

    A parameter that is set again has only the sources of that. In `a[i] = x`, `a` and `i` count as assigned too. That
    does no harm, since both programs are read in the same way.
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
    """Return the source of the variables among the targets of a node, such as a loop or an assignment."""
    if isinstance(node, ast.For | ast.comprehension):
        return "for"
    return "with" if isinstance(node, ast.withitem) else "="


def _describe_uses(definition: ast.AST, names: set[str], labels: dict[str, str]) -> _WordsOfEach:
    """Return the words that describe how each of the names is set and used (see the table of the module).

    Names within a word are replaced by their labels, or by `_`; the names of attributes stay, those of `self` too. Two
    names that are matched have the same label, so words of the two programs can be equal. Example: in
    `loss = loss_fn(model(xb), yb)`, with the labels #0 to #3 for `loss_fn`, `model`, `xb` and `yb`, `loss` gets the
    word `= #0(#1(#2), #3)`.
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
        yield f"{type(parent.op).__name__}= {'target' if parent.target is child else 'value'}"
        yield f"{type(parent.op).__name__}= {_code_with_labels(parent.value, labels)}"
    elif isinstance(parent, ast.BinOp):
        yield f"{type(parent.op).__name__} {'left' if parent.left is child else 'right'}"
    elif isinstance(parent, ast.Compare | ast.Subscript | ast.For | ast.Return):
        yield type(parent).__name__


def _elements(node: ast.expr) -> list[ast.expr]:
    """Return the elements of a tuple, those of nested tuples too; for any other node, a list of the node alone."""
    if isinstance(node, ast.Tuple):
        return [inner for element in node.elts for inner in _elements(element)]
    return [node]


def _code_with_labels(node: ast.AST, labels: dict[str, str]) -> str:
    """Return the node's code with each name, but no attribute, replaced by its label, or by `_` if it has none."""
    new_names = {n.id: labels.get(n.id, "_") for n in ast.walk(node) if isinstance(n, ast.Name)}
    return ast.unparse(rename_variables(node, new_names))


def _score(
    solution_name: str, learner_name: str, solution_words: _WordsOfEach, learner_words: _WordsOfEach
) -> float:
    """Return the likeness of two variables, plus the bonus if they have the same spelling."""
    bonus = _SAME_SPELLING_BONUS if solution_name == learner_name else 0.0
    return word_likeness(solution_words[solution_name], learner_words[learner_name]) + bonus
