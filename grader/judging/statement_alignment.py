"""Align the statements of two programs: find pairs in the same order on both sides, as alike as possible in total.

The likeness of two statements is the share of their words that both have. A word that few statements of the two
programs contain counts more than a common one. The algorithm, for any two sequences, is `align`.

Example: of the statements `total = 0`, `total += loss.item()`, `return total` and `total += loss.item() * n`,
`return total / n`, the second is paired with the first, and the third with the second. `total = 0` has no partner.

`text_location.py` aligns the learner's program with the solution and with the mistake's program, and asks for the
neighbours of a gap or for the line most like a mistake's. How alike is enough: the constants. Another reason for a
statement to rank higher or lower belongs in `StatementAlignment._score`.
"""

import ast
import keyword
import math
from collections import Counter
from collections.abc import Sequence, Set
from functools import cached_property
from typing import NamedTuple

from grader.judging.compared_statements import ComparedStatement, Words, changed_words, words_of_all
from grader.submission.syntax import head, is_compound, names_in

# All numbers below were set by hand, so that the lines of the sample programs in `tests/first_tries` and
# `tests/unlisted` are found. The alignment may be generous, because a pair also has to fit between its neighbours;
# outside of the order only the likeness counts, so it has to be greater. `_score` adds bonuses and penalties.
_MIN_LIKENESS = 0.2
"""Two statements are aligned only if their likeness, from 0 to 1, is above this."""
_MIN_LIKENESS_ELSEWHERE = 0.6
"""Minimum likeness of two statements that are the same in another order."""
_ALIGNED_BONUS = 0.15
"""Added in `best_match` to the likeness of two statements that are aligned."""
_ELSEWHERE_PENALTY = 0.3
"""Subtracted in `best_match` if the learner's statement is the partner of a statement that is not looked for, and that
is no less like it."""
_RIGHT_PENALTY = 0.15
"""Subtracted in `best_match` if the learner's statement is more like a right statement than like the mistake's."""


class BestMatch(NamedTuple):
    """The learner's statement that `StatementAlignment.best_match` found."""

    likeness: float = 0.0
    """Likeness of the two statements, plus `_ALIGNED_BONUS`, minus `_ELSEWHERE_PENALTY`, where these apply.

    So it may be below 0 or slightly above 1.
    """
    line: int | None = None
    """Line of the learner's statement (`line_of_changed_words`); None if there were no statements to compare."""
    fit: float = 0.0
    """`likeness` minus `_RIGHT_PENALTY`, where that applies: how well the mistake fits the learner's text."""
    position: int | None = None
    """Position of the learner's statement, counted from 0; None if there were no statements to compare."""


class Neighbours(NamedTuple):
    """The learner's statements on both sides of a place; None where there is none."""

    before: ComparedStatement | None
    after: ComparedStatement | None


