"""Find a block that lacks a statement which a similar block of the same program has.

Programs often do the same thing in two places: for full windows and for the rest, with a scaler and without, in the
first pass and in the second. If a mistake leaves a statement out, and one of two similar blocks has the statement, its
place is in the other block.

Example: both blocks of an `if scaler is not None: … else: …` call `backward` and `step`, but only the first clips in
between. The clipping is missing before the `step` of the second.

Which blocks are similar is decided in `TwinBlocks.missing_place`; tests are in `tests/judging/test_text_location.py`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.judging.compared_statements import MAX_STATEMENTS, Words, number_of_statements, words_of
from grader.judging.statement_alignment import align
from grader.submission.syntax import Definition, blocks, methods

_MIN_LIKENESS = 0.5
"""Two statements are alike if their likeness (`_likeness`), from 0 to 1, is above this: half of their words, so that
a call with another object or argument still counts. Only statements that are alike are partners."""
_MIN_PARTNERS = 2
"""Two blocks are similar if they have this many pairs of partners. One is enough if both belong to one compound
statement, as the branches of an `if` do.
"""


@dataclass(frozen=True)
class MissingPlace:
    """The place in a block at which a statement is missing."""

    line: int
    """Line of an existing statement beside the place."""
    is_before: bool
    """True if the missing statement belongs before that line, False if after it."""


@dataclass(frozen=True, eq=False)  # compared by identity: two blocks of the same text are two blocks
class _Block:
    """Statements that are indented together, such as the body of a loop or one branch of an `if`."""

    function: Definition
    """The function or method that holds the block."""
    owner: ast.stmt
    """The compound statement whose block it is (for an `except`, the `try`), or `function` for its own body."""
    statements: list[ast.stmt]
    """The statements that stand directly in the block."""

    @cached_property
    def words(self) -> list[Words]:
        """The words of each of `statements`, those of its body included."""
        return [words_of(ast.unparse(statement)) for statement in self.statements]

    @cached_property
    def all_statements(self) -> set[ast.stmt]:
        """`statements` and those inside them."""
        return {node for each in self.statements for node in ast.walk(each) if isinstance(node, ast.stmt)}


class TwinBlocks:
    """Compares the blocks of one definition with each other."""

    def __init__(self, definition: Definition) -> None:
        """Read the blocks; none if there are more than `MAX_STATEMENTS` statements."""
        functions = methods(definition).values() if isinstance(definition, ast.ClassDef) else (definition,)
        is_too_long = number_of_statements(definition) > MAX_STATEMENTS
        self._blocks = (
            []
            if is_too_long
            else [block for function in functions for block in _all_blocks(function, function)]
        )
        self._partners: dict[tuple[_Block, _Block], dict[int, int]] = {}

    def missing_place(self, statement: ast.stmt) -> MissingPlace | None:
        """Return the place at which a block similar to the statement's own lacks it; None if no similar block does.

        Of several such blocks, the one with most partners counts, then the first. Only blocks of the same function or
        method are compared, because two methods of a class do different things, and of these only blocks that are not
        inside each other.

        Args:
            statement: a statement of the definition. If it is alone in its block, the compound statement around it is
                looked for instead, because the rest of the block cannot tell which blocks are similar.
        """
        home = self._block_with(statement)
        while home is not None and len(home.statements) == 1 and home.owner is not home.function:
            statement = home.owner
            home = self._block_with(statement)
        if home is None:
            return None
        position = home.statements.index(statement)
        best: MissingPlace | None = None
        most_partners = 0
        for other in self._blocks:
            # True for `home` itself, too.
            is_around_or_inside = not home.all_statements.isdisjoint(other.all_statements)
            if is_around_or_inside or other.function is not home.function:
                continue
            partners = self._partners_in(home, other)
            if len(partners) < (1 if home.owner is other.owner else _MIN_PARTNERS):
                continue
            place = _missing_place_in(other, home, position, partners)
            if place is not None and len(partners) > most_partners:
                best, most_partners = place, len(partners)
        return best

    def _block_with(self, statement: ast.stmt) -> _Block | None:
        """Return the block in which the statement stands directly; None if that block was not read."""
        return next((block for block in self._blocks if statement in block.statements), None)

    def _partners_in(self, home: _Block, other: _Block) -> dict[int, int]:
        """Return position in `other` by position in `home`, for the statements of `home` that have a partner there."""
        if (home, other) not in self._partners:
            gain = [
                [_likeness(words, others) - _MIN_LIKENESS for others in other.words] for words in home.words
            ]
            self._partners[home, other] = align(gain)
        return self._partners[home, other]


def _missing_place_in(
    other: _Block, home: _Block, position: int, partners: dict[int, int]
) -> MissingPlace | None:
    """Return the place at which `other` lacks a statement of `home`; None if a statement of `other` is like it.

    Args:
        other: a block similar to `home`.
        home: the block that has the statement.
        position: position of the statement in `home`.
        partners: position in `other` by position in `home`, for statements with a partner.
    """
    words = home.words[position]
    if position in partners or any(_likeness(words, others) > _MIN_LIKENESS for others in other.words):
        return None
    following = next((partners[i] for i in sorted(partners) if i > position), None)
    if following is not None:
        return MissingPlace(other.statements[following].lineno, is_before=True)
    return MissingPlace(other.statements[max(partners.values())].lineno, is_before=False)


def _likeness(words: Words, others: Words) -> float:
    """Return the words that both statements have, as a share of all their words, from 0 to 1."""
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def _all_blocks(node: ast.stmt, function: Definition) -> Iterator[_Block]:
    """Yield the blocks of a statement of `function` (or of `function` itself), those inside its blocks included."""
    for _, _, statements in blocks(node):
        yield _Block(function, node, statements)
        for statement in statements:
            yield from _all_blocks(statement, function)
