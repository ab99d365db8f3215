"""Find the lines of a function that stand outside it, because the learner did not indent them."""

import ast
from collections.abc import Sequence
from typing import NamedTuple

from grader.submission.syntax import (
    Definition,
    arguments_of,
    assignments_of_names,
    first_line,
    has_empty_body,
    names_read,
    top_level,
)


class Unindented(NamedTuple):
    """Where a function's lines stand outside it."""

    line: int
    """The first of them, counted from 1."""
    parameters: frozenset[str]
    """The function's parameters that they read."""


def unindented_line(statements: Sequence[ast.stmt], name: str) -> Unindented | None:
    """Return where lines below an empty function read its parameters; None if none does.

    None also for a class, and for a function that has lines of its own. Only lines up to the next definition count, and
    neither a call of the function nor a parameter's name that the program itself gives a value.

    Args:
        statements: top-level statements of the program or cell.
        name: name of the function.
    """
    definitions = [s for s in statements if isinstance(s, Definition) and s.name == name]
    definition = definitions[-1] if definitions else None
    if not isinstance(definition, ast.FunctionDef) or not has_empty_body(definition):
        return None
    parameters = _parameters_without_value(definition, statements)
    for statement in statements:
        if first_line(statement) <= definition.lineno:
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        read = names_read(statement)
        if name in read:
            return None
        if parameters & read:
            return Unindented(first_line(statement), frozenset(parameters & read))
    return None


def line_left_outside(source: str, name: str) -> Unindented | None:
    """Return where a line right below a function, without a blank one between, was meant to be in it; None if none was.

    It is a `return`, or it reads parameters of the function to which the program itself gives no value. A call of the
    function is a trial of it. `unindented_line` tells of a function that has no lines of its own.

    Args:
        source: text of the cell; it need not parse.
        name: name of the function.
    """
    statements = top_level(source)
    places = [
        at for at, one in enumerate(statements) if isinstance(one, ast.FunctionDef) and one.name == name
    ]
    if not places or places[-1] + 1 == len(statements):
        return None
    definition, below = statements[places[-1]], statements[places[-1] + 1]
    assert isinstance(definition, ast.FunctionDef)
    between = source.splitlines()[definition.end_lineno : first_line(below) - 1]
    if has_empty_body(definition) or not all(line.strip() for line in between):
        return None
    read = set(names_read(below))
    parameters = _parameters_without_value(definition, statements) & read
    is_meant = isinstance(below, ast.Return) or (parameters and name not in read)
    return Unindented(first_line(below), frozenset(parameters)) if is_meant else None


def _parameters_without_value(definition: ast.FunctionDef, statements: Sequence[ast.stmt]) -> set[str]:
    """Return the function's parameters to whose names the program itself gives no value."""
    given = {bound for statement in statements for bound in assignments_of_names(statement)}
    return {argument.arg for argument in arguments_of(definition.args)} - given


def left_outside_message(name: str, line: int) -> str:
    """Return the Korean sentences on a line meant to be in a function; arguments as of `unindented_message`."""
    return f"{line}번째 줄이 `{name}` 밖에 있어요. 함수 안의 줄이라면 위의 줄과 첫 칸을 맞춰 들여 쓰세요."


def unindented_message(name: str, line: int) -> str:
    """Return the Korean sentences on a function whose lines stand outside it.

    Args:
        name: name of the function.
        line: the first of its lines, in the cell or file.
    """
    return (
        f"`{name}`의 줄이 들여쓰기되지 않아서 함수 밖에 있어요. "
        f"{line}번째 줄부터, 함수에 들어갈 줄마다 앞에 빈칸을 네 개씩 넣으세요."
    )
