"""Align the statements of two programs: find pairs in the same order on both sides, as alike as possible in total.

Two statements are as alike as their words overlap. A word that few statements of the two programs contain counts more
than a common one. The algorithm, for any two sequences, is `align`.
"""

import keyword
import math
from collections import Counter
from collections.abc import Sequence, Set
from functools import cached_property
from typing import NamedTuple

from grader.judging.compared_statements import Statement, Words

_MIN_LIKENESS = 0.2
"""Two statements are aligned only if their likeness, from 0 to 1, is above this."""
_MIN_LIKENESS_ELSEWHERE = 0.6
"""Minimum likeness of two statements that are the same in another order."""
_ALIGNED_BONUS = 0.15
"""Added in `most_similar` to the likeness of two statements that are aligned."""
_TAKEN_PENALTY = 0.3
"""Subtracted in `most_similar` if the learner's statement belongs to another course statement (`_is_taken`)."""
_RIGHT_PENALTY = 0.15
"""Subtracted in `most_similar` if it is more like a right statement than like the mistake's (`_is_right`)."""


class Similar(NamedTuple):
    """The learner's statement most like one of some course statements (`StatementAlignment.most_similar`)."""

    likeness: float = 0.0
    """Likeness of the two statements with bonus and penalty, so it may be below 0 or slightly above 1."""
    line: int | None = None
    """Line of the learner's statement; None if there were no statements to compare."""
    fit: float = 0.0
    """The likeness, less a penalty if the learner's statement is more like a right statement."""


class _Score(NamedTuple):
    """How well one of the learner's statements fits one course statement."""

    position: int
    """Position of the learner's statement, counted from 0."""
    likeness: float
    """As in `Similar`."""
    fit: float
    """As in `Similar`."""
    weight: float
    """Weight of its words that the mistake adds or removes."""


def align(gain: Sequence[Sequence[float]]) -> dict[int, int]:
    """Pair items of two sequences, without crossing pairs, for the largest total gain (Needleman and Wunsch, 1970).

    Args:
        gain: `gain[i][j]` is the gain of pairing item i of the first sequence with item j of the second. Leaving an
            item without a partner is free, so items are paired only if their gain is above 0. Of equally good
            partners, the later one is taken.

    Returns:
        Position in the second sequence by position in the first, for items with a partner.
    """
    rows = len(gain)
    columns = len(gain[0]) if gain else 0
    # best[i][j]: the largest total gain of items i and later with items j and later.
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + gain[i][j])
    pairs = {}
    i = j = 0
    while i < rows and j < columns:
        if best[i][j] == best[i + 1][j]:
            i += 1
        elif best[i][j] == best[i][j + 1]:
            j += 1
        else:
            pairs[i] = j
            i += 1
            j += 1
    return pairs


