"""Find the lines of a broken program that a learner must change to mend it, and what is wrong with them.

A line that only stands beside the wrong one is no answer. Of lines that changed places, a line counts if moving it
alone mends the program: `step()` before `backward()` is mended by moving either, but not by moving what follows them.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

Fault = Literal["missing", "moved", "indented", "wrong"]
"""What is wrong: a line is left out, stands elsewhere, has another indentation, or says something else."""

_MOST_LINES = 2
"""Maximum lines of a block that changed places and of which every line counts: an `if` and its body."""


@dataclass(frozen=True)
class Culprits:
    """The lines to change."""

    lines: frozenset[int]
    """Line numbers in the broken program, from 1; for a missing line, the lines of code around its place."""
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
    changes = [
        change
        for change in SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        if change[0] != "equal"
    ]
    added = Counter(line for _, _, _, start, end in changes for line in other[start:end])
    changed = {line + 1 for _, _, _, start, end in changes for line in range(start, end)}
    found = set(changed)
    faults: set[Fault] = {"wrong"} if changed else set()
    for kind, first, last, place, _ in changes:
        if kind != "delete":
            continue
        if not Counter(one[first:last]) - added:
            faults = {"moved"}
            found |= _swapped(broken, changed, place, mends)
        else:
            faults.add("missing")
            found |= _around(broken, place)
    found |= {at for at, line in enumerate(other, start=1) if line in {n.strip() for n in near}}
    found |= _repeated(other, found)
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


def _swapped(broken: str, moved: set[int], place: int, mends: Callable[[str], bool]) -> set[int]:
    """Return lines that the moved ones have passed, and that mend the program if one moves them instead."""
    passed = _passed(moved, place)
    lines = broken.splitlines()
    found: set[int] = set()
    came_up = place >= min(moved)
    for statement in _statements(broken, passed):
        rest = [line for line in sorted(passed) if line not in statement]
        order = [*statement, *sorted(moved), *rest] if came_up else [*rest, *sorted(moved), *statement]
        first, last = min(order), max(order)
        if sorted(order) != list(range(first, last + 1)):
            continue
        text = [*lines[: first - 1], *(lines[n - 1] for n in order), *lines[last:]]
        if mends("\n".join(text) + "\n"):
            # Of a long block only its head: the lines in it keep their places there.
            found |= set(statement if len(statement) <= _MOST_LINES else statement[:1])
    return found


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


def _repeated(lines: list[str], found: set[int]) -> set[int]:
    """Return the lines that equal a found one beside them: of two equal lines in a row, either may be superfluous."""
    every = set(found)
    for step in (-1, 1):
        for line in sorted(every, reverse=step < 0):
            beside = line + step
            if 1 <= beside <= len(lines) and lines[line - 1] == lines[beside - 1]:
                every.add(beside)
    return every
