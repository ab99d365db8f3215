"""Collect what an edit may put into the learner's expressions: variables, divisors, lengths and constants.

Example: in `for xb in loader: total += loss(xb)`, an edit may divide `loss(xb)` by `len(loader)`, by `len(xb)` or by
whatever the solution divides by.

`expression_edits` makes one `EditMaterial` for each definition; it and `mutations` put these things into expressions.
Another such thing is a property here, with a maximum length.
"""

import ast
from functools import cached_property
from typing import NamedTuple, TypeGuard

from grader.judging.repair.definition_text import DefinitionText
from grader.judging.repair.translated_solution import TranslatedSolution
from grader.judging.variables import variables_in
from grader.submission.syntax import assignments_of_names, own_parts

# Every item of these lists is tried in every place where it fits, so the lists are kept short.
_MAX_DIVISORS = 8
"""Maximum length of `EditMaterial.divisors`."""
_MAX_LOOP_LENGTHS = 3
"""Maximum length of `EditMaterial.loop_lengths`."""
_MAX_NAMES_USED_ALIKE = 6
"""Maximum length of each list in `EditMaterial.names_used_alike`."""
_MAX_SIMILAR_NAMES = 4
"""Maximum length of what `EditMaterial.similar_names` returns."""

_SIMILAR_NAME_COST = 0.5
"""Extra cost (see `Mutation.extra_cost`) of a name that shares a word with the one in the program."""
_INNER_PARAMETER_COST = -0.8
"""Extra cost of a parameter of the inner function or method around the name, if the name is none of its parameters. It
is negative, because a name so like a parameter's most likely stands there by mistake."""
_NUMERIC_FUNCTIONS = ("len", "min", "max", "int", "round", "sum", "float")
"""Builtins that usually return a number."""


class SimilarName(NamedTuple):
    """A name that the learner may have meant instead of one that shares a word with it."""

    extra_cost: float
    """See `Mutation.extra_cost`."""
    name: str


