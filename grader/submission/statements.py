"""Select the statements of a file that are graded: imports, definitions and constants, but no demos.

A notebook also loads data, trains and plots. None of that may run while grading, but an exercise may need what other
cells define. So everything in a cell tagged for an exercise is kept; of all other code, imports and definitions are
kept, and assignments that run no code and read only names that are kept too. Imports from `grader.experiments` are not
kept: these are the data and models of experiments. In a `.py` file, an assignment that calls
something is kept as well if an exercise needs its name. Dropped statements become blank, so that line numbers remain
right.

Example, outside tagged cells of a notebook:

    import torch                  # kept: an import
    BASE = 2                      # kept: a constant
    losses = run()                # dropped: runs code
    BEST = losses[0]              # dropped: reads a dropped name
    TWICE = BASE * 2              # kept: reads only kept names
"""

import ast
import builtins
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from grader.submission.lifting import is_main_guard
from grader.submission.syntax import DEFINITIONS, Scope, ScopeNames, arguments_of

_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)
_BLOCKS = (ast.If, ast.Try, ast.TryStar)
_EXPERIMENTS = "grader.experiments"
"""Package that only experiments in notebooks need; some of its functions show the answers to exercises."""
_STAR = "*"
"""Placeholder for the unknown names that a star import binds."""


@dataclass(frozen=True)
class Block:
    """Source that is parsed as a whole: a notebook cell or an entire `.py` file."""

    lines: tuple[str, ...]
    body: tuple[ast.stmt, ...]
    """Top-level statements; empty if the source does not parse."""
    tagged: frozenset[int]
    """Indices in `body` of the statements that stand in a cell tagged for an exercise."""

    @cached_property
    def uses(self) -> tuple[ScopeNames, ...]:
        """The names that each statement of `body` binds and reads; cached, because there can be 100,000 statements."""
        return tuple(ScopeNames([statement]) for statement in self.body)


def select(
    blocks: Sequence[Block],
    exercises: Collection[str],
    *,
    is_module: bool,
    own_modules: Set[str] = frozenset(),
) -> list[list[int]]:
    """Return, for each block, the indices of the statements that are graded.

    These are everything in tagged cells, imports, definitions, assignments to an exercise's name, and assignments that
    run no code and read only kept names, also inside `if` and `try`.

    Args:
        blocks: all source of one file, in order.
        exercises: names of all exercises of the course.
        is_module: True for a `.py` file. An assignment that calls something is then kept too if an exercise needs its
            name; in a notebook it counts as a demo and is dropped.
        own_modules: modules whose code is in the blocks too, so that their imports are dropped.
    """
    wanted = needed_names(blocks, exercises) if is_module else frozenset()
    known = {*dir(builtins), "__name__", "__file__", "__doc__"}
    kept: list[list[int]] = []
    for block in blocks:
        kept.append([])
        for index, (statement, uses) in enumerate(zip(block.body, block.uses, strict=True)):
            if imports_from(statement, own_modules):
                continue
            if index in block.tagged or _is_kept(statement, uses, exercises, wanted, known):
                kept[-1].append(index)
                known |= uses.bound
    return kept


def defined_names(block: Block, kept: Iterable[int]) -> dict[str, int]:
    """Return the functions, classes and variables that the kept statements bind, with the last binding line of each."""
    names: dict[str, int] = {}
    for index in kept:
        names |= block.uses[index].defined
    return names


def defining_lines(block: Block, kept: Iterable[int], names: Collection[str]) -> dict[str, tuple[int, int]]:
    """Return first and last line of the kept statement that binds each of these names last, decorators included."""
    found: dict[str, tuple[int, int]] = {}
    for index in kept:
        for name in block.uses[index].defined:
            if name in names:
                statement = block.body[index]
                decorators = statement.decorator_list if isinstance(statement, DEFINITIONS) else []
                first = min([statement.lineno, *(decorator.lineno for decorator in decorators)])
                found[name] = first, statement.end_lineno or statement.lineno
    return found


def bound_names(block: Block, kept: Iterable[int]) -> set[str]:
    """Return all names that the kept statements bind, by importing too; `*` stands for those of a star import."""
    return {name for index in kept for name in block.uses[index].bound}


def keep_only(block: Block, kept: Iterable[int]) -> list[str]:
    """Return the block's lines with all statements removed except those at the indices `kept`, which do not move."""
    source = [line.encode() for line in block.lines]  # the parser's columns count bytes of UTF-8
    result = [bytearray() for _ in source]  # bytearrays, because a line can hold 100,000 statements
    for index in kept:
        statement = block.body[index]
        first, column = _start(statement, source)
        last = (statement.end_lineno or statement.lineno) - 1
        end = _end_with_comment(source[last], statement.end_col_offset or 0)
        _pad_to_column(result[first], source[first], column)
        if first == last:
            result[first] += source[first][column:end]
        else:
            result[first] += source[first][column:]
            for number in range(first + 1, last):
                result[number] += source[number]
            result[last] += source[last][:end]
    return [line.decode() for line in result]


