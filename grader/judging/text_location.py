"""Find the line of the learner's program that does what a known mistake does, by comparing texts.

A mistake replaces *old* statements of the solution with *new* ones (`Change`); either may be none. The learner rarely
writes the new ones word for word. So the learner's variables get the names that play the same roles in the program with
the mistake (`variable_roles`), and the statements of the two programs are aligned by likeness (`statement_alignment`).

Four ways to find the line are tried, and the first that finds one counts:

1. If the course names a line of the solution (`Mistake.near`) but does not insist on it (`only_near`): the learner's
   line that repeats a new statement almost word for word.
2. The place where a block of the learner's lacks an old statement that a similar block of the learner's has
   (`twin_blocks`).
3. If there is a `near`: the learner's line that corresponds to it.
4. The learner's line most like a new statement, preferably one that is aligned with it. If the mistake only removes
   statements, it is the line before which they should stand. Guards and returned values have rules of their own
   (`_Finder.place_of_first_change`).

Example of the fourth way (`test_a_line_is_found_under_other_names`): the mistake turns
`total += loss.item() * len(xb)` into `total += loss * len(xb)`. The learner wrote `s += out * len(a)`. With `s`, `out`
and `a` renamed, this is the new statement word for word, so its line is found.
"""

from dataclasses import dataclass, field, replace

from grader.course.course import Side
from grader.judging.changed_statements import Change, ChangedStatements, CourseProgram, course_program
from grader.judging.compared_statements import (
    MAX_STATEMENTS,
    Statement,
    inlined_definition,
    is_written_as,
    number_of_statements,
    statements_of,
)
from grader.judging.statement_alignment import Similar, StatementAlignment
from grader.judging.twin_blocks import TwinBlocks
from grader.judging.variable_roles import roles
from grader.submission.syntax import Definition, is_compound, methods

_MIN_LIKENESS_OF_CHANGE = 0.25
"""Minimum likeness to a new statement of the line that is taken for it; below it, the gap where it belongs is taken."""
_MIN_LIKENESS_OF_COPY = 0.95
"""Minimum likeness of a line that counts as a new statement written almost word for word."""
_MIN_LIKENESS_OF_RETURN = 0.5
"""Minimum likeness if the mistake is about the returned value; below it, the learner's `return` is taken."""
_MIN_LIKENESS_BESIDE_NEAR = 0.4
"""Minimum likeness of a line that is taken for what the mistake puts in the place of `near`."""
_FIT_OF_ABSENCE = 0.5
"""Largest fit of a mistake that only leaves statements out, reached if no line of the learner's resembles them.

This is more than the fit of a mistake whose new statement resembles a line by chance, and less than that of one whose
new statement the learner wrote.
"""
_LAST_POSITION_OF_GUARDS = 2
"""Largest position in the solution, counted from 0, of a change that can belong to guards.

A guard is a `raise` or an `assert` that checks arguments, so it stands at the beginning.
"""


@dataclass(frozen=True)
class Location:
    """A line of the learner's program, or the gap before or after it."""

    line: int
    """Number of the line, counted from 1."""
    before: bool = False
    """True if something is missing that should stand before this line."""
    after: bool = False
    """True if something is missing that should stand after this line."""
    fit: float = field(default=0.0, compare=False)
    """How well the mistake fits the learner's text, up to slightly above 1, to choose between variants of the mistake.

    The fit is no part of the place: `==` ignores it.
    """


