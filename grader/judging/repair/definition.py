"""Read a definition as statements that know their lines, blocks and neighbours, to edit its text."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from grader.submission.syntax import (
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


@dataclass(frozen=True, eq=False)
class Block:
    """Statements of one indentation: the body of a function or a loop, or an `else`."""

    owner: ast.AST
    """The AST node whose block it is."""
    loops: int
    """Number of loops around it."""
    indent: str
    """Its indentation; empty if it begins on the line of its owner."""
    statements: list["Statement"] = field(default_factory=list)
    method: str = ""
    """In a class: name of the method around it; empty otherwise."""


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement and where it stands."""

    node: ast.stmt
    first: int
    """Its first line, from 1; decorators belong to it."""
    last: int
    """Its last line, which belongs to it."""
    block: Block
    position: int
    """Its index in the block."""
    alone: bool
    """True if its lines hold nothing else: no `;`, no `if x: y`, and it is no `elif`."""

    @property
    def next(self) -> "Statement | None":
        """The statement after it in its block; None for the last."""
        after = self.position + 1
        return self.block.statements[after] if after < len(self.block.statements) else None

    @property
    def previous(self) -> "Statement | None":
        """The statement before it in its block; None for the first."""
        return self.block.statements[self.position - 1] if self.position else None


@dataclass(frozen=True)
class Gap:
    """A place where a statement can be inserted."""

    lines_before: int
    """Number of lines of the text before it."""
    block: Block
    before: Statement | None
    """The statement that would follow in the block; None at the block's end."""
    after: Statement | None
    """The statement that would precede in the block; None at the block's start."""


class DefinitionText:
    """The last top-level definition of a name in a text, with its statements in the order of the text."""

    def __init__(self, text: str, name: str) -> None:
        """Read the definition.

        Raises:
            LookupError: the text does not parse, or does not define the name.
        """
        self.lines = text.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        node = definition_of(text, name)
        if node is None:
            raise LookupError(name)
        self.node = node
        self.first, self.last = first_line(node), last_line(node)
        self.blocks: list[Block] = []
        self.statements: list[Statement] = []
        self._collect(self.node, 0, "")
        self.statements.sort(key=lambda s: (s.node.lineno, s.node.col_offset))

    def _collect(self, owner: ast.AST, loops: int, method: str) -> None:
        """Collect the blocks of a node, and those inside them."""
        inside = loops + isinstance(owner, ast.For | ast.While)
        for holder, field_name, children in blocks(owner):
            self._collect_block(holder, children, inside if field_name == "body" else loops, method)

    def _collect_block(self, owner: ast.AST, children: list[ast.stmt], loops: int, method: str) -> None:
        """Collect one block without its docstring, and the blocks inside it."""
        if isinstance(owner, ast.FunctionDef | ast.ClassDef) and is_docstring(children[0]):
            children = children[1:]
        if not children:
            return
        indent = self.lines[children[0].lineno - 1][: children[0].col_offset]
        block = Block(owner, loops, indent if not indent.strip() else "", method=method)
        self.blocks.append(block)
        for position, child in enumerate(children):
            alone = self._alone(child, children)
            statement = Statement(child, first_line(child), last_line(child), block, position, alone)
            block.statements.append(statement)
            self.statements.append(statement)
            opens = method == "" and isinstance(owner, ast.ClassDef)
            self._collect(child, loops, getattr(child, "name", "") if opens else method)

    def _alone(self, child: ast.stmt, siblings: list[ast.stmt]) -> bool:
        """Return True if no other statement shares its lines and it is no `elif`."""
        head = self.lines[child.lineno - 1].encode()[: child.col_offset].decode()
        others = [s for s in siblings if s is not child]
        shares = any(s.lineno <= last_line(child) and last_line(s) >= child.lineno for s in others)
        elif_ = isinstance(child, ast.If) and self.lines[child.lineno - 1].lstrip().startswith("elif")
        return not (head.strip() or shares or elif_)

    @cached_property
    def gaps(self) -> list[Gap]:
        """Every place where a statement can be inserted."""
        return [gap for block in self.blocks for gap in gaps_in(block)]

    @cached_property
    def returned(self) -> set[str]:
        """Names that occur in the expressions of its `return` statements."""
        return {name for statement in returns(self.node) for name in names_in(statement)}

    @cached_property
    def read(self) -> set[str]:
        """Names that are read somewhere."""
        return names_read(self.node)

    @cached_property
    def made(self) -> set[str]:
        """Variables that are assigned somewhere."""
        return {*assignments_of_names(self.node)}

    @cached_property
    def assigned_once(self) -> dict[str, ast.Assign]:
        """The assignment of each variable that is set by one `name = …` and nowhere else."""
        stores = assignments_of_names(self.node)
        found = {}
        for node in (s.node for s in self.statements if isinstance(s.node, ast.Assign)):
            target = node.targets[0]
            if isinstance(target, ast.Name) and stores.count(target.id) == 1:
                found[target.id] = node
        return found

    def source(self, statement: Statement) -> list[str]:
        """Return the lines of a statement."""
        return self.lines[statement.first - 1 : statement.last]

    def spliced(self, node: ast.expr | ast.stmt, text: str) -> tuple[int, int, list[str]]:
        """Replace a node's text: return (first, last, lines).

        Lines first..last-1 of the text, counted from 0, become `lines`.
        """
        first, last = node.lineno, last_line(node)
        head = self.lines[first - 1].encode()[: node.col_offset].decode()
        tail = self.lines[last - 1].encode()[node.end_col_offset or 0 :].decode()
        return first - 1, last, (head + text + tail).split("\n")


def gaps_in(block: Block) -> Iterator[Gap]:
    """Yield the places of one block; none if its statements share lines."""
    if not all(s.alone for s in block.statements):
        return
    previous: Statement | None = None
    for statement in block.statements:
        yield Gap(previous.last if previous else statement.first - 1, block, statement, previous)
        previous = statement
    if previous is not None:
        yield Gap(previous.last, block, None, previous)


def reindented(lines: list[str], old: str, new: str) -> list[str]:
    """Return the lines of a statement with the indentation `new` instead of `old`."""
    return [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines]
