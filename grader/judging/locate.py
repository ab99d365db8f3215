"""Which of the learner's lines a known mistake is about.

The learner's statements are laid beside those of the program that makes the mistake: in the same order, like beside
like, after the learner's names are put into the solution's. What stands beside a changed statement is the line; for
what is missing it is the line before which it should stand.
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

_GAP = (
    0.2  # what two statements must have in common to be laid beside each other, from 0 (nothing) to 1 (all)
)
_LIKE_ENOUGH = 0.25  # below it, no line resembles what the mistake changes
_THE_SAME = 0.95  # from here on the learner wrote the changed line itself
_LIKE_A_RETURN = 0.5  # the same for what ends in the returned value: else the return itself is the place
_BESIDE = 0.15  # what standing beside each other is worth when likeness decides
_TAKEN = 0.3  # what it costs a line that it is more like another statement, beside which it stands
_TOP = 2  # statements among which arguments are checked


@dataclass(frozen=True)
class Place:
    """A line of the learner's program."""

    line: int
    before: bool = False
    """Something is missing, and should stand before this line."""
    likeness: float = field(default=0.0, compare=False)
    """How like what the mistake changes the line is, from 0 to about 1."""


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
    """Where the learner's program does what the wrong one does otherwise than the solution.

    Args:
        solution: the exercise's source.
        wrong: the same with one mistake made.
        learner: the learner's whole program.
        name: of the exercise's function or class in it.
        at: what the mistake is about; `return` for the returned value.
        near: the solution's line beside which a tutor would point, where the changed lines do not tell.
        only_near: point there even where one of the changed lines stands in the learner's program.

    Returns:
        None when the learner's program cannot be read, or nothing in it is like the solution.
    """
    theirs, right, bad = definition_of(learner, name), _read(solution), _read(wrong)
    if theirs is None or right is None or bad is None:
        return None
    written = learner.split("\n")
    in_its_names = statements_of(theirs, _names(theirs, bad.definition), written)
    beside = _Beside(bad.statements, in_its_names, right.statements)
    if not near:
        place = beside.place_of_changes(at)
    else:
        place = None if only_near else beside.place_of_the_same()
        if place is None:
            in_right_names = statements_of(theirs, _names(theirs, right.definition), written)
            beside_solution = _Beside(right.statements, in_right_names, right.statements)
            place = beside_solution.place_of_line(
                near, beside.changed_words(), missing=beside.missing(), around=beside.first_change()
            )
    return place and replace(place, likeness=beside.likeness_of_changes())


def is_line_of(solution: str, line: str) -> bool:
    """Whether a line of code stands in the solution, so that it can be a place."""
    known = _read(solution)
    try:
        return known is not None and any(is_written(s, line) for s in known.statements)
    except SyntaxError:
        return False


@dataclass(frozen=True)
class _Read:
    """A program of the course."""

    definition: Definition
    statements: list[Statement]


@lru_cache(maxsize=256)  # a class makes the same mistakes again and again
def _read(text: str) -> _Read | None:
    definition = definition_of(text, None)
    return None if definition is None else _Read(definition, statements_of(definition, {}))


