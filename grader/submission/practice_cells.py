"""Remove drill and clinic cells from a submission before anything else is read: they are practice, not answers.

`drill()` and `clinic()` (클리닉) let a learner write an exercise's function again in a cell of its own. Such a cell
cannot be recognized by metadata: the notebook's front end creates it, and a script has no metadata anyway. So it is
recognized by its shape: a definition of the exercise's function and, below it, the call that hands the function in to
`drill` or `clinic`. A cell of that shape is emptied as a whole. In a cell, or a script without cell marks, that holds
an answer too, only a definition directly above its call can be practice, and only if it has the practice name
(`train_step_drill`) or the exercise is defined a second time there. Otherwise that definition is taken for the answer.

The call may also stand alone in the next cell; then the cell above it is emptied if the exercise has been written in
another one.

Example: in a script without cell marks, the first definition is the answer and the second is practice.

    def train_step(model, ...): ...     # kept
    def train_step(model, ...): ...     # emptied, together with the call
    drill(train_step)

Emptied lines stay as blank lines, so that line numbers remain right. Definitions that were removed are returned as
`Practice`: where a learner wrote an answer only in a practice cell, `submission` says so in a note and does not guess.
"""

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from grader.submission.cells import Cell, without_magics
from grader.submission.syntax import DEFINED_NAME, DEFINITIONS, ParseError, first_line, parse

_TOOLS = ("drill", "clinic")
_MENTION = re.compile(rf"\b(?:{'|'.join(_TOOLS)})[ \t]*+\(")
_MARKER = re.compile(r"#[ \t]*%%+(?:[ \t](?P<header>.*))?|# In\[[ \d*]*\]:[ \t]*")
"""Line between two cells of a script, as jupytext or nbconvert writes it."""
_TAG = re.compile(r"exercise:(\w+)")
# The next two patterns read a cell that does not parse: somebody was still writing in it when they saved.
_CALL_LINE = re.compile(
    rf"^(?:\w+[ \t]*+=[ \t]*+)?(?:grader\.)?(?:{'|'.join(_TOOLS)})\([ \t]*+(\w++)[ \t]*+\)", re.MULTILINE
)
_DEFINITION_LINE = re.compile(rf"^{DEFINED_NAME}", re.MULTILINE)
_AT_MARGIN = re.compile(r"[^\s#)\]}]")
"""Matches a line that begins a statement at top level, and not only ends one."""
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Practice:
    """A definition in a practice cell or file that could be mistaken for an answer."""

    exercise: str
    cell: int | None
    """Number of the cell, from 1 among the code cells that are not blank; None in a `.py` file."""
    line: int
    """Line, from 1, within the cell or the `.py` file."""


def own_name(exercise: str, tool: str) -> str:
    """Return the function name used in a drill or clinic cell, e.g. `train_step_drill`.

    It differs from the exercise's name so that the learner's own function, which later cells call, is not replaced.
    `ema_update_` gives `ema_update_drill`.
    """
    return f"{exercise.rstrip('_')}_{tool}"


def exercise_meant(name: str, exercises: Collection[str]) -> str | None:
    """Return the exercise that a name in a practice cell stands for; None if there is none."""
    bare = [name.removesuffix(f"_{tool}") for tool in _TOOLS if name.endswith(f"_{tool}")]
    return next((one for one in (name, *bare, *(f"{one}_" for one in bare)) if one in exercises), None)


def practised(source: str, exercises: Collection[str]) -> frozenset[str]:
    """Return the exercises that a notebook cell practises, judged without its tags; empty if it is not practice."""
    return _practised_as_whole(_CellContents(source, exercises), (), frozenset())


