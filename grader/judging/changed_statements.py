"""Read what a known mistake changes in the solution: which statements it adds, replaces and removes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from grader.judging.compared_statements import Statement, Words, inlined_definition, statements_of
from grader.submission.syntax import Definition

_CHANGE_ORDER = {"insert": 0, "replace": 1, "delete": 2}
"""Order in which changes are looked for in the learner's program: where something is left out, there is no line."""


@dataclass(frozen=True)
class CourseProgram:
    """A parsed program of the course: the solution, or the solution with a mistake."""

    definition: Definition
    statements: list[Statement]


@lru_cache(maxsize=256)  # the submissions of a class make the same mistakes again and again
def course_program(text: str) -> CourseProgram | None:
    """Parse the last definition in a text; None if there is none. Cached: do not modify what is returned."""
    definition = inlined_definition(text, None)
    return None if definition is None else CourseProgram(definition, statements_of(definition, {}))


@dataclass(frozen=True)
class Change:
    """Consecutive statements of the solution that the mistake replaces by others."""

    old: Sequence[Statement]
    """The solution's statements; empty if the mistake only inserts some."""
    new: Sequence[Statement]
    """The statements in the place of `old`; empty if the mistake only removes some."""
    position: int
    """Position in the solution, from 0, at which the change begins."""
    new_positions: range
    """Positions of `new` in the program with the mistake."""


class ChangedStatements:
    """What changes from the statements of the solution to those of the program with a mistake (`wrong`)."""

    def __init__(self, solution: Sequence[Statement], wrong: Sequence[Statement]) -> None:
        self._solution, self._wrong = solution, wrong

    @cached_property
    def changes(self) -> list[Change]:
        """All changes, insertions first, then replacements, then deletions."""
        # If a mistake removes or adds a `with` or a `try`, the statements inside it did not change: ignore that block.
        counts = [Counter(s.kind for s in statements) for statements in (self._solution, self._wrong)]
        ignored = {kind for kind in ("With", "Try") if counts[0][kind] != counts[1][kind]}
        matcher = SequenceMatcher(
            a=[(s.blocks_without(ignored), s.text) for s in self._solution],
            b=[(s.blocks_without(ignored), s.text) for s in self._wrong],
            autojunk=False,
        )
        differing = [operation for operation in matcher.get_opcodes() if operation[0] != "equal"]
        return [
            Change(self._solution[i:j], self._wrong[k:m], i, range(k, m))
            for _, i, j, k, m in sorted(differing, key=lambda operation: _CHANGE_ORDER[operation[0]])
        ]

    def by_new_words(self) -> list[Change]:
        """Return the changes: those with most words that the solution lacks first.

        Of equal ones, replacements and deletions come before insertions.
        """
        return sorted(
            self.changes, key=lambda change: (-len(_vocabulary(change.new) - self._used), not change.old)
        )

    @cached_property
    def _used(self) -> set[str]:
        """All words of the solution."""
        return _vocabulary(self._solution)

    @property
    def words(self) -> Words:
        """The words that one program has more often than the other at the places where the two differ."""
        old = sum((s.words for change in self.changes for s in change.old), Words())
        new = sum((s.words for change in self.changes for s in change.new), Words())
        return (new - old) + (old - new)

    @property
    def missing(self) -> int | None:
        """Position of the solution's first missing statement; None if none is missing, or if others are new."""
        if any(change.new for change in self.changes):
            return None
        return min((change.position for change in self.changes), default=None)

    @property
    def first(self) -> int:
        """Position of the solution's first statement that differs; 0 if none differs."""
        return min((change.position for change in self.changes), default=0)


def _vocabulary(statements: Sequence[Statement]) -> set[str]:
    return {word for statement in statements for word in statement.words}
