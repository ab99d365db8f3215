"""Drill and clinic cells: practice beside the answers. It is taken out before anything else is read.

Front ends make these cells, so that no metadata tells them, and a script has none anyway. They are told by what
`drill()` and `clinic()` write: the definition of a function, and below it the call that hands it in. Where somebody has
rather written an answer in such a cell, that is told and not guessed.
"""

import ast
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from grader.submission.cells import Cell, without_magics
from grader.submission.statements import ParseError, parse

_TOOLS = ("drill", "clinic")
_MENTION = re.compile(rf"\b(?:{'|'.join(_TOOLS)})[ \t]*+\(")
_MARKER = re.compile(r"#[ \t]*%%+(?:[ \t](?P<header>.*))?|# In\[[ \d*]*\]:[ \t]*")
"""Between cells: jupytext's, and nbconvert's."""
_TAG = re.compile(r"exercise:(\w+)")
# Of a cell that does not parse, which somebody was writing in when they saved.
_CALL_LINE = re.compile(
    rf"^(?:\w+[ \t]*+=[ \t]*+)?(?:grader\.)?(?:{'|'.join(_TOOLS)})\([ \t]*+(\w++)[ \t]*+\)", re.MULTILINE
)
_DEFINITION_LINE = re.compile(r"^(?:async[ \t]++)?(?:def|class)[ \t]++(\w++)", re.MULTILINE)
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Practice:
    """A definition in a drill's cell or file that could be taken for an answer."""

    exercise: str
    cell: int | None
    """From 1 among the code cells that are not blank; None in a `.py` file."""
    line: int
    """Of its cell, counted as the learner sees it."""


def own_name(exercise: str, tool: str) -> str:
    """What a drill or clinic cell calls its function: the learner's own, which later cells call, stays what it is."""
    return f"{exercise}_{tool}"


def exercise_meant(name: str, exercises: Collection[str]) -> str | None:
    """The exercise that a name in such a cell stands for."""
    names = (name, *(name.removesuffix(own_name("", tool)) for tool in _TOOLS))
    return next((one for one in names if one in exercises), None)


def practised(source: str, exercises: Collection[str]) -> frozenset[str]:
    """Exercises that a notebook's cell, whose tags are not known, practises; none where it is no practice."""
    return _whole(_Reading(source, exercises), (), frozenset())


def without_practice(
    cells: Sequence[Cell], exercises: Collection[str]
) -> tuple[list[Cell], tuple[Practice, ...]]:
    """The cells of a notebook with practice emptied, line for line, and what stood there."""
    if not any(_MENTION.search(cell.text) for cell in cells):
        return [*cells], ()
    readings = [_Reading(cell.text, exercises) for cell in cells]
    answered = _answered(zip(cells, readings, strict=True))
    left: list[Cell] = []
    found: list[Practice] = []
    for cell, reading in zip(cells, readings, strict=True):
        whole = _whole(reading, cell.exercises, answered)
        if whole:
            left.append(replace(cell, text="\n" * cell.text.count("\n"), exercises=()))
        else:
            left.append(replace(cell, text=reading.without_glued()) if reading.glued else cell)
        found += reading.practices(cell, whole)
    return left, tuple(found)


def script_without_practice(text: str, exercises: Collection[str]) -> tuple[str, tuple[Practice, ...]]:
    """The same of a `.py` file: each of its cells, or the whole of one that has no marks between cells.

    In such a file a definition is practice if the call stands right below it and there is another definition: who has
    no other has written an answer there.
    """
    if not _MENTION.search(text):
        return text, ()
    lines = text.split("\n")
    starts = _marks(text, lines)
    if not starts:
        whole = _Reading(text, exercises)
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
    """Whether the last definition of a name in a program is as it was handed out: nothing but a `raise`."""
    definitions = [s for s in parse(text) if isinstance(s, _Definition) and s.name == name]
    return bool(definitions) and is_blank(definitions[-1])


def is_blank(definition: _Definition) -> bool:
    """Whether nothing but a docstring and `raise NotImplementedError` stands in it."""
    told = ast.get_docstring(definition, clean=False) is not None
    rest = definition.body[1:] if told else definition.body
    return len(rest) == 1 and isinstance(rest[0], ast.Raise) and _raised(rest[0]) == "NotImplementedError"


