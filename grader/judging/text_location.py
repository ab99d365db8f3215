"""Find the line of the learner's program that does what a known mistake does, by comparing texts.

The learner rarely writes the mistake's text word for word, so lines are compared by likeness:

1. The learner's variables get the names that play the same roles in the program with the mistake (`variable_roles`).
2. The statements of the two programs are aligned (`statement_alignment`).
3. Of the learner's statements, the one most like a statement that the mistake changes (`changed_statements`) is taken,
   with a bonus where the two are aligned. If the mistake only leaves a statement out, the line before which that
   statement should stand is taken.

Example (`test_a_line_is_found_under_other_names`): the mistake turns `total += loss.item() * len(xb)` into
`total += loss * len(xb)`. The learner wrote `s += out * len(a)`; with `s`, `out` and `a` renamed this is the changed
statement word for word, so its line is found.
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
from grader.submission.syntax import Definition, is_compound

_MIN_LIKENESS = 0.25
"""Minimum likeness of a line that is taken for a changed one; below it, the place between its neighbours is taken."""
_MIN_LIKENESS_IF_WRITTEN = 0.95
"""Minimum likeness of a line that counts as the changed line itself, written by the learner almost word for word."""
_MIN_LIKENESS_OF_RETURN = 0.5
"""The minimum for a mistake about the returned value; below it, the learner's `return` is taken."""
_FIT_OF_ABSENCE = 0.5
"""How well a mistake that leaves a statement out fits a program without any line like it: less than one whose changed
line the learner wrote, more than one whose changed line resembles the learner's by chance."""
_MIN_LIKENESS_BESIDE_NEAR = 0.4
"""The minimum for a line that is taken in place of `near`, which the learner's program lacks."""
_LAST_CHECK_POSITION = 2
"""Largest position, counted from 0, at which a statement of the solution may check arguments."""


