"""Find the line of the learner's program that does what a known mistake does, by comparing texts.

A mistake replaces *old* statements of its *base* with *new* ones (`Change`); either list may be empty. The base is the
solution, with its code in two copies if the mistake is made in one of them; if the mistake has no `near` (see below),
the learner's other mistakes may be made in it. The learner rarely writes the new statements word for word. So the
learner's variables get the names of those that play the same roles in the program of the course (`variable_roles`), and
the statements of the two programs are aligned by likeness (`statement_alignment`). The course may also name a line of
the solution at which the mistake is found (`Mistake.near`).

Four ways to find the line are tried, the surest first, and the first that finds one counts (`locate_in_text` calls
them; another one goes there):

1. If there is a `near` that does not have to be used (`Mistake.only_near`): the learner's line that repeats a new
   statement almost word for word. There the learner wrote the mistake itself.
2. The place where one of the learner's blocks lacks an old statement that a similar block of the learner's has
   (`similar_blocks`). There the learner's own program shows what is missing.
3. If there is a `near`: the learner's line that is aligned with it, or the gap beside that line. If no line is: the
   line most like what the mistake puts in its place, or the gap where it belongs (`_LineFinder.place_near`).
4. The learner's line most like a new statement, preferably one that is aligned with it. If no line is like one, or the
   mistake only removes statements, it is the gap where they belong: before the statement that follows, or after the one
   that precedes. Guards, returned values and the condition of `step()` have rules of their own
   (`_LineFinder.place_of_first_change`).

Of a new block, such as `for p in …:` around `p.grad *= weight`, the statement inside does the wrong thing, and the
lines above it only lead there (`ChangedStatements.inner_positions`). So the statement inside is looked for first.

Example of the fourth way (`test_a_line_is_found_under_other_names`): the mistake turns
`total += loss.item() * len(xb)` into `total += loss * len(xb)`. The learner wrote `s += out * len(a)`. With `s`, `out`
and `a` renamed, this is the new statement word for word, so its line is found.
"""

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from grader.course.course import Side
from grader.judging.changed_statements import Change, ChangedStatements, CourseProgram, course_program
from grader.judging.compared_statements import (
    MAX_STATEMENTS,
    ComparedStatement,
    inlined_definition,
    is_written_as,
    number_of_statements,
    statements_of,
    words_of_all,
)
from grader.judging.similar_blocks import SimilarBlocks
from grader.judging.statement_alignment import BestMatch, StatementAlignment
from grader.judging.variable_roles import match_by_variable
from grader.submission.syntax import Definition, is_compound, methods

# These four minima are of `BestMatch.likeness`, and set by hand as those of `statement_alignment`.
_MIN_LIKENESS_OF_CHANGE = 0.25
"""Minimum likeness of a line that is taken for a new statement; below it, the gap where that belongs is taken."""
_MIN_LIKENESS_OF_COPY = 0.95
"""Minimum likeness of a line that counts as a new statement written almost word for word."""
_MIN_LIKENESS_INSIDE = 0.4
"""Minimum likeness of a line that is taken for the statement inside a new block; below it, the block's first lines are
compared, too."""
_MIN_LIKENESS_OF_RETURN = 0.5
"""Minimum likeness of a line that is taken before `_line_of_returned_value` is asked, if `at` is `return`.

If that finds nothing, because the learner wrote no `return`, `_MIN_LIKENESS_OF_CHANGE` decides as for other mistakes.
"""
_MIN_LIKENESS_BESIDE_NEAR = 0.4
"""Minimum likeness of a line that is taken for the statement that the mistake puts in the place of `near`."""
_FIT_OF_ABSENCE = 0.5
"""Largest fit of a change that only leaves statements out: its fit if they are like no line that lacks a partner.

It lies between the fit of a new statement that is like a line by chance, and that of one that the learner wrote.
"""
_LAST_POSITION_OF_GUARDS = 2
"""Largest position in the base, counted from 0, of a change that can belong to guards.

A guard is a `raise` or an `assert` that checks arguments, so it stands at the beginning. A `raise` further behind is
compared like any other statement.
"""


@dataclass(frozen=True)
class Location:
    """A line of the learner's program, or the gap before or after it."""

    line: int
    """Number of the line, counted from 1."""
    side: Side = ""
    """On which side of the line something is missing; empty if the place is the line itself."""
    fit: float = field(default=0.0, compare=False)
    """How well the mistake fits the learner's text, up to slightly above 1, to choose between variants of the mistake.
    `==` ignores it.
    """


