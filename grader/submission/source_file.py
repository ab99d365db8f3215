"""Turn one handed-in file into the program that is graded; each line remembers the cell it came from."""

import ast
import gc
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from grader.base.decoding import read_text
from grader.base.names import LISTED, short
from grader.observe.attached_modules import with_modules
from grader.observe.wording import with_particle
from grader.submission.cells import Cell, module_of, percent_cells, written_file
from grader.submission.file_code import code_of_file
from grader.submission.lifting import without_main_guard
from grader.submission.parsed_cells import Unit, parse_cell, parse_recovered
from grader.submission.practice_cells import (
    Practice,
    is_blank,
    script_without_practice,
    without_practice,
)
from grader.submission.practice_files import practices, tool_of
from grader.submission.recovery import Broken, recover, spans_of
from grader.submission.statements import (
    Block,
    bound_names,
    defined_names,
    defining_lines,
    imports_from,
    keep_only,
    needed_names,
    select,
)
from grader.submission.syntax import (
    ASSIGNED_NAME,
    DEFINED_NAME,
    DEFINITIONS,
    SYNTAX_ERROR,
    definition_of,
    first_line,
    parse,
)
from grader.submission.unindented import unindented_line, unindented_message

_MAX_NOTES = 5
"""Maximum number of notes about what was left out of one file."""
_DEFINITION = re.compile(rf"^[ \t]*+{DEFINED_NAME}|^{ASSIGNED_NAME}", re.MULTILINE)
_MISSING_NAME = re.compile(r"NameError: name '(\w+)' is not defined")


@dataclass(frozen=True)
class Place:
    """The position of a line in the file that the learner sees."""

    cell: int | None
    """Number from 1 among the code cells that are not blank, as Jupyter's `[n]` counts them; None in a `.py` file."""
    line: int
    """Line from 1, within the cell or the `.py` file."""

    def in_words(self) -> str:
        """Return the place in Korean, as the learner counts cells and lines."""
        return f"{self.line}번째 줄" if self.cell is None else f"코드 셀 {self.cell}의 {self.line}번째 줄"

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickle through `_place`, so that equal places stay one shared object in the other process too."""
        return _place, (self.cell, self.line)


@dataclass(frozen=True)
class Problem:
    """A definition that does not parse, or a cell or file without any; its lines are blank in the program."""

    line: int
    """Line in the program to look at."""
    message: str
    """Reason, in Korean."""
    text: str
    """The code as it was handed in."""
    exercises: tuple[str, ...]
    """Exercises that the cell is tagged for."""
    name: str | None = None
    """Name that the code was meant to define; None if it defines nothing."""
    shown: str = ""
    """The learner's line to look at and those that it has to be compared with, above or below it."""
    lines_above: int = 0
    """Number of lines of `shown` above the line to look at."""

    def defined(self) -> set[str]:
        """Return the names that the code was meant to define, and the exercises in its cell's tags."""
        return {*self.exercises, *([self.name] if self.name else [])}


@dataclass(frozen=True)
class Complaint:
    """What to say of an exercise whose code does not parse."""

    message: str
    """Korean: the place and the reason."""
    place: Place
    shown: str
    """As in `Problem`."""
    lines_above: int
    """As in `Problem`."""


