"""Find a block that lacks a statement of a similar block of the same program.

Programs do the same thing in two places: for full windows and for the rest, with a scaler and without, in the first
pass and in the second. If one of two similar blocks has a statement and the other does not, the place of a mistake that
leaves it out is in the other.

Example: both blocks of an `if scaler is not None: … else: …` call `backward` and `step`, but only the first clips in
between. The clipping is missing before the `step` of the second.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.judging.compared_statements import MAX_STATEMENTS, Words, number_of_statements, words_of
from grader.judging.statement_alignment import align
from grader.submission.syntax import Definition, blocks, methods

_MIN_LIKENESS = 0.5
"""Statements of two blocks are partners only if the words that they share are more than this share of their words."""
_MIN_PARTNERS = 2
"""Statements with a partner that two blocks need to be similar; the two branches of one `if` need one."""


@dataclass(frozen=True)
class Gap:
    """The place in a block at which a statement is missing."""

    line: int
    """Line of the statement beside it."""
    before: bool
    """True if the missing statement belongs before that line, False if after it."""


@dataclass(frozen=True, eq=False)  # compared by identity: two blocks of the same text are two blocks
class _Block:
    function: Definition
    """The function or method that holds it."""
    owner: ast.stmt
    """The compound statement whose block it is; for that of an `except`, the `try`."""
    statements: list[ast.stmt]

    @cached_property
    def words(self) -> list[Words]:
        """The words of each statement, with those of its body."""
        return [words_of(ast.unparse(statement)) for statement in self.statements]

    @cached_property
    def all_statements(self) -> set[ast.stmt]:
        """Its statements and those inside them."""
        return {node for each in self.statements for node in ast.walk(each) if isinstance(node, ast.stmt)}


class TwinBlocks:
    """The blocks of one definition, each of which may lack what a similar one has."""

    def __init__(self, definition: Definition) -> None:
        """Read the blocks; none if there are more than `MAX_STATEMENTS` statements."""
        functions = methods(definition).values() if isinstance(definition, ast.ClassDef) else (definition,)
        too_long = number_of_statements(definition) > MAX_STATEMENTS
        self._blocks = [] if too_long else [each for f in functions for each in _all_blocks(f, f)]
        self._partners: dict[tuple[_Block, _Block], dict[int, int]] = {}

    def gap_for(self, statement: ast.stmt) -> Gap | None:
        """Return where a block similar to the statement's own lacks it; None if no such block does.

        A statement that is alone in its block is replaced by the compound statement around it. Two methods of a class
        are no twins.

        Args:
            statement: a statement of the definition.
        """
        home = self._block_with(statement)
        while home is not None and len(home.statements) == 1 and home.owner is not home.function:
            statement = home.owner
            home = self._block_with(statement)
        if home is None:
            return None
        position = home.statements.index(statement)
        best: tuple[int, Gap] | None = None
        for other in self._blocks:
            is_around_or_inside = not home.all_statements.isdisjoint(other.all_statements)
            if is_around_or_inside or other.function is not home.function:
                continue
            partners = self._partners_in(home, other)
            if len(partners) < (1 if home.owner is other.owner else _MIN_PARTNERS):
                continue
            gap = _gap(home, other, partners, position)
            if gap is not None and (best is None or len(partners) > best[0]):
                best = len(partners), gap
        return best and best[1]

    def _block_with(self, statement: ast.stmt) -> _Block | None:
        return next((block for block in self._blocks if statement in block.statements), None)

    def _partners_in(self, home: _Block, other: _Block) -> dict[int, int]:
        """Return position in `home` -> position in `other`, of statements that are alike."""
        if (home, other) not in self._partners:
            gain = [
                [_likeness(one, another) - _MIN_LIKENESS for another in other.words] for one in home.words
            ]
            self._partners[home, other] = align(gain)
        return self._partners[home, other]


def _gap(home: _Block, other: _Block, partners: dict[int, int], position: int) -> Gap | None:
    """Return where `other` lacks the statement at `position` of `home`; None if it has one like it."""
    words = home.words[position]
    if position in partners or any(_likeness(words, others) > _MIN_LIKENESS for others in other.words):
        return None
    following = next((partners[i] for i in sorted(partners) if i > position), None)
    if following is not None:
        return Gap(other.statements[following].lineno, before=True)
    return Gap(other.statements[max(partners.values())].lineno, before=False)


def _likeness(words: Words, others: Words) -> float:
    """Return the words that two whole statements both have, as a share of all their words."""
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def _all_blocks(node: ast.stmt, function: Definition) -> Iterator[_Block]:
    for _, _, statements in blocks(node):
        yield _Block(function, node, statements)
        for statement in statements:
            yield from _all_blocks(statement, function)
