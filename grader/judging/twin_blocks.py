"""Find where a statement is missing that a similar block of the same program has.

Programs do the same thing in two places: for full windows and for the rest, with a scaler and without, in the first
pass and in the second. If one of two similar blocks has a statement and the other does not, the place of a mistake that
leaves it out is in the other.

Example: both blocks of an `if scaler is not None: … else: …` call `backward` and `step`, but only the first clips in
between. The clipping is missing before the `step` of the second.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from grader.judging.compared_statements import words_of
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


@dataclass(frozen=True)
class _Block:
    owner: ast.AST
    statements: list[ast.stmt]


def gap_in_twin(definition: Definition, statement: ast.stmt) -> Gap | None:
    """Return the place of a statement in a block that is similar to its own, and lacks it; None if there is none.

    A statement that is alone in its block stands for the compound statement around it. Two methods of a class are no
    twins.

    Args:
        definition: the function or class.
        statement: one of its statements.
    """
    if isinstance(definition, ast.ClassDef):
        around = (m for m in methods(definition).values() if statement in ast.walk(m))
        definition = next(around, definition)
    all_blocks = list(_all_blocks(definition))
    home = next((block for block in all_blocks if statement in block.statements), None)
    while home is not None and len(home.statements) == 1 and home.owner is not definition:
        statement = _as_statement(home.owner, all_blocks)
        home = next((block for block in all_blocks if statement in block.statements), None)
    if home is None:
        return None
    found = [
        (len(partners), -number, gap)
        for number, other in enumerate(all_blocks)
        if not _overlap(home, other)
        for partners in [_partners(home, other)]
        if len(partners) >= (1 if home.owner is other.owner else _MIN_PARTNERS)
        for gap in [_gap(home, other, partners, home.statements.index(statement))]
        if gap is not None
    ]
    return max(found)[2] if found else None


def _gap(home: _Block, other: _Block, partners: dict[int, int], position: int) -> Gap | None:
    """Return where `other` lacks the statement at `position` of `home`; None if it has one like it."""
    statement = home.statements[position]
    if position in partners or any(_likeness(statement, one) > _MIN_LIKENESS for one in other.statements):
        return None
    following = next((partners[i] for i in sorted(partners) if i > position), None)
    if following is not None:
        return Gap(other.statements[following].lineno, before=True)
    return Gap(other.statements[max(partners.values())].lineno, before=False)


def _partners(home: _Block, other: _Block) -> dict[int, int]:
    """Return the positions in `other` of statements like those of `home`, by their positions there."""
    return align(
        [[_likeness(one, another) - _MIN_LIKENESS for another in other.statements] for one in home.statements]
    )


def _likeness(one: ast.stmt, other: ast.stmt) -> float:
    """Return the words of two whole statements that both have, as a share of all their words."""
    words, others = words_of(ast.unparse(one)), words_of(ast.unparse(other))
    total = words.total() + others.total()
    return 2 * (words & others).total() / total if total else 0.0


def _all_blocks(node: ast.AST) -> Iterator[_Block]:
    for owner, _, statements in blocks(node):
        yield _Block(node if isinstance(owner, ast.ExceptHandler) else owner, statements)
        for statement in statements:
            yield from _all_blocks(statement)


def _as_statement(owner: ast.AST, all_blocks: list[_Block]) -> ast.stmt:
    """Return the owner of a block, which is a statement of another block."""
    return next(s for block in all_blocks for s in block.statements if s is owner)


def _overlap(one: _Block, other: _Block) -> bool:
    """Return True if two blocks are the same, or one is inside the other."""
    return not _statements_in(one).isdisjoint(_statements_in(other))


def _statements_in(block: _Block) -> set[ast.stmt]:
    return {node for each in block.statements for node in ast.walk(each) if isinstance(node, ast.stmt)}
