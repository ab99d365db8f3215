"""Find the lines of a broken program that a learner may change to mend it, and what is wrong with them.

They are found by playing. A line that is missing may be put wherever the program is right with it, so the lines beside
each such place count. Of lines that changed places, a line counts if moving it alone mends the program: `step()` before
`backward()` is mended by moving either, but not by moving what follows them. A line that is there once too often may be
removed wherever it stands, if that mends the program.
"""

import ast
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from grader.submission.syntax import parses

Fault = Literal["missing", "moved", "indented", "wrong"]
"""What is wrong: a line is left out, stands elsewhere, has another indentation, or says something else."""

_MOST_LINES = 2
"""Maximum lines of a block that changed places and of which every line counts: an `if` and its body."""
_INDENT = 4
"""Columns by which a block is indented."""


@dataclass(frozen=True)
class Culprits:
    """The lines to change."""

    lines: frozenset[int]
    """Line numbers in the broken program, from 1; for a missing line, the lines of code around every place for it."""
    fault: Fault


def find_culprits(
    right: str, broken: str, mends: Callable[[str], bool], near: frozenset[str] = frozenset()
) -> Culprits:
    """Compare a broken program with the right one.

    Args:
        right: the right program.
        broken: the broken one.
        mends: tells whether a program, which may not even parse, does what the right one does.
        near: lines of the right program that the mistake's text is about, besides those that differ.
    """
    one, other = right.splitlines(), broken.splitlines()
    # Ignore indentation unless it is the only difference: otherwise a block that moved in or out would count line by
    # line.
    bare, its_bare = [line.strip() for line in one], [line.strip() for line in other]
    indented = bare == its_bare
    if not indented:
        one, other = bare, its_bare
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    changes = [change for change in codes if change[0] != "equal"]
    added = Counter(line for _, _, _, start, end in changes for line in other[start:end])
    changed = {line + 1 for _, _, _, start, end in changes for line in range(start, end)}
    found = set(changed)
    faults: set[Fault] = {"wrong"} if changed else set()
    for kind, first, last, place, end in changes:
        if kind == "insert":
            found |= _superfluous(broken, {line.strip() for line in other[place:end]}, mends)
        if kind != "delete":
            continue
        if not Counter(one[first:last]) - added:
            faults = {"moved"}
            found |= _movable(broken, _passed(changed, place), mends)
        else:
            faults.add("missing")
            found |= _around(broken, place)
            for gap in _other_places(right, range(first, last), mends):
                found |= _around(broken, _same_place(codes, gap))
    found |= {at for at, line in enumerate(other, start=1) if line in {n.strip() for n in near}}
    return Culprits(frozenset(found), "indented" if indented else _main(faults))


def _main(faults: set[Fault]) -> Fault:
    """Return what to tell of several faults: a moved line explains the others, and a wrong one more than a gap."""
    return next(fault for fault in ("moved", "wrong", "missing") if fault in faults)


def lines_of_code(text: str) -> list[int]:
    """Return the numbers of the lines that are neither empty nor part of a docstring."""
    documented = (
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None
    )
    told = {line for node in documented for line in _lines_of(node.body[0])}
    return [n for n, line in enumerate(text.splitlines(), start=1) if line.strip() and n not in told]


def _around(broken: str, place: int) -> set[int]:
    """Return the last line of code before a place between lines, and the first one after it."""
    code = lines_of_code(broken)
    return {*[line for line in code if line <= place][-1:], *[line for line in code if line > place][:1]}


def _other_places(right: str, block: range, mends: Callable[[str], bool]) -> Iterator[int]:
    """Yield where else lines may stand in the right program: the numbers of lines of it, from 0, above which they may.

    Args:
        right: the right program.
        block: indices of the lines.
        mends: tells whether a program is right.
    """
    lines = right.splitlines()
    for first, last in _pieces(right, block):
        rest = lines[:first] + lines[last:]
        if mends("\n".join(rest) + "\n"):  # not needed, wherever it stands
            continue
        for gap, text in _with_inserted(rest, lines[first:last]):
            if gap != first and mends(text):
                yield gap if gap < first else gap + last - first


def _pieces(text: str, block: range) -> set[tuple[int, int]]:
    """Return a block of lines and each statement in it, as (index of the first line, index after the last one)."""
    statements = _statements(text, {index + 1 for index in block})
    return {(block.start, block.stop)} | {(min(one) - 1, max(one)) for one in statements}


def _same_place(codes: Sequence[tuple[str, int, int, int, int]], index: int) -> int:
    """Return how many lines of the broken program stand above a place in the right one.

    Args:
        codes: how the right program becomes the broken one, as `SequenceMatcher` tells it.
        index: number of lines of the right program above the place.
    """
    first, last, start, end = next(code[1:] for code in codes if code[1] <= index <= code[2])
    return start + index - first if last - first == end - start else end


def _movable(broken: str, passed: set[int], mends: Callable[[str], bool]) -> set[int]:
    """Return the lines that moved ones have passed, and that mend the program if one moves them instead."""
    lines = broken.splitlines()
    found: set[int] = set()
    for statement in _statements(broken, passed):
        first, last = min(statement) - 1, max(statement)
        texts = _with_inserted(lines[:first] + lines[last:], lines[first:last])
        if any(mends(text) for gap, text in texts if gap != first):
            # Of a long block only its head: the lines in it keep their places there.
            found |= set(statement if len(statement) <= _MOST_LINES else statement[:1])
    return found


def _superfluous(broken: str, added: set[str], mends: Callable[[str], bool]) -> set[int]:
    """Return the lines that equal added ones, and that mend the program if one removes them instead."""
    lines = broken.splitlines()
    return {
        at
        for at, line in enumerate(lines, start=1)
        if line.strip() in added and mends("\n".join(lines[: at - 1] + lines[at:]) + "\n")
    }


def _with_inserted(lines: list[str], block: list[str]) -> Iterator[tuple[int, str]]:
    """Yield programs with a block of lines inserted at every place, with every indentation that parses there.

    Each comes with the number of lines above the place. Nothing is inserted above the first line.
    """
    try:
        code = lines_of_code("\n".join(lines))
    except SyntaxError:  # without the block, it is no program
        return
    bare = textwrap.dedent("\n".join(block))
    for above, below in zip(code, [*code[1:], None], strict=True):
        gap = above if below is None else below - 1
        levels = {_indentation(lines[above - 1]), _indentation(lines[below - 1]) if below else _INDENT}
        for level in range(min(levels), max(levels) + 1, _INDENT):
            text = "\n".join([*lines[:gap], textwrap.indent(bare, " " * level), *lines[gap:]]) + "\n"
            if parses(text):
                yield gap, text


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _passed(moved: set[int], place: int) -> set[int]:
    """Return the lines between the moved ones and the place where they belong."""
    if place >= max(moved):
        return set(range(max(moved) + 1, place + 1))
    return set(range(place + 1, min(moved)))


def _statements(broken: str, lines: set[int]) -> Iterator[list[int]]:
    """Yield the lines of each statement that lies within these lines, outer ones only."""
    waiting: list[ast.AST] = [ast.parse(broken)]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.stmt) and set(_lines_of(node)) <= lines:
            yield list(_lines_of(node))
        else:
            waiting += [
                child
                for child in ast.iter_child_nodes(node)
                if isinstance(child, ast.stmt | ast.excepthandler)
            ]


def _lines_of(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
