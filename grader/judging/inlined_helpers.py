"""Write the helper functions that a learner's function calls into it, so that its lines can be compared.

Learners split their code into helpers, nested or at top level, and a mistake may be in one of them. Where a helper is
called for the first time, its body is placed after the calling statement (before a compound one), with line numbers
as they were. Parameters get the names of the arguments, and what the helper returns is assigned to the target of the
call. Helpers that helpers call are treated alike; later calls stay as they are.

Example: `average = mean(losses)`, where `mean(values)` does `return sum(values) / len(values)`, is followed by
`average = sum(losses) / len(losses)`, which has the line of that `return`.
"""

import ast
import copy
from collections.abc import Iterator, Mapping, Sequence

from grader.judging.variable_roles import renamed
from grader.submission.syntax import Definition, blocks, head, is_compound

_Helpers = dict[str, ast.FunctionDef]
"""Functions of the learner's, by name."""


def inlined(function: ast.FunctionDef, program: Mapping[str, Definition]) -> ast.FunctionDef:
    """Return a copy of the function with the body of each helper beside the statement that calls it first.

    The copy is for comparison only: it need not run.

    Args:
        function: the learner's function.
        program: the program's top-level definitions; its functions may be helpers.
    """
    helpers = {name: node for name, node in program.items() if isinstance(node, ast.FunctionDef)}
    helpers.pop(function.name, None)
    result = copy.deepcopy(function)
    result.body = _Inliner(helpers | _nested(function)).body(result.body)
    return result


def _nested(function: ast.FunctionDef) -> _Helpers:
    """Return the functions defined inside a function."""
    return {n.name: n for n in ast.walk(function) if isinstance(n, ast.FunctionDef) and n is not function}


class _Inliner:
    """Inline each helper once."""

    def __init__(self, helpers: _Helpers) -> None:
        self._helpers = helpers
        self._used: set[str] = set()

    def body(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        """Return the statements with helpers inlined; the definitions of inlined helpers are left out."""
        found: list[ast.stmt] = []
        for statement in statements:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                found.append(statement)  # its body is inlined where it is called
                continue
            written_out: list[ast.stmt] = []
            for call, helper in self._calls(statement):
                self._used.add(helper.name)
                written_out += self.body(_body_for_call(call, helper, statement))
            simple = not is_compound(statement)
            if simple:  # something missing before the call is then located in the caller, not in the helper
                found.append(statement)
            found += written_out
            for owner, field, block in blocks(statement):
                setattr(owner, field, self.body(block))
            if not simple:
                found.append(statement)
        return [s for s in found if not (isinstance(s, ast.FunctionDef) and s.name in self._used)]

    def _calls(self, statement: ast.stmt) -> Iterator[tuple[ast.Call, ast.FunctionDef]]:
        """Yield calls of helpers not inlined so far, with the helper, in the statement itself but not in its body."""
        for part in head(statement):
            for node in ast.walk(part):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    helper = self._helpers.get(node.func.id)
                    if helper is not None and helper.name not in self._used:
                        yield node, helper


def _body_for_call(call: ast.Call, helper: ast.FunctionDef, statement: ast.stmt) -> list[ast.stmt]:
    """Return the helper's body with the arguments' names and with its returns replaced for this call."""
    names = [a.arg for a in (*helper.args.posonlyargs, *helper.args.args)]
    given = dict(zip(names, call.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    to = {name: value.id for name, value in given.items() if isinstance(value, ast.Name)}
    target = statement.targets[0] if isinstance(statement, ast.Assign) and statement.value is call else None
    body = [renamed(node, to) for node in helper.body]
    return [_Returning(target).visit(node) for node in body]


class _Returning(ast.NodeTransformer):
    """Replace `return x` by an assignment to the call's target, or by the expression `x` if there is no target."""

    def __init__(self, target: ast.expr | None) -> None:
        self._target = target

    def visit_Return(self, node: ast.Return) -> ast.stmt:
        value = node.value or ast.Constant(None)
        said = ast.Expr(value) if self._target is None else ast.Assign([self._target], value)
        return ast.copy_location(said, node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node  # returns of a nested function belong to that function
