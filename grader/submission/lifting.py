"""Lift code out of a block to the left margin, where grading looks for definitions; every line keeps its number.

Below a main guard, an answer is defined only when the file runs as a program. In a file of marimo, every cell is a
function:

    @app.cell                       #
    def _(torch):                   #
        def train_step(model):      # def train_step(model):
            ...                     #     ...
        return (train_step,)        #
"""

import ast
from collections.abc import Collection, Iterable, Sequence

from grader.submission.syntax import DEFINITIONS, ParseError, ScopeNames, first_line, parse

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_STRINGS = (ast.Constant, ast.JoinedStr)


def without_main_guard(text: str, exercises: Collection[str]) -> str:
    """Lift what stands below a main guard if it defines an exercise that is not defined outside of it.

    Raises:
        ParseError: the text does not parse.
    """
    if "__name__" not in text:
        return text
    body = parse(text)
    guards = [s for s in body if isinstance(s, ast.If) and is_main_guard(s.test) and not s.orelse]
    outside = {name for s in body if s not in guards for name in ScopeNames([s]).bound}
    wanted = {*exercises} - outside
    lines = text.split("\n")
    for guard in guards:
        if wanted & ScopeNames(guard.body).defined.keys() and guard.body[0].lineno > guard.lineno:
            _lift(lines, guard, guard.body, keep=_lines_in_strings(guard.body))
    return _if_it_parses("\n".join(lines), text)


def is_main_guard(test: ast.expr) -> bool:
    """Return True for a test that reads `__name__`, as in `if __name__ == "__main__":`."""
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def without_marimo(text: str) -> str:
    """Return a file of marimo as a script with the code of its cells; any other text as it is."""
    if "marimo" not in text:
        return text
    try:
        body = parse(text)
    except ParseError:
        return text
    app = next((name for s in body if (name := _app(s))), None)
    if app is None:
        return text
    lines = text.split("\n")
    for statement in body:
        if _app(statement) or _imports_marimo(statement):
            _blank(lines, statement)
        elif isinstance(statement, _FUNCTIONS) and "cell" in _parts_of(app, statement.decorator_list):
            inner, end = statement.body, statement.body[-1]
            # marimo indents every line, those in strings too.
            _lift(lines, statement, inner)
            for one in (*filter(_imports_marimo, inner), *([end] if isinstance(end, ast.Return) else [])):
                _blank(lines, one)
        elif isinstance(statement, DEFINITIONS) and _parts_of(app, statement.decorator_list):
            for decorator in statement.decorator_list:
                if _parts_of(app, [decorator]):
                    _blank(lines, decorator)
        elif isinstance(statement, (ast.With, ast.AsyncWith)) and _parts_of(
            app, [item.context_expr for item in statement.items]
        ):
            _lift(lines, statement, statement.body)
            for one in filter(_imports_marimo, statement.body):
                _blank(lines, one)
    return _if_it_parses("\n".join(lines), text)


def _app(statement: ast.stmt) -> str | None:
    """Return the name that an `app = marimo.App(…)` binds; None for any other statement."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
        return None
    called, target = statement.value.func, statement.targets[0]
    is_app = isinstance(called, ast.Attribute) and called.attr == "App"
    return target.id if is_app and isinstance(target, ast.Name) else None


def _imports_marimo(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import) and all(alias.name == "marimo" for alias in statement.names)


def _parts_of(app: str, expressions: Iterable[ast.expr]) -> set[str]:
    """Return the attributes of the app that expressions are or call: `cell`, `function`, `setup` …"""
    plain = (e.func if isinstance(e, ast.Call) else e for e in expressions)
    return {
        e.attr
        for e in plain
        if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name) and e.value.id == app
    }


def _lift(
    lines: list[str], block: ast.stmt, body: Sequence[ast.stmt], keep: Collection[int] = frozenset()
) -> None:
    """Blank the head of a block, and remove the indentation of its body, except in the lines `keep` (from 1)."""
    start = first_line(body[0])
    head = first_line(block)
    lines[head - 1 : start - 1] = [""] * (start - head)
    indent = lines[start - 1][: len(lines[start - 1]) - len(lines[start - 1].lstrip())]
    for number in range(start, (block.end_lineno or start) + 1):
        if number not in keep:
            lines[number - 1] = lines[number - 1].removeprefix(indent)


def _lines_in_strings(body: Iterable[ast.stmt]) -> frozenset[int]:
    """Return the lines that begin inside a string."""
    return frozenset(
        line
        for statement in body
        for node in ast.walk(statement)
        if isinstance(node, _STRINGS)
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    )


def _blank(lines: list[str], node: ast.stmt | ast.expr) -> None:
    for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
        lines[number - 1] = ""


def _if_it_parses(text: str, otherwise: str) -> str:
    """Return the text if it parses: code may stand beside a block on the same line."""
    try:
        parse(text)
    except ParseError:
        return otherwise
    return text
