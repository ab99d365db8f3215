"""The learner's definition as statements that know their lines: what edits of its text are made with."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from grader.judging.parsing import parsed


@dataclass(frozen=True, eq=False)
class Block:
    """Statements of one indentation: the body of a function, of a loop, of an `else`."""

    owner: ast.AST
    loops: int
    """How many loops it stands in."""
    indent: str
    statements: list["Statement"] = field(default_factory=list)
    method: str = ""
    """Of a class: in which of its methods it stands."""


@dataclass(frozen=True, eq=False)
class Statement:
    """One statement and where it stands."""

    node: ast.stmt
    first: int
    """Its first line (from 1), decorators included."""
    last: int
    block: Block
    position: int
    """Its index in the block."""
    alone: bool
    """Whether its lines hold nothing else: no `;`, no `if x: y`, and it is no `elif`."""

    @property
    def next(self) -> "Statement | None":
        """The statement after it in its block."""
        after = self.position + 1
        return self.block.statements[after] if after < len(self.block.statements) else None

    @property
    def previous(self) -> "Statement | None":
        """The statement before it in its block."""
        return self.block.statements[self.position - 1] if self.position else None


@dataclass(frozen=True)
class Place:
    """A place in which a statement can stand."""

    at: int
    """How many lines of the text stand before it."""
    block: Block
    before: Statement | None
    """The statement that would follow in the block."""
    after: Statement | None
    """The statement that would come before it in the block."""


class Definition:
    """The last top-level definition of a name in a text."""

    def __init__(self, text: str, name: str) -> None:
        """Find it.

        Raises:
            LookupError: the text is no program, or does not define the name.
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
        inside = loops + isinstance(owner, ast.For | ast.While)
        for name in ("body", "handlers", "orelse", "finalbody"):
            children = getattr(owner, name, [])
            if name == "handlers":
                for handler in children:
                    self._collect(handler, loops, method)
            elif isinstance(children, list) and children:
                self._collect_block(owner, children, inside if name == "body" else loops, method)

    def _collect_block(self, owner: ast.AST, children: list[ast.stmt], loops: int, method: str) -> None:
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
        head = self.lines[child.lineno - 1].encode()[: child.col_offset].decode()
        others = [s for s in siblings if s is not child]
        ends = child.end_lineno or child.lineno
        shares = any(s.lineno <= ends and (s.end_lineno or 0) >= child.lineno for s in others)
        elif_ = isinstance(child, ast.If) and self.lines[child.lineno - 1].lstrip().startswith("elif")
        return not (head.strip() or shares or elif_)

    @cached_property
    def places(self) -> list[Place]:
        """Every place in which a statement can stand."""
        return [place for block in self.blocks for place in places_in(block)]

    @cached_property
    def returned(self) -> set[str]:
        """Names that what is returned is made of, one step back."""
        returns = [n for n in ast.walk(self.node) if isinstance(n, ast.Return) and n.value]
        return {n.id for r in returns for n in ast.walk(r) if isinstance(n, ast.Name)}

    @cached_property
    def read(self) -> set[str]:
        """Variables that are read somewhere."""
        return {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}

    @cached_property
    def made(self) -> set[str]:
        """Variables that get a value somewhere."""
        return {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}

    @cached_property
    def assigned_once(self) -> dict[str, ast.Assign]:
        """The assignment of each variable that gets its value by `name = …`, and only there."""
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
        """Its lines."""
        return self.lines[statement.first - 1 : statement.last]

    def spliced(self, node: ast.expr | ast.stmt, text: str) -> tuple[int, int, list[str]]:
        """The lines that change (first before, last) and what they become with `text` in the node's place."""
        first, last = node.lineno, node.end_lineno or node.lineno
        head = self.lines[first - 1].encode()[: node.col_offset].decode()
        tail = self.lines[last - 1].encode()[node.end_col_offset or 0 :].decode()
        return first - 1, last, (head + text + tail).split("\n")


def places_in(block: Block) -> Iterator[Place]:
    """The places of one block; none where its statements share their lines."""
    if not all(s.alone for s in block.statements):
        return
    previous: Statement | None = None
    for statement in block.statements:
        yield Place(previous.last if previous else statement.first - 1, block, statement, previous)
        previous = statement
    if previous is not None:
        yield Place(previous.last, block, None, previous)


def header(node: ast.stmt) -> list[ast.AST]:
    """What a statement says itself, without the statements inside it."""
    inside = ("body", "orelse", "finalbody", "handlers", "decorator_list")
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name not in inside:
            found += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]
    return found


def is_compound(node: ast.stmt) -> bool:
    """Whether it has statements of its own."""
    return isinstance(getattr(node, "body", None), list)


def reindented(lines: list[str], old: str, new: str) -> list[str]:
    """The lines of a statement at another indentation."""
    return [new + line[len(old) :] if line.startswith(old) and line.strip() else line for line in lines]


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
