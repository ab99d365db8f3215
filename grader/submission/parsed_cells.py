"""Parse single cells, the same text only once: nine tenths of a class's cells are as they were handed out."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

from grader.submission.cells import Cell
from grader.submission.lifting import without_main_guard
from grader.submission.recovery import Recovery, recover
from grader.submission.statements import Block
from grader.submission.syntax import parse

_MAX_SHARED_CHARS = 4_000
"""Longest text that is kept parsed, in characters; a thousand of these take 0.1 GB."""


@dataclass(frozen=True)
class Unit:
    """Source that is parsed as a whole: a cell, or an entire `.py` file."""

    cell: Cell
    """The source as it was handed in."""
    block: Block
    recovery: Recovery
    is_lifted: bool = False
    """True if answers were lifted out of a main guard."""


def parse_cell(cell: Cell, exercises: Collection[str]) -> Unit:
    """Parse what can be read of one cell; equal cells share a block: do not modify it."""
    if len(cell.text) > _MAX_SHARED_CHARS:
        return parse_recovered(cell, recover(cell.text), exercises)
    plain = Cell(None, 1, cell.text, ("any",) if cell.exercises else ())
    return replace(_kept(plain, frozenset(exercises)), cell=cell)


@lru_cache(maxsize=1_000)
def _kept(cell: Cell, exercises: frozenset[str]) -> Unit:
    return parse_recovered(cell, recover(cell.text), exercises)


def parse_recovered(cell: Cell, recovery: Recovery, exercises: Collection[str]) -> Unit:
    """Parse what was recovered of one cell; if it is tagged for an exercise, mark all its statements as tagged."""
    text = without_main_guard(recovery.text, exercises)
    body = tuple(parse(text))
    tagged = frozenset(range(len(body) if cell.exercises else 0))
    return Unit(cell, Block(tuple(text.split("\n")), body, tagged), recovery, text != recovery.text)
