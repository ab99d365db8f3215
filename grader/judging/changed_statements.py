"""Find what a known mistake changes in the solution: which statements it adds, replaces and removes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from grader.judging.compared_statements import Statement, Words, inlined_definition, statements_of
from grader.submission.syntax import Definition

_ORDER = {"insert": 0, "replace": 1, "delete": 2}
"""Order of changes by the tag of `SequenceMatcher`: what is left out comes last, because it has no line."""


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
    """Consecutive statements of the solution that the mistake replaces with others."""

    old: Sequence[Statement]
    """The solution's statements; empty if the mistake only inserts some."""
    new: Sequence[Statement]
    """The statements in the place of `old`; empty if the mistake only removes some."""
    position: int
    """Position in the solution, counted from 0, of the first old statement, or before which `new` is inserted."""
    new_positions: range
    """Positions of `new` in the program with the mistake."""


class ChangedStatements:
    """The difference between the solution and the program with a mistake (`wrong`), as a list of changes."""

    def __init__(self, solution: Sequence[Statement], wrong: Sequence[Statement]) -> None:
        self._solution, self._wrong = solution, wrong

    @cached_property
    def changes(self) -> list[Change]:
        """All changes, insertions first, then replacements, then deletions."""
        # If a mistake removes or adds a `with` or a `try`, the statements inside it did not change: ignore that block.
        kinds_before = Counter(statement.kind for statement in self._solution)
        kinds_after = Counter(statement.kind for statement in self._wrong)
        ignored = {kind for kind in ("With", "Try") if kinds_before[kind] != kinds_after[kind]}
        matcher = SequenceMatcher(
            a=[(s.blocks_without(ignored), s.text) for s in self._solution],
            b=[(s.blocks_without(ignored), s.text) for s in self._wrong],
            autojunk=False,
        )
        differing = [operation for operation in matcher.get_opcodes() if operation[0] != "equal"]
        return [
            Change(
                self._solution[start:end], self._wrong[new_start:new_end], start, range(new_start, new_end)
            )
            for _, start, end, new_start, new_end in sorted(
                differing, key=lambda operation: _ORDER[operation[0]]
            )
        ]

    def with_most_new_words_first(self) -> list[Change]:
        """Return the changes, those with most words that the solution lacks first.

        Of changes with equally many, replacements and deletions come before insertions. Changes that only initialise
        variables come last.
        """
        solution_words = _distinct_words(self._solution)

        def order(change: Change) -> tuple[bool, int, bool]:
            only_initialises = bool(change.new) and all(s.is_initialisation for s in change.new)
            return only_initialises, -len(_distinct_words(change.new) - solution_words), not change.old

        return sorted(self.changes, key=order)

    @property
    def changed_words(self) -> Words:
        """The words that are more frequent in one of the two programs, counting only what changes."""
        old = sum((s.words for change in self.changes for s in change.old), Words())
        new = sum((s.words for change in self.changes for s in change.new), Words())
        return (new - old) + (old - new)

    @property
    def first_removed_position(self) -> int | None:
        """Position in the solution of the first statement that the mistake removes.

        None if it removes none, or if it also adds or replaces some.
        """
        if any(change.new for change in self.changes):
            return None
        return min((change.position for change in self.changes), default=None)

    @property
    def only_reorders(self) -> bool:
        """True if both programs have the same statements, in whatever order."""
        return Counter(s.text for s in self._solution) == Counter(s.text for s in self._wrong)

    @property
    def first_changed_position(self) -> int:
        """Position in the solution at which the first change begins; 0 if nothing changes."""
        return min((change.position for change in self.changes), default=0)


def _distinct_words(statements: Sequence[Statement]) -> set[str]:
    return {word for statement in statements for word in statement.words}
