"""Align the statements of two programs: same order on both sides, as alike as possible in total.

Statements are compared by their words. A word that both programs use rarely counts more than a common one.
"""

import math
from collections import Counter
from collections.abc import Sequence, Set
from functools import cached_property

from grader.judging.compared_statements import Statement, Words

_MIN_ALIGNED = 0.2
"""Minimum likeness, from 0 to 1, of two statements that are aligned."""
_ALIGNED_BONUS = 0.15
"""Bonus on the likeness of two statements that are aligned."""
_TAKEN_PENALTY = 0.3
"""Penalty for a statement that is aligned with another one and resembles that one at least as much."""


def aligned(gain: Sequence[Sequence[float]]) -> dict[int, int]:
    """Return the best alignment of two sequences, without crossing pairs (Needleman and Wunsch, 1970).

    Args:
        gain: gain of pairing item i of one sequence (rows) with item j of the other. Leaving an item unpaired is free,
            so items whose gain is not above 0 are never paired. On a tie, items stay unpaired.

    Returns:
        Pairs i -> j, increasing in both.
    """
    rows, columns = len(gain), len(gain[0]) if gain else 0
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + gain[i][j])
    pairs, i, j = {}, 0, 0
    while i < rows and j < columns:
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs[i] = j
            i, j = i + 1, j + 1
    return pairs


class StatementAlignment:
    """The alignment of a program of the course (`its`) with the learner's (`theirs`)."""

    def __init__(self, its: Sequence[Statement], theirs: Sequence[Statement]) -> None:
        self.its, self.theirs = its, theirs
        counts = Counter(word for statement in (*its, *theirs) for word in statement.words)
        self._rarity = {word: math.log((1 + len(its) + len(theirs)) / n) for word, n in counts.items()}

    @cached_property
    def pairs(self) -> dict[int, int]:
        """The alignment: position in `its` -> position in `theirs`."""
        return aligned(
            [
                [
                    -_MIN_ALIGNED
                    if self._in_different_methods(one, other)
                    else self._likeness(one.words, other.words) - _MIN_ALIGNED
                    for other in self.theirs
                ]
                for one in self.its
            ]
        )

    @cached_property
    def methods(self) -> set[str]:
        """Names of the methods that both classes have."""
        return {s.method for s in self.its} & {s.method for s in self.theirs}

    def neighbours(self, start: int, end: int) -> tuple[Statement | None, Statement | None]:
        """Return the learner's statements around what stands from `start` to before `end` in `its`.

        They are aligned with the nearest statement before and after it; None where none is aligned.
        """
        preceding = [self.pairs[i] for i in range(start) if i in self.pairs]
        following = [self.pairs[i] for i in range(end, len(self.its)) if i in self.pairs]
        before = self.theirs[preceding[-1]] if preceding else None
        after = self.theirs[following[0]] if following else None
        return before, after

    def most_similar(
        self, numbers: Sequence[int], instead_of: Sequence[Statement]
    ) -> tuple[float, int | None]:
        """Return the likeness and the line of the learner's statement that is most like one of `its`.

        Of a statement of several lines it is the line with most of what changed. (0, None) if there is none.

        Args:
            numbers: positions in `its`.
            instead_of: the solution's statements in their place; words that are not in these count twice.
        """
        old = sum((s.words for s in instead_of), Words())
        new = sum((self.its[number].words for number in numbers), Words())
        changed = (new - old) + (old - new)
        found = []
        for number in numbers:
            for i, other in enumerate(self.theirs):
                if self._in_different_methods(self.its[number], other):
                    continue
                likeness = self._likeness(self.its[number].words, other.words, twice=new.keys() - old.keys())
                # Aligned pairs are preferred; a line that another statement explains as well is left to that one.
                bonus = _ALIGNED_BONUS * (self.pairs.get(number) == i)
                bonus -= _TAKEN_PENALTY * self._belongs_to_another_step(i, numbers, likeness)
                found.append((round(likeness + bonus, 2), self._weight(other.words & changed), -i))
        if not found:
            return 0.0, None
        likeness, _, negated = max(found)  # of equal ones, the first
        return likeness, self.line_in(self.theirs[-negated], changed)

    def line_in(self, statement: Statement, changed: Words) -> int:
        """Return the line of a multi-line statement with the most and rarest changed words; else its first line."""
        shares = [(self._weight(words & changed), -line) for line, words in statement.lines]
        most, negated = max(shares, default=(0.0, -statement.line))  # of equal ones, the first
        return -negated if most > 0 else statement.line

    def _belongs_to_another_step(self, i: int, numbers: Sequence[int], likeness: float) -> bool:
        """Return True if the learner's i-th statement belongs to another step than those in `numbers`.

        It does if it is aligned with a statement outside `numbers` that it resembles at least as much.
        """
        partner = self._partners.get(i)
        if partner is None or partner in numbers:
            return False
        return self._likeness(self.its[partner].words, self.theirs[i].words) >= likeness

    @cached_property
    def _partners(self) -> dict[int, int]:
        """The alignment inverted: position in `theirs` -> position in `its`."""
        return {j: i for i, j in self.pairs.items()}

    def _in_different_methods(self, one: Statement, other: Statement) -> bool:
        """Return True if they stand in different methods that both classes have: these do different things."""
        return one.method != other.method and {one.method, other.method} <= self.methods

    def _likeness(self, one: Words, other: Words, twice: Set[str] = frozenset()) -> float:
        """Return the share of words that both statements have, weighted by rarity, from 0 to 1.

        Words in `twice` count twice.
        """
        total = self._weight(one, twice) + self._weight(other, twice)
        return 2 * self._weight(one & other, twice) / total if total > 0 else 0.0

    def _weight(self, words: Words, twice: Set[str] = frozenset()) -> float:
        """Return the sum of the words' rarities; words in `twice` count twice.

        A word is rarer the fewer times both programs use it.
        """
        return sum(
            self._rarity.get(word, 1.0) * count * (1 + (word in twice)) for word, count in words.items()
        )
