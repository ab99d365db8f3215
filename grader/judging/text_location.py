"""Find the line of the learner's program that does what a known mistake does, by comparing texts.

The learner rarely writes the mistake's text, so lines are compared by likeness. First the learner's names are
replaced by the names that play the same roles in the program with the mistake (`variable_roles`). Then the statements
of both programs are aligned (`statement_alignment`). The line is that of the learner's statement that resembles the
changed statement (`changed_statements`) most, with a bonus where the two are aligned. If the mistake leaves a
statement out, it is the line before which it should stand.

Example (`test_a_line_is_found_under_other_names`): the mistake turns `total += loss.item() * len(xb)` into
`total += loss * len(xb)`. The learner wrote `s += out * len(a)`; with `s`, `out` and `a` renamed this is the changed
statement word for word, so its line is found.
"""

from dataclasses import dataclass, field, replace

from grader.judging.changed_statements import Change, ChangedStatements, course_program
from grader.judging.compared_statements import Statement, inlined_definition, is_written, statements_of
from grader.judging.statement_alignment import StatementAlignment
from grader.judging.variable_roles import roles
from grader.submission.syntax import Definition

_MIN_LIKENESS = 0.25
"""Minimum likeness of a line that is taken for the changed one; below it, the place between neighbours is."""
_SAME_LINE = 0.95
"""Minimum likeness of a line that counts as the changed line itself, written by the learner."""
_LIKE_A_RETURN = 0.5
"""Minimum likeness for a mistake about the returned value; below it, the learner's return is taken."""
_LAST_CHECK_POSITION = 2
"""Largest position, from 0, of a statement at the top of the solution, where arguments are checked."""


@dataclass(frozen=True)
class Location:
    """A line of the learner's program, counted from 1."""

    line: int
    before: bool = False
    """True if something is missing that should stand before this line."""
    likeness: float = field(default=0.0, compare=False)
    """How much the best line resembles what the mistake changes, from 0 to slightly above 1; not compared."""