def _pad_to_column(result: bytearray, source: bytes, column: int) -> None:
    """Pad `result` up to the column of the next statement: a `0` in place of dropped statements, then spaces."""
    if result:
        result += b";"
    elif source[:column].strip():
        result += b"0;"
    else:
        return  # Only white space stands before it (a form feed, a continued empty line): it then starts the line.
    result += b" " * (column - len(result))


def _start(statement: ast.stmt, source: Sequence[bytes]) -> tuple[int, int]:
    """Return (line, column) where a statement begins, both from 0, its first decorator included; columns in bytes."""
    if isinstance(statement, DEFINITIONS) and statement.decorator_list:
        line = statement.decorator_list[0].lineno - 1
        while line and not source[line].lstrip().startswith(b"@"):  # `@` and its expression on two lines
            line -= 1
        return line, source[line].find(b"@")
    return statement.lineno - 1, statement.col_offset


_REST_OF_LINE = re.compile(rb"[ \t\f]*+;?[ \t\f]*+(?:#.*)?")


def _end_with_comment(line: bytes, end: int) -> int:
    """Return the end of the line if only a comment follows the column `end`, else `end`."""
    return len(line) if _REST_OF_LINE.fullmatch(line, end) else end


def imports_from(statement: ast.stmt, modules: Set[str]) -> bool:
    """Return True for an import from one of the modules that gives no name another one."""
    if isinstance(statement, ast.ImportFrom):
        plain = all(alias.asname in (None, alias.name) for alias in statement.names)
        return plain and (statement.module or "").rpartition(".")[2] in modules
    return isinstance(statement, ast.Import) and all(alias.name in modules for alias in statement.names)


def _is_kept(
    statement: ast.stmt, uses: ScopeNames, exercises: Collection[str], wanted: Set[str], known: Set[str]
) -> bool:
    """Return True if a statement outside tagged cells is graded.

    Args:
        statement: the statement.
        uses: the names it binds and reads.
        exercises: names of all exercises of the course.
        wanted: names that exercises need, for which an assignment may run code; empty for a notebook.
        known: built-in names, and names bound by the statements kept so far.
    """
    if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith(_EXPERIMENTS):
        return False
    if isinstance(statement, (*_IMPORTS, *DEFINITIONS)):
        return True
    if not _only_binds(statement):
        return False
    if not uses.bound.isdisjoint(exercises):
        return True
    if uses.runs_code and uses.bound.isdisjoint(wanted):
        return False
    reads = uses.read - uses.bound if isinstance(statement, _BLOCKS) else uses.read
    return _STAR in known or reads <= known


def _only_binds(statement: ast.stmt) -> bool:
    """Return True for an assignment, and for an `if` or `try` that holds only assignments, imports and definitions."""
    if isinstance(statement, _ASSIGNMENTS) or type(statement).__name__ == "TypeAlias":  # Python 3.12
        return True
    if not isinstance(statement, _BLOCKS):
        return False
    pending: list[ast.stmt] = [statement]
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.If):
            if is_main_guard(inner.test):
                return False
            pending += inner.body + inner.orelse
        elif isinstance(inner, (ast.Try, ast.TryStar)):
            pending += inner.body + inner.orelse + inner.finalbody
            pending += [s for handler in inner.handlers for s in handler.body]
        elif isinstance(inner, ast.Expr):
            if not isinstance(inner.value, ast.Constant):
                return False
        elif not isinstance(inner, (*_ASSIGNMENTS, *_IMPORTS, *DEFINITIONS, ast.Pass)):
            return False
    return True


def needed_names(blocks: Sequence[Block], exercises: Iterable[str]) -> frozenset[str]:
    """Return the names that the exercises need, directly or through other names.

    Names needed only by other definitions are left out, although those definitions are kept. A definition that then
    lacks its decorator or default fails to load, but nothing else does.
    """
    binding: dict[str, list[ScopeNames]] = {}
    for block in blocks:
        for uses in block.uses:
            for name in uses.bound:
                binding.setdefault(name, []).append(uses)
    names, reached = list(exercises), set(exercises)
    seen: set[ScopeNames] = set()
    while names:
        for uses in binding.pop(names.pop(), ()):
            if uses not in seen:  # a statement can bind as many names as it reads
                seen.add(uses)
                new = (uses.read | _free_names(uses.scopes)) - reached
                reached |= new
                names += new
    return frozenset(reached)


def _free_names(scopes: Iterable[Scope]) -> set[str]:
    """Return the module-level names that functions, classes and lambdas read when they run."""
    free: set[str] = set()
    outer: Counter[str] = Counter()  # how many of the enclosing functions bind a name
    pending: list[Scope | set[str]] = list(scopes)
    while pending:
        scope = pending.pop()
        if isinstance(scope, set):  # marks the end of a function that binds these names
            outer.subtract(scope)
            continue
        uses = ScopeNames([scope.body] if isinstance(scope, ast.Lambda) else scope.body)
        own = uses.bound
        if not isinstance(scope, ast.ClassDef):
            own |= {argument.arg for argument in arguments_of(scope.args)}
        free |= {name for name in uses.read - own if not outer[name]}
        free |= uses.declared_global
        if not isinstance(
            scope, ast.ClassDef
        ):  # a class's names are visible to its own statements, not to its methods
            outer.update(own)
            pending.append(own)
        pending += uses.scopes
    return free