class _Beside:
    """A program's statements and the learner's, laid beside each other."""

    def __init__(
        self, its: Sequence[Statement], theirs: Sequence[Statement], solution: Sequence[Statement]
    ) -> None:
        self._its, self._theirs, self._solution = its, theirs, solution
        counts = Counter(word for statement in (*its, *theirs) for word in statement.words)
        self._rarity = {word: math.log((1 + len(its) + len(theirs)) / n) for word, n in counts.items()}

    def place_of_line(self, line: str, changed: Words, *, missing: int | None, around: int) -> Place | None:
        """The learner's line beside the statement that is written so; of several lines the one with changed words.

        What is `missing` before the statement is said to belong before it; after it, it is the statement that
        makes the missing one necessary.
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
        """The learner's line that is one of the changed ones, word for word, if it is there."""
        known = {statement.text for statement in self._solution}
        for first, last, start, end in sorted(self._changes, key=self._says_less):
            new = [number for number in range(start, end) if self._its[number].text not in known]
            likeness, place = self._like(new, self._solution[first:last])
            if likeness >= _THE_SAME:
                return place
        return None

    def _says_less(self, change: tuple[int, int, int, int]) -> tuple[int, bool]:
        """For sorting: first the change with most words that the solution never uses, then lines instead of others."""
        first, last, start, end = change
        fresh = _vocabulary(self._its[start:end]) - self._used
        return -len(fresh), first == last

    @cached_property
    def _used(self) -> set[str]:
        return _vocabulary(self._solution)

    def place_of_changes(self, at: str) -> Place | None:
        """The place of the most telling change: lines that are there too many, wrong ones, then missing ones."""
        for first, last, start, end in self._changes:
            if first <= _TOP and any(s.refuses for s in self._solution[first : last + 1]):
                return self._first_check(self._solution[first].method)
            likeness, place = self._like(range(start, end), self._solution[first:last])
            if start < end and at == "return" and likeness < _LIKE_A_RETURN:
                returned = self._returned()
                if returned is not None:
                    return returned
            if place is None or likeness < _LIKE_ENOUGH:
                place = self._between(start, end)
            if place is not None:
                return place
        return None

    def changed_words(self) -> Words:
        """The words that are only in one of the two programs."""
        old = sum(
            (s.words for first, last, _, _ in self._changes for s in self._solution[first:last]), Words()
        )
        new = sum((s.words for _, _, start, end in self._changes for s in self._its[start:end]), Words())
        return (new - old) + (old - new)

    def missing(self) -> int | None:
        """The number of the first statement that the program only lacks; None if anything else is otherwise."""
        if any(start != end for _, _, start, end in self._changes):
            return None
        return min(first for first, *_ in self._changes)

    def first_change(self) -> int:
        """The number of the solution's first statement that is otherwise."""
        return min((first for first, *_ in self._changes), default=0)

    def likeness_of_changes(self) -> float:
        """How like one of the learner's lines what was changed is, at its best."""
        return max(
            (self._like(range(i, j), self._solution[first:last])[0] for first, last, i, j in self._changes),
            default=0.0,
        )

    @cached_property
    def _changes(self) -> list[tuple[int, int, int, int]]:
        """Where the two programs differ: positions in the solution (first, last) and in the other (start, end)."""
        # What only lost the `with` around it has not changed; the `with` has.
        counts = [Counter(s.kind for s in statements) for statements in (self._solution, self._its)]
        gone = {kind for kind in ("With", "Try") if counts[0][kind] != counts[1][kind]}
        matcher = SequenceMatcher(
            a=[(s.blocks_but(gone), s.text) for s in self._solution],
            b=[(s.blocks_but(gone), s.text) for s in self._its],
            autojunk=False,
        )
        changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
        return [(i, j, k, m) for _, i, j, k, m in sorted(changes, key=lambda change: _ORDER[change[0]])]

    def _like(self, numbers: Sequence[int], instead_of: Sequence[Statement]) -> tuple[float, Place | None]:
        """The learner's line that is most like one of these statements; what is new in them counts twice."""
        old = sum((s.words for s in instead_of), Words())
        new = sum((self._its[number].words for number in numbers), Words())
        changed = (new - old) + (old - new)
        found = []
        for number in numbers:
            for i, other in enumerate(self._theirs):
                if self._parted(self._its[number], other):
                    continue
                likeness = self._likeness(self._its[number].words, other.words, twice=new.keys() - old.keys())
                beside = _BESIDE * (self._pairs.get(number) == i)
                beside -= _TAKEN * self._plays_another_part(i, numbers, likeness)
                found.append((round(likeness + beside, 2), self._weight(other.words & changed), -i))
        if not found:
            return 0.0, None
        likeness, _, position = max(found)
        return likeness, Place(self._line_in(self._theirs[-position], changed))

    def _line_in(self, statement: Statement, changed: Words) -> int:
        """Of a statement that goes over several lines the one with most of the changed words."""
        shares = [(self._weight(words & changed), -line) for line, words in statement.lines]
        most, line = max(shares, default=(0.0, -statement.line))
        return -line if most > 0 else statement.line

    def _between(self, start: int, end: int) -> Place | None:
        """Before the line that lies beside what follows; else at the one beside what goes before.

        What follows is in another method where the last lines of one are missing.
        """
        following = [self._pairs[i] for i in range(end, len(self._its)) if i in self._pairs]
        preceding = [self._pairs[i] for i in range(start) if i in self._pairs]
        after = self._theirs[following[0]] if following else None
        before = self._theirs[preceding[-1]] if preceding else None
        if after is not None and (before is None or not self._opens_another(after, before)):
            return Place(after.line, before=True)
        return None if before is None else Place(before.line)

    def _opens_another(self, after: Statement, before: Statement) -> bool:
        """Whether a method of the class begins after the other's last line."""
        return before.method != after.method and before.method in self._methods and before.method != ""

    def _returned(self) -> Place | None:
        """The last return; where it only hands on what the solution computes in its own, the line that computes it."""
        last = next((i for i in reversed(range(len(self._theirs))) if self._theirs[i].returns), None)
        if last is None:
            return None
        place = self._theirs[last]
        gave = next((s for s in reversed(self._theirs[:last]) if s.binds & place.hands_on), place)
        computes = _arithmetic(self._solution[-1]) & _arithmetic(gave)
        return Place(gave.line if computes else place.line)

    def _first_check(self, method: str) -> Place | None:
        """Where arguments are refused; else the first line, before which they should be."""
        beside = [s for s in self._theirs if s.method == method] if method in self._methods else self._theirs
        line = next((s.line for s in beside if s.refuses), None)
        if line is not None:
            return Place(line)
        first = next((s.line for s in beside if s.kind != "FunctionDef"), None)
        return None if first is None else Place(first, before=True)

    @cached_property
    def _pairs(self) -> dict[int, int]:
        """Numbers of statements that lie beside each other, the more alike the better."""
        return aligned(
            [
                [
                    -_GAP if self._parted(one, other) else self._likeness(one.words, other.words) - _GAP
                    for other in self._theirs
                ]
                for one in self._its
            ]
        )

    def _plays_another_part(self, i: int, numbers: Sequence[int], likeness: float) -> bool:
        """Whether the learner's i-th statement lies beside one that is none of these, and is more like that."""
        partner = self._partners.get(i)
        if partner is None or partner in numbers:
            return False
        return self._likeness(self._its[partner].words, self._theirs[i].words) >= likeness

    @cached_property
    def _partners(self) -> dict[int, int]:
        """The pairs the other way round."""
        return {j: i for i, j in self._pairs.items()}

    def _parted(self, one: Statement, other: Statement) -> bool:
        """Whether they stand in two methods that both classes have: then they do not do the same."""
        return one.method != other.method and {one.method, other.method} <= self._methods

    @cached_property
    def _methods(self) -> set[str]:
        """What both classes have."""
        return {s.method for s in self._its} & {s.method for s in self._theirs}

    def _likeness(self, one: Words, other: Words, twice: Set[str] = frozenset()) -> float:
        """Share of the words that both have, weighted by how rare they are, from 0 to 1."""
        total = self._weight(one, twice) + self._weight(other, twice)
        return 2 * self._weight(one & other, twice) / total if total > 0 else 0.0

    def _weight(self, words: Words, twice: Set[str] = frozenset()) -> float:
        return sum(
            self._rarity.get(word, 1.0) * count * (1 + (word in twice)) for word, count in words.items()
        )


def _vocabulary(statements: Sequence[Statement]) -> set[str]:
    return {word for statement in statements for word in statement.words}


def _arithmetic(statement: Statement) -> set[str]:
    """How a statement computes: `/` stands for `/=` too."""
    return {word.rstrip("=") for word in statement.words} & set("+-*/")


_ORDER = {"insert": 0, "replace": 1, "delete": 2}


def _names(theirs: Definition, its: Definition) -> dict[str, str]:
    """The names of a program for those of the learner's that play their parts."""
    if type(theirs) is not type(its):
        return {}
    found: dict[str, str] = {}
    for name, others in roles(theirs, its).items():
        if others:
            found.setdefault(others[0], name)
    return found