def locate_in_text(
    solution: str,
    wrong: str,
    learner: str,
    name: str,
    *,
    at: str = "def",
    near: str = "",
    only_near: bool = False,
) -> Location | None:
    """Return where the learner's program does what the wrong program does differently from the solution.

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
    definition, right, bad = (
        inlined_definition(learner, name),
        course_program(solution),
        course_program(wrong),
    )
    if definition is None or right is None or bad is None:
        return None
    written = learner.split("\n")
    in_wrong_names = statements_of(definition, _to_course_names(definition, bad.definition), written)
    changed = ChangedStatements(right.statements, bad.statements)
    finder = _Finder(right.statements, changed, StatementAlignment(bad.statements, in_wrong_names))
    if not near:
        found = finder.of_changes(at)
    else:
        found = None if only_near else finder.of_the_same()
        if found is None:
            in_right_names = statements_of(
                definition, _to_course_names(definition, right.definition), written
            )
            beside_solution = StatementAlignment(right.statements, in_right_names)
            found = _Finder(right.statements, changed, beside_solution).of_line(near)
    return found and replace(found, likeness=finder.likeness())


def is_line_of(solution: str, line: str) -> bool:
    """Return True if the line of code is a statement of the solution, so that `Mistake.near` may name it."""
    known = course_program(solution)
    try:
        return known is not None and any(is_written(s, line) for s in known.statements)
    except SyntaxError:
        return False


class _Finder:
    """Choose the learner's line for what a mistake changes."""

    def __init__(
        self, solution: list[Statement], changed: ChangedStatements, alignment: StatementAlignment
    ) -> None:
        """`alignment`: that of the learner's program with the wrong one, or with the solution for `of_line`."""
        self._solution, self._changed, self._alignment = solution, changed, alignment
        self._theirs = alignment.learner

    def of_changes(self, at: str) -> Location | None:
        """Return the line of the first change that has one: added, then replaced, then missing statements."""
        for change in self._changed.changes:
            # A change next to a check of arguments: point at the learner's checks.
            until = self._solution[change.position : change.position + len(change.old) + 1]
            if change.position <= _LAST_CHECK_POSITION and any(s.refuses for s in until):
                return self._first_check(self._solution[change.position].method)
            likeness, line = self._most_similar(change)
            if change.new and at == "return" and likeness < _LIKE_A_RETURN:
                returned = self._return()
                if returned is not None:
                    return returned
            if line is not None and likeness >= _MIN_LIKENESS:
                return Location(line)
            between = self._between(change.new_positions.start, change.new_positions.stop)
            if between is not None:
                return between
        return None

    def of_the_same(self) -> Location | None:
        """Return the learner's line that repeats a changed statement almost word for word; None if there is none."""
        known = {statement.text for statement in self._solution}
        for change in self._changed.by_new_words():
            new = [n for n, s in zip(change.new_positions, change.new, strict=True) if s.text not in known]
            likeness, line = self._alignment.most_similar(new, change.old)
            if likeness >= _SAME_LINE:
                return None if line is None else Location(line)
        return None

    def of_line(self, line: str) -> Location | None:
        """Return the learner's line aligned with the solution's statement `line`; else that between its neighbours.

        Of several statements written so, the one nearest to the first change counts. If a missing statement precedes
        the line, the location is before the line. If the missing statement follows, the location is the line itself,
        which makes that statement necessary.
        """
        same = (i for i, statement in enumerate(self._solution) if is_written(statement, line))
        number = min(same, key=lambda i: abs(i - self._changed.first))
        if number not in self._alignment.pairs:
            return self._between(number, number + 1)
        statement = self._theirs[self._alignment.pairs[number]]
        found = self._alignment.line_in(statement, self._changed.words)
        missing = self._changed.missing
        precedes = missing is not None and missing < number
        return Location(found, before=precedes and found == statement.line)

    def likeness(self) -> float:
        """Return the highest likeness of any learner's line to any changed statement; 0 if there is none."""
        return max((self._most_similar(change)[0] for change in self._changed.changes), default=0.0)

    def _most_similar(self, change: Change) -> tuple[float, int | None]:
        return self._alignment.most_similar(change.new_positions, change.old)

    def _between(self, start: int, end: int) -> Location | None:
        """Return the place of something missing between two positions of the program.

        The place is before the learner's line aligned with what follows. If nothing follows, or what follows opens
        another method (then the last lines of a method are missing), it is the line aligned with what precedes.
        """
        before, after = self._alignment.neighbours(start, end)
        if after is not None and (before is None or not self._opens_another(after, before)):
            return Location(after.line, before=True)
        return None if before is None else Location(before.line)

    def _opens_another(self, after: Statement, before: Statement) -> bool:
        """Return True if `after` stands in another method than `before`, one that both classes have."""
        return before.method not in ("", after.method) and before.method in self._alignment.shared_methods

    def _return(self) -> Location | None:
        """Return the learner's last return, or the line that computes what it returns.

        The latter if the return only passes on names and the line uses an operator that the solution uses in its own
        return.
        """
        last = next((i for i in reversed(range(len(self._theirs))) if self._theirs[i].returns), None)
        if last is None:
            return None
        statement = self._theirs[last]
        given = next((s for s in reversed(self._theirs[:last]) if s.binds & statement.passes_on), statement)
        computes = _arithmetic(self._solution[-1]) & _arithmetic(given)
        return Location(given.line if computes else statement.line)

    def _first_check(self, method: str) -> Location | None:
        """Return the first line that raises; else the place before the first line, where checks belong."""
        shared = method in self._alignment.shared_methods
        statements = [s for s in self._theirs if s.method == method] if shared else self._theirs
        line = next((s.line for s in statements if s.refuses), None)
        if line is not None:
            return Location(line)
        first = next((s.line for s in statements if s.kind != "FunctionDef"), None)
        return None if first is None else Location(first, before=True)


def _arithmetic(statement: Statement) -> set[str]:
    """Return the operators of `+ - * /` that a statement uses; `/=` counts as `/`."""
    return {word.rstrip("=") for word in statement.words} & set("+-*/")


def _to_course_names(learner: Definition, course: Definition) -> dict[str, str]:
    """Return the course program's name for each of the learner's; empty if only one of the two is a class."""
    if type(learner) is not type(course):
        return {}
    found: dict[str, str] = {}
    for name, others in roles(learner, course).items():
        if others:
            found.setdefault(others[0], name)
    return found
