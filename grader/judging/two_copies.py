"""Write a block of the solution twice, one copy for each of two cases (`course.Cases`).

Learners often write the same code twice, such as once for full windows and once for a short last one, and then make a
mistake in one copy only. A program with two copies can make it: each copy is taken from a program of its own.

Example: with the condition `len(window) == n`, the two programs `while …: step(2)` and `while …: step(1)` become
`while …: if len(window) == n: step(2) else: step(1)`, each on a line of its own.
"""

import ast
from textwrap import indent

from grader.course.course import Cases
from grader.submission.syntax import ParseError, blocks, is_constant, last_line, parse


def two_copies(first: str, second: str, cases: Cases) -> str | None:
    """Return a source in which the block that `cases` names is that of one source or of another.

    Args:
        first: source of one function; its block is executed if the condition of `cases` is true.
        second: source of the same function, whose block is executed otherwise.
        cases: the condition, and whose block is written twice.

    Returns:
        None if one of the two sources does not parse or lacks that block, or if they differ elsewhere.
    """
    one, other = _parts(first, cases.inside), _parts(second, cases.inside)
    if one is None or other is None or (one[0], one[2]) != (other[0], other[2]):
        return None
    before, block, after = one
    margin = block[: len(block) - len(block.lstrip(" "))]
    copies = [indent(copy, " " * 4) for copy in (block, other[1])]
    return (
        f"{before}{margin}if {cases.condition}:\n{copies[0]}{margin}else:\n{copies[1]}{after}".removesuffix(
            "\n"
        )
    )


def _parts(source: str, inside: str) -> tuple[str, str, str] | None:
    """Return a source in three parts: all before a block, the block, all after it; None if there is no such block.

    Args:
        source: source of one function.
        inside: first line of the statement whose block it is; empty: the function's body without its docstring.
    """
    try:
        function = parse(source)[0]
    except ParseError:
        return None
    lines = [f"{line}\n" for line in source.split("\n")]
    for statement in ast.walk(function):
        if not isinstance(statement, ast.stmt) or (statement is not function and not inside):
            continue
        if inside and lines[statement.lineno - 1].strip() != inside:
            continue
        for _, _, body in blocks(statement):
            block = [one for one in body if not is_constant(one)]
            if block:
                start, end = block[0].lineno - 1, last_line(block[-1])
                return "".join(lines[:start]), "".join(lines[start:end]), "".join(lines[end:])
    return None
