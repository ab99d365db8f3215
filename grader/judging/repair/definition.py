"""Read a learner's definition as statements that know their lines, blocks and neighbours, to edit its text."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from grader.judging.parsing import parsed


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
class Place:
    """A place where a statement can be inserted."""

    at: int
    """Number of lines of the text before it."""
    block: Block
    before: Statement | None
    """The statement that would follow in the block; None at the block's end."""
    after: Statement | None
    """The statement that would precede in the block; None at the block's start."""


class Definition:
    """The last top-level definition of a name in a text, with its statements in the order of the text."""

    def __init__(self, text: str, name: str) -> None:
        """Read the definition.

        Raises:
            LookupError: the text does not parse, or does not define the name.
        """
        self.lines = text.split("\n")  # as Python counts: splitlines() also breaks at form feeds
        tree = parsed(text)
        if tree is None:
            raise LookupError(name)
        kinds = (ast.FunctionDef, ast.ClassDef)
        found = [n for n in tree.body if isinstance(n, kinds) and n.name == name]
        if not found:
            raise LookupError(name)
        self.node = found[-1]
        self.first = min([self.node.lineno, *(d.lineno for d in self.node.decorator_list)])
        self.last = self.node.end_lineno or self.node.lineno
        self.blocks: list[Block] = []
        self.statements: list[Statement] = []
        self._collect(self.node, 0, "")
        self.statements.sort(key=lambda s: (s.node.lineno, s.node.col_offset))

    def _collect(self, owner: ast.AST, loops: int, method: str) -> None:
        """Collect the blocks of a node, and those inside them."""
        inside = loops + isinstance(owner, ast.For | ast.While)
        for name in ("body", "handlers", "orelse", "finalbody"):
            children = getattr(owner, name, [])
            if name == "handlers":
                for handler in children:
                    self._collect(handler, loops, method)
            elif isinstance(children, list) and children:
                self._collect_block(owner, children, inside if name == "body" else loops, method)

    def _collect_block(self, owner: ast.AST, children: list[ast.stmt], loops: int, method: str) -> None:
        """Collect one block without its docstring, and the blocks inside it."""
        if isinstance(owner, ast.FunctionDef | ast.ClassDef) and _is_docstring(children[0]):
            children = children[1:]
        if not children:
            return
        indent = self.lines[children[0].lineno - 1][: children[0].col_offset]
        block = Block(owner, loops, indent if not indent.strip() else "", method=method)
        self.blocks.append(block)
        for position, child in enumerate(children):
            decorators = getattr(child, "decorator_list", [])
            first = min([child.lineno, *(d.lineno for d in decorators)])
            last = child.end_lineno or child.lineno
            statement = Statement(child, first, last, block, position, self._alone(child, children))
            block.statements.append(statement)
            self.statements.append(statement)
            opens = method == "" and isinstance(owner, ast.ClassDef)
            self._collect(child, loops, getattr(child, "name", "") if opens else method)

    def _alone(self, child: ast.stmt, siblings: list[ast.stmt]) -> bool:
        """Return True if no other statement shares its lines and it is no `elif`."""
        head = self.lines[child.lineno - 1].encode()[: child.col_offset].decode()
        others = [s for s in siblings if s is not child]
        ends = child.end_lineno or child.lineno
        shares = any(s.lineno <= ends and (s.end_lineno or 0) >= child.lineno for s in others)
        elif_ = isinstance(child, ast.If) and self.lines[child.lineno - 1].lstrip().startswith("elif")
        return not (head.strip() or shares or elif_)

    @cached_property
    def places(self) -> list[Place]:
        """Every place where a statement can be inserted."""
        return [place for block in self.blocks for place in places_in(block)]

    @cached_property
    def returned(self) -> set[str]:
        """Names that occur in the expressions of its `return` statements."""
        returns = [n for n in ast.walk(self.node) if isinstance(n, ast.Return) and n.value]
        return {n.id for r in returns for n in ast.walk(r) if isinstance(n, ast.Name)}

    @cached_property
    def read(self) -> set[str]:
        """Names that are read somewhere."""
        return {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}

    @cached_property
    def made(self) -> set[str]:
        """Variables that are assigned somewhere."""
        return {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    @cached_property
    def assigned_once(self) -> dict[str, ast.Assign]:
        """The assignment of each variable that is set by one `name = …` and nowhere else."""
        stores = [
            n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        ]
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
        first, last = node.lineno, node.end_lineno or node.lineno
        head = self.lines[first - 1].encode()[: node.col_offset].decode()
        tail = self.lines[last - 1].encode()[node.end_col_offset or 0 :].decode()
        return first - 1, last, (head + text + tail).split("\n")


def places_in(block: Block) -> Iterator[Place]:
    """Yield the places of one block; none if its statements share lines."""
    if not all(s.alone for s in block.statements):
        return
    previous: Statement | None = None
    for statement in block.statements:
        yield Place(previous.last if previous else statement.first - 1, block, statement, previous)
        previous = statement
    if previous is not None:
        yield Place(previous.last, block, None, previous)


def header(node: ast.stmt) -> list[ast.AST]:
    """Return the parts of a statement without the statements and decorators of its own."""
    inside = ("body", "orelse", "finalbody", "handlers", "decorator_list")
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name not in inside:
            found += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]
    return found


def is_compound(node: ast.stmt) -> bool:
    """Return True if the statement has a body of statements."""
    return isinstance(getattr(node, "body", None), list)


def reindented(lines: list[str], old: str, new: str) -> list[str]:
    """Return the lines of a statement with the indentation `new` instead of `old`."""
    return [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines]


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
