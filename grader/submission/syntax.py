"""Read the text of a program: its syntax tree, its definitions, their statements, and the names in them.

Whatever reads a learner's or the solution's program does it by these functions. Only `observe/program.py`, which goes
into the sandbox without this folder, has its own.

No student's code is handed to the compiler here: CPython 3.11's compiler overflows the stack at a comprehension of
60,000 `for` clauses (25,000 in a thread of 2 MB), and the grading process would die. `ast.parse` refuses such depth or
survives it.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from functools import lru_cache

from grader.submission.syntax_errors import tell_syntax_error

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_RUNS_CODE = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom)

SYNTAX_ERROR = "문법 오류예요: "
"""Start of the message of a ParseError for a syntax error."""
_LINE_IN_MESSAGE = re.compile(r" (?:on line \d+|\(detected at line \d+\))")

DEFINED_NAME = r"(?:(?:async[ \t]++)?def|class)[ \t]++(\w++)"
"""Regular expression for the start of a definition in text that need not parse; its group is the name."""
ASSIGNED_NAME = r"(\w++)[ \t]*+(?::[ \t]*+[\w.\[\],|]++[ \t]*+)?=(?!=)"
"""The same for the start of an assignment to one variable, annotated or not."""

Definition = ast.FunctionDef | ast.ClassDef
"""An exercise's function or class."""
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda


class ParseError(ValueError):
    """Source that does not parse; the message is Korean.

    Attributes:
        line: line to look at, from 1.
        above: number of lines to show above it.
        below: number of lines to show below it.
    """

    def __init__(self, message: str, line: int, above: int = 0, below: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.above = above
        self.below = below

    def moved(self, lines: int) -> "ParseError":
        """Return the same error in a text that has this many more lines above."""
        return ParseError(str(self), self.line + lines, self.above, self.below)


_HUGE_NUMBER = re.compile(r"0[xXoObB][0-9a-fA-F_]{3500}")
"""What may be a number that Python reads but does not write."""
_MAX_BITS = 14_000
"""Maximum size of an integer: `ast.unparse` raises ValueError from 4,300 decimal digits on."""


def parse(text: str) -> list[ast.stmt]:
    """Parse the text and return its top-level statements.

    Raises:
        ParseError: the text does not parse, or holds a number of thousands of digits; its line is between 1 and the
            number of lines.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # e.g. about "\d" in a student's string
            tree = ast.parse(text)
            if _HUGE_NUMBER.search(text):
                _refuse_huge_numbers(tree)
            return tree.body
    except ParseError:
        raise
    except SyntaxError as error:
        told = tell_syntax_error(error, text)
        # Without line numbers: they count in this text, which may be a part of the learner's.
        english = f"({type(error).__name__}: {_LINE_IN_MESSAGE.sub('', error.msg or '')})"
        raise ParseError(
            f"{SYNTAX_ERROR}{told.message} {english}", told.line, told.above, told.below
        ) from error
    except (RecursionError, MemoryError) as error:
        raise ParseError("너무 깊이 겹쳐 있어서 읽을 수 없어요.", 1) from error
    except ValueError as error:  # NUL characters, before Python 3.11.4
        raise ParseError(f"Python 코드로 읽을 수 없는 글자가 있어요({error}).", 1) from error


def _refuse_huge_numbers(tree: ast.Module) -> None:
    """Raise ParseError if the tree holds an integer that could not be written again."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int)
            and node.value.bit_length() > _MAX_BITS
        ):
            raise ParseError("자릿수가 수천인 수가 있어서 읽을 수 없어요.", node.lineno)


def parses(text: str) -> bool:
    """Return True if the text is Python that the grader can read."""
    try:
        parse(text)
    except ParseError:
        return False
    return True


# Enough for the learner's program, the solution and what is compared with them; the largest takes a second to parse.
@lru_cache(maxsize=4)
def top_level(text: str) -> tuple[ast.stmt, ...]:
    """Return the top-level statements of a program; empty if it does not parse. Cached: do not modify them."""
    try:
        return tuple(parse(text))
    except ParseError:
        return ()


# ---- definitions -----------------------------------------------------------------------------------


