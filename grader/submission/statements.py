"""Select the statements of a file that are graded: imports, definitions and constants, but no demos.

A notebook also loads data, trains and plots. None of that may run while grading, but an exercise may need what other
cells define. So everything in a cell tagged for an exercise is kept; of all other code, imports and definitions are
kept, and assignments that run no code and read only names that are kept too. In a `.py` file, an assignment that calls
something is kept as well if an exercise needs its name. Dropped statements become blank, so that line numbers remain
right.

Example, outside tagged cells of a notebook:

    import torch                  # kept: an import
    BASE = 2                      # kept: a constant
    losses = run()                # dropped: runs code
    BEST = losses[0]              # dropped: reads a dropped name
    TWICE = BASE * 2              # kept: reads only kept names

No student's code is handed to the compiler here: CPython 3.11's compiler overflows the stack at a comprehension of
60,000 `for` clauses (25,000 in a thread of 2 MB), and the grading process would die. `ast.parse` refuses such depth or
survives it.
"""

import ast
import builtins
import re
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)
_BLOCKS = (ast.If, ast.Try, ast.TryStar)
_RUNS_CODE = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
_STAR = "*"
"""Placeholder for the unknown names that a star import binds."""


class ParseError(ValueError):
    """Source that does not parse; the message is Korean. `line` counts from 1."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Block:
    """Source that is parsed as a whole: a notebook cell or an entire `.py` file."""

    lines: tuple[str, ...]
    body: tuple[ast.stmt, ...]
    """Top-level statements; empty if the source does not parse."""
    tagged: frozenset[int]
    """Indices in `body` of the statements that stand in a cell tagged for an exercise."""

    @cached_property
    def uses(self) -> tuple["_ScopeNames", ...]:
        """The names that each statement of `body` binds and reads; cached, because there can be 100,000 statements."""
        return tuple(_ScopeNames([statement]) for statement in self.body)


def parse(text: str) -> list[ast.stmt]:
    """Parse the text and return its top-level statements.

    Raises:
        ParseError: the text does not parse; its line is between 1 and the number of lines.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # e.g. about "\d" in a student's string
            return ast.parse(text).body
    except SyntaxError as error:
        line = min(max(error.lineno or 1, 1), text.count("\n") + 1)
        raise ParseError(f"문법 오류예요({type(error).__name__}: {error.msg}).", line) from error
    except (RecursionError, MemoryError) as error:
        raise ParseError("너무 깊이 겹쳐 있어서 읽을 수 없어요.", 1) from error
    except ValueError as error:  # NUL characters, before Python 3.11.4
        raise ParseError(f"Python 코드로 읽을 수 없는 글자가 있어요({error}).", 1) from error


def select(blocks: Sequence[Block], exercises: Collection[str], *, is_module: bool) -> list[list[int]]:
    """Return, for each block, the indices of the statements that are graded.

    These are everything in tagged cells, imports, definitions, assignments to an exercise's name, and assignments that
    run no code and read only kept names, also inside `if` and `try`.

    Args:
        blocks: all source of one file, in order.
        exercises: names of all exercises of the course.
        is_module: True for a `.py` file. An assignment that calls something is then kept too if an exercise needs its
            name; in a notebook it counts as a demo and is dropped.
    """
    wanted = needed_names(blocks, exercises) if is_module else frozenset()
    known = {*dir(builtins), "__name__", "__file__", "__doc__"}
    kept: list[list[int]] = []
    for block in blocks:
        kept.append([])
        for index, (statement, uses) in enumerate(zip(block.body, block.uses, strict=True)):
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
    if isinstance(statement, _DEFINITIONS) and statement.decorator_list:
        line = statement.decorator_list[0].lineno - 1
        while line and not source[line].lstrip().startswith(b"@"):  # `@` and its expression on two lines
            line -= 1
        return line, source[line].find(b"@")
    return statement.lineno - 1, statement.col_offset


_REST_OF_LINE = re.compile(rb"[ \t\f]*+;?[ \t\f]*+(?:#.*)?")


def _end_with_comment(line: bytes, end: int) -> int:
    """Return the end of the line if only a comment follows the column `end`, else `end`."""
    return len(line) if _REST_OF_LINE.fullmatch(line, end) else end


def _is_kept(
    statement: ast.stmt, uses: "_ScopeNames", exercises: Collection[str], wanted: Set[str], known: Set[str]
) -> bool:
    """True if a statement outside tagged cells is graded.

    Args:
        statement: the statement.
        uses: the names it binds and reads.
        exercises: names of all exercises of the course.
        wanted: names that exercises need, for which an assignment may run code; empty for a notebook.
        known: built-in names, and names bound by the statements kept so far.
    """
    if isinstance(statement, (*_IMPORTS, *_DEFINITIONS)):
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
    """True for an assignment, and for an `if` or `try` that holds only assignments, imports and definitions."""
    if isinstance(statement, _ASSIGNMENTS) or type(statement).__name__ == "TypeAlias":  # Python 3.12
        return True
    if not isinstance(statement, _BLOCKS):
        return False
    pending: list[ast.stmt] = [statement]
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.If):
            if _is_main_guard(inner.test):
                return False
            pending += inner.body + inner.orelse
        elif isinstance(inner, (ast.Try, ast.TryStar)):
            pending += inner.body + inner.orelse + inner.finalbody
            pending += [s for handler in inner.handlers for s in handler.body]
        elif isinstance(inner, ast.Expr):
            if not isinstance(inner.value, ast.Constant):
                return False
        elif not isinstance(inner, (*_ASSIGNMENTS, *_IMPORTS, *_DEFINITIONS, ast.Pass)):
            return False
    return True