class EditMaterial:
    """What an edited expression may use, in the learner's names. Each property is computed when it is first read."""

    def __init__(self, definition: DefinitionText, solution: TranslatedSolution) -> None:
        """Prepare; nothing is collected yet.

        Args:
            definition: the learner's function or class.
            solution: the solution in the learner's names.
        """
        self._definition, self._solution = definition, solution

    @cached_property
    def divisors(self) -> list[ast.expr]:
        """A few expressions to divide by.

        First come the solution's divisors, then the learner's `len(…)` and `numeric_names`, last `len` of the variables
        that loops go through and of the loops' targets.
        """
        found: dict[str, ast.expr] = {}
        for node in self._solution_nodes:
            if is_quotient(node):
                found[ast.unparse(node.right)] = node.right
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "len":
                found[ast.unparse(node)] = node
        for name in self.numeric_names:
            found[name] = ast.Name(name, ast.Load())
        for loop in ast.walk(self._definition.node):
            if isinstance(loop, ast.For) and isinstance(loop.iter, ast.Name):
                found[f"len({loop.iter.id})"] = _len_of(loop.iter)
                for target in _names(loop.target):
                    found.setdefault(f"len({target})", _len_of(ast.Name(target, ast.Load())))
        return list(found.values())[:_MAX_DIVISORS]

    @cached_property
    def numeric_names(self) -> list[str]:
        """Names that look like numbers; those that are assigned and never read come first.

        These are targets of augmented assignments, operands of calculations and comparisons, indices of `enumerate` and
        `range`, and variables that are assigned a number (see `_looks_numeric`). Tensors may be among them.
        """
        names: dict[str, None] = {}
        for node in ast.walk(self._definition.node):
            names |= dict.fromkeys(_names_used_as_numbers(node))
        return sorted(names, key=lambda name: name not in self.unread_names)  # False sorts before True

    @cached_property
    def unread_names(self) -> set[str]:
        """Variables that are assigned and never read; `n += 1` alone does not read `n`."""
        return self._definition.names_assigned - self._definition.names_read

    @cached_property
    def loop_lengths(self) -> list[ast.expr]:
        """A few expressions for a loop's number of rounds.

        These are variables that are assigned `len(…)` anywhere, and `len(xs)` for each loop over `xs` or over a call
        whose first argument is `xs`, as in `enumerate(xs)`.
        """
        found: dict[str, ast.expr] = {}
        for node in ast.walk(self._definition.node):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                target = node.targets[0]
                if ast.unparse(node.value.func) == "len" and isinstance(target, ast.Name):
                    found[target.id] = ast.Name(target.id, ast.Load())
            elif isinstance(node, ast.For):
                iterable = node.iter
                if isinstance(iterable, ast.Call) and iterable.args:
                    iterable = iterable.args[0]
                if isinstance(iterable, ast.Name):
                    found[f"len({iterable.id})"] = _len_of(iterable)
        return list(found.values())[:_MAX_LOOP_LENGTHS]

    @cached_property
    def solution_constants(self) -> list[ast.Constant]:
        """The constants in the translated statements of the solution, each once, except strings."""
        found: dict[str, ast.Constant] = {}
        for node in self._solution_nodes:
            if isinstance(node, ast.Constant) and not isinstance(node.value, str):
                found[repr(node.value)] = node  # by `repr`, because `1`, `1.0` and `True` are equal as keys
        return list(found.values())

    @cached_property
    def names_used_alike(self) -> dict[str, list[str]]:
        """For each name, a few others that are used like it, so that the learner may have confused them.

        Alike are: all `numeric_names`; the targets of one loop; all assigned variables that do not look like numbers.
        """
        groups = [self.numeric_names]
        groups += [
            _names(loop.target) for loop in ast.walk(self._definition.node) if isinstance(loop, ast.For)
        ]
        assigned = dict.fromkeys(assignments_of_names(self._definition.node))
        groups.append([name for name in assigned if name not in self.numeric_names])
        alike: dict[str, dict[str, None]] = {}  # a dict of None is a set that keeps its order
        for group in groups:
            for name in group:
                alike.setdefault(name, {}).update({other: None for other in group if other != name})
        return {name: list(others)[:_MAX_NAMES_USED_ALIKE] for name, others in alike.items()}

    def similar_names(self, name: ast.Name) -> list[SimilarName]:
        """Return a few names that share a word with `name`, the likeliest first.

        For `train_loader` these may be `val_loader` and `loader`. A parameter of the inner function around the name is
        the likeliest (`_INNER_PARAMETER_COST`).
        """
        words = _words(name.id)
        similar = [other for other in self._variables if other != name.id and words & _words(other)]
        parameters = self._inner_parameters_around(name)
        likelier = parameters if name.id not in parameters else set()
        found = [
            SimilarName(_INNER_PARAMETER_COST if other in likelier else _SIMILAR_NAME_COST, other)
            for other in similar
        ]
        return sorted(found)[:_MAX_SIMILAR_NAMES]

    def is_attribute_only(self, name: ast.Name) -> bool:
        """Return True if the class stores `self.x` for the name `x`, and no function around the name has an `x`."""
        is_stored = (
            isinstance(self._definition.node, ast.ClassDef) and f"self.{name.id}" in self._variables_set
        )
        functions = self._inner_functions_around(name)
        return is_stored and all(name.id not in variables_in(function) for function in functions)

    def _inner_parameters_around(self, name: ast.Name) -> set[str]:
        """Return the positional parameters of the inner functions and methods that the node `name` stands in."""
        around = self._inner_functions_around(name)
        return {argument.arg for function in around for argument in function.args.args}

    def _inner_functions_around(self, name: ast.Name) -> list[ast.FunctionDef]:
        """Return the inner functions and methods that the node `name` stands in."""
        return [
            function
            for function in self._inner_functions
            if function.lineno <= name.lineno <= (function.end_lineno or 0)
        ]

    @cached_property
    def _inner_functions(self) -> list[ast.FunctionDef]:
        """Functions inside the definition, methods among them."""
        node = self._definition.node
        return [inner for inner in ast.walk(node) if isinstance(inner, ast.FunctionDef) and inner is not node]

    @cached_property
    def _variables_set(self) -> set[str]:
        """All variables that the definition sets, attributes such as `self.x` included."""
        return variables_in(self._definition.node)

    @cached_property
    def _variables(self) -> set[str]:
        """All parameters and assigned variables of the definition, inner functions included."""
        parameters = {node.arg for node in ast.walk(self._definition.node) if isinstance(node, ast.arg)}
        return parameters | self._definition.names_assigned

    @cached_property
    def _solution_nodes(self) -> list[ast.AST]:
        """All nodes of the solution's translated statements, each in its likeliest version."""
        parts = [part for statement in self._solution.statements for part in own_parts(statement.versions[0])]
        return [node for part in parts for node in ast.walk(part)]


def is_quotient(node: ast.AST) -> TypeGuard[ast.BinOp]:
    """Return True for `a / b`, but not for `a // b`."""
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _names_used_as_numbers(node: ast.AST) -> list[str]:
    """Return the names that this node itself, not a node inside it, uses as numbers or sets to numbers."""
    candidates: list[ast.expr] = []
    if isinstance(node, ast.AugAssign):
        candidates = [node.target]
    elif isinstance(node, ast.BinOp):
        candidates = [node.left, node.right]
    elif isinstance(node, ast.Compare):
        candidates = [node.left, *node.comparators]
    elif isinstance(node, ast.For) and isinstance(node.iter, ast.Call):
        function = ast.unparse(node.iter.func)
        if function == "enumerate" and isinstance(node.target, ast.Tuple):
            candidates = node.target.elts[:1]
        elif function == "range":
            candidates = [node.target]
    elif isinstance(node, ast.Assign) and _looks_numeric(node.value):
        candidates = node.targets
    return [candidate.id for candidate in candidates if isinstance(candidate, ast.Name)]


def _looks_numeric(value: ast.expr) -> bool:
    """Return True if an assigned value probably is a number.

    Such a value is a number or a boolean, a call that usually returns a number, or any binary operation.
    """
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        return value.func.id in _NUMERIC_FUNCTIONS
    if isinstance(value, ast.Constant):
        return isinstance(value.value, int | float)
    return isinstance(value, ast.BinOp)


def _words(name: str) -> set[str]:
    """Return the parts of a name between its underscores."""
    return set(name.split("_")) - {""}  # `_x` and `_y` have nothing in common


def _names(node: ast.AST) -> list[str]:
    """Return all names in a tree, once for each time that they occur."""
    return [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]


def _len_of(argument: ast.expr) -> ast.Call:
    """Return the expression `len(argument)`."""
    return ast.Call(ast.Name("len", ast.Load()), [argument], [])