def locate_in_text(
    base: str,
    wrong: str,
    learner: str,
    name: str,
    *,
    at: str = "def",
    near: str = "",
    only_near: bool = False,
    side: Side = "",
    with_other_mistakes: str | None = None,
) -> Location | None:
    """Return where in the learner's program the mistake is: a line, or the gap where something is missing.

    Args:
        base: source of the program that the mistake is made in (see the module's docstring).
        wrong: source of the same program with the mistake.
        learner: the learner's whole program.
        name: name of the exercise's function or class in the learner's program.
        at: what the mistake is about (see `Mistake.at`). Only `return` and `step` make a difference, and only in the
            fourth way.
        near: line of the solution at whose counterpart the mistake is found, if the edits do not tell that; else empty.
            `is_line_of` must hold for it (`grader build` checks that).
        only_near: True: use `near` even if the learner wrote one of the new statements almost word for word.
        side: where beside `near` something is missing (see `Mistake.side`).
        with_other_mistakes: source of the solution with the learner's other mistakes made, one of which may have
            changed the line `near`; None: without others, or if unknown. Only read if there is a `near`.

    Returns:
        None if one of the programs does not parse, if the learner's does not define `name` or has more than
        `MAX_STATEMENTS` statements in it, or if no way finds a place.
    """
    base_program, wrong_program = course_program(base), course_program(wrong)
    if base_program is None or wrong_program is None:
        return None
    definition = inlined_definition(learner, name, methods(base_program.definition).keys())
    if definition is None:
        return None
    if number_of_statements(definition) > MAX_STATEMENTS:
        return None

    def align_learner_with(program: CourseProgram) -> StatementAlignment:
        new_names = _course_name_of_each(definition, program.definition)
        return StatementAlignment(
            program.statements, statements_of(definition, new_names, learner.split("\n"))
        )

    changed = ChangedStatements(base_program.statements, wrong_program.statements)
    finder = _LineFinder(base_program.statements, changed, align_learner_with(wrong_program))
    aligned_with_base = align_learner_with(base_program)
    found = finder.line_repeating_change() if near and not only_near else None
    if found is None:
        found = _place_in_similar_block(definition, changed, aligned_with_base, has_near=bool(near))
    if found is None and near:
        other_program = None if with_other_mistakes is None else course_program(with_other_mistakes)
        aligned = aligned_with_base if other_program is None else align_learner_with(other_program)
        near_finder = _LineFinder(base_program.statements, changed, aligned)
        found = near_finder.place_near(near, side, replacement=finder.replacement_of(near))
    if found is None:
        found = finder.place_of_first_change(at)
    return None if found is None else replace(found, fit=finder.fit())


def is_line_of(solution: str, line: str) -> bool:
    """Return True if the line of code is a statement of the solution, as a mistake's `near` has to be."""
    program = course_program(solution)
    try:
        return program is not None and any(is_written_as(s, line) for s in program.statements)
    except SyntaxError:
        return False


def _place_in_similar_block(
    definition: Definition,
    changed: ChangedStatements,
    aligned_with_base: StatementAlignment,
    *,
    has_near: bool,
) -> Location | None:
    """Return the place where a block of the learner's lacks an old statement although a similar block has it.

    None if there is no such block. None also if the learner's program or the base contains a new statement: then
    the learner wrote the mistake out, or the mistake only moves or repeats statements.

    Args:
        definition: the learner's definition.
        changed: what the mistake changes.
        aligned_with_base: the learner's statements, under the base's names of variables, with the base's.
        has_near: True if the mistake has a `near`.
    """
    learner = aligned_with_base.learner
    learner_texts = {statement.text for statement in learner}
    base_texts = {statement.text for statement in aligned_with_base.course}
    old = {statement.text for change in changed.changes for statement in change.old}
    new = {statement.text for change in changed.changes for statement in change.new}
    if new & (learner_texts | base_texts):
        return None
    similar = SimilarBlocks(definition)
    # Without `near`, a compound statement counts only if the mistake narrows a condition: a block without the statement
    # is what the learner wrote for the cases that the narrowed condition leaves out.
    takes_compound = has_near or any(change.narrows_condition for change in changed.changes)
    for statement in learner:
        is_old = statement.text in old and (takes_compound or not is_compound(statement.node))
        place = similar.missing_place(statement.node) if is_old else None
        if place is not None:
            return Location(place.line, side="before" if place.is_before else "after")
    return None