@dataclass(frozen=True)
class SourceFile:
    """One file of a submission, reduced to the program that is graded."""

    path: Path
    name: str
    """Path within the student's folder, for messages; unique within a submission."""
    text: str
    """The program, which always parses: a line for each line of code in the file, blank if it is not graded."""
    places: tuple[Place, ...]
    """Place of each line of `text`."""
    defines: Mapping[str, int]
    """Functions, classes and variables at top level, with the line in `text` of the last definition."""
    problems: tuple[Problem, ...]
    size: int
    """Characters of code in the file, graded or not."""
    practice: tuple[Practice, ...] = ()
    """Definitions in drill or clinic cells, or in a drill file; none of them is in `text`."""
    practice_names: frozenset[str] = frozenset()
    """Other names that only drill or clinic cells define, such as helpers."""
    notes: tuple[str, ...] = ()
    """Korean lines about what was left out to read the file."""
    spans: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """First and last line in `text` of the last definition of each exercise, its decorators included."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Text by name of the student's own modules that the program imports; they were handed in along with it."""

    @property
    def program(self) -> str:
        """The text to execute: `text`, with `modules` attached in one more line if there are any."""
        return with_modules(self.text, self.modules) if self.modules else self.text

    def nearest_place(self, line: int) -> Place:
        """Return the place of a line of `text`; a line outside it counts as the nearest one."""
        if not self.places:
            return Place(None, 1)
        return self.places[min(max(line, 1), len(self.places)) - 1]

    def defines_or_attempts(self, name: str) -> bool:
        """Return True if the file defines `name`, or was meant to in code that does not parse."""
        return name in self.defines or name in self._broken_definitions

    def problem_for(self, name: str) -> Problem | None:
        """Return the code that was meant to define `name`; None if it is defined, or nothing was meant to."""
        return None if name in self.defines else self._broken_definitions.get(name)

    def complaint(self, name: str) -> Complaint | None:
        """Return why the code meant to define `name` cannot be read; None if there is no such code."""
        problem = self.problem_for(name)
        if problem is None:
            return None
        place = self.nearest_place(problem.line)
        message = f"{self.name} {place.in_words()}을 읽을 수 없어요. {problem.message}"
        return Complaint(message, place, problem.shown, problem.lines_above)

    def note_on(self, error: str | None) -> str | None:
        """Return a Korean line on a NameError for a name that only a drill or clinic cell defines; else None."""
        missing = _MISSING_NAME.match(error or "")
        if missing is None or missing[1] not in self.practice_names:
            return None
        return (
            f"{with_particle(f'`{missing[1]}`', '은/는')} 드릴이나 클리닉 셀에만 있어요. 그런 셀은 채점할 때 "
            "실행하지 않아요. 답에 필요하면 답을 쓴 셀로 옮겨 주세요."
        )

    def answer(self, name: str) -> tuple[str, Place] | None:
        """Return the code of the definition of `name`, or of the attempt at it, and where it begins; None if none."""
        problem = self.problem_for(name)
        if problem is not None:
            place, lines = self.nearest_place(problem.line), problem.text.strip("\n").split("\n")
            shown = problem.shown.split("\n")[problem.lines_above].strip()
            above = next((at for at, line in enumerate(lines) if line.strip() == shown), 0)
            return "\n".join(lines), Place(place.cell, max(1, place.line - above))
        if name not in self.defines:
            return None
        node = definition_of(self.text, name)
        first, last = self.defines[name], self.defines[name]
        if node is not None:
            first, last = first_line(node), node.end_lineno or node.lineno
        return "\n".join(self.text.split("\n")[first - 1 : last]), self.nearest_place(first)

    # Mapped once: a file can have thousands of names, and it is asked about every exercise. The last one counts.
    @cached_property
    def _broken_definitions(self) -> dict[str, Problem]:
        return {name: problem for problem in self.problems for name in problem.defined()}


def read_source(path: Path, name: str, exercises: Collection[str], root: Path | None = None) -> SourceFile:
    """Read one `.ipynb` or `.py` file. Nothing is executed.

    A cell that does not parse becomes a `Problem`, and the other cells are still read. The same holds for a `# %%`
    cell of a `.py` file.

    Args:
        path: the file.
        name: its name in messages.
        exercises: names of all exercises of the course.
        root: a folder above the file; no link below it is followed.

    Raises:
        ReadError: the file cannot be read, or exceeds a limit of `grader.submission.cells`.
    """
    text = read_text(path, root)
    with _without_gc():
        return _read(path, name, text, exercises)