def without_practice(
    cells: Sequence[Cell], exercises: Collection[str]
) -> tuple[list[Cell], tuple[Practice, ...]]:
    """Return a notebook's cells with practice blanked out line by line, and the definitions that were removed."""
    if not any(_MENTION.search(cell.text) for cell in cells):
        return [*cells], ()
    readings = [_CellContents(cell.text, exercises) for cell in cells]
    answered = _answered_elsewhere(zip(cells, readings, strict=True))
    handed_in_below = _handed_in_below(cells, readings, exercises)
    left: list[Cell] = []
    found: list[Practice] = []
    for at, (cell, reading) in enumerate(zip(cells, readings, strict=True)):
        whole = _practised_as_whole(reading, cell.exercises, answered) or handed_in_below.get(at, frozenset())
        if whole:
            left.append(replace(cell, text="\n" * cell.text.count("\n"), exercises=()))
        else:
            left.append(replace(cell, text=reading.without_glued()) if reading.glued else cell)
        found += reading.practices(cell, whole)
    return left, tuple(found)


def script_without_practice(text: str, exercises: Collection[str]) -> tuple[str, tuple[Practice, ...]]:
    """Do the same as `without_practice` for the text of a `.py` file, cell by cell or, without cell marks, as a whole.

    In a file without cell marks, a definition is practice if its call stands right below it and it has the practice
    name or the exercise is defined elsewhere too. Otherwise the definition is the answer.
    """
    if not _MENTION.search(text):
        return text, ()
    lines = text.split("\n")
    starts = _marks(text, lines)
    if not starts:
        whole = _CellContents(text, exercises)
        return whole.without_glued(), tuple(whole.practices(Cell(None, 1, text, ()), ()))
    marks = ([] if starts[0] == 0 else [-1]) + starts
    cells = [
        Cell(None, mark + 2, "\n".join(lines[mark + 1 : end]), _tags(lines[mark]) if mark >= 0 else ())
        for mark, end in pairwise((*marks, len(lines)))
    ]
    left, found = without_practice(cells, exercises)
    kept: list[str] = []
    for mark, cell, (_, end) in zip(marks, left, pairwise((*marks, len(lines))), strict=True):
        kept += lines[mark : mark + 1] if mark >= 0 else []
        kept += cell.text.split("\n") if end > mark + 1 else []
    return "\n".join(kept), found


def is_unwritten(text: str, name: str) -> bool:
    """Return True if the last definition of `name` is as it was handed out: nothing but `raise NotImplementedError`.

    Raises:
        ParseError: the text does not parse.
    """
    definitions = [s for s in parse(text) if isinstance(s, DEFINITIONS) and s.name == name]
    return bool(definitions) and is_blank(definitions[-1])


def is_blank(definition: _Definition) -> bool:
    """Return True if a definition holds only `raise NotImplementedError` and, optionally, a docstring."""
    told = ast.get_docstring(definition, clean=False) is not None
    rest = definition.body[1:] if told else definition.body
    return len(rest) == 1 and isinstance(rest[0], ast.Raise) and _raised(rest[0]) == "NotImplementedError"


