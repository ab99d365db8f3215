"""Inline the helper functions that a learner's function calls, so that their lines can be compared, too.

Learners split their code into helpers, nested or at top level, and a mistake may be in one of them. The body of a
helper is placed where it is called for the first time: after the calling statement, or before it if the statement is
compound. The calling statement stays. In the body, line numbers stay, too, parameters get the names of the arguments,
and `return x` becomes an assignment of `x` to the target of the call. Helpers of helpers are inlined in the same way.
Later calls of a helper stay as they are.

Example: `mean(values)` does `return sum(values) / len(values)`. Then the statement `average = mean(losses)` is followed
by `average = sum(losses) / len(losses)`, which has the line of that `return`.

The result is for comparison only and need not run: where an argument is no plain name, the parameter keeps a name that
the caller does not have.
"""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from grader.judging.variable_roles import rename_variables
from grader.submission.syntax import Definition, blocks, head, is_compound

_Helpers = dict[str, ast.FunctionDef]
"""The learner's functions that may be inlined, by name."""


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


def _nested_functions(function: ast.FunctionDef) -> _Helpers:
    """Return the functions defined inside a function, at any depth."""
    return {
        node.name: node
        for node in ast.walk(function)
        if isinstance(node, ast.FunctionDef) and node is not function
    }


class _Inliner:
    """Inlines each helper once, at its first call."""

    def __init__(self, helpers: _Helpers) -> None:
        self._helpers = helpers
        self._inlined: set[str] = set()
        """Names of the helpers whose body has been placed already. This also ends the recursion of helpers."""

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
            for call, helper in self._first_calls(statement):
                self._inlined.add(helper.name)
                bodies += self.inline(_body_for_call(call, helper, statement))
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
            if not (isinstance(statement, ast.FunctionDef) and statement.name in self._inlined)
        ]

    def _first_calls(self, statement: ast.stmt) -> Iterator[tuple[ast.Call, ast.FunctionDef]]:
        """Yield each call of a helper that has not been inlined, with the helper; not calls in the statement's body.

        `inline` marks each helper as inlined before it asks for the next call. So a helper that is called twice in a
        statement is yielded once.
        """
        for part in head(statement):
            for node in ast.walk(part):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    helper = self._helpers.get(node.func.id)
                    if helper is not None and helper.name not in self._inlined:
                        yield node, helper


def _body_for_call(call: ast.Call, helper: ast.FunctionDef, statement: ast.stmt) -> list[ast.stmt]:
    """Return a copy of the helper's body for one call: in the caller's names, with its returns replaced.

    Args:
        call: the call of the helper, whose arguments take the place of its parameters.
        helper: the function that is called.
        statement: the statement that contains the call. If it assigns nothing but the result of the call, its target
            is assigned what the helper returns.
    """
    parameters = [parameter.arg for parameter in (*helper.args.posonlyargs, *helper.args.args)]
    arguments = dict(zip(parameters, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    new_names = {name: value.id for name, value in arguments.items() if isinstance(value, ast.Name)}
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    body = [rename_variables(node, new_names) for node in helper.body]
    return [_ReturnReplacer(target).visit(node) for node in body]


class _ReturnReplacer(ast.NodeTransformer):
    """Replaces `return x` by `target = x`, or by the statement `x` if there is no target."""

    def __init__(self, target: ast.expr | None) -> None:
        self._target = target

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = node.value or ast.Constant(None)
        replacement = ast.Expr(value) if self._target is None else ast.Assign([self._target], value)
        return ast.copy_location(replacement, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # not visited: returns of a nested function belong to that function
