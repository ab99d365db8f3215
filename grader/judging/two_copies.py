"""Write a block of the solution twice, one copy for each of two cases (`course.Cases`).

Learners often write the same code twice, such as once for full windows and once for a short last one, and then make a
mistake in one copy only. A program with two copies can make it: each copy is taken from a program of its own.

Example: with the condition `len(window) == n`, the two programs `while …: step(2)` and `while …: step(1)` become
`while …: if len(window) == n: step(2) else: step(1)`, each on a line of its own.

`edits.py combination_source` makes the two sources and asks for the program with both blocks. Which block is written
twice, and for which mistakes, is said in `[cases]` of the exercise's TOML.
"""

import ast
from textwrap import indent
from typing import NamedTuple

from grader.course.course import Cases
from grader.submission.syntax import ParseError, blocks, is_constant, last_line, parse


def two_copies(first: str, second: str, cases: Cases) -> str | None:
    """Return a source with the block of both sources under an `if` and its `else`; the rest, equal in both, once.

    None if one of the two sources does not parse or lacks the block, or if they differ elsewhere.

    Args:
        first: source of one function; its block is executed if the condition of `cases` is true.
        second: source of the same function with other edits; its block is executed otherwise.
        cases: the condition, and which block it is.
    """
    one, other = _split_at_block(first, cases.inside), _split_at_block(second, cases.inside)
    if one is None or other is None or (one.before, one.after) != (other.before, other.after):
        return None
    margin = one.block[: len(one.block) - len(one.block.lstrip(" "))]
    if_first = f"{margin}if {cases.condition}:\n{indent(one.block, ' ' * 4)}"
    else_second = f"{margin}else:\n{indent(other.block, ' ' * 4)}"
    return f"{one.before}{if_first}{else_second}{one.after}".removesuffix("\n")


class _SplitSource(NamedTuple):
    """A source in three parts, whose lines all end with a newline, also the last one."""

    before: str
    block: str
    after: str


def _split_at_block(source: str, inside: str) -> _SplitSource | None:
    """Return a source split before and after a block; None if it does not parse or there is no such block.

    Args:
        source: source of one function.
        inside: text of the first line of the statement whose first block it is; empty: the function's body without its
            docstring.
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
                return _SplitSource("".join(lines[:start]), "".join(lines[start:end]), "".join(lines[end:]))
    return None