class _LineFinder:
    """Chooses the learner's line for what a mistake changes."""

    def __init__(
        self, base: list[ComparedStatement], changed: ChangedStatements, alignment: StatementAlignment
    ) -> None:
        """Keep what is compared; nothing is looked for yet.

        Args:
            base: the base's statements.
            changed: what the mistake changes in them.
            alignment: the learner's program aligned with a program of the course. This is the program with the mistake,
                because the methods look for new statements. Only `place_near` looks for a statement of the solution:
                for it, this is the solution, or the solution with the learner's other mistakes made.
        """
        self._base, self._changed, self._alignment = base, changed, alignment
        self._learner = alignment.learner

    def place_of_first_change(self, at: str) -> Location | None:
        """Return the place of the first change that has one, in the order of `ChangedStatements.changes`.

        A change of guards, and one that only reorders what is returned, have rules of their own, and the search ends
        with them, even without a place. For every other change, it is the learner's line most like a new statement, or
        the one from which that line gets what the change adds (`line_that_adds`). If no line is like a new statement,
        it is the gap where the change belongs.

        Args:
            at: what the mistake is about (see `Mistake.at`). Two values matter, for changes that have new statements:
                with `return`, a line must be much like a new statement, or else `_line_of_returned_value` counts, if
                there is a `return`;
                with `step`, if no line is like one, the condition that decides whether `step()` is called counts before
                the gap.
        """
        for change in self._changed.changes:
            # A change at the beginning that replaces a guard, or stands right before one, is about the guards.
            old_and_next = self._base[change.position : change.position + len(change.old) + 1]
            if change.position <= _LAST_POSITION_OF_GUARDS and any(s.is_guard for s in old_and_next):
                is_condition = any(s.kind == "If" for s in change.old)
                return self._first_guard(self._base[change.position].method, is_condition)
            if _only_reorders_return(change):
                return self._last_return()
            match = self._best_match(change)
            if change.new and at == "return" and match.likeness < _MIN_LIKENESS_OF_RETURN:
                returned_value = self._line_of_returned_value(change)
                if returned_value is not None:
                    return returned_value
            if match.line is not None and match.likeness >= _MIN_LIKENESS_OF_CHANGE:
                added = words_of_all(change.new) - words_of_all(change.old)
                adding = self._alignment.line_that_adds(added, match)
                return Location(adding or self._line_inside(change, match))
            condition = self._condition_of_step() if change.new and at == "step" else None
            place = condition or self._gap_at(change.new_positions.start, change.new_positions.stop)
            if place is not None:
                return place
        return None

    def line_repeating_change(self) -> Location | None:
        """Return the learner's line that repeats a new statement almost word for word; None if there is none.

        New statements that also stand in the base do not count.
        """
        base_texts = {statement.text for statement in self._base}
        for change in self._changed.with_most_new_words_first():
            positions = [
                position
                for position, statement in zip(change.new_positions, change.new, strict=True)
                if statement.text not in base_texts
            ]
            inner = [i for i in self._changed.inner_positions(change) if i in positions]
            match = self._alignment.best_match(inner or positions, change.old)
            if match.likeness >= _MIN_LIKENESS_OF_COPY:
                return None if match.line is None else Location(match.line)
        return None

    def replacement_of(self, near_text: str) -> Location | None:
        """Return the learner's line most like what the mistake puts in the place of the statement `near_text`.

        None if the mistake does not replace that statement, or if no learner's line is like its replacement.
        """
        changes = [
            c for c in self._changed.changes if c.new and any(is_written_as(s, near_text) for s in c.old)
        ]
        match = self._best_match(changes[0]) if changes else BestMatch()
        is_like = match.likeness >= _MIN_LIKENESS_BESIDE_NEAR
        return Location(match.line) if match.line is not None and is_like else None

    def place_near(self, near_text: str, side: Side, replacement: Location | None = None) -> Location | None:
        """Return the place in the learner's program of the solution's statement `near_text`.

        If the solution has several such statements, the one nearest to the first change counts. If other mistakes
        replace it, the statement in its place counts. If no learner's statement is aligned with it, the place is:

        1. if the mistake only reorders statements, and a learner's line is like this one, that line, wherever it is;
        2. else `replacement`;
        3. if that is None, the gap where the statement belongs (`_gap_at`).

        Args:
            near_text: a statement of the solution, for which `is_line_of` is true.
            side: the side of the learner's statement at which something is missing; empty: as what the mistake removes
                says (`_place_at`).
            replacement: what `replacement_of` returns.
        """
        positions = (i for i, statement in enumerate(self._base) if is_written_as(statement, near_text))
        position = min(positions, key=lambda i: abs(i - self._changed.first_changed_position))
        aligned_position = self._aligned_position(position)
        partner = self._alignment.learner_positions.get(aligned_position)
        if partner is not None:
            return self._place_at(self._learner[partner], position, side)
        # Another mistake may have taken away the last statement, and then there is none at this position.
        is_there = aligned_position < len(self._alignment.course)
        match = self._alignment.best_match([aligned_position], ()) if is_there else BestMatch()
        is_elsewhere = self._changed.only_reorders and match.likeness >= _MIN_LIKENESS_OF_CHANGE
        if is_elsewhere and match.line is not None:
            return Location(match.line)
        return replacement or self._gap_at(aligned_position, aligned_position + 1)

    def fit(self) -> float:
        """Return how well the mistake fits the learner's text (`Location.fit`): the best fit of any of its changes.

        0 if the mistake changes no statement.
        """
        return max((self._fit_of(change) for change in self._changed.changes), default=0.0)

    def _first_guard(self, method: str, is_condition: bool) -> Location | None:
        """Return the place of the learner's first guard; without one, the gap before the first line of code.

        If both classes have the method, only its statements count. None if there is no code.

        Args:
            method: name of the method; empty in functions.
            is_condition: True if the condition of the guard is wrong: the line is that of an `if` directly around it.
        """
        is_shared = method in self._alignment.shared_methods
        statements = [s for s in self._learner if s.method == method] if is_shared else self._learner
        guard = next((s for s in statements if s.is_guard), None)
        if guard is not None:
            conditions = (s for s in statements if s.kind == "If" and guard.node in s.node.body)  # type: ignore[attr-defined]
            found = next(conditions, guard) if is_condition else guard
            return Location(found.line)
        is_class = any(s.method for s in statements)
        first_line = next((s.line for s in statements if s.method or not is_class), None)
        return None if first_line is None else Location(first_line, side="before")

    def _last_return(self) -> Location | None:
        """Return the learner's last `return`; None without one."""
        return next((Location(s.line) for s in reversed(self._learner) if s.is_return), None)

    def _line_of_returned_value(self, change: Change) -> Location | None:
        """Return the line that computes what the learner's last `return` returns; None without a `return`.

        If the `return` only passes on names, as in `return total, count`, their values come from earlier statements:
        for each name, from the last one that changes it. Such a statement computes if it uses an operator of the
        base's last statement, usually its `return`.

        If the last of these statements computes, the answer is the computing one that has most of the words that the
        change adds or removes. Else the answer is the `return` itself.
        """
        positions = [i for i, statement in enumerate(self._learner) if statement.is_return]
        if not positions:
            return None
        last = positions[-1]
        returning = self._learner[last]
        names_left = set(returning.names_passed_on)
        sources = []
        for statement in reversed(self._learner[:last]):
            if statement.names_changed & names_left:
                sources.append(statement)
                names_left -= statement.names_changed
        operators = _operators(self._base[-1])
        computing = [s for s in sources if operators & _operators(s)]
        if not sources or sources[0] not in computing:
            return Location(returning.line)
        best = max(computing, key=lambda s: self._alignment.weight_of_changed(s, change.old, change.new))
        return Location(best.line)

    def _condition_of_step(self) -> Location | None:
        """Return the line of the learner's first `if` in a loop that decides whether `step()` is called; None without.

        The solution of `accumulate` has no such `if`, because its loop takes one window after the other. Learners often
        take one micro-batch after the other, and decide by a counter.
        """
        for statement in self._learner:
            in_loop = {"For", "While"} & set(statement.outer_blocks.split(" "))
            if statement.kind == "If" and in_loop and any(map(_calls_step, statement.node.body)):  # type: ignore[attr-defined]
                return Location(statement.line)
        return None

    def _gap_at(self, start: int, end: int) -> Location | None:
        """Return the gap in the learner's program where the statements `start` to `end` - 1 of the aligned one belong.

        It is before the learner's statement that follows. If there is none, or if the statement that precedes is the
        last of a method (`_leaves_method`), it is after that one. None if there is no statement on either side.
        """
        before, after = self._alignment.neighbours(start, end)
        if after is not None and (before is None or not self._leaves_method(before, after)):
            return Location(after.line, side="before")
        return None if before is None else Location(before.line_before_next, side="after")

    def _leaves_method(self, before: ComparedStatement, after: ComparedStatement) -> bool:
        """Return True if `before` stands in a method that both classes have, and `after` does not stand in it."""
        return before.method not in ("", after.method) and before.method in self._alignment.shared_methods

    def _aligned_position(self, position: int) -> int:
        """Return the position in the aligned program of the solution's statement at `position`; for `place_near` only.

        The two differ if that program makes other mistakes. If these replace the statement, return the position of the
        statement in its place; else of the nearest statement with the same text, and `position` itself without one.
        """
        aligned_program = self._alignment.course
        for change in ChangedStatements(self._base, aligned_program).changes:
            offset = position - change.position
            if 0 <= offset < len(change.old) and change.new:
                return change.new_positions[min(offset, len(change.new) - 1)]
        text = self._base[position].text
        same = (i for i, statement in enumerate(aligned_program) if statement.text == text)
        return min(same, key=lambda i: abs(i - position), default=position)

    def _place_at(self, statement: ComparedStatement, position: int, side: Side) -> Location:
        """Return the place at a learner's statement whose partner in the solution stands at `position`.

        If the statement has several lines, and a later one has most of the changed words, it is that line. Else it is
        the first line, or the gap on the given side of it. Without a given side, it is the gap before if all that the
        mistake does is to remove statements, beginning before `position`; and the gap after if the mistake removes the
        statement that follows.
        """
        line = self._alignment.line_of_changed_words(statement, self._changed.changed_words)
        if line != statement.line:
            return Location(line)
        first_missing = self._changed.first_removed_position
        if side:
            return Location(statement.line_before_next if side == "after" else line, side=side)
        if first_missing is not None and first_missing < position:
            return Location(line, side="before")
        is_missing_next = any(not c.new and c.position == position + 1 for c in self._changed.changes)
        return Location(statement.line_before_next, side="after") if is_missing_next else Location(line)

    def _fit_of(self, change: Change) -> float:
        """Return the fit of the learner's line most like a new statement.

        A change that only removes statements fits the better, the less any line is like them.
        """
        # A `pass` is what a mistake leaves in a block that would be empty, so it also counts as a removal.
        if all(statement.kind == "Pass" for statement in change.new):
            return _FIT_OF_ABSENCE * (
                1 - max(map(self._alignment.likeness_of_closest, change.old), default=1.0)
            )
        return self._best_match(change).fit

    def _best_match(self, change: Change) -> BestMatch:
        """Return the learner's statement most like a new one; if there are no new ones, an empty match.

        If one is like the statement inside a new block, that counts before all others.
        """
        inner = self._alignment.best_match(self._changed.inner_positions(change), change.old)
        if inner.likeness >= _MIN_LIKENESS_INSIDE and self._learner[inner.position or 0].changes_something:
            return inner
        return self._alignment.best_match(change.new_positions, change.old)

    def _line_inside(self, change: Change, match: BestMatch) -> int:
        """Return the line of the matched statement; if it only leads to what is wrong, that of the statement inside.

        It does if both are blocks, the learner's and the new one, and the learner's also if it is a `for`.
        """
        assert match.position is not None
        assert match.line is not None
        block = self._learner[match.position].node
        wanted: Sequence[int] = self._changed.inner_positions(change)
        if not wanted and isinstance(block, ast.For) and all(s.changes_something for s in change.new):
            wanted = change.new_positions
        return self._alignment.best_match(wanted, change.old, inside=block).line or match.line


def _only_reorders_return(change: Change) -> bool:
    """Return True if the change is a `return` of the same words in another order."""
    if not (len(change.old) == len(change.new) == 1 and change.new[0].is_return):
        return False
    return change.old[0].words == change.new[0].words


def _calls_step(node: ast.stmt) -> bool:
    """Return True if a call of a method `step` stands in a statement."""
    calls = (inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call))
    return any(isinstance(called, ast.Attribute) and called.attr == "step" for called in calls)


def _operators(statement: ComparedStatement) -> set[str]:
    """Return the operators of `+ - * /` that a statement uses; `/=` counts as `/`."""
    return {word.rstrip("=") for word in statement.words} & set("+-*/")


def _course_name_of_each(learner: Definition, course: Definition) -> dict[str, str]:
    """Return the name of the course program for each learner's variable that is the match of one of its variables.

    Empty if one definition is a class and the other a function.
    """
    if type(learner) is not type(course):
        return {}
    return {own: name for name, own in match_by_variable(learner, course).items()}