def _is_main_guard(test: ast.expr) -> bool:
    """True for a test that reads `__name__`, as in `if __name__ == "__main__":`."""
    return any(isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(test))


def needed_names(blocks: Sequence[Block], exercises: Iterable[str]) -> frozenset[str]:
    """Return the names that the exercises need, directly or through other names.

    Names needed only by other definitions are left out, although those definitions are kept. A definition that then
    lacks its decorator or default fails to load, but nothing else does.
    """
    binding: dict[str, list[_ScopeNames]] = {}
    for block in blocks:
        for uses in block.uses:
            for name in uses.bound:
                binding.setdefault(name, []).append(uses)
    names, reached = list(exercises), set(exercises)
    seen: set[_ScopeNames] = set()
    while names:
        for uses in binding.pop(names.pop(), ()):
            if uses not in seen:  # a statement can bind as many names as it reads
                seen.add(uses)
                new = (uses.read | _free_names(uses.scopes)) - reached
                reached |= new
                names += new
    return frozenset(reached)


def _free_names(scopes: Iterable["_Scope"]) -> set[str]:
    """Return the module-level names that functions, classes and lambdas read when they run."""
    free: set[str] = set()
    outer: Counter[str] = Counter()  # how many of the enclosing functions bind a name
    pending: list[_Scope | set[str]] = list(scopes)
    while pending:
        scope = pending.pop()
        if isinstance(scope, set):  # marks the end of a function that binds these names
            outer.subtract(scope)
            continue
        uses = _ScopeNames([scope.body] if isinstance(scope, ast.Lambda) else scope.body)
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


def arguments_of(arguments: ast.arguments) -> Iterator[ast.arg]:
    """Yield all arguments of a function or lambda, `*args` and `**kwargs` included."""
    yield from arguments.posonlyargs + arguments.args + arguments.kwonlyargs
    yield from filter(None, (arguments.vararg, arguments.kwarg))


def unrenamable_names(tree: ast.AST) -> Iterator[str]:
    """Yield the names in a tree that cannot be renamed by changing `ast.Name` nodes alone.

    They are stored as plain text in the tree (parameters, imports, functions, classes, caught exceptions), or refer to
    a variable of an outer scope (`global`, `nonlocal`).
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Global | ast.Nonlocal):
            yield from node.names
        elif isinstance(node, ast.ExceptHandler | ast.FunctionDef | ast.ClassDef):
            yield node.name or ""
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


class _ScopeNames:
    """The names that nodes bind and read in their own scope, without the bodies of inner functions and classes.

    Attributes:
        defined: bound name -> last line that binds it; imports are not included.
        imported: names bound by imports.
        read: names read.
        declared_global: names declared `global`.
        scopes: inner functions, classes and lambdas, whose bodies were not looked into.
        runs_code: whether there is a call, `await` or `yield`.
    """

    __slots__ = ("declared_global", "defined", "imported", "read", "runs_code", "scopes")

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self.defined: dict[str, int] = {}
        self.imported: set[str] = set()
        self.read: set[str] = set()
        self.declared_global: set[str] = set()
        self.scopes: list[_Scope] = []
        self.runs_code = False
        loops: set[str] = set()  # names that exist only inside a comprehension or an `except`
        pending = list(nodes)
        while pending:  # not by recursion: a sum of 900 terms is 900 nodes deep
            node = pending.pop()
            if isinstance(node, ast.comprehension):
                loops |= {n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)}
            elif isinstance(node, ast.ExceptHandler) and node.name:
                loops.add(node.name)
            self._note(node)
            pending += self._children(node)
        self.read -= loops
        for name in loops:
            self.defined.pop(name, None)

    @property
    def bound(self) -> set[str]:
        """All names bound, by imports too."""
        return self.imported | self.defined.keys()

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load):
                self.read.add(node.id)
            else:
                self._define(node.id, node.lineno)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.read.add(node.target.id)
        elif isinstance(node, _DEFINITIONS):
            self._define(node.name, node.lineno)
        elif isinstance(node, ast.alias):
            self.imported.add(node.asname or node.name.partition(".")[0])
        elif isinstance(node, ast.Global):
            self.declared_global.update(node.names)
        elif isinstance(node, _RUNS_CODE):
            self.runs_code = True

    def _define(self, name: str, line: int) -> None:
        self.defined[name] = max(line, self.defined.get(name, 0))

    def _children(self, node: ast.AST) -> Iterable[ast.AST]:
        """Return the nodes that run in the same scope; note inner functions, classes and lambdas in `scopes`."""
        if isinstance(node, ast.ClassDef):
            self.scopes.append(node)
            return [*node.decorator_list, *node.bases, *node.keywords]
        if isinstance(node, _FUNCTIONS):
            self.scopes.append(node)
            return [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]
        if isinstance(node, ast.Lambda):
            self.scopes.append(node)
            return [node.args]
        if isinstance(node, ast.AnnAssign) and node.value is None:
            return [node.annotation]
        return ast.iter_child_nodes(node)