@dataclass(frozen=True)
class Location:
    """A line of the learner's program."""

    line: int
    """Number of the line, counted from 1."""
    before: bool = False
    """True if something is missing that should stand before this line."""
    after: bool = False
    """True if something is missing that should stand after this line."""
    likeness: float = field(default=0.0, compare=False)
    """How much the most similar line resembles what the mistake changes, up to slightly above 1.

    It tells how well a variant of the mistake fits, and is no part of the location: `==` ignores it.
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
    others: str = "",
) -> Location | None:
    """Return the line of the learner's program that does what the program with a mistake does.

    Args:
        solution: source of the exercise's solution.
        wrong: the same source with a mistake made.
        learner: the learner's whole program.
        name: name of the exercise's function or class in the learner's program.
        at: what the mistake is about (see `Mistake.at`); only `return`, the returned value, makes a difference here.
        near: line of the solution to which a tutor would point, if that is not the changed line; else empty.
        only_near: True: use `near` even if the learner wrote one of the changed lines almost word for word.
        side: where beside `near` something is missing (see `Mistake.side`).
        others: source of the solution with the learner's other mistakes made, which may have changed the line `near`;
            empty if there are none, or without `near`.

    Returns:
        None if the learner's program cannot be parsed, does not define `name`, has more than `MAX_STATEMENTS`
        statements there, or resembles the other two nowhere.
    """
    definition = inlined_definition(learner, name)
    right_program, wrong_program = course_program(solution), course_program(wrong)
    if definition is None or right_program is None or wrong_program is None:
        return None
    if number_of_statements(definition) > MAX_STATEMENTS:
        return None

    def align_learner_with(program: CourseProgram) -> StatementAlignment:
        new_names = _course_names(definition, program.definition)
        return StatementAlignment(
            program.statements, statements_of(definition, new_names, learner.split("\n"))
        )

    changed = ChangedStatements(right_program.statements, wrong_program.statements)
    finder = _Finder(right_program.statements, changed, align_learner_with(wrong_program))
    beside_solution = align_learner_with(right_program)
    found = finder.of_written_change() if near and not only_near else None
    found = found or _place_in_twin(definition, changed, beside_solution, near)
    if found is None and near:
        with_others = course_program(others)
        amid = beside_solution if with_others is None else align_learner_with(with_others)
        found = _Finder(right_program.statements, changed, amid).of_line(
            near, side, finder.of_change_at(near)
        )
    if found is None:
        found = finder.of_changes(at)
    return found and replace(found, likeness=finder.likeness())


def _place_in_twin(
    definition: Definition, changed: ChangedStatements, beside_solution: StatementAlignment, near: str
) -> Location | None:
    """Return where a block of the learner's lacks a changed statement that another has as the solution has it.

    None if there are no two such blocks, if the learner wrote a changed statement as the mistake has it, or if the
    mistake only moves statements.
    """
    learner = beside_solution.learner
    texts = {statement.text for statement in learner}
    right = {statement.text for statement in beside_solution.course}
    old = {statement.text for change in changed.changes for statement in change.old}
    new = {statement.text for change in changed.changes for statement in change.new}
    if new & (texts | right):
        return None
    twins = TwinBlocks(definition)
    for statement in learner:
        # A condition that the mistake narrows may itself stand in the wrong block, unless `near` says where to look.
        is_changed = statement.text in old and (near or not is_compound(statement.node))
        gap = twins.gap(statement.node) if is_changed else None
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
            alignment: that of the learner's program with the program with the mistake; for `of_line` and nothing else,
                that with the solution.
        """
        self._solution, self._changed, self._alignment = solution, changed, alignment
        self._learner = alignment.learner

    def of_changes(self, at: str) -> Location | None:
        """Return the line of the first change that has one: added, then replaced, then missing statements."""
        for change in self._changed.changes:
            # What is inserted before a check of arguments, or replaces one, belongs to the learner's checks.
            old_and_next = self._solution[change.position : change.position + len(change.old) + 1]
            if change.position <= _LAST_CHECK_POSITION and any(s.is_check for s in old_and_next):
                is_condition = any(s.kind == "If" for s in change.old)
                return self._first_check(self._solution[change.position].method, is_condition)
            if _only_reorders_return(change):
                return self._last_return()
            likeness, line, _ = self._most_similar(change)
            if change.new and at == "return" and likeness < _MIN_LIKENESS_OF_RETURN:
                of_return = self._return(change)
                if of_return is not None:
                    return of_return
            if line is not None and likeness >= _MIN_LIKENESS:
                return Location(line)
            between = self._between(change.new_positions.start, change.new_positions.stop)
            if between is not None:
                return between
        return None

    def of_written_change(self) -> Location | None:
        """Return the learner's line that repeats a changed statement almost word for word; None if there is none."""
        solution_texts = {statement.text for statement in self._solution}
        for change in self._changed.by_number_of_new_words():
            positions = [
                position
                for position, statement in zip(change.new_positions, change.new, strict=True)
                if statement.text not in solution_texts
            ]
            likeness, line, _ = self._alignment.most_similar(positions, change.old)
            if likeness >= _MIN_LIKENESS_IF_WRITTEN:
                return None if line is None else Location(line)
        return None

    def of_change_at(self, line: str) -> Location | None:
        """Return the learner's line most like what the mistake puts in the place of the solution's statement `line`.

        None if it leaves that statement as it is, or if no line is like the new one.
        """
        changes = [c for c in self._changed.changes if c.new and any(is_written_as(s, line) for s in c.old)]
        similar = self._most_similar(changes[0]) if changes else Similar()
        is_like = similar.likeness >= _MIN_LIKENESS_BESIDE_NEAR
        return Location(similar.line) if similar.line is not None and is_like else None

    def of_line(self, line: str, side: Side, otherwise: Location | None = None) -> Location | None:
        """Return the learner's line aligned with the solution's statement `line`.

        If none is, return `otherwise`, and without it the place of that statement in the learner's program.

        If the solution has several such statements, the one nearest to the first change counts. If other mistakes
        replace it, the statement in its place does. If the mistake only puts statements into another order, it is the
        learner's line most like this one, wherever it stands.

        Something is missing beside the line as `side` says. Without it: if the mistake only removes statements and the
        first of them stands before this one, it is missing before the learner's line; if one that is removed is the
        next, after it. Otherwise the line itself is meant, which makes what is missing necessary.
        """
        positions = (i for i, statement in enumerate(self._solution) if is_written_as(statement, line))
        position = min(positions, key=lambda i: abs(i - self._changed.first_position))
        here = self._position_amid_others(position)
        if here not in self._alignment.pairs:
            likeness, found, _ = self._alignment.most_similar([here], ())
            is_elsewhere = self._changed.only_reorders and likeness >= _MIN_LIKENESS
            if is_elsewhere and found is not None:
                return Location(found)
            return otherwise or self._between(here, here + 1)
        statement = self._learner[self._alignment.pairs[here]]
        found = self._alignment.line_in(statement, self._changed.words)
        if found != statement.line:
            return Location(found)
        missing = self._changed.first_missing_position
        is_missing_before = missing is not None and missing < position
        is_missing_next = any(not c.new and c.position == position + 1 for c in self._changed.changes)
        return Location(
            found,
            before=side == "before" or (not side and is_missing_before),
            after=side == "after" or (not side and is_missing_next),
        )

    def _position_amid_others(self, position: int) -> int:
        """Return the position in the aligned course program of the solution's statement at `position`."""
        course = self._alignment.course
        for change in ChangedStatements(self._solution, course).changes:
            offset = position - change.position
            if 0 <= offset < len(change.old) and change.new:
                return change.new_positions[min(offset, len(change.new) - 1)]
        same = (i for i, statement in enumerate(course) if statement.text == self._solution[position].text)
        return min(same, key=lambda i: abs(i - position), default=position)

    def likeness(self) -> float:
        """Return how well the mistake fits the learner's text; 0 if nothing in it does.

        This is the highest likeness of any learner's line to any changed statement. A statement that is left out fits
        the better the less any line resembles it.
        """
        return max((self._fit(change) for change in self._changed.changes), default=0.0)

    def _fit(self, change: Change) -> float:
        if all(statement.kind == "Pass" for statement in change.new):
            return _FIT_OF_ABSENCE * (1 - max(map(self._alignment.best_likeness, change.old), default=1.0))
        return self._most_similar(change).fit

    def _most_similar(self, change: Change) -> Similar:
        return self._alignment.most_similar(change.new_positions, change.old)

    def _between(self, start: int, end: int) -> Location | None:
        """Return the place in the learner's program of the course statements `start` to `end` - 1, which it lacks.

        The place is before the learner's statement that comes after them. If there is none, or if it stands in another
        method than the one before (then the end of a method is missing), it is the statement before them.
        """
        before, after = self._alignment.neighbours(start, end)
        if after is not None and (before is None or not self._is_in_next_method(after, before)):
            return Location(after.line, before=True)
        return None if before is None else Location(before.line, after=True)

    def _is_in_next_method(self, after: Statement, before: Statement) -> bool:
        """Return True if `before` stands in a method that both classes have, and `after` does not stand in it."""
        return before.method not in ("", after.method) and before.method in self._alignment.shared_methods

    def _last_return(self) -> Location | None:
        """Return the learner's last `return`; None without one."""
        return next((Location(s.line) for s in reversed(self._learner) if s.is_return), None)

    def _return(self, change: Change) -> Location | None:
        """Return the learner's last `return`, or the line that computes what it returns; None without a `return`.

        The line that computes is taken if the `return` only passes on names, and if the line uses an operator that the
        solution's last statement, usually its `return`, uses. If several names are passed on, it is the line with most
        of the words that the change adds or removes.
        """
        last = next((i for i in reversed(range(len(self._learner))) if self._learner[i].is_return), None)
        if last is None:
            return None
        returning = self._learner[last]
        left = set(returning.names_passed_on)
        computing = []
        for statement in reversed(self._learner[:last]):
            if statement.names_changed & left:
                computing.append(statement)
                left -= statement.names_changed
        operators = _operators(self._solution[-1])
        found = [s for s in computing if operators & _operators(s)]
        if not computing or computing[0] not in found:
            return Location(returning.line)
        return Location(
            max(found, key=lambda s: self._alignment.weight_of_changed(s, change.old, change.new)).line
        )

    def _first_check(self, method: str, is_condition: bool) -> Location | None:
        """Return the learner's first check; without one, the place before the first line, where checks belong.

        Only statements of the method are looked at, if both classes have it. None if there are no statements.

        Args:
            method: name of the method; empty in functions.
            is_condition: True if the condition of the check is wrong: the line is that of its `if`.
        """
        is_shared = method in self._alignment.shared_methods
        statements = [s for s in self._learner if s.method == method] if is_shared else self._learner
        check = next((s for s in statements if s.is_check), None)
        if check is not None:
            conditions = (s for s in statements if s.kind == "If" and check.node in s.node.body)  # type: ignore[attr-defined]
            found = next(conditions, check) if is_condition else check
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


def _course_names(learner: Definition, course: Definition) -> dict[str, str]:
    """Return the course program's name for each of the learner's variables that has a match.

    Empty if one definition is a class and the other a function.
    """
    if type(learner) is not type(course):
        return {}
    found: dict[str, str] = {}
    for name, others in roles(learner, course).items():
        if others:
            found.setdefault(others[0], name)
    return found