def locate_in_text(
    solution: str,
    wrong: str,
    learner: str,
    name: str,
    *,
    at: str = "def",
    near: str = "",
    only_near: bool = False,
    side: Side = "",
    with_other_mistakes: str = "",
) -> Location | None:
    """Return the line of the learner's program that does what the program with a mistake does.

    Args:
        solution: source of the exercise's solution.
        wrong: the same source with a mistake made.
        learner: the learner's whole program.
        name: name of the exercise's function or class in the learner's program.
        at: what the mistake is about (see `Mistake.at`); only `return`, the returned value, makes a difference here.
        near: line of the solution whose counterpart is the place, if the edits do not tell it; else empty.
        only_near: True: use `near` even if the learner wrote one of the new statements almost word for word.
        side: where beside `near` something is missing (see `Mistake.side`).
        with_other_mistakes: source of the solution with the learner's other mistakes made, which may have changed the
            line `near`; empty if there are none. Not read without `near`.

    Returns:
        None if the learner's program cannot be parsed, does not define `name`, has more than `MAX_STATEMENTS`
        statements there, or resembles the other two nowhere.
    """
    right_program, wrong_program = course_program(solution), course_program(wrong)
    if right_program is None or wrong_program is None:
        return None
    definition = inlined_definition(learner, name, methods(right_program.definition).keys())
    if definition is None:
        return None
    if number_of_statements(definition) > MAX_STATEMENTS:
        return None

    def align_learner_with(program: CourseProgram) -> StatementAlignment:
        new_names = _course_name_of_each(definition, program.definition)
        return StatementAlignment(
            program.statements, statements_of(definition, new_names, learner.split("\n"))
        )

    changed = ChangedStatements(right_program.statements, wrong_program.statements)
    finder = _Finder(right_program.statements, changed, align_learner_with(wrong_program))
    aligned_with_solution = align_learner_with(right_program)
    found = finder.line_repeating_change() if near and not only_near else None
    found = found or _place_in_twin(definition, changed, aligned_with_solution, near)
    if found is None and near:
        other_program = course_program(with_other_mistakes)
        aligned = aligned_with_solution if other_program is None else align_learner_with(other_program)
        found = _Finder(right_program.statements, changed, aligned).place_near(
            near, side, finder.line_replacing(near)
        )
    if found is None:
        found = finder.place_of_first_change(at)
    return found and replace(found, fit=finder.fit())


def _place_in_twin(
    definition: Definition, changed: ChangedStatements, aligned_with_solution: StatementAlignment, near: str
) -> Location | None:
    """Find a block of the learner's that lacks an old statement although a similar block has it.

    None if there is no such block. None also if the learner's program or the solution contains a new statement: then
    the learner wrote the mistake out, or the mistake only moves or repeats statements.
    """
    learner = aligned_with_solution.learner
    learner_texts = {statement.text for statement in learner}
    solution_texts = {statement.text for statement in aligned_with_solution.course}
    old = {statement.text for change in changed.changes for statement in change.old}
    new = {statement.text for change in changed.changes for statement in change.new}
    if new & (learner_texts | solution_texts):
        return None
    twins = TwinBlocks(definition)
    for statement in learner:
        # Without `near`, compound statements do not count: where the mistake makes a condition hold more rarely, the
        # learner's `if` may have the right condition, but stand in the wrong block.
        is_old = statement.text in old and (near or not is_compound(statement.node))
        gap = twins.gap(statement.node) if is_old else None
        if gap is not None:
            return Location(gap.line, before=gap.before, after=not gap.before)
    return None


def is_line_of(solution: str, line: str) -> bool:
    """Return True if the line of code is a statement of the solution, as `Mistake.near` has to be."""
    program = course_program(solution)
    try:
        return program is not None and any(is_written_as(s, line) for s in program.statements)
    except SyntaxError:
        return False


