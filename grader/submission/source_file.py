"""Turn one handed-in file into the program that is graded; each line remembers the cell it came from."""

import ast
import gc
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from grader.base.decoding import read_text
from grader.observe.wording import with_particle
from grader.submission.cells import Cell, notebook_cells, percent_cells, without_magics
from grader.submission.practice_cells import (
    Practice,
    is_blank,
    script_without_practice,
    without_practice,
)
from grader.submission.practice_files import practices, tool_of
from grader.submission.statements import (
    Block,
    bound_names,
    defined_names,
    keep_only,
    needed_names,
    select,
)
from grader.submission.syntax import DEFINITIONS, ParseError, parse

_DEFINITION = re.compile(r"^[ \t]*+(?:async[ \t]++)?(?:def|class)[ \t]++(\w++)|^(\w++)[ \t]*+=", re.MULTILINE)
_WORD = re.compile(r"\w++")
_MISSING_NAME = re.compile(r"NameError: name '(\w+)' is not defined")


@dataclass(frozen=True)
class Place:
    """The position of a line in the file that the learner sees."""

    cell: int | None
    """Number from 1 among the code cells that are not blank, as Jupyter's `[n]` counts them; None in a `.py` file."""
    line: int
    """Line from 1, within the cell or the `.py` file."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickle through `_place`, so that equal places stay one shared object in the other process too."""
        return _place, (self.cell, self.line)


@dataclass(frozen=True)
class Problem:
    """A cell, or a whole `.py` file, that does not parse; its lines are blank in the program."""

    line: int
    """Line in the program at which parsing failed."""
    message: str
    """Reason, in Korean."""
    text: str
    """The cell as it was handed in: it shows which exercises are lost."""
    exercises: tuple[str, ...]
    """Exercises that the cell is tagged for."""

    def defined(self) -> set[str]:
        """Return the names that the cell was meant to define."""
        found = (match[1] or match[2] for match in _DEFINITION.finditer(self.text))
        return {*self.exercises, *found}

    def mentioned(self) -> set[str]:
        """Return all words that stand anywhere in the cell, and the exercises in its tags."""
        return {*self.exercises, *_WORD.findall(self.text)}


@dataclass(frozen=True)
class SourceFile:
    """One file of a submission, reduced to the program that is graded."""

    path: Path
    name: str
    """Path within the student's folder, for messages; unique within a submission."""
    text: str
    """The program: one line for each line of code in the file, blank where a statement is not graded. It always
    parses."""
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

    def place(self, line: int) -> Place:
        """Return the place of a line of `text`; a line outside it counts as the nearest one."""
        if not self.places:
            return Place(None, 1)
        return self.places[min(max(line, 1), len(self.places)) - 1]

    def defines_or_attempts(self, name: str) -> bool:
        """Return True if the file defines `name`, or a broken cell was meant to."""
        return name in self.defines or name in self._broken_definitions

    def problem_for(self, name: str) -> Problem | None:
        """Return the broken cell to blame if `name` is not defined: one meant to define it, else one mentioning it.

        None if `name` is defined, or no broken cell mentions it.
        """
        if name in self.defines:
            return None
        return self._broken_definitions.get(name) or self._broken_mentions.get(name)

    def complaint(self, name: str) -> str | None:
        """Return a Korean line on why the cell meant to define `name` cannot be read; None if there is no such cell."""
        problem = self.problem_for(name)
        if problem is None:
            return None
        place = self.place(problem.line)
        where = f"{place.line}번째 줄" if place.cell is None else f"셀 {place.cell}의 {place.line}번째 줄"
        return f"{self.name} {where}을 읽을 수 없어요. {problem.message}"

    def note_on(self, error: str | None) -> str | None:
        """Return a Korean line on a NameError for a name that only a drill or clinic cell defines; else None."""
        missing = _MISSING_NAME.match(error or "")
        if missing is None or missing[1] not in self.practice_names:
            return None
        return (
            f"{with_particle(f'`{missing[1]}`', '은/는')} 드릴이나 클리닉 셀에만 있어요. 그 셀은 연습이라 채점할 때 "
            "실행하지 않아요. 답에 필요하면 연습 셀이나 다른 셀로 옮겨 주세요."
        )

    # The next two map each name to the last such cell, once: a file can have thousands of names, and it is asked about
    # every exercise.

    @cached_property
    def _broken_definitions(self) -> dict[str, Problem]:
        return {name: problem for problem in self.problems for name in problem.defined()}

    @cached_property
    def _broken_mentions(self) -> dict[str, Problem]:
        return {name: problem for problem in self.problems for name in problem.mentioned()}


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
    """Turn the text of a file into a SourceFile: remove practice, parse, select statements, map lines to places."""
    is_module = path.suffix.lower() != ".ipynb"
    cells = percent_cells(text) if is_module else notebook_cells(text)
    size = sum(len(cell.text) for cell in cells)
    texts = [text] if is_module else [cell.text for cell in cells]
    if is_module:
        whole, (text, practice) = text, _answers_of_script(name, text, exercises)
        cells = cells if text == whole else percent_cells(text)
    else:
        cells, practice = without_practice(cells, exercises)
    practice_names = _names_in(texts) - _names_in([text] if is_module else [cell.text for cell in cells])
    units = _module(text, cells) if is_module else [_unit(cell) for cell in cells]
    blocks = [unit.block for unit in units]
    kept = _without_later_blanks(blocks, select(blocks, exercises, is_module=is_module), exercises)

    lines: list[str] = []
    places: list[Place] = []
    defines: dict[str, int] = {}
    problems: list[Problem] = []
    for unit, statements in zip(units, kept, strict=True):
        cell, before = unit.cell, len(lines)
        defines |= {name: before + line for name, line in defined_names(unit.block, statements).items()}
        if unit.error is not None:
            problems.append(Problem(before + unit.error.line, str(unit.error), cell.text, cell.exercises))
        lines += keep_only(unit.block, statements)
        places += [_place(cell.number, cell.first_line + i) for i in range(len(lines) - before)]
    text = "".join(f"{line}\n" for line in lines)
    return SourceFile(
        path, name, text, tuple(places), defines, tuple(problems), size, practice, practice_names
    )