class StatementAlignment:
    """Compares the statements of a program of the course with those of the learner's, and aligns them."""

    def __init__(self, course: Sequence[Statement], learner: Sequence[Statement]) -> None:
        self.course, self.learner = course, learner
        counts = Counter(word for statement in (*course, *learner) for word in statement.words)
        size = len(course) + len(learner)
        self._rarity = {word: math.log((1 + size) / count) for word, count in counts.items()}

    @cached_property
    def pairs(self) -> dict[int, int]:
        """The alignment: position in `learner` by position in `course`, both counted from 0."""
        return align([[self._gain(one, other) for other in self.learner] for one in self.course])

    def _gain(self, one: Statement, other: Statement) -> float:
        """Return the gain of pairing two statements; not above 0 if they are not to be paired."""
        if self._in_different_methods(one, other):
            return 0.0
        return self._likeness(one.words, other.words) - _MIN_LIKENESS

    @cached_property
    def shared_methods(self) -> set[str]:
        """Names of the methods that both classes have, and "" for statements in no method; only "" for functions."""
        return {s.method for s in self.course} & {s.method for s in self.learner}

    def neighbours(self, start: int, end: int) -> tuple[Statement | None, Statement | None]:
        """Return the learner's statements before and after the place of the course statements `start` to `end` - 1.

        If the learner has the course statement right before or after the place, but in another order, so that it has
        no partner (`_elsewhere`), that place counts. Otherwise, the one before is aligned with the last course
        statement before `start` that has a partner, the one after with the first course statement from `end` on that
        has one. None where no course statement has a partner.
        """
        moved_before, moved_after = self._elsewhere(start - 1), self._elsewhere(end)
        if moved_before is not None or moved_after is not None:
            return moved_before, moved_after
        earlier = [self.pairs[i] for i in range(start) if i in self.pairs]
        later = [self.pairs[i] for i in range(end, len(self.course)) if i in self.pairs]
        before = self.learner[earlier[-1]] if earlier else None
        after = self.learner[later[0]] if later else None
        return before, after

    def _elsewhere(self, position: int) -> Statement | None:
        """Return the learner's statement without a partner that is much like the unpaired course statement there.

        None if the course statement has a partner or does not exist, or if no such statement is much like it.
        """
        if position in self.pairs or not 0 <= position < len(self.course):
            return None
        one = self.course[position]
        likeness = {
            j: self._likeness(one.words, other.words)
            for j, other in enumerate(self.learner)
            if j not in self._course_positions and other.method == one.method
        }
        best = max(likeness, key=lambda j: likeness[j], default=None)
        return self.learner[best] if best is not None and likeness[best] >= _MIN_LIKENESS_ELSEWHERE else None

    def most_similar(self, positions: Sequence[int], replaced: Sequence[Statement]) -> Similar:
        """Return the learner's statement most like one of the given course statements.

        Statements that are more like a right one rank lower. Of statements that rank equally, the one
        with more changed words counts, then the first.

        Args:
            positions: positions in `course` of the statements that a mistake adds.
            replaced: the solution's statements in their place. Words that are not in these count twice, because they
                are what the mistake is about.
        """
        old = sum((s.words for s in replaced), Words())
        new = sum((self.course[position].words for position in positions), Words())
        changed = (new - old) + (old - new)
        unchanged = [one for position, one in enumerate(self.course) if position not in positions]
        telling = self._telling(positions, (*unchanged, *replaced))
        scores = []
        for position in telling:
            for i, statement in enumerate(self.learner):
                if self._in_different_methods(self.course[position], statement):
                    continue
                likeness = self._likeness(
                    self.course[position].words, statement.words, twice=new.keys() - old.keys()
                )
                score = likeness
                if self.pairs.get(position) == i:
                    score += _ALIGNED_BONUS
                if self._is_taken(i, positions, likeness):
                    score -= _TAKEN_PENALTY
                right = _RIGHT_PENALTY if self._is_right(statement, position, replaced or unchanged) else 0.0
                scores.append(_Score(i, score, score - right, self._weight(statement.words & changed)))
        if not scores:
            return Similar()
        best = max(scores, key=lambda s: (round(s.fit, 2), s.weight, -s.position, s.likeness))
        return Similar(best.likeness, self.line_in(self.learner[best.position], changed), best.fit)

    def _telling(self, positions: Sequence[int], others: Sequence[Statement]) -> list[int]:
        """Return those of the positions whose statements tell most about the mistake.

        Prefer statements with names that no other statement has, and any statement to a mere initialisation.
        """
        usual = {word for one in others for word in one.words}
        introduced = {i: sum(map(_is_name, self.course[i].words.keys() - usual)) for i in positions}
        acting = [i for i in positions if not self.course[i].is_initialisation] or list(positions)
        most = max((introduced[i] for i in acting), default=0)
        return [i for i in acting if 2 * introduced[i] >= most]

    def best_likeness(self, one: Statement) -> float:
        """Return how much a course statement resembles the learner's statement most like it, from 0 to 1.

        Learner's statements that are aligned with something else are left out.
        """
        free = [
            other
            for j, other in enumerate(self.learner)
            if j not in self._course_positions and not self._in_different_methods(one, other)
        ]
        return max((self._likeness(one.words, other.words) for other in free), default=0.0)

    def _is_right(self, statement: Statement, position: int, right: Sequence[Statement]) -> bool:
        """Return True if a learner's statement is more like one of the right ones than like the course's at `position`.

        `right` holds the statements that the mistake replaces, or all others if it replaces none.
        """
        likeness = self._likeness(self.course[position].words, statement.words)
        return any(self._likeness(one.words, statement.words) > likeness for one in right)

    def weight_of_changed(
        self, statement: Statement, old: Sequence[Statement], new: Sequence[Statement]
    ) -> float:
        """Return the weight of a learner's words that a change from `old` to `new` adds or removes."""
        before, after = (sum((s.words for s in statements), Words()) for statements in (old, new))
        return self._weight(statement.words & ((after - before) + (before - after)))

    def line_in(self, statement: Statement, changed: Words) -> int:
        """Return the line of a statement of several lines that has the most and rarest of the changed words.

        Return its first line if no line has any, or if it is a compound statement or has only one line.
        """
        weights = [(self._weight(words & changed), line) for line, words in statement.words_by_line]
        weight, line = max(weights, key=lambda pair: pair[0], default=(0.0, statement.line))
        return line if weight > 0 else statement.line

    def _is_taken(self, i: int, positions: Sequence[int], likeness: float) -> bool:
        """Return True if the learner's statement at position i belongs to a course statement outside `positions`.

        That is so if the two statements are aligned, and their likeness is at least `likeness`.

        Args:
            i: position of the learner's statement.
            positions: positions in `course` of the statements that a mistake adds.
            likeness: likeness of the learner's statement and one of those at `positions`, in which new words count
                twice. In the likeness computed here every word counts once.
        """
        partner = self._course_positions.get(i)
        if partner is None or partner in positions:
            return False
        return self._likeness(self.course[partner].words, self.learner[i].words) >= likeness

    @cached_property
    def _course_positions(self) -> dict[int, int]:
        """The alignment inverted: position in `course` by position in `learner`."""
        return {j: i for i, j in self.pairs.items()}

    def _in_different_methods(self, one: Statement, other: Statement) -> bool:
        """Return True if two statements stand in different methods that both classes have: then they never match."""
        return one.method != other.method and {one.method, other.method} <= self.shared_methods

    def _likeness(self, one: Words, other: Words, twice: Set[str] = frozenset()) -> float:
        """Return the words that both statements have as a share of all their words, weighted by rarity, from 0 to 1.

        Words in `twice` have twice their weight.
        """
        total = self._weight(one, twice) + self._weight(other, twice)
        return 2 * self._weight(one & other, twice) / total if total > 0 else 0.0

    def _weight(self, words: Words, twice: Set[str] = frozenset()) -> float:
        """Return the sum of the words' rarities, in which words in `twice` count twice.

        A word's rarity is log((1 + number of statements) / number of those that contain it), and 1 if none does, as for
        words of the solution and of single lines, which are not renamed.
        """
        return sum(
            self._rarity.get(word, 1.0) * count * (2 if word in twice else 1) for word, count in words.items()
        )


def _is_name(word: str) -> bool:
    """Return True for a name or a string; not for keywords, operators, numbers, and kinds of statements."""
    return (word.isidentifier() and not keyword.iskeyword(word)) or word[:1] in "\"'"
