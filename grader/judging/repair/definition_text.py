"""Read a definition as statements that know their lines, blocks and neighbours, to edit its text.

Edits change the text, not the syntax tree, so that comments and spacing stay wherever nothing is edited. `small_edits`
reads the learner's definition and its helpers, and the solution's definition; the other modules of this folder look at
them and draft edits. Nothing is edited here. What else they need to know becomes a field of `Statement` or `Gap`.

Three kinds of numbers occur. Attributes called `..._line` or `lineno` count the program's lines from 1; `position` is
an index in a block; `start` and `end` are the bounds of a slice of `program_lines`.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from grader.submission.syntax import (
    DEFINITIONS,
    assignments_of_names,
    blocks,
    definition_of,
    first_line,
    is_docstring,
    last_line,
    names_in,
    names_read,
    returns,
)

INDENT = "    "
"""Indentation of one level, in lines that are added."""
_WITHOUT_CODE = re.compile(r"\s*(?:#.*)?")
"""The start of a line that is not code: white space, then a comment if there is one."""
LEAVES_BLOCK = ast.Return | ast.Raise | ast.Break | ast.Continue
"""Statements after which nothing of their block runs."""


@dataclass(frozen=True, eq=False)  # compared by identity: equal text may stand in several places
class Block:
    """Statements that follow one another at one indentation, such as the body of a function or an `else`."""

    owner: ast.AST
    """The compound statement or the definition whose block it is; of an `except`, the `try`."""
    loop_depth: int
    """Number of loops around it."""
    indent: str
    """Its indentation; empty if it begins on the line of its owner."""
    statements: list["Statement"] = field(default_factory=list)
    method: str = ""
    """In a class: name of the method around it; empty otherwise."""


@dataclass(frozen=True, eq=False)  # by identity, as blocks
class Statement:
    """One statement and where it stands."""

    node: ast.stmt
    first_line: int
    """Line on which it begins, from 1; decorators belong to it."""
    last_line: int
    """Line on which it ends, from 1."""
    block: Block
    position: int
    """Its index in the block."""
    has_own_lines: bool
    """True if the statement can be deleted or moved by whole lines.

    Its lines hold no other code (as in `x; y` or `if x: y`), and it is no `elif`, which is nothing without its `if`.
    """

    @property
    def next(self) -> "Statement | None":
        """The statement after it in its block; None for the last."""
        after = self.position + 1
        return self.block.statements[after] if after < len(self.block.statements) else None

    @property
    def previous(self) -> "Statement | None":
        """The statement before it in its block; None for the first."""
        return self.block.statements[self.position - 1] if self.position else None


class Assignment(NamedTuple):
    """A statement `name = value`."""

    statement: Statement
    value: ast.expr


@dataclass(frozen=True)
class Gap:
    """A place where a statement can be inserted."""

    lines_before: int
    """Number of the program's lines before it; as an index, where to insert in `program_lines`."""
    block: Block
    next: Statement | None
    """The statement that would follow in the block; None at the block's end."""
    previous: Statement | None
    """The statement that would precede in the block; None at the block's start."""


class LineReplacement(NamedTuple):
    """A change of a program's lines: `program_lines[start:end]` are to become `lines`."""

    start: int
    end: int
    lines: list[str]