class _CellContents:
    """The exercises that one cell defines at top level and those it hands in to `drill` or `clinic`."""

    def __init__(self, text: str, exercises: Collection[str]) -> None:
        self.text, self._exercises = text, exercises
        self.handed_in: dict[str, None] = {}
        """Exercises passed to `drill` or `clinic`, in order; the dict serves as an ordered set."""
        self.defined: list[tuple[str, int]] = []
        """(exercise, line) of each definition of an exercise, under its own name or its practice name."""
        self.no_answers: set[int] = set()
        """Lines of definitions that cannot be answers: still blank, or code that the clinic handed out."""
        self.glued: list[tuple[str, int, int]] = []
        """(exercise, first line, last line) of each definition with its call right below it that is practice: it has
        the practice name, or the exercise is defined in this cell a second time."""
        if not _MENTION.search(text):
            return
        try:
            body = parse(text)
        except ParseError:
            try:
                body = parse(without_magics(text))
            except ParseError:
                self._read_lines()
                return
        self._read(body)

    def practices(self, cell: Cell, whole: Collection[str]) -> Iterator[Practice]:
        """Yield the definitions that are practice and were written by the learner, not those still blank.

        Args:
            cell: the cell that was read.
            whole: exercises that the cell practises as a whole.
        """
        lines = {first: last for _, first, last in self.glued}
        starts = sorted(lines)
        for exercise, line in self.defined:
            start = starts[at - 1] if (at := bisect_right(starts, line)) else 0
            is_practice = exercise in whole or line <= lines.get(start, -1)
            if is_practice and line not in self.no_answers:
                yield Practice(exercise, cell.number, cell.first_line + line - 1)

    def without_glued(self) -> str:
        """Return the cell's text with the lines of `glued` blanked out."""
        lines = self.text.split("\n")
        for _, first, last in self.glued:
            lines[first - 1 : last] = [""] * (last - first + 1)
        return "\n".join(lines)

    def _read(self, body: Sequence[ast.stmt]) -> None:
        called = [self._called(statement) for statement in body]
        self.handed_in = {name: None for name in called if name is not None}
        for statement in body:
            for name in _bound(statement):
                if exercise := self._meant(name):
                    self.defined.append((exercise, statement.lineno))
                    blank = isinstance(statement, DEFINITIONS) and is_blank(statement)
                    if blank or _is_of_clinic(name, exercise):
                        self.no_answers.add(statement.lineno)
        self._find_practice_spans(body, called)

    def _find_practice_spans(self, body: Sequence[ast.stmt], called: Sequence[str | None]) -> None:
        """Fill `glued` with the definitions right above their call, except an exercise's only definition."""
        bound = Counter(name for statement in body for name in _bound(statement))
        pairs: list[tuple[str, int]] = []
        for at, exercise in enumerate(called):
            if exercise and at and any(self._meant(name) == exercise for name in _bound(body[at - 1])):
                pairs.append((exercise, at))
                bound.subtract(_bound(body[at - 1]))
        for exercise, at in pairs:
            first, last = first_line(body[at - 1]), body[at].end_lineno or body[at].lineno
            before = body[at - 2].end_lineno if at > 1 else 0
            after = body[at + 1].lineno if at + 1 < len(body) else last + 1
            has_answer = exercise not in _bound(body[at - 1]) or bound[exercise] > 0
            if has_answer and (before or 0) < first and last < after:  # no line is shared with anything else
                self.glued.append((exercise, first, last))

    def _read_lines(self) -> None:
        """Read a cell that does not parse, by regular expressions."""
        names = (self._meant(match[1]) for match in _CALL_LINE.finditer(self.text))
        self.handed_in = {name: None for name in names if name is not None}
        for match in _DEFINITION_LINE.finditer(self.text):
            if exercise := self._meant(match[1]):
                line = self.text.count("\n", 0, match.start()) + 1
                self.defined.append((exercise, line))
                if _is_of_clinic(match[1], exercise):
                    self.no_answers.add(line)
        self._find_broken_spans()

    def _find_broken_spans(self) -> None:
        """Fill `glued` in a cell that does not parse, as `_find_practice_spans` does in one that does.

        A call belongs to the last definition above it, if nothing else begins at the margin between the two.
        """
        lines = self.text.split("\n")
        defined = Counter(exercise for exercise, _ in self.defined)
        definitions = {line: exercise for exercise, line in self.defined}
        first = 0  # line of the last definition, if nothing else has begun since
        for number, line in enumerate(lines, start=1):
            call = _CALL_LINE.match(line)
            exercise = definitions.get(first)
            if number in definitions:
                first = number
            elif call and exercise and exercise == self._meant(call[1]):
                own = (own_name(exercise, tool) for tool in _TOOLS)
                if defined[exercise] > 1 or any(one in lines[first - 1] for one in own):
                    defined[exercise] -= 1
                    self.glued.append((exercise, first, number))
                first = 0
            elif _AT_MARGIN.match(line):
                first = 0

    def _meant(self, name: str) -> str | None:
        return exercise_meant(name, self._exercises)

    def _called(self, statement: ast.stmt) -> str | None:
        """Return the exercise whose function a statement hands in to `drill` or `clinic`; None for other statements."""
        if not isinstance(statement, ast.Expr | ast.Assign):
            return None
        for node in ast.walk(statement.value):
            if isinstance(node, ast.Call) and _name(node.func) in _TOOLS:
                given = [*node.args, *(keyword.value for keyword in node.keywords)][:1]
                if given and isinstance(given[0], ast.Name):
                    return self._meant(given[0].id)
        return None


