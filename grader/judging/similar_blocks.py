"""Find the block of a learner's program that lacks a statement which a similar block of the same program has.

Programs often do the same thing in two places: for full windows and for the rest, with a scaler and without, in the
first pass and in the second. If a mistake leaves a statement out, and one of two similar blocks has the statement, its
place is in the other block.

Example: both blocks of an `if scaler is not None: … else: …` call `backward` and `step`, but only the first clips in
between. The clipping is missing before the `step` of the second.

`text_location.py` makes `SimilarBlocks` of the learner's definition, and asks for each statement that the mistake
removes. Another rule on which blocks are compared goes into `SimilarBlocks._may_be_similar`, one on how much they must
have in common into `_MIN_PARTNERS`, one on which statements are alike into `_likeness`. Tests are in
`tests/judging/test_text_location.py`.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from grader.judging.compared_statements import MAX_STATEMENTS, Words, number_of_statements, words_of
from grader.judging.statement_alignment import align
from grader.submission.syntax import Definition, blocks, methods

_ALIKE_ABOVE = 0.5
"""Two statements are alike if their likeness (`_likeness`) is above this: above half of their words, so that a call
with another object or argument still counts. *Partners* are two statements that are alike, one of each block, paired so
that the pairs are in the same order in both blocks."""
_MIN_PARTNERS = 2
"""Two blocks are similar if they have this many pairs of partners; one is enough for two blocks of one compound
statement, such as the branches of an `if`."""


@dataclass(frozen=True)
class MissingPlace:
    """The place in a block at which a statement is missing."""

    line: int
    """Line of the learner's program beside the place: the first line of the statement that follows or, if none does,
    the last line of the one that precedes."""
    is_before: bool
    """True if the missing statement belongs before that line, False if after it."""


@dataclass(frozen=True, eq=False)  # compared by identity: two blocks of the same text are two blocks
class _Block:
    """Statements that are indented together, such as the body of a loop or one branch of an `if`."""

    function: Definition
    """The function or method that holds the block."""
    owner: ast.stmt
    """The compound statement whose block it is (for an `except`, the `try`), or `function` for its own body."""
    field: str
    """Name of the block in `owner`, as in `ast`: `body`, `handlers` (an `except`), `orelse` or `finalbody`."""
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


class SimilarBlocks:
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
        """What `_partners_of` returned."""

    def missing_place(self, statement: ast.stmt) -> MissingPlace | None:
        """Return the place at which a block similar to the statement's own lacks it; None if no similar block does.

        Of several such blocks, the one with most partners counts, then the first.

        Args:
            statement: a statement of the definition. If it is alone in its block, the compound statement around it is
                looked for instead, because the rest of the block cannot tell which blocks are similar.
        """
        block = self._block_with(statement)
        while block is not None and len(block.statements) == 1 and block.owner is not block.function:
            statement = block.owner
            block = self._block_with(statement)
        if block is None:
            return None
        position = block.statements.index(statement)
        found: MissingPlace | None = None
        most_partners = 0
        for other in self._blocks:
            if not self._may_be_similar(block, other):
                continue
            partners = self._partners_of(block, other)
            if len(partners) < (1 if block.owner is other.owner else _MIN_PARTNERS):
                continue
            place = _missing_place_in(other, block, position, partners)
            if place is not None and len(partners) > most_partners:
                found, most_partners = place, len(partners)
        return found

    def _block_with(self, statement: ast.stmt) -> _Block | None:
        """Return the block in which the statement stands directly; None if that block was not read."""
        return next((block for block in self._blocks if statement in block.statements), None)

    def _may_be_similar(self, block: _Block, other: _Block) -> bool:
        """Return True if the two blocks may do the same thing in two cases, so that their statements are compared.

        They may not if they are in different methods, which do different things, if one is inside the other, or if both
        always run, one after the other: the `finally` of a `try` after its other blocks, and the `else` of a loop or a
        `try` after its body.
        """
        # A block shares its statements with itself, too, and so is not compared with itself.
        if other.function is not block.function or not block.all_statements.isdisjoint(other.all_statements):
            return False
        if other.owner is not block.owner:
            return True
        fields = {block.field, other.field}
        is_else_after_body = fields == {"body", "orelse"} and not isinstance(block.owner, ast.If)
        return "finalbody" not in fields and not is_else_after_body

    def _partners_of(self, block: _Block, other: _Block) -> dict[int, int]:
        """Return position in `other` by position in `block`, for the statements of `block` that have a partner there.

        Remembered, because a mistake may remove several statements of one block.
        """
        if (block, other) not in self._partners:
            gain = [
                [_likeness(mine, theirs) - _ALIKE_ABOVE for theirs in other.words] for mine in block.words
            ]
            self._partners[block, other] = align(gain)
        return self._partners[block, other]


def _missing_place_in(
    other: _Block, block: _Block, position: int, partners: dict[int, int]
) -> MissingPlace | None:
    """Return the place at which `other` lacks a statement of `block`; None if a statement of `other` is like it.

    Args:
        other: a block similar to `block`.
        block: the block that has the statement.
        position: position of the statement in `block`.
        partners: position in `other` by position in `block`, for statements with a partner; at least one.
    """
    words = block.words[position]
    if position in partners or any(_likeness(words, theirs) > _ALIKE_ABOVE for theirs in other.words):
        return None
    following = next((partners[i] for i in sorted(partners) if i > position), None)
    if following is not None:
        return MissingPlace(other.statements[following].lineno, is_before=True)
    preceding = other.statements[max(partners.values())]
    return MissingPlace(preceding.end_lineno or preceding.lineno, is_before=False)


def _likeness(words: Words, others: Words) -> float:
    """Return the words that both statements have, as a share of all their words, from 0 to 1."""
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def _all_blocks(node: ast.stmt, function: Definition) -> Iterator[_Block]:
    """Yield the blocks of a statement of `function` (or of `function` itself), those inside its blocks included."""
    for owner, field, statements in blocks(node):
        yield _Block(function, node, field if owner is node else "handlers", statements)
        for statement in statements:
            yield from _all_blocks(statement, function)