class _Reading:
    """What one cell defines at its top, and what it hands in to the drill or the clinic."""

    def __init__(self, text: str, exercises: Collection[str]) -> None:
        self.text, self._exercises = text, exercises
        self.handed_in: dict[str, None] = {}
        """Exercises, in order."""
        self.defined: list[tuple[str, int]] = []
        """Exercises that are defined, under whatever name, with the line."""
        self.no_answers: set[int] = set()
        """Lines of those that are blank, or were handed out by the clinic."""
        self.glued: list[tuple[str, int, int]] = []
        """From which line to which an exercise's definition stands with its call, where it has another one too."""
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
        """What was written for practice, not what is still blank.

        Args:
            cell: where it stands.
            whole: exercises that the whole cell practises.
        """
        lines = {first: last for _, first, last in self.glued}
        starts = sorted(lines)
        for exercise, line in self.defined:
            start = starts[at - 1] if (at := bisect_right(starts, line)) else 0
            is_practice = exercise in whole or line <= lines.get(start, -1)
            if is_practice and line not in self.no_answers:
                yield Practice(exercise, cell.number, cell.first_line + line - 1)

    def without_glued(self) -> str:
        """Its text, the lines of definitions that are practice emptied."""
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
                    blank = isinstance(statement, _Definition) and is_blank(statement)
                    if blank or name == own_name(exercise, "clinic"):
                        self.no_answers.add(statement.lineno)
        self._glue(body, called)

    def _glue(self, body: Sequence[ast.stmt], called: Sequence[str | None]) -> None:
        """Note definitions right above their call. Those of an exercise that has no others are its answer."""
        bound = Counter(name for statement in body for name in _bound(statement))
        pairs: list[tuple[str, int]] = []
        for at, exercise in enumerate(called):
            if exercise and at and any(self._meant(name) == exercise for name in _bound(body[at - 1])):
                pairs.append((exercise, at))
                bound.subtract(_bound(body[at - 1]))
        for exercise, at in pairs:
            first, last = _first_line(body[at - 1]), body[at].end_lineno or body[at].lineno
            before = body[at - 2].end_lineno if at > 1 else 0
            after = body[at + 1].lineno if at + 1 < len(body) else last + 1
            has_answer = exercise not in _bound(body[at - 1]) or bound[exercise] > 0
            if has_answer and (before or 0) < first and last < after:  # no line is shared with anything else
                self.glued.append((exercise, first, last))

    def _read_lines(self) -> None:
        names = (self._meant(match[1]) for match in _CALL_LINE.finditer(self.text))
        self.handed_in = {name: None for name in names if name is not None}
        for match in _DEFINITION_LINE.finditer(self.text):
            if exercise := self._meant(match[1]):
                line = self.text.count("\n", 0, match.start()) + 1
                self.defined.append((exercise, line))
                if match[1] == own_name(exercise, "clinic"):
                    self.no_answers.add(line)

    def _meant(self, name: str) -> str | None:
        return exercise_meant(name, self._exercises)

    def _called(self, statement: ast.stmt) -> str | None:
        """The exercise whose function a statement hands in."""
        if not isinstance(statement, ast.Expr | ast.Assign):
            return None
        for node in ast.walk(statement.value):
            if isinstance(node, ast.Call) and _name(node.func) in _TOOLS:
                given = [*node.args, *(keyword.value for keyword in node.keywords)][:1]
                if given and isinstance(given[0], ast.Name):
                    return self._meant(given[0].id)
        return None


def _whole(reading: _Reading, tags: Collection[str], answered: Collection[str]) -> frozenset[str]:
    """Exercises that a cell practises; none where it is, or holds, an answer."""
    defined = [exercise for exercise, _ in reading.defined]
    practised = frozenset(exercise for exercise in reading.handed_in if exercise in defined)
    own = [tag for tag in tags if tag not in answered]
    if own or len(defined) != len({*defined}) or not practised.issuperset(defined):
        return frozenset()
    return practised


def _answered(cells: Iterator[tuple[Cell, _Reading]]) -> frozenset[str]:
    """Exercises with a tagged cell that hands in nothing: of a copy, whose tags are copied too, nothing is lost."""
    return frozenset(tag for cell, reading in cells if not reading.handed_in for tag in cell.exercises)


def _marks(text: str, lines: Sequence[str]) -> list[int]:
    """Where cells begin, from 0. A mark inside a string or a statement begins none."""
    starts = [n for n, line in enumerate(lines) if _MARKER.fullmatch(line)]
    for source in (text, without_magics(text)):
        try:
            body = parse(source)
        except ParseError:
            continue
        firsts = [_first_line(statement) for statement in body]

        def is_inside(line: int, firsts: Sequence[int] = firsts, body: Sequence[ast.stmt] = body) -> bool:
            at = bisect_right(firsts, line) - 1
            return at >= 0 and firsts[at] < line <= (body[at].end_lineno or 0)

        return [n for n in starts if not is_inside(n + 1)]
    return starts


def _tags(line: str) -> tuple[str, ...]:
    mark = _MARKER.fullmatch(line)
    return tuple(_TAG.findall((mark and mark["header"]) or ""))


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, _Definition):
        return [statement.name]
    if isinstance(statement, ast.Assign):
        return [target.id for target in statement.targets if isinstance(target, ast.Name)]
    return []


def _first_line(statement: ast.stmt) -> int:
    decorators = statement.decorator_list if isinstance(statement, _Definition) else []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _raised(statement: ast.Raise) -> str:
    raised = statement.exc.func if isinstance(statement.exc, ast.Call) else statement.exc
    return "" if raised is None else _name(raised)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
