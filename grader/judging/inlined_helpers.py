"""Inline the helper functions that a learner's function calls, so that their lines can be compared, too.

Learners split their code into helpers, nested or at top level, and a mistake may be in one of them. The body of a
helper is placed where it is called for the first time: after the calling statement, or before it if the statement is
compound. The calling statement stays. In the body, line numbers stay, too, and parameters get the names of the
arguments. What the helper returns is assigned to the target of the call, or replaces the call in the condition of an
`if`. Helpers of helpers are inlined in the same way. Later calls of a helper stay as they are. In a class, methods that
the exercise does not ask for are helpers, too (`inline_methods`).

Example: `mean(values)` does `return sum(values) / len(values)`. Then the statement `average = mean(losses)` is followed
by `average = sum(losses) / len(losses)`, which has the line of that `return`. Before `if not higher(score): return`,
where `higher(x)` does `return x > best`, comes `if not score > best: pass`.

The result is for comparison only and need not run: where an argument is no plain name, the parameter keeps a name that
the caller does not have.
"""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence, Set

from grader.judging.variables import rename_variables, variable_name
from grader.submission.syntax import Definition, blocks, head, is_compound, methods

_Helpers = dict[str, ast.FunctionDef]
"""The learner's functions that may be inlined, by name; methods by `self.name`."""


def inline_helpers(function: ast.FunctionDef, top_level: Mapping[str, Definition]) -> ast.FunctionDef:
    """Return a copy of the function with the body of each helper beside the statement that calls it first.

    Args:
        function: the learner's function.
        top_level: the program's top-level definitions, by name; the functions among them may be helpers.
    """
    helpers = {name: node for name, node in top_level.items() if isinstance(node, ast.FunctionDef)}
    helpers.pop(function.name, None)
    inlined = copy.deepcopy(function)
    inlined.body = _Inliner(helpers | _nested_functions(function)).inline(inlined.body)
    return inlined


def inline_methods(
    definition: ast.ClassDef, top_level: Mapping[str, Definition], asked_for: Set[str]
) -> ast.ClassDef:
    """Return a copy of the class in which methods contain the bodies of the helpers that they call.

    A helper that several methods call is in each of them. The definitions of inlined helpers are left out. The copy is
    for comparison only and may not run.

    Args:
        definition: the learner's class.
        top_level: the program's top-level definitions, by name; the functions among them may be helpers.
        asked_for: names of the methods that the exercise asks for; the other methods are helpers.
    """
    functions = {name: node for name, node in top_level.items() if isinstance(node, ast.FunctionDef)}
    helper_methods = {
        f"self.{name}": node for name, node in methods(definition).items() if name not in asked_for
    }
    result = copy.deepcopy(definition)
    inlined: set[str] = set()
    for name, method in methods(result).items():
        if name in asked_for:
            inliner = _Inliner(functions | helper_methods | _nested_functions(method), definition.name)
            method.body = inliner.inline(method.body)
            inlined |= inliner.inlined
    result.body = [
        node
        for node in result.body
        if not (isinstance(node, ast.FunctionDef) and f"self.{node.name}" in inlined)
    ]
    return result


def _nested_functions(function: ast.FunctionDef) -> _Helpers:
    """Return the functions defined inside a function, at any depth."""
    return {
        node.name: node
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef) and node is not function
    }


class _Inliner:
    """Inlines each helper once, at its first call."""

    def __init__(self, helpers: _Helpers, class_name: str | None = None) -> None:
        """Prepare.

        Args:
            helpers: what may be inlined.
            class_name: name of the class around the statements; None outside of classes.
        """
        self._helpers = helpers
        self._class_name = class_name
        self.inlined: set[str] = set()
        """Names, as in `helpers`, of those whose body has been placed already. This also ends the recursion of helpers.
        """

    def inline(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements with helpers inlined, and without the definitions of the inlined helpers.

        The blocks of compound statements are changed in place.
        """
        result: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                result.append(statement)  # a helper's body is placed where it is called
                continue
            bodies: list[ast.stmt] = []
            for call, name in self._first_calls(statement):
                self.inlined.add(name)
                bodies += self.inline(_body_for_call(call, self._helpers[name], statement))
            if is_compound(statement):
                # Before it, because what its first line calls runs before its body.
                result += bodies
                for owner, field, block in blocks(statement):
                    setattr(owner, field, self.inline(block))
                result.append(statement)
            else:
                # After it: if something is missing before the call, feedback points at the line that follows the gap,
                # and that should be the calling line.
                result += [statement, *bodies]
        return [
            statement
            for statement in result
            if not (isinstance(statement, ast.FunctionDef) and statement.name in self.inlined)
        ]

    def _first_calls(self, statement: ast.stmt) -> Iterator[tuple[ast.Call, str]]:
        """Yield each call of a helper that has not been inlined, with its name; not calls in the statement's body.

        `inline` marks each helper as inlined before it asks for the next call. So a helper that is called twice in a
        statement is yielded once.
        """
        for part in head(statement):
            for node in _in_order_of_evaluation(part):
                if isinstance(node, ast.Call):
                    name = self._name_of_called(node.func)
                    if name in self._helpers and name not in self.inlined:
                        yield node, name

    def _name_of_called(self, called: ast.expr) -> str:
        """Return `f` for `f`, and `self.f` for `self.f`, `cls.f` and `Class.f`; empty for everything else."""
        match called:
            case ast.Name(id=name):
                return name
            case ast.Attribute(value=ast.Name(id=owner), attr=name) if owner in (
                "self",
                "cls",
                self._class_name,
            ):
                return f"self.{name}"
        return ""


def _body_for_call(call: ast.Call, helper: ast.FunctionDef, statement: ast.stmt) -> list[ast.stmt]:
    """Return a copy of the helper's body for one call: in the caller's names, with its returns replaced.

    Args:
        call: the call of the helper, whose arguments take the place of its parameters.
        helper: the function that is called.
        statement: the statement that contains the call. If it assigns nothing but the result of the call, its target
            is assigned what the helper returns.
    """
    parameters = [parameter.arg for parameter in (*helper.args.posonlyargs, *helper.args.args)]
    if isinstance(call.func, ast.Attribute) and parameters[:1] in (["self"], ["cls"]):
        del parameters[0]  # the object itself is no argument of the call
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    new_names = {
        name: argument for name, value in arguments.items() if (argument := variable_name(value)) is not None
    }
    body = [rename_variables(node, new_names) for node in helper.body]
    return [_ReturnReplacer(call, statement).visit(node) for node in body]


def _in_order_of_evaluation(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of an expression or a statement, the arguments of a call before the call."""
    for child in ast.iter_child_nodes(node):
        yield from _in_order_of_evaluation(child)
    yield node


class _ReturnReplacer(ast.NodeTransformer):
    """Replaces `return x` by what the calling statement does with `x`.

    This is an assignment of `x` to the call's target, or an `if` without blocks whose condition has `x` in the place of
    the call. In any other case, and for a constant, it is the statement `x`.
    """

    def __init__(self, call: ast.Call, statement: ast.stmt) -> None:
        self._call, self._statement = call, statement

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = node.value or ast.Constant(None)
        replacement: ast.stmt = ast.Expr(value)
        match self._statement:
            case ast.Assign(targets=[target, *_], value=assigned) if assigned is self._call:
                replacement = ast.Assign([target], value)
            case ast.If(test=test) if not isinstance(value, ast.Constant):
                replacement = ast.If(copy.deepcopy(test, {id(self._call): value}), [ast.Pass()], [])
        return ast.fix_missing_locations(ast.copy_location(replacement, node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # not visited: returns of a nested function belong to that function