@contextmanager
def _without_gc() -> Iterator[None]:
    """Switch the garbage collector off inside, which halves the time of parsing a large file.

    Syntax trees hold no reference cycles, and the collector would go through all of a large one again and again.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(path: Path, name: str, text: str, exercises: Collection[str]) -> SourceFile:
    """Turn the text of a file into a SourceFile: recover code, remove practice, select statements, map the lines."""
    code = code_of_file(path.name, text, exercises)
    is_module, text, cells = code.is_script, code.text, code.cells
    size = sum(len(cell.text) for cell in cells)
    units, practice, practice_names = (
        _module(name, text, exercises) if is_module else _notebook(cells, exercises)
    )
    blocks = [unit.block for unit in units]
    own_modules = frozenset(
        module_of(unit.cell.written) for unit in units if unit.cell.written and not is_module
    )
    selected = select(blocks, exercises, is_module=is_module, own_modules=own_modules)
    kept = _without_later_blanks(blocks, selected, exercises)

    lines: list[str] = []
    places: list[Place] = []
    defines: dict[str, int] = {}
    problems: list[Problem] = []
    spans: dict[str, tuple[int, int]] = {}
    for unit, statements in zip(units, kept, strict=True):
        cell, before = unit.cell, len(lines)
        defines |= {name: before + line for name, line in defined_names(unit.block, statements).items()}
        spans |= {
            name: (before + first, before + last)
            for name, (first, last) in defining_lines(unit.block, statements, exercises).items()
        }
        problems += (_problem(broken, cell, before) for broken in unit.recovery.broken)
        for problem in _unindented(unit, before, exercises):
            problems.append(problem)
            defines.pop(problem.name or "", None)
        lines += keep_only(unit.block, statements)
        places += [_place(cell.number, cell.first_line + i) for i in range(len(lines) - before)]
    text = "".join(f"{line}\n" for line in lines)
    notes = [*code.notes, *(note for unit in units for note in _notes_on(unit))]
    if not defines and problems and all(problem.name is None for problem in problems):
        notes = [_note_on_unreadable_file(problems[0], places[problems[0].line - 1])]
    return SourceFile(
        path,
        name,
        text,
        tuple(places),
        defines,
        tuple(problems),
        size,
        practice,
        practice_names,
        tuple(notes[:_MAX_NOTES]),
        spans,
    )


def _problem(broken: Broken, cell: Cell, before: int) -> Problem:
    """Return the problem of code that does not parse, in a cell with this many lines of the program above it."""
    line, message = before + broken.error.line, str(broken.error)
    return Problem(line, message, broken.text, cell.exercises, broken.name, broken.shown, broken.error.above)


def _unindented(unit: Unit, before: int, exercises: Collection[str]) -> Iterator[Problem]:
    """Yield the exercises whose lines stand below an empty definition; there are `before` lines of program above."""
    for name in {s.name for s in unit.block.body if isinstance(s, ast.FunctionDef)} & set(exercises):
        found = unindented_line(unit.block.body, name)
        if found is not None:
            shown = unit.block.lines[found.line - 1]
            message = unindented_message(name, unit.cell.first_line + found.line - 1)
            yield Problem(before + found.line, message, unit.cell.text, unit.cell.exercises, name, shown)


def _note_on_unreadable_file(problem: Problem, place: Place) -> str:
    """Return a Korean line about a file in which nothing can be read."""
    return (
        f"{place.in_words()}부터 Python 코드로 읽을 수 없어요. {problem.message.removeprefix(SYNTAX_ERROR)}"
    )


def _notes_on(unit: Unit) -> Iterator[str]:
    """Yield Korean lines about what was left out to read a cell or file, and about a `%%writefile`."""
    where = "" if unit.cell.number is None else f"코드 셀 {unit.cell.number}의 "
    if unit.is_lifted:
        yield f'{where}`if __name__ == "__main__":` 아래에 있는 답을 읽었어요. 밖으로 옮겨 두세요.'
    if unit.cell.written:
        yield f"{where}`%%writefile {short(unit.cell.written)}` 아래의 코드를 읽었어요."
    lines = unit.recovery.left_out
    if lines and unit.recovery.text.strip():
        spans = spans_of(lines, unit.cell.text)
        shown = ", ".join(spans[:LISTED]) + (" 등 " if len(spans) > LISTED else "")
        what = (
            "Markdown 코드 블록 안의 코드를 읽고, 그 밖의 글은 뺐어요"
            if unit.recovery.fenced
            else "Python 코드로 읽을 수 없는 줄은 빼고 읽었어요"
        )
        yield f"{what} ({where}{shown}번째 줄)."
    if (unread := unit.recovery.unread_from) is not None and unit.recovery.text.strip():
        yield f"문법 오류가 있고 너무 길어서 {where}{unread:,}번째 줄부터는 다 읽지 못했어요."


def _apparent_definitions(texts: Sequence[str]) -> frozenset[str]:
    """Return the names that lines of these texts seem to define; they need not parse."""
    return frozenset(match[1] or match[2] for text in texts for match in _DEFINITION.finditer(text))


def _without_later_blanks(
    blocks: Sequence[Block], kept: Sequence[Sequence[int]], exercises: Collection[str]
) -> list[list[int]]:
    """Leave out each definition of an exercise that is still blank, if an earlier one is filled in.

    It is a leftover of a drill whose call was deleted or moved. A tagged cell counts as it is.
    """
    names, written = frozenset(exercises), set[str]()
    left: list[list[int]] = []
    for block, indices in zip(blocks, kept, strict=True):
        left.append([])
        for index in indices:
            statement = block.body[index]
            if not (isinstance(statement, DEFINITIONS) and is_blank(statement)):
                written |= block.uses[index].bound & names
            elif index not in block.tagged and statement.name in written:
                continue
            left[-1].append(index)
    return left


def _answers_of_script(name: str, text: str, exercises: Collection[str]) -> tuple[str, tuple[Practice, ...]]:
    """Return a `.py` file's text with practice blanked out, and the definitions that were removed.

    Of a file that `grader drill` or `grader clinic` wrote nothing is left. A clinic file was handed out filled in, so
    that nothing in it can be mistaken for an answer.
    """
    tool = tool_of(name, text, exercises)
    if tool is None:
        return script_without_practice(text, exercises)
    return "\n" * text.count("\n"), practices(text, exercises) if tool == "drill" else ()


@lru_cache(maxsize=10_000)
def _place(cell: int | None, line: int) -> Place:
    """Return one shared object for equal places: files of a class of thousands have most places in common."""
    return Place(cell, line)


def names_bound_when_graded(cells: Sequence[Cell], exercises: Collection[str]) -> set[str]:
    """Return the names that a notebook of these cells binds when graded; `*` stands for those of a star import."""
    blocks = [parse_cell(cell, exercises).block for cell in cells]
    kept = select(blocks, exercises, is_module=False)
    return set().union(*map(bound_names, blocks, kept))


def surroundings(cell: Cell, name: str, others: Sequence[Cell], exercises: Collection[str]) -> str:
    """Return the program text from other cells that the definition of `name` in `cell` needs.

    Only statements that grading keeps are included: a demo's results are not available to a graded exercise.
    """
    blocks = [parse_cell(other, exercises).block for other in others]
    needed = needed_names([*blocks, parse_cell(cell, exercises).block], (name,))
    lines: list[str] = []
    for block, kept in zip(blocks, select(blocks, exercises, is_module=False), strict=True):
        chosen = [index for index in kept if block.uses[index].bound & {*needed, "*"}]
        lines += keep_only(block, chosen) if chosen else ()
    return "".join(f"{line}\n" for line in lines)


def without_demos(module: str, exercises: Collection[str]) -> str:
    """Return the part of a `.py` file's text that grading runs, each line in its place, demos blanked out."""
    return _read(Path("module.py"), "module.py", module, exercises).text


