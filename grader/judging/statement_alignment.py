"""Align the statements of two programs: same order on both sides, as alike as possible in total.

Statements are compared by their words. A word that few statements of the two programs contain counts more than a
common one. `aligned` is the alignment itself, of any two sequences.
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
"""Penalty on the likeness of a course statement and a learner's that belongs to another course statement."""


def aligned(gain: Sequence[Sequence[float]]) -> dict[int, int]:
    """Return the best alignment of two sequences, without crossing pairs (Needleman and Wunsch, 1970).

    Args:
        gain: gain of pairing item i of one sequence (rows) with item j of the other. Leaving an item unpaired is free,
            so items whose gain is not above 0 are never paired. Of two equal partners, the later one is taken.

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
    """The alignment of the statements of a program of the course with those of the learner's."""

    def __init__(self, course: Sequence[Statement], learner: Sequence[Statement]) -> None:
        self.course, self.learner = course, learner
        counts = Counter(word for statement in (*course, *learner) for word in statement.words)
        self._rarity = {word: math.log((1 + len(course) + len(learner)) / n) for word, n in counts.items()}

    @cached_property
    def pairs(self) -> dict[int, int]:
        """The alignment: position in `course` -> position in `learner`."""
        return aligned(
            [
                [
                    0.0  # never paired
                    if self._in_different_methods(one, other)
                    else self._likeness(one.words, other.words) - _MIN_ALIGNED
                    for other in self.learner
                ]
                for one in self.course
            ]
        )

    @cached_property
    def shared_methods(self) -> set[str]:
        """Names of the methods that both classes have, with "" for what is in no method; {""} for functions."""
        return {s.method for s in self.course} & {s.method for s in self.learner}

    def neighbours(self, start: int, end: int) -> tuple[Statement | None, Statement | None]:
        """Return the learner's statements around the place of the course statements from `start` to before `end`.

        These are the learner's statements aligned with the nearest course statement before `start` and from `end` on;
        None where no course statement is aligned.
        """
        preceding = [self.pairs[i] for i in range(start) if i in self.pairs]
        following = [self.pairs[i] for i in range(end, len(self.course)) if i in self.pairs]
        before = self.learner[preceding[-1]] if preceding else None
        after = self.learner[following[0]] if following else None
        return before, after

    def most_similar(
        self, positions: Sequence[int], replaced: Sequence[Statement]
    ) -> tuple[float, int | None]:
        """Return the score and the line of the learner's statement most like one of the given course statements.

        The score is the likeness with the bonus and the penalty above, so it may be below 0 or slightly above 1. The
        line of a statement of several lines is chosen by `line_in`. (0, None) if there is no statement to compare.

        Args:
            positions: positions in `course`.
            replaced: the solution's statements in their place; words that are not in these count twice.
        """
        old = sum((s.words for s in replaced), Words())
        new = sum((self.course[position].words for position in positions), Words())
        changed = (new - old) + (old - new)
        found = []
        for position in positions:
            for i, statement in enumerate(self.learner):
                if self._in_different_methods(self.course[position], statement):
                    continue
                likeness = self._likeness(
                    self.course[position].words, statement.words, twice=new.keys() - old.keys()
                )
                score = likeness + _ALIGNED_BONUS * (self.pairs.get(position) == i)
                score -= _TAKEN_PENALTY * self._is_taken(i, positions, likeness)
                found.append((round(score, 2), self._weight(statement.words & changed), -i))
        if not found:
            return 0.0, None
        score, _, negated = max(found)  # of equal ones, the first
        return score, self.line_in(self.learner[-negated], changed)

    def line_in(self, statement: Statement, changed: Words) -> int:
        """Return the line of a multi-line statement with the most and rarest changed words; else its first line."""
        weights = [(self._weight(words & changed), -line) for line, words in statement.lines]
        most, negated = max(weights, default=(0.0, -statement.line))  # of equal ones, the first
        return -negated if most > 0 else statement.line

    def _is_taken(self, i: int, positions: Sequence[int], likeness: float) -> bool:
        """Return True if the learner's i-th statement belongs to a course statement outside `positions`.

        That is so if the two are aligned and their likeness is at least `likeness`. In `likeness`, new words count
        twice; in the likeness of the two, no word does.
        """
        partner = self._partners.get(i)
        if partner is None or partner in positions:
            return False
        return self._likeness(self.course[partner].words, self.learner[i].words) >= likeness

    @cached_property
    def _partners(self) -> dict[int, int]:
        """The alignment inverted: position in `learner` -> position in `course`."""
        return {j: i for i, j in self.pairs.items()}

    def _in_different_methods(self, one: Statement, other: Statement) -> bool:
        """Return True if the two stand in different methods that both classes have, and so do different things."""
        return one.method != other.method and {one.method, other.method} <= self.shared_methods

    def _likeness(self, one: Words, other: Words, twice: Set[str] = frozenset()) -> float:
        """Return the share of words that both statements have, weighted by rarity, from 0 to 1."""
        total = self._weight(one, twice) + self._weight(other, twice)
        return 2 * self._weight(one & other, twice) / total if total > 0 else 0.0

    def _weight(self, words: Words, twice: Set[str] = frozenset()) -> float:
        """Return the sum of the words' rarities; words in `twice` count twice.

        A word is rarer, the fewer statements of the two programs contain it. Words that no statement contains (those of
        single lines, which are not renamed, and of the solution) count 1.
        """
        return sum(
            self._rarity.get(word, 1.0) * count * (1 + (word in twice)) for word, count in words.items()
        )