def _is_of_clinic(name: str, exercise: str) -> bool:
    """Return True for the name of a function that the clinic handed out."""
    return name != exercise and name.endswith("_clinic")


def _practised_as_whole(
    reading: _CellContents, tags: Collection[str], answered: Collection[str]
) -> frozenset[str]:
    """Return the exercises that a cell practises as a whole; empty if the cell is, or contains, an answer.

    Args:
        reading: what the cell defines and hands in.
        tags: exercises that the cell is tagged for.
        answered: exercises answered in another tagged cell; a tag for one of them does not make this cell the answer.
    """
    defined = [exercise for exercise, _ in reading.defined]
    practised = frozenset(exercise for exercise in reading.handed_in if exercise in defined)
    own = [tag for tag in tags if tag not in answered]
    if own or len(defined) != len({*defined}) or not practised.issuperset(defined):
        return frozenset()
    return practised


def _answered_elsewhere(cells: Iterator[tuple[Cell, _CellContents]]) -> frozenset[str]:
    """Return the exercises that have a tagged cell without a `drill` or `clinic` call: that cell is their answer.

    Copying a cell copies its tags. Where the answer is known to be elsewhere, a tagged copy that became a practice cell
    can be emptied without losing it.
    """
    return frozenset(tag for cell, reading in cells if not reading.handed_in for tag in cell.exercises)


def _handed_in_below(
    cells: Sequence[Cell], readings: Sequence[_CellContents], exercises: Collection[str]
) -> dict[int, frozenset[str]]:
    """Return the cells, by index, whose only definition of an exercise is handed in by the next cell alone.

    An untagged cell of that shape is practice if the exercise has been written in an earlier cell.
    """
    found: dict[int, frozenset[str]] = {}
    for at, (cell, reading) in enumerate(zip(cells[:-1], readings[1:], strict=True)):
        if cell.exercises or readings[at].handed_in or reading.defined or len(reading.handed_in) != 1:
            continue
        (exercise,) = reading.handed_in
        meant = [exercise_meant(match[1], exercises) for match in _DEFINITION_LINE.finditer(cell.text)]
        if meant.count(exercise) == 1 and any(_writes(before.text, exercise) for before in cells[:at]):
            found[at] = frozenset({exercise})
    return found


def _writes(text: str, exercise: str) -> bool:
    """Return True if a cell defines an exercise, and not only as it was handed out."""
    try:
        named = [s for s in parse(text) if isinstance(s, DEFINITIONS) and s.name == exercise]
    except ParseError:
        return False
    return any(not is_blank(definition) for definition in named)


def _marks(text: str, lines: Sequence[str]) -> list[int]:
    """Return the indices (from 0) of the lines that separate cells; a mark inside a string or statement is none."""
    starts = [n for n, line in enumerate(lines) if _MARKER.fullmatch(line)]
    for source in (text, without_magics(text)):
        try:
            body = parse(source)
        except ParseError:
            continue
        firsts = [first_line(statement) for statement in body]

        def is_inside(line: int, firsts: Sequence[int] = firsts, body: Sequence[ast.stmt] = body) -> bool:
            at = bisect_right(firsts, line) - 1
            return at >= 0 and firsts[at] < line <= (body[at].end_lineno or 0)

        return [n for n in starts if not is_inside(n + 1)]
    return starts


def _tags(line: str) -> tuple[str, ...]:
    mark = _MARKER.fullmatch(line)
    return tuple(_TAG.findall((mark and mark["header"]) or ""))


def _bound(statement: ast.stmt) -> list[str]:
    """Return the names that a definition or assignment binds; empty for other statements."""
    if isinstance(statement, DEFINITIONS):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []


def _raised(statement: ast.Raise) -> str:
    """Return the name of the exception that a `raise` raises; empty if it has none."""
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return "" if raised is None else _name(raised)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