def _names_in(texts: Sequence[str]) -> frozenset[str]:
    """Return the names that lines of these texts seem to define; they need not parse."""
    return frozenset(match[1] or match[2] for text in texts for match in _DEFINITION.finditer(text))


def _without_later_blanks(
    blocks: Sequence[Block], kept: Sequence[Sequence[int]], exercises: Collection[str]
) -> list[list[int]]:
    """Leave out each definition of an exercise that is still as it was handed out, if an earlier one is written.

    It comes from a drill whose call is gone or stands elsewhere, and nobody wants to be graded by it. A tagged cell
    counts as it is.
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
    blocks = [_unit(cell).block for cell in cells]
    kept = select(blocks, exercises, is_module=False)
    return set().union(*map(bound_names, blocks, kept))


def surroundings(cell: Cell, name: str, others: Sequence[Cell], exercises: Collection[str]) -> str:
    """Return the program text from other cells that the definition of `name` in `cell` needs.

    Only statements that grading keeps are included: a demo's results are not available to a graded exercise.
    """
    blocks = [_unit(other).block for other in others]
    needed = needed_names([*blocks, _unit(cell).block], (name,))
    lines: list[str] = []
    for block, kept in zip(blocks, select(blocks, exercises, is_module=False), strict=True):
        chosen = [index for index in kept if block.uses[index].bound & {*needed, "*"}]
        lines += keep_only(block, chosen) if chosen else ()
    return "".join(f"{line}\n" for line in lines)


def without_demos(module: str, exercises: Collection[str]) -> str:
    """Return the part of a `.py` file's text that grading runs, each line in its place, demos blanked out."""
    return _read(Path("module.py"), "module.py", module, exercises).text


@dataclass(frozen=True)
class _ParsedSource:
    """Source that is parsed as a whole: a cell, or an entire `.py` file. `error` is set if it does not parse."""

    cell: Cell
    block: Block
    error: ParseError | None = None


def _unit(cell: Cell) -> _ParsedSource:
    """Parse one cell; if it is tagged for an exercise, mark all its statements as tagged."""
    lines = tuple(cell.text.split("\n"))
    try:
        body = tuple(parse(cell.text))
    except ParseError as error:
        return _ParsedSource(cell, Block(lines, (), frozenset()), error)
    return _ParsedSource(cell, Block(lines, body, frozenset(range(len(body) if cell.exercises else 0))))


def _module(text: str, cells: list[Cell]) -> list[_ParsedSource]:
    """Parse a `.py` file as a whole or, if that fails, cell by cell."""
    for source in (text, without_magics(text)):  # Colab saves `!pip install` lines into the .py
        unit = _unit(Cell(None, 1, source, ()))
        if unit.error is None:
            block = Block(unit.block.lines, unit.block.body, _tagged(unit.block.body, cells))
            return [_ParsedSource(unit.cell, block)]
    if len(cells) == 1:
        return [_unit(cells[0])]
    return [_unit(cell) for cell in percent_cells(without_magics(text))]


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
