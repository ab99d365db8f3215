"""Find the line of the learner's program that a known mistake is about.

The learner rarely writes the mistake's text, so lines are compared by likeness. First the learner's names are
replaced by the names that play the same roles in the program with the mistake (`variable_roles`). Then the statements
of both programs are aligned: same order on both sides, as alike as possible in total. The place is the learner's
statement that resembles the changed statement most, with a bonus where the two are aligned. If the mistake leaves a
statement out, the place is the line before which it should stand.

Example (`test_a_line_is_found_under_other_names`): the mistake turns `total += loss.item() * len(xb)` into
`total += loss * len(xb)`. The learner wrote `s += out * len(a)`; with `s`, `out` and `a` renamed this is the changed
statement word for word, so its line is the place.
"""

import math
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from grader.judging.alignment import aligned
from grader.judging.compared_statements import Statement, Words, definition_of, is_written, statements_of
from grader.judging.variable_roles import Definition, roles

_MIN_ALIGNED = 0.2
"""Minimum likeness, from 0 to 1, of two statements that are aligned."""
_MIN_LIKENESS = 0.25
"""Minimum likeness of a line that is taken for the changed one; below it, the place is found between neighbours."""
_SAME_LINE = 0.95
"""Minimum likeness of a line that counts as the changed line itself, written by the learner."""
_LIKE_A_RETURN = 0.5
"""Minimum likeness for a mistake about the returned value; below it, the place is the learner's return."""
_ALIGNED_BONUS = 0.15
"""Bonus on the likeness of two statements that are aligned."""
_TAKEN_PENALTY = 0.3
"""Penalty for a line that is aligned with another statement and resembles that one at least as much."""
_LAST_CHECK_POSITION = 2
"""Largest position, from 0, of a statement at the top of the solution, where arguments are checked."""


@dataclass(frozen=True)
class Place:
    """A line of the learner's program, counted from 1."""

    line: int
    before: bool = False
    """True if something is missing that should stand before this line."""
    likeness: float = field(default=0.0, compare=False)
    """How much the best line resembles what the mistake changes, from 0 to slightly above 1; not compared."""


def place_of(
    solution: str,
    wrong: str,
    learner: str,
    name: str,
    *,
    at: str = "def",
    near: str = "",
    only_near: bool = False,
) -> Place | None:
    """Return the place where the learner's program does what the wrong program does differently from the solution.

    Args:
        solution: source of the exercise's solution.
        wrong: the same source with one mistake made.
        learner: the learner's whole program.
        name: name of the exercise's function or class in the learner's program.
        at: what the mistake is about (see `Mistake.at`); `return` for the returned value.
        near: line of the solution to which a tutor would point, where the changed lines do not tell; empty for none.
        only_near: use `near` even if the learner wrote one of the changed lines word for word.

    Returns:
        None if the learner's program cannot be parsed, does not define `name`, or resembles the solution nowhere.
    """
    theirs, right, bad = definition_of(learner, name), _read(solution), _read(wrong)
    if theirs is None or right is None or bad is None:
        return None
    written = learner.split("\n")
    in_its_names = statements_of(theirs, _to_course_names(theirs, bad.definition), written)
    alignment = _Alignment(bad.statements, in_its_names, right.statements)
    if not near:
        place = alignment.place_of_changes(at)
    else:
        place = None if only_near else alignment.place_of_the_same()
        if place is None:
            in_right_names = statements_of(theirs, _to_course_names(theirs, right.definition), written)
            beside_solution = _Alignment(right.statements, in_right_names, right.statements)
            place = beside_solution.place_of_line(
                near, alignment.changed_words(), missing=alignment.missing(), around=alignment.first_change()
            )
    return place and replace(place, likeness=alignment.likeness_of_changes())


def is_line_of(solution: str, line: str) -> bool:
    """Return True if the line of code is a statement of the solution, so that `Mistake.near` may name it."""
    known = _read(solution)
    try:
        return known is not None and any(is_written(s, line) for s in known.statements)
    except SyntaxError:
        return False


@dataclass(frozen=True)
class _Read:
    """A parsed program of the course: the solution, or the solution with a mistake."""

    definition: Definition
    statements: list[Statement]


@lru_cache(maxsize=256)  # the submissions of a class make the same mistakes again and again
def _read(text: str) -> _Read | None:
    """Parse the last definition in a text; None if there is none. Do not modify what is returned."""
    definition = definition_of(text, None)
    return None if definition is None else _Read(definition, statements_of(definition, {}))