class DefinitionText:
    """A top-level definition in a program; the last one if several have its name, because Python keeps the last."""

    program_lines: list[str]
    """All lines of the program, not only those of the definition."""
    node: ast.FunctionDef | ast.ClassDef
    first_line: int
    """Line on which the definition begins, from 1; decorators belong to it."""
    last_line: int
    """Line on which it ends, from 1."""
    blocks: list[Block]
    """All blocks inside it except those of a `match`, each before the blocks inside it. Docstrings are left out."""
    statements: list[Statement]
    """The statements of all blocks, in the order of the text."""

    def __init__(self, program: str, name: str) -> None:
        """Read the definition.

        Raises:
            LookupError: the program does not parse, or does not define the name at top level.
        """
        self.program_lines = program.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        node = definition_of(program, name)
        if node is None:
            raise LookupError(name)
        self.node = node
        self.first_line, self.last_line = first_line(node), last_line(node)
        self.blocks = []
        self.statements = []
        self._collect_blocks(self.node, 0, "")

    def _collect_blocks(self, node: ast.AST, loop_depth: int, method: str) -> None:
        """Collect the blocks inside a node.

        Args:
            node: the definition or one of its statements.
            loop_depth: number of loops around the node.
            method: name of the method around the node; empty if there is none.
        """
        for _, field_name, nodes in blocks(node):
            # The `else` of a loop is not repeated.
            is_repeated = isinstance(node, ast.For | ast.While) and field_name == "body"
            self._collect_block(node, nodes, loop_depth + 1 if is_repeated else loop_depth, method)

    def _collect_block(self, owner: ast.AST, nodes: list[ast.stmt], loop_depth: int, method: str) -> None:
        """Collect the block of these nodes without its docstring, and the blocks inside it."""
        if isinstance(owner, ast.FunctionDef | ast.ClassDef) and is_docstring(nodes[0]):
            nodes = nodes[1:]
        if not nodes:
            return
        before = self.text_before(nodes[0])
        indent = "" if before.strip() else before
        block = Block(owner, loop_depth, indent, method=method)
        self.blocks.append(block)
        holds_methods = isinstance(owner, ast.ClassDef) and not method
        for position, node in enumerate(nodes):
            has_own_lines = self._has_own_lines(node, nodes)
            statement = Statement(node, first_line(node), last_line(node), block, position, has_own_lines)
            block.statements.append(statement)
            self.statements.append(statement)
            inner_method = getattr(node, "name", "") if holds_methods else method
            self._collect_blocks(node, loop_depth, inner_method)

    def _has_own_lines(self, node: ast.stmt, block_nodes: list[ast.stmt]) -> bool:
        """Return `Statement.has_own_lines` for a statement of a block with these nodes."""
        others = [other for other in block_nodes if other is not node]
        shares_line = any(
            other.lineno <= last_line(node) and last_line(other) >= node.lineno for other in others
        )
        line = self.program_lines[node.lineno - 1]
        is_elif = isinstance(node, ast.If) and line.lstrip().startswith("elif")
        return not (self.text_before(node).strip() or shares_line or is_elif)

    @cached_property
    def gaps(self) -> list[Gap]:
        """Every place where a statement can be inserted as lines of its own, except after a `return` or the like."""
        return [gap for block in self.blocks for gap in _gaps_in(block)]

    @cached_property
    def names_returned(self) -> set[str]:
        """Names that occur in the expressions of its `return` statements, without those of builtins."""
        return {name for statement in returns(self.node) for name in names_in(statement)} - {*dir(builtins)}

    @cached_property
    def names_read(self) -> set[str]:
        """Names that are read somewhere."""
        return names_read(self.node)

    @cached_property
    def names_assigned(self) -> set[str]:
        """Names of variables that are assigned somewhere."""
        return {*assignments_of_names(self.node)}

    @cached_property
    def sole_assignments(self) -> dict[str, Assignment]:
        """By name: the assignment of each variable that is assigned just once, by `name = …`.

        The variable may be a parameter, too, which has another value before.
        """
        assigned = assignments_of_names(self.node)
        found = {}
        for statement in self.statements:
            if isinstance(statement.node, ast.Assign):
                target = statement.node.targets[0]
                if isinstance(target, ast.Name) and assigned.count(target.id) == 1:
                    found[target.id] = Assignment(statement, statement.node.value)
        return found

    def lines_of(self, statement: Statement) -> list[str]:
        """Return the lines of a statement."""
        return self.program_lines[statement.first_line - 1 : statement.last_line]

    def statement_around(self, block: Block) -> Statement | None:
        """Return the compound statement whose block this is; None for the definition's body."""
        return next((statement for statement in self.statements if statement.node is block.owner), None)

    def text_before(self, node: ast.expr | ast.stmt) -> str:
        """Return what stands before a node on the line where it begins."""
        # The parser's columns count bytes of UTF-8.
        return self.program_lines[node.lineno - 1].encode()[: node.col_offset].decode()

    def text_after(self, node: ast.expr | ast.stmt) -> str:
        """Return what stands after a node on the line where it ends."""
        return self.program_lines[last_line(node) - 1].encode()[node.end_col_offset or 0 :].decode()

    def code_after(self, node: ast.expr) -> str:
        """Return the code after an expression in its statement, up to the end of a line; empty if none follows.

        Inside brackets a statement goes on in the next lines, so this may be code of a later line.
        """
        rest = _WITHOUT_CODE.sub("", self.text_after(node), count=1)
        if rest or (node.end_lineno, node.end_col_offset) in self._statement_ends:
            return rest
        following = (_WITHOUT_CODE.sub("", line, count=1) for line in self.program_lines[last_line(node) :])
        return next(filter(None, following), "")

    @cached_property
    def _statement_ends(self) -> set[tuple[int | None, int | None]]:
        """Where each statement ends: its line, from 1, and its column in bytes."""
        return {(statement.node.end_lineno, statement.node.end_col_offset) for statement in self.statements}

    def replacement(self, node: ast.expr | ast.stmt, text: str) -> LineReplacement:
        """Return the change that puts `text` in the place of a node."""
        lines = (self.text_before(node) + text + self.text_after(node)).split("\n")
        return LineReplacement(node.lineno - 1, last_line(node), lines)


def reindent(lines: Sequence[str], old: str, new: str) -> list[str]:
    """Return the lines of a statement with the indentation `new` instead of `old`.

    Blank lines and lines that are indented less, as some in strings, stay as they are.
    """
    return [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines]


def needs_loop(node: ast.AST) -> bool:
    """Return True if a statement holds a `break` or `continue` for a loop around the statement."""
    if isinstance(node, ast.Break | ast.Continue):
        return True
    if isinstance(node, (*DEFINITIONS, ast.expr)):
        return False
    inside = node.orelse if isinstance(node, ast.For | ast.While) else ast.iter_child_nodes(node)
    return any(map(needs_loop, inside))


def _gaps_in(block: Block) -> Iterator[Gap]:
    """Yield the places of one block that can be reached; none unless all its statements have their own lines."""
    if not all(statement.has_own_lines for statement in block.statements):
        return
    previous: Statement | None = None
    for statement in block.statements:
        yield Gap(previous.last_line if previous else statement.first_line - 1, block, statement, previous)
        previous = statement
        if isinstance(statement.node, LEAVES_BLOCK):
            return
    if previous is not None:
        yield Gap(previous.last_line, block, None, previous)