def definitions(text: str) -> dict[str, Definition]:
    """Return the functions and classes that a program defines at top level; of one name, the last.

    They are in the order of the text; empty if it does not parse.
    """
    found: dict[str, Definition] = {}
    for node in top_level(text):
        if isinstance(node, Definition):
            found.pop(node.name, None)  # a later definition stands where it is written
            found[node.name] = node
    return found


def definition_of(text: str, name: str) -> Definition | None:
    """Return the last top-level definition of `name`; None if there is none or the text does not parse."""
    return definitions(text).get(name)


def methods(definition: Definition) -> dict[str, ast.FunctionDef]:
    """Return the methods of a class, or the functions directly inside a function, by name."""
    return {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}


def has_empty_body(definition: Definition) -> bool:
    """Return True if a function, or every method of a class, is empty or only raises `NotImplementedError`.

    False for a class without methods: it may be a dataclass.
    """
    if isinstance(definition, ast.ClassDef):
        inside = methods(definition)
        return bool(inside) and all(map(has_empty_body, inside.values()))
    return all(
        isinstance(statement, ast.Pass)
        or is_constant(statement)
        or (isinstance(statement, ast.Raise) and "NotImplementedError" in ast.unparse(statement))
        for statement in definition.body
    )


def returns(definition: Definition) -> list[ast.Return]:
    """Return the `return` statements of a definition, those of inner functions included, in no certain order."""
    return [node for node in ast.walk(definition) if isinstance(node, ast.Return)]


# ---- statements ------------------------------------------------------------------------------------


def first_line(statement: ast.stmt) -> int:
    """Return the first line of a statement, its decorators included."""
    decorators = statement.decorator_list if isinstance(statement, DEFINITIONS) else []
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(statement: ast.stmt | ast.expr) -> int:
    """Return the last line of a statement or an expression."""
    return statement.end_lineno or statement.lineno


def is_compound(node: ast.stmt) -> bool:
    """Return True if the statement has a body of statements."""
    return isinstance(getattr(node, "body", None), list)


def blocks(node: ast.AST) -> Iterator[tuple[ast.AST, str, list[ast.stmt]]]:
    """Yield the blocks of statements directly inside a node, in the order of the text; not those of a `match`.

    Each comes with the node that it belongs to, an `except` or the node itself, and the name of its field there:
    `body`, `orelse` or `finalbody`.
    """
    for owner, field in (
        (node, "body"),
        *((handler, "body") for handler in getattr(node, "handlers", [])),
        (node, "orelse"),
        (node, "finalbody"),
    ):
        block = getattr(owner, field, None)
        if isinstance(block, list) and block:
            yield owner, field, block


def head(node: ast.stmt) -> list[ast.AST]:
    """Return what to compare of a statement: a simple one as a whole, of a compound one its first line.

    Of a `for` these are target and iterable, of a function its parameters.
    """
    match node:
        case ast.For() | ast.AsyncFor():
            return [node.target, node.iter]
        case ast.If() | ast.While():
            return [node.test]
        case ast.With() | ast.AsyncWith():
            return list(node.items)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.args]
        case ast.Try() | ast.ClassDef() | ast.Match():
            return []
    return [node]


def own_parts(node: ast.stmt) -> list[ast.AST]:
    """Return the nodes directly inside a statement, without the statements and decorators of its own.

    The cases of a `match` come with their statements, which no `blocks` yield.
    """
    inside = ("body", "orelse", "finalbody", "handlers", "decorator_list")
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(node):
        if name not in inside:
            found += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, ast.AST)]
    return found


def is_docstring(node: ast.stmt) -> bool:
    """Return True for a string that stands as a statement."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def is_constant(node: ast.stmt) -> bool:
    """Return True for a constant that stands as a statement: a docstring, `...`."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# ---- names -----------------------------------------------------------------------------------------


def names_in(node: ast.AST) -> set[str]:
    """Return all names in a tree."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def names_read(node: ast.AST) -> set[str]:
    """Return the names that are read somewhere in a tree."""
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def assignments_of_names(node: ast.AST) -> list[str]:
    """Return the name of each assignment to a variable in a tree, once for each."""
    return [n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def names_imported(node: ast.AST) -> list[str]:
    """Return the names that an import binds; `*` for those of a star import. Empty for any other node."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    return []


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
        else:
            yield from names_imported(node)


class ScopeNames:
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
        self.scopes: list[Scope] = []
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
        elif isinstance(node, DEFINITIONS):
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
