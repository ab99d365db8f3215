"""Find what a known mistake changes in the solution: which statements it adds, replaces and removes.

`text_location` looks for these statements in the learner's program. Example: the mistake that turns
`return total / count` into `return total` is one change, with the old statement `return total / count` and the new
statement `return total`.

What else is asked of one change becomes a property of `Change`, or a method of `ChangedStatements` if it needs the two
programs; of all together, a property of `ChangedStatements`. Which statements are compared at all, and which of two are
equal, `compared_statements` says.
"""

import ast
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, lru_cache

from grader.judging.compared_statements import (
    ComparedStatement,
    Words,
    changed_words,
    inlined_definition,
    statements_of,
    words_of_all,
)
from grader.submission.syntax import Definition, is_compound

_RANK_OF_TAG = {"insert": 0, "replace": 1, "delete": 2}
"""Rank of a change by its tag in `SequenceMatcher`: removals come last, because they leave no line to point at."""


@dataclass(frozen=True)
class CourseProgram:
    """An exercise's function or class as the course has it: in the solution, or with a mistake made."""

    definition: Definition
    """The definition; if it is a function, with its helpers inlined."""
    statements: list[ComparedStatement]
    """Its statements, with the names of variables as they are."""


@lru_cache(maxsize=256)  # the submissions of a class make the same mistakes again and again
def course_program(source: str) -> CourseProgram | None:
    """Return the last definition in a source, parsed; None if there is none. Cached: do not modify it."""
    definition = inlined_definition(source, None)
    return None if definition is None else CourseProgram(definition, statements_of(definition, {}))


@dataclass(frozen=True)
class Change:
    """Consecutive statements that the mistake replaces with others, inserts or removes."""

    old: Sequence[ComparedStatement]
    """The solution's statements; empty if the mistake only inserts some."""
    new: Sequence[ComparedStatement]
    """The statements in the place of `old`; empty if the mistake only removes some."""
    position: int
    """Index in the solution's statements of the first old one. If there is none: of the one before which `new` is
    inserted, or the number of statements if that is the end."""
    new_positions: range
    """Indices of `new` in the statements of the program with the mistake."""

    @property
    def narrows_condition(self) -> bool:
        """True if the change only adds words, an `and` among them, to the condition of an `if`."""
        if not (len(self.old) == len(self.new) == 1 and self.old[0].kind == self.new[0].kind == "If"):
            return False
        old, new = self.old[0].words, self.new[0].words
        return old <= new and new["and"] > old["and"]


class ChangedStatements:
    """What is different in two programs, the solution and the program with a mistake (`wrong`).

    The solution may have other mistakes made in it already, the same ones as `wrong`.
    """

    def __init__(self, solution: Sequence[ComparedStatement], wrong: Sequence[ComparedStatement]) -> None:
        self._solution, self._wrong = solution, wrong

    @cached_property
    def changes(self) -> list[Change]:
        """All changes: insertions first, then replacements, then removals."""
        ignored = self._kinds_of_added_or_removed_blocks()
        matcher = SequenceMatcher(
            a=[(statement.outer_blocks_without(ignored), statement.text) for statement in self._solution],
            b=[(statement.outer_blocks_without(ignored), statement.text) for statement in self._wrong],
            autojunk=False,
        )
        differing = [operation for operation in matcher.get_opcodes() if operation[0] != "equal"]
        differing.sort(key=lambda operation: _RANK_OF_TAG[operation[0]])
        return [
            Change(
                self._solution[start:end], self._wrong[new_start:new_end], start, range(new_start, new_end)
            )
            for _, start, end, new_start, new_end in differing
        ]

    def _kinds_of_added_or_removed_blocks(self) -> set[str]:
        """Return those of `With` and `Try` of which the programs have different numbers.

        The statements in the body of such a block stay the same when the block is added or removed, so they must not
        count as changed. Its first line does, and so do statements under `except`, `else` and `finally`.
        """
        kinds_before = Counter(statement.kind for statement in self._solution)
        kinds_after = Counter(statement.kind for statement in self._wrong)
        return {kind for kind in ("With", "Try") if kinds_before[kind] != kinds_after[kind]}

    def inner_positions(self, change: Change) -> list[int]:
        """Return the positions of the statements that change something, of those inside new blocks; mostly none.

        Not those of a function, of a block that replaces another of its kind, or of an `if` with an `else`, nor
        statements that the solution has, too: there the mistake is in the block's first line.
        """
        right_texts = {statement.text for statement in self._solution}
        kinds_to_skip = {"FunctionDef", *(statement.kind for statement in change.old)}
        blocks = [s.node for s in change.new if is_compound(s.node) and s.kind not in kinds_to_skip]
        with_else = [block for block in blocks if isinstance(block, ast.If) and block.orelse]
        inside = _inside(blocks) - _inside(with_else)
        return [
            position
            for position, statement in zip(change.new_positions, change.new, strict=True)
            if id(statement.node) in inside
            and statement.changes_something
            and statement.text not in right_texts
        ]

    def with_most_new_words_first(self) -> list[Change]:
        """Return the changes, first those with the most words that occur nowhere in the solution.

        Of changes with equally many, replacements and removals come before insertions. Changes that only initialise
        variables come last, because such a line tells little about a mistake.
        """
        solution_words = words_of_all(self._solution).keys()

        def order(change: Change) -> tuple[bool, int, bool]:
            only_initialises = bool(change.new) and all(
                statement.is_initialisation for statement in change.new
            )
            return only_initialises, -len(words_of_all(change.new).keys() - solution_words), not change.old

        return sorted(self.changes, key=order)

    @property
    def changed_words(self) -> Words:
        """The words that all changes together add or remove, without those that only move from one place to another."""
        return changed_words(
            (statement for change in self.changes for statement in change.old),
            (statement for change in self.changes for statement in change.new),
        )

    @property
    def first_removed_position(self) -> int | None:
        """Index in the solution of the first statement that the mistake removes.

        None if the mistake removes no statement, or if it also adds or replaces some.
        """
        if any(change.new for change in self.changes):
            return None
        return min((change.position for change in self.changes), default=None)

    @property
    def only_reorders(self) -> bool:
        """True if both programs have the same statements, in whatever order and blocks."""
        before, after = (
            Counter(statement.text for statement in program) for program in (self._solution, self._wrong)
        )
        return before == after

    @property
    def first_changed_position(self) -> int:
        """Index in the solution at which the first change begins (see `Change.position`); 0 if nothing changes."""
        return min((change.position for change in self.changes), default=0)


def _inside(blocks: Iterable[ast.AST]) -> set[int]:
    """Return the `id` of every node inside these blocks."""
    return {id(node) for block in blocks for node in ast.walk(block) if node is not block}


@lru_cache(maxsize=256)
def only_reorders(solution: str, wrong: str) -> bool:
    """Return True if both sources parse and have the same statements, in whatever order and blocks."""
    programs = course_program(solution), course_program(wrong)
    if programs[0] is None or programs[1] is None:
        return False
    return ChangedStatements(programs[0].statements, programs[1].statements).only_reorders