def _module(
    name: str, text: str, exercises: Collection[str]
) -> tuple[list[Unit], tuple[Practice, ...], frozenset[str]]:
    """Parse what can be read of a `.py` file, without practice.

    Returns:
        What was parsed, the practice that was removed, and the names that only practice defined.
    """
    answers, practice = _answers_of_script(name, text, exercises)
    removed = _apparent_definitions([text]) - _apparent_definitions([answers])
    text, recovery = answers, recover(answers)
    if recovery.is_partial:  # The text did not parse before, so practice could not be found in it.
        readable, more = _answers_of_script(name, recovery.text, exercises)
        removed |= _apparent_definitions([recovery.text]) - _apparent_definitions([readable])
        recovery, practice = replace(recovery, text=readable), practice + more
    lifted = without_main_guard(recovery.text, exercises)
    body = tuple(parse(lifted))
    block = Block(tuple(lifted.split("\n")), body, _tagged(body, percent_cells(text)))
    cell = Cell(None, 1, text, (), written_file(text))
    return [Unit(cell, block, recovery, lifted != recovery.text)], practice, removed


def _notebook(
    cells: list[Cell], exercises: Collection[str]
) -> tuple[list[Unit], tuple[Practice, ...], frozenset[str]]:
    """Parse what can be read of a notebook's cells, without practice; return the same as `_module`."""
    before = _apparent_definitions([cell.text for cell in cells])
    cells, practice = without_practice(cells, exercises)
    removed = before - _apparent_definitions([cell.text for cell in cells])
    units = [parse_cell(cell, exercises) for cell in cells]
    if any(
        unit.recovery.is_partial for unit in units
    ):  # The text did not parse before, so practice could not be found in it.
        readable = [replace(unit.cell, text=unit.recovery.text) for unit in units]
        answers, more = without_practice(readable, exercises)
        practice += more
        removed |= _apparent_definitions([cell.text for cell in readable]) - _apparent_definitions(
            [cell.text for cell in answers]
        )
        for index, (unit, answer) in enumerate(zip(units, answers, strict=True)):
            if unit.recovery.text != answer.text:
                units[index] = parse_recovered(unit.cell, replace(unit.recovery, text=answer.text), exercises)
    return _without_copies(units, exercises), practice, removed