class _Finder:
    """Chooses the learner's line for what a mistake changes."""

    def __init__(
        self, solution: list[Statement], changed: ChangedStatements, alignment: StatementAlignment
    ) -> None:
        """Prepare.

        Args:
            solution: the solution's statements.
            changed: what the mistake changes in them.
            alignment: the learner's program aligned with the program with the mistake. For `place_near`, and for no
                other method, it is aligned with the solution, or with the solution with other mistakes made.
        """
        self._solution, self._changed, self._alignment = solution, changed, alignment
        self._learner = alignment.learner

    def place_of_first_change(self, at: str) -> Location | None:
        """Return the place of the first change that has one; insertions come first, then replacements, then removals.

        Args:
            at: what the mistake is about (see `Mistake.at`).
        """
        for change in self._changed.changes:
            # A change at the beginning that replaces a guard, or stands right before one, is about the guards.
            old_and_next = self._solution[change.position : change.position + len(change.old) + 1]
            if change.position <= _LAST_POSITION_OF_GUARDS and any(s.is_guard for s in old_and_next):
                is_condition = any(s.kind == "If" for s in change.old)
                return self._first_guard(self._solution[change.position].method, is_condition)
            if _only_reorders_return(change):
                return self._last_return()
            likeness, line, _ = self._most_similar(change)
            if change.new and at == "return" and likeness < _MIN_LIKENESS_OF_RETURN:
                line_of_return = self._return(change)
                if line_of_return is not None:
                    return line_of_return
            if line is not None and likeness >= _MIN_LIKENESS_OF_CHANGE:
                return Location(line)
            between = self._between(change.new_positions.start, change.new_positions.stop)
            if between is not None:
                return between
        return None

    def line_repeating_change(self) -> Location | None:
        """Return the learner's line that repeats a new statement almost word for word; None if there is none.

        New statements that also stand in the solution do not count.
        """
        solution_texts = {statement.text for statement in self._solution}
        for change in self._changed.by_number_of_new_words():
            positions = [
                position
                for position, statement in zip(change.new_positions, change.new, strict=True)
                if statement.text not in solution_texts
            ]
            likeness, line, _ = self._alignment.most_similar(positions, change.old)
            if likeness >= _MIN_LIKENESS_OF_COPY:
                return None if line is None else Location(line)
        return None

    def line_replacing(self, line: str) -> Location | None:
        """Return the learner's line most like what the mistake puts in the place of the solution's statement `line`.

        None if the mistake does not replace that statement, or if no learner's line is like its replacement.
        """
        changes = [c for c in self._changed.changes if c.new and any(is_written_as(s, line) for s in c.old)]
        similar = self._most_similar(changes[0]) if changes else Similar()
        is_like = similar.likeness >= _MIN_LIKENESS_BESIDE_NEAR
        return Location(similar.line) if similar.line is not None and is_like else None

    def place_near(self, line: str, side: Side, otherwise: Location | None = None) -> Location | None:
        """Return the place in the learner's program of the solution's statement `line`.

        If the solution has several such statements, the one nearest to the first change counts. If other mistakes
        replace it, the statement in its place counts.

        1. If no learner's statement is aligned with it, and the mistake only reorders statements: the learner's line
           most like it, wherever that stands.
        2. If none is aligned with it otherwise: `otherwise`, and without that the gap where the statement belongs.
        3. If the aligned statement has several lines, and the words that the mistake changes are mostly in a later one:
           that line.
        4. Else the first line of the aligned statement, or the gap on the given side of it.

        In the fourth case without a side, it is the gap before if the mistake only removes statements, the first of
        them before `line`, and the gap after if the mistake removes the statement after `line`.
        """
        positions = (i for i, statement in enumerate(self._solution) if is_written_as(statement, line))
        position = min(positions, key=lambda i: abs(i - self._changed.first_position))
        counterpart = self._position_in_alignment(position)
        if counterpart not in self._alignment.pairs:
            likeness, found, _ = self._alignment.most_similar([counterpart], ())
            is_elsewhere = self._changed.only_reorders and likeness >= _MIN_LIKENESS_OF_CHANGE
            if is_elsewhere and found is not None:
                return Location(found)
            return otherwise or self._between(counterpart, counterpart + 1)
        statement = self._learner[self._alignment.pairs[counterpart]]
        found = self._alignment.line_in(statement, self._changed.words)
        if found != statement.line:
            return Location(found)
        first_missing = self._changed.first_missing_position
        is_missing_before = first_missing is not None and first_missing < position
        is_missing_next = any(not c.new and c.position == position + 1 for c in self._changed.changes)
        return Location(
            found,
            before=side == "before" or (not side and is_missing_before),
            after=side == "after" or (not side and is_missing_next),
        )

    def _position_in_alignment(self, position: int) -> int:
        """Return where the aligned program of the course has the solution's statement at `position`.

        If other mistakes replace the statement, this is the position of the statement in its place. Else it is the
        position of the nearest statement with the same text, and `position` itself if there is none.
        """
        course = self._alignment.course
        for change in ChangedStatements(self._solution, course).changes:
            offset = position - change.position
            if 0 <= offset < len(change.old) and change.new:
                return change.new_positions[min(offset, len(change.new) - 1)]
        same = (i for i, statement in enumerate(course) if statement.text == self._solution[position].text)
        return min(same, key=lambda i: abs(i - position), default=position)

    def fit(self) -> float:
        """Return how well the mistake fits the learner's text: the best fit of any change; 0 without a change."""
        return max((self._fit(change) for change in self._changed.changes), default=0.0)

    def _fit(self, change: Change) -> float:
        """Return the fit of the learner's line most like a new statement.

        A change that only removes statements fits the better, the less any line resembles them.
        """
        if all(statement.kind == "Pass" for statement in change.new):
            return _FIT_OF_ABSENCE * (1 - max(map(self._alignment.best_likeness, change.old), default=1.0))
        return self._most_similar(change).fit

    def _most_similar(self, change: Change) -> Similar:
        return self._alignment.most_similar(change.new_positions, change.old)

    def _between(self, start: int, end: int) -> Location | None:
        """Return the gap in the learner's program where the course statements `start` to `end` - 1 belong.

        The gap is before the learner's statement that comes next. If there is none, or if it stands in another method
        than the statement before the gap (the end of a method is missing), the gap is after the statement before.
        None if there is no statement on either side.
        """
        before, after = self._alignment.neighbours(start, end)
        if after is not None and (before is None or not self._leaves_method(before, after)):
            return Location(after.line, before=True)
        return None if before is None else Location(before.line, after=True)

    def _leaves_method(self, before: Statement, after: Statement) -> bool:
        """Return True if `before` stands in a method that both classes have, and `after` does not stand in it."""
        return before.method not in ("", after.method) and before.method in self._alignment.shared_methods

    def _last_return(self) -> Location | None:
        """Return the learner's last `return`; None without one."""
        return next((Location(s.line) for s in reversed(self._learner) if s.is_return), None)

    def _return(self, change: Change) -> Location | None:
        """Return the learner's last `return`, or a line that computes what it returns; None without a `return`.

        If the `return` only passes on names, the statements before it that last changed these names are looked at. Of
        them, those compute that use an operator of the solution's last statement, usually its `return`. If the last
        statement looked at computes, the answer is the computing one with most of the words that the change adds or
        removes. Else the answer is the `return`.
        """
        last = next((i for i in reversed(range(len(self._learner))) if self._learner[i].is_return), None)
        if last is None:
            return None
        returning = self._learner[last]
        names_left = set(returning.names_passed_on)
        changing = []
        for statement in reversed(self._learner[:last]):
            if statement.names_changed & names_left:
                changing.append(statement)
                names_left -= statement.names_changed
        operators = _operators(self._solution[-1])
        computing = [s for s in changing if operators & _operators(s)]
        if not changing or changing[0] not in computing:
            return Location(returning.line)
        return Location(
            max(computing, key=lambda s: self._alignment.weight_of_changed(s, change.old, change.new)).line
        )

    def _first_guard(self, method: str, is_condition: bool) -> Location | None:
        """Return the learner's first guard; without one, the gap before the first line, where guards belong.

        Only statements of the method are looked at, if both classes have it. None if there are no statements.

        Args:
            method: name of the method; empty in functions.
            is_condition: True if the condition of the guard is wrong: the line is that of its `if`.
        """
        is_shared = method in self._alignment.shared_methods
        statements = [s for s in self._learner if s.method == method] if is_shared else self._learner
        guard = next((s for s in statements if s.is_guard), None)
        if guard is not None:
            conditions = (s for s in statements if s.kind == "If" and guard.node in s.node.body)  # type: ignore[attr-defined]
            found = next(conditions, guard) if is_condition else guard
            return Location(found.line)
        first_line = next((s.line for s in statements if s.kind != "FunctionDef"), None)
        return None if first_line is None else Location(first_line, before=True)


def _only_reorders_return(change: Change) -> bool:
    """Return True if the change is a `return` of the same words in another order."""
    if not (len(change.old) == len(change.new) == 1 and change.new[0].is_return):
        return False
    return change.old[0].words == change.new[0].words


def _operators(statement: Statement) -> set[str]:
    """Return the operators of `+ - * /` that a statement uses; `/=` counts as `/`."""
    return {word.rstrip("=") for word in statement.words} & set("+-*/")


def _course_name_of_each(learner: Definition, course: Definition) -> dict[str, str]:
    """Return learner's name -> course program's name, for the learner's variables that have a match.

    Empty if one definition is a class and the other a function.
    """
    if type(learner) is not type(course):
        return {}
    found: dict[str, str] = {}
    for course_name, learner_names in roles(learner, course).items():
        if learner_names:
            found.setdefault(learner_names[0], course_name)
    return found