class _Alignment:
    """Align a program of the course (`its`) with the learner's (`theirs`); the solution tells what changed in `its`.

    A change is (first, last, start, end): statements first..last-1 of the solution became start..end-1 of `its`.
    """

    def __init__(
        self, its: Sequence[Statement], theirs: Sequence[Statement], solution: Sequence[Statement]
    ) -> None:
        self._its, self._theirs, self._solution = its, theirs, solution
        counts = Counter(word for statement in (*its, *theirs) for word in statement.words)
        self._rarity = {word: math.log((1 + len(its) + len(theirs)) / n) for word, n in counts.items()}

    def place_of_line(self, line: str, changed: Words, *, missing: int | None, around: int) -> Place | None:
        """Return the learner's line aligned with the statement written `line`; else the place between its neighbours.

        Args:
            line: the statement as it stands in the course file; the program must have it.
            changed: of several lines of the learner's statement, the one with most of these words counts.
            missing: number of the first missing statement; None if nothing is missing. If it precedes the line, it
                belongs before it, and the place says so. If it follows, the line is what makes it necessary.
            around: of several statements written `line`, the one nearest to this number counts.
        """
        same = (i for i, statement in enumerate(self._its) if is_written(statement, line))
        number = min(same, key=lambda i: abs(i - around))
        if number not in self._pairs:
            return self._between(number, number + 1)
        statement = self._theirs[self._pairs[number]]
        at = self._line_in(statement, changed)
        precedes = missing is not None and missing < number
        return Place(at, before=precedes and at == statement.line)

    def place_of_the_same(self) -> Place | None:
        """Return the learner's line that repeats a changed statement almost word for word; None if there is none."""
        known = {statement.text for statement in self._solution}
        for first, last, start, end in sorted(self._changes, key=self._change_order):
            new = [number for number in range(start, end) if self._its[number].text not in known]
            likeness, place = self._most_similar_line(new, self._solution[first:last])
            if likeness >= _SAME_LINE:
                return place
        return None

    def _change_order(self, change: tuple[int, int, int, int]) -> tuple[int, bool]:
        """Return a sort key: changes with most words new to the solution come first, replacements before insertions."""
        first, last, start, end = change
        fresh = _vocabulary(self._its[start:end]) - self._used
        return -len(fresh), first == last

    @cached_property
    def _used(self) -> set[str]:
        """All words of the solution."""
        return _vocabulary(self._solution)

    def place_of_changes(self, at: str) -> Place | None:
        """Return the place of the first change that has one: added, then replaced, then missing statements."""
        for first, last, start, end in self._changes:
            # A change next to a check of arguments: point at the learner's checks.
            if first <= _LAST_CHECK_POSITION and any(s.refuses for s in self._solution[first : last + 1]):
                return self._first_check(self._solution[first].method)
            likeness, place = self._most_similar_line(range(start, end), self._solution[first:last])
            if start < end and at == "return" and likeness < _LIKE_A_RETURN:
                returned = self._return_place()
                if returned is not None:
                    return returned
            if place is None or likeness < _MIN_LIKENESS:
                place = self._between(start, end)
            if place is not None:
                return place
        return None

    def changed_words(self) -> Words:
        """Return the words that are in only one of the two programs, at the places where they differ."""
        old = sum(
            (s.words for first, last, _, _ in self._changes for s in self._solution[first:last]), Words()
        )
        new = sum((s.words for _, _, start, end in self._changes for s in self._its[start:end]), Words())
        return (new - old) + (old - new)

    def missing(self) -> int | None:
        """Return the number of the first missing statement; None if none is, or if statements differ in other ways, too."""
        if any(start != end for _, _, start, end in self._changes):
            return None
        return min((first for first, *_ in self._changes), default=None)

    def first_change(self) -> int:
        """Return the number of the solution's first statement that differs; 0 if none does."""
        return min((first for first, *_ in self._changes), default=0)

    def likeness_of_changes(self) -> float:
        """Return the highest likeness of any learner's line to any changed statement; 0 if there is none."""
        return max(
            (
                self._most_similar_line(range(i, j), self._solution[first:last])[0]
                for first, last, i, j in self._changes
            ),
            default=0.0,
        )

    @cached_property
    def _changes(self) -> list[tuple[int, int, int, int]]:
        """Changes from the solution to the program, insertions first, then replacements, then deletions.

        Each is (first, last, start, end): positions in the solution and in the program.
        """
        # If a mistake removes a `with` or a `try`, the statements inside it did not change: ignore that block for them.
        counts = [Counter(s.kind for s in statements) for statements in (self._solution, self._its)]
        gone = {kind for kind in ("With", "Try") if counts[0][kind] != counts[1][kind]}
        matcher = SequenceMatcher(
            a=[(s.blocks_without(gone), s.text) for s in self._solution],
            b=[(s.blocks_without(gone), s.text) for s in self._its],
            autojunk=False,
        )
        changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
        return [
            (i, j, k, m) for _, i, j, k, m in sorted(changes, key=lambda change: _CHANGE_ORDER[change[0]])
        ]

    def _most_similar_line(
        self, numbers: Sequence[int], instead_of: Sequence[Statement]
    ) -> tuple[float, Place | None]:
        """Return the likeness and place of the learner's line that is most like one of these statements.

        (0, None) if there is none.

        Args:
            numbers: positions of the changed statements in the program.
            instead_of: the solution's statements that they replace; words that are not in these count twice.
        """
        old = sum((s.words for s in instead_of), Words())
        new = sum((self._its[number].words for number in numbers), Words())
        changed = (new - old) + (old - new)
        found = []
        for number in numbers:
            for i, other in enumerate(self._theirs):
                if self._in_different_methods(self._its[number], other):
                    continue
                likeness = self._likeness(self._its[number].words, other.words, twice=new.keys() - old.keys())
                # Aligned pairs are preferred; a line that another statement explains as well is left to that one.
                bonus = _ALIGNED_BONUS * (self._pairs.get(number) == i)
                bonus -= _TAKEN_PENALTY * self._belongs_to_another_step(i, numbers, likeness)
                found.append((round(likeness + bonus, 2), self._weight(other.words & changed), -i))
        if not found:
            return 0.0, None
        likeness, _, negated = max(found)  # of equal ones, the first
        return likeness, Place(self._line_in(self._theirs[-negated], changed))

    def _line_in(self, statement: Statement, changed: Words) -> int:
        """Return the line of a multi-line statement with the most and rarest changed words; else its first line."""
        shares = [(self._weight(words & changed), -line) for line, words in statement.lines]
        most, negated = max(shares, default=(0.0, -statement.line))  # of equal ones, the first
        return -negated if most > 0 else statement.line

    def _between(self, start: int, end: int) -> Place | None:
        """Return the place of something missing between two positions of the program.

        It is before the learner's line aligned with what follows, or at the one aligned with what precedes if nothing
        follows. The latter also holds if what follows opens another method: then the last lines of a method are
        missing.
        """
        following = [self._pairs[i] for i in range(end, len(self._its)) if i in self._pairs]
        preceding = [self._pairs[i] for i in range(start) if i in self._pairs]
        after = self._theirs[following[0]] if following else None
        before = self._theirs[preceding[-1]] if preceding else None
        if after is not None and (before is None or not self._opens_another(after, before)):
            return Place(after.line, before=True)
        return None if before is None else Place(before.line)

    def _opens_another(self, after: Statement, before: Statement) -> bool:
        """Return True if `after` stands in another method than `before`, one that both classes have."""
        return before.method != after.method and before.method in self._methods and before.method != ""

    def _return_place(self) -> Place | None:
        """Return the learner's last return, or the line that computes what it returns.

        The latter if the return only passes on names and the line uses an operator that the solution uses in its own
        return.
        """
        last = next((i for i in reversed(range(len(self._theirs))) if self._theirs[i].returns), None)
        if last is None:
            return None
        place = self._theirs[last]
        gave = next((s for s in reversed(self._theirs[:last]) if s.binds & place.passes_on), place)
        computes = _arithmetic(self._solution[-1]) & _arithmetic(gave)
        return Place(gave.line if computes else place.line)

    def _first_check(self, method: str) -> Place | None:
        """Return the first line that raises; else the place before the first line, where checks belong."""
        statements = (
            [s for s in self._theirs if s.method == method] if method in self._methods else self._theirs
        )
        line = next((s.line for s in statements if s.refuses), None)
        if line is not None:
            return Place(line)
        first = next((s.line for s in statements if s.kind != "FunctionDef"), None)
        return None if first is None else Place(first, before=True)

    @cached_property
    def _pairs(self) -> dict[int, int]:
        """Alignment of the two programs: position in `its` -> position in `theirs`."""
        return aligned(
            [
                [
                    -_MIN_ALIGNED
                    if self._in_different_methods(one, other)
                    else self._likeness(one.words, other.words) - _MIN_ALIGNED
                    for other in self._theirs
                ]
                for one in self._its
            ]
        )

    def _belongs_to_another_step(self, i: int, numbers: Sequence[int], likeness: float) -> bool:
        """Return True if the learner's i-th statement belongs to another step than those in `numbers`.

        It does if it is aligned with a statement outside `numbers` that it resembles at least as much.
        """
        partner = self._partners.get(i)
        if partner is None or partner in numbers:
            return False
        return self._likeness(self._its[partner].words, self._theirs[i].words) >= likeness

    @cached_property
    def _partners(self) -> dict[int, int]:
        """The alignment inverted: position in `theirs` -> position in `its`."""
        return {j: i for i, j in self._pairs.items()}

    def _in_different_methods(self, one: Statement, other: Statement) -> bool:
        """Return True if they stand in different methods that both classes have: these do different things."""
        return one.method != other.method and {one.method, other.method} <= self._methods

    @cached_property
    def _methods(self) -> set[str]:
        """Names of the methods that both classes have."""
        return {s.method for s in self._its} & {s.method for s in self._theirs}

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


def _vocabulary(statements: Sequence[Statement]) -> set[str]:
    return {word for statement in statements for word in statement.words}


def _arithmetic(statement: Statement) -> set[str]:
    """Return the operators of `+ - * /` that a statement uses; `/=` counts as `/`."""
    return {word.rstrip("=") for word in statement.words} & set("+-*/")


_CHANGE_ORDER = {"insert": 0, "replace": 1, "delete": 2}
"""Order in which changes from the solution to the program are tried."""


def _to_course_names(theirs: Definition, its: Definition) -> dict[str, str]:
    """Return the course program's name for each of the learner's; empty if only one of the two is a class."""
    if type(theirs) is not type(its):
        return {}
    found: dict[str, str] = {}
    for name, others in roles(theirs, its).items():
        if others:
            found.setdefault(others[0], name)
    return found