class _Score(NamedTuple):
    """How well one of the learner's statements fits one course statement."""

    position: int
    """Position of the learner's statement, counted from 0."""
    likeness: float
    """As in `BestMatch`."""
    fit: float
    """As in `BestMatch`."""
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

    Example: `align([[2, 0], [9, 1]])` is `{1: 0}`. Its gain is 9; the pairs `{0: 0, 1: 1}` together gain 3.
    """
    rows = len(gain)
    columns = len(gain[0]) if gain else 0
    # best[i][j]: the largest total gain of items i and later with items j and later.
    best = [[0.0] * (columns + 1) for _ in range(rows + 1)]
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], best[i + 1][j + 1] + gain[i][j])
    # Walk from the first items on; an item is left out wherever that loses no gain.
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
    """Compares the statements of a program of the course with those of the learner's, and aligns them.

    All positions are counted from 0.
    """

    def __init__(self, course: Sequence[ComparedStatement], learner: Sequence[ComparedStatement]) -> None:
        """Count the words.

        Args:
            course: the statements of the course's program: the solution, or the solution with mistakes.
            learner: the learner's statements, with variables renamed as the course's program names them.
        """
        self.course, self.learner = course, learner
        counts = Counter(word for statement in (*course, *learner) for word in statement.words)
        size = len(course) + len(learner)
        self._rarity = {word: math.log((1 + size) / count) for word, count in counts.items()}

    @cached_property
    def learner_positions(self) -> dict[int, int]:
        """The alignment: position in `learner` by position in `course`, for statements with a partner."""
        gain = [[self._gain(one, other) for other in self.learner] for one in self.course]
        return align(gain)

    @cached_property
    def shared_methods(self) -> set[str]:
        """Names of the methods in which both programs have statements, and "" if both have some outside of methods."""
        of_course = {statement.method for statement in self.course}
        return of_course.intersection(statement.method for statement in self.learner)

    def neighbours(self, start: int, end: int) -> Neighbours:
        """Return the learner's statements beside the place of the course statements `start` to `end` - 1.

        The one before is the partner of the last course statement before `start` that has one, the one after that of
        the first from `end` on. But if the course statement at `end` has no partner or does not exist, and the learner
        has it or the one before `start` in another order, these are returned (`_moved_statement` of each).
        """
        partners = self.learner_positions
        if end not in partners:
            moved = Neighbours(self._moved_statement(start - 1), self._moved_statement(end))
            if any(moved):
                return moved
        earlier = [partners[i] for i in range(start) if i in partners]
        later = [partners[i] for i in range(end, len(self.course)) if i in partners]
        before = self.learner[earlier[-1]] if earlier else None
        after = self.learner[later[0]] if later else None
        return Neighbours(before, after)

    def best_match(
        self,
        positions: Sequence[int],
        replaced: Sequence[ComparedStatement],
        inside: ast.stmt | None = None,
    ) -> BestMatch:
        """Return the learner's statement most like one of the given course statements.

        Only the given ones that tell most count (`_most_specific`). Statements that are more like a right one rank
        lower. Of statements that rank equally, the one whose changed words weigh most counts, then the first.

        Args:
            positions: positions in `course` of the statements that are looked for, usually those that a mistake adds;
                if empty, the match is empty.
            replaced: the solution's statements in their place. Words that are not in these count twice, because they
                are what the mistake is about.
            inside: a learner's block, to choose from those of its statements that change something; there are none if
                this has no body. None: choose from all.
        """
        within = None if inside is None else {id(node) for node in ast.walk(inside)}
        added = [self.course[position] for position in positions]
        unchanged = [statement for i, statement in enumerate(self.course) if i not in positions]
        changed = changed_words(replaced, added)
        new_words = words_of_all(added).keys() - words_of_all(replaced).keys()
        scores = [
            self._score(
                learner_position,
                course_position,
                positions,
                right=replaced or unchanged,
                new_words=new_words,
                changed=changed,
            )
            for course_position in self._most_specific(positions, (*unchanged, *replaced))
            for learner_position, statement in enumerate(self.learner)
            if within is None or (id(statement.node) in within and statement.changes_something)
            if not self._in_different_methods(self.course[course_position], statement)
        ]
        if not scores:
            return BestMatch()
        # Fits that are equal to two digits count as equal: then the words that the mistake changes decide.
        best = max(
            scores, key=lambda score: (round(score.fit, 2), score.weight, -score.position, score.likeness)
        )
        line = self.line_of_changed_words(self.learner[best.position], changed)
        return BestMatch(best.likeness, line, best.fit, best.position)

    def line_that_adds(self, added: Words, match: BestMatch) -> int | None:
        """Return the line of what the matched statement uses, if it has an added word and the statement has none.

        The learner may compute elsewhere what the course computes in place: `loss = loss / weight`, then
        `loss.backward()`, for `(loss / weight).backward()`; or in a helper that the statement calls. So the lines are
        those that last assign a name in the statement, and those of helpers that it names; the last one counts that has
        an added word which its partner lacks. None if the statement has an added word, or if there is no such line.

        Args:
            added: words that the mistake adds.
            match: what `best_match` returned for it.
        """
        if match.position is None or not added or self.learner[match.position].words & added:
            return None
        matched = self.learner[match.position].node
        names = {name for part in head(matched) for name in names_in(part)}  # the learner's own
        in_helpers = {
            id(node)
            for statement in self.learner
            if isinstance(statement.node, ast.FunctionDef) and statement.node.name in names
            for node in ast.walk(statement.node)
        }
        for position in reversed(range(len(self.learner))):
            statement = self.learner[position]
            assigns = position < match.position and bool(statement.names_changed & names)
            in_helper = id(statement.node) in in_helpers and not is_compound(statement.node)
            if (assigns or in_helper) and self.words_of_its_own(position) & added:
                return statement.line
            if assigns:
                names -= statement.names_changed
        return None

    def likeness_of_closest(self, statement: ComparedStatement) -> float:
        """Return the likeness, 0 to 1, of a statement, in `course` or not, and the learner's statement most like it.

        Learner's statements that have a partner are left out. 0 if none is left.
        """
        free = [
            other
            for i, other in enumerate(self.learner)
            if i not in self._course_positions and not self._in_different_methods(statement, other)
        ]
        return max((self._likeness(statement.words, other.words) for other in free), default=0.0)

    def weight_of_changed(
        self, statement: ComparedStatement, old: Sequence[ComparedStatement], new: Sequence[ComparedStatement]
    ) -> float:
        """Return the weight of a learner's statement's words that a change from `old` to `new` adds or removes."""
        return self._weight(statement.words & changed_words(old, new))

    def words_of_its_own(self, learner_position: int) -> Words:
        """Return the words of a learner's statement that its partner in `course` does not have; all without one."""
        partner = self._course_positions.get(learner_position)
        words = self.learner[learner_position].words
        return words if partner is None else words - self.course[partner].words

    def line_of_changed_words(self, statement: ComparedStatement, changed: Words) -> int:
        """Return the line of a statement of several lines that has the most and rarest of the changed words.

        Return its first line if no line has any, or if it is a compound statement or has only one line.
        """
        weights = [(self._weight(words & changed), line) for line, words in statement.words_by_line]
        weight, line = max(weights, key=lambda pair: pair[0], default=(0.0, statement.line))
        return line if weight > 0 else statement.line

    def _moved_statement(self, position: int) -> ComparedStatement | None:
        """Return the learner's statement that is the course statement at `position`, but in another order.

        It is the most like it of those in the same method that have no partner. None if the course statement has a
        partner or does not exist, or if no such statement is much like it.
        """
        if position in self.learner_positions or not 0 <= position < len(self.course):
            return None
        one = self.course[position]
        likeness = {
            j: self._likeness(one.words, other.words)
            for j, other in enumerate(self.learner)
            if j not in self._course_positions and other.method == one.method
        }
        best = max(likeness, key=lambda j: likeness[j], default=None)
        return self.learner[best] if best is not None and likeness[best] >= _MIN_LIKENESS_ELSEWHERE else None

    def _gain(self, one: ComparedStatement, other: ComparedStatement) -> float:
        """Return the gain of pairing two statements; 0 or less if they are not to be paired."""
        if self._in_different_methods(one, other):
            return 0.0
        return self._likeness(one.words, other.words) - _MIN_LIKENESS

    def _most_specific(self, positions: Sequence[int], others: Sequence[ComparedStatement]) -> list[int]:
        """Return those of the positions whose statements tell most about the mistake.

        Mere initialisations are left out if there is anything else. Of the rest, a statement is kept if it has at least
        half as many names that no statement in `others` has as the statement with most such names.
        """
        usual_words = {word for statement in others for word in statement.words}
        new_names = {i: sum(map(_is_name, self.course[i].words.keys() - usual_words)) for i in positions}
        candidates = [i for i in positions if not self.course[i].is_initialisation] or list(positions)
        most = max((new_names[i] for i in candidates), default=0)
        return [i for i in candidates if 2 * new_names[i] >= most]

    def _score(
        self,
        learner_position: int,
        course_position: int,
        positions: Sequence[int],
        *,
        right: Sequence[ComparedStatement],
        new_words: Set[str],
        changed: Words,
    ) -> _Score:
        """Return how well a statement of the learner's fits a course statement.

        Args:
            learner_position: position in `learner`.
            course_position: position in `course`, one of `positions`.
            positions: positions in `course` of all statements that are looked for.
            right: the statements that the mistake replaces, or all others if it replaces none.
            new_words: words that count twice.
            changed: words that the mistake adds or removes.
        """
        expected, statement = self.course[course_position], self.learner[learner_position]
        plain_likeness = self._likeness(expected.words, statement.words, counted_twice=new_words)
        likeness = plain_likeness
        if self.learner_positions.get(course_position) == learner_position:
            likeness += _ALIGNED_BONUS
        if self._belongs_elsewhere(learner_position, positions, plain_likeness):
            likeness -= _ELSEWHERE_PENALTY
        is_more_like_right = self._is_more_like_right(statement, expected, right)
        fit = likeness - (_RIGHT_PENALTY if is_more_like_right else 0.0)
        return _Score(learner_position, likeness, fit, self._weight(statement.words & changed))

    def _is_more_like_right(
        self, statement: ComparedStatement, wrong: ComparedStatement, right: Sequence[ComparedStatement]
    ) -> bool:
        """Return True if a learner's statement is more like one of `right` than like `wrong`."""
        likeness = self._likeness(wrong.words, statement.words)
        return any(self._likeness(one.words, statement.words) > likeness for one in right)

    def _belongs_elsewhere(self, learner_position: int, positions: Sequence[int], likeness: float) -> bool:
        """Return True if a learner's statement is the partner of a course statement that is not in `positions`.

        The two also need to be at least as alike as `likeness` says.

        Args:
            learner_position: position in `learner` of the learner's statement.
            positions: positions in `course` of the statements that are looked for.
            likeness: likeness of the learner's statement and one of those at `positions`, in which new words count
                twice. In the likeness computed here every word counts once.
        """
        partner = self._course_positions.get(learner_position)
        if partner is None or partner in positions:
            return False
        return self._likeness(self.course[partner].words, self.learner[learner_position].words) >= likeness

    @cached_property
    def _course_positions(self) -> dict[int, int]:
        """The alignment inverted: position in `course` by position in `learner`."""
        return {j: i for i, j in self.learner_positions.items()}

    def _in_different_methods(self, one: ComparedStatement, other: ComparedStatement) -> bool:
        """Return True if two statements stand in different methods of `shared_methods`: then they never match."""
        return one.method != other.method and {one.method, other.method} <= self.shared_methods

    def _likeness(self, one: Words, other: Words, counted_twice: Set[str] = frozenset()) -> float:
        """Return the words that both statements have as a share of all their words, weighted by rarity, from 0 to 1."""
        total = self._weight(one, counted_twice) + self._weight(other, counted_twice)
        return 2 * self._weight(one & other, counted_twice) / total if total > 0 else 0.0

    def _weight(self, words: Words, counted_twice: Set[str] = frozenset()) -> float:
        """Return the sum of the words' rarities, those of `counted_twice` doubled.

        A word's rarity is log((1 + number of statements) / number of statements with the word). It is 1 if no statement
        has the word: words may also be of the solution where `course` is another program, or of a line, not renamed.
        """
        return sum(
            self._rarity.get(word, 1.0) * count * (2 if word in counted_twice else 1)
            for word, count in words.items()
        )


def _is_name(word: str) -> bool:
    """Return True for a name or a string without prefix; not for keywords, operators, numbers, kinds of statements."""
    return (word.isidentifier() and not keyword.iskeyword(word)) or word[:1] in "\"'"