def _without_copies(units: list[Unit], exercises: Collection[str]) -> list[Unit]:
    """Empty each cell that writes a file if it defines an exercise that a cell without `%%writefile` also defines, or
    if it defines none and no other cell imports its file.
    """
    defined = [{name for uses in unit.block.uses for name in uses.defined} & {*exercises} for unit in units]
    ran = set().union(*(names for unit, names in zip(units, defined, strict=True) if not unit.cell.written))
    statements = [statement for unit in units for statement in unit.block.body]

    def is_needed(unit: Unit, names: set[str]) -> bool:
        if names:
            return not names & ran
        module = frozenset({module_of(unit.cell.written)})
        return any(imports_from(statement, module) for statement in statements)

    return [
        parse_cell(replace(unit.cell, text="\n" * unit.cell.text.count("\n"), written=""), exercises)
        if unit.cell.written and not is_needed(unit, names)
        else unit
        for unit, names in zip(units, defined, strict=True)
    ]


def _tagged(body: tuple[ast.stmt, ...], cells: list[Cell]) -> frozenset[int]:
    """Return the indices of the statements in tagged `# %%` cells; a `# %%` inside a statement or string is ignored."""
    inside = {line for s in body for line in range(s.lineno + 1, (s.end_lineno or s.lineno) + 1)}
    real = [cell for cell in cells if cell.first_line not in inside]
    starts = [cell.first_line for cell in real]
    return frozenset(
        index
        for index, statement in enumerate(body)
        if real[bisect_right(starts, statement.lineno) - 1].exercises
    )
