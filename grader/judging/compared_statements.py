"""Read a definition as a list of statements with the words of each, to compare the lines of two programs.

Helpers are written into the function that calls them, compound statements lose their bodies (these follow as
statements of their own), and names can be replaced, so that two programs differ only in what they do.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from grader.judging.inlined_helpers import inlined
from grader.judging.variable_roles import renamed
from grader.submission.syntax import (
    Definition,
    assignments_of_names,
    blocks,
    definitions,
    head,
    is_constant,
    last_line,
)

Words = Counter[str]
"""Words of a statement, with the number of times each occurs."""


@dataclass(frozen=True)
class Statement:
    """A statement without its body."""

    node: ast.stmt
    """The statement in the names of its own program."""
    words: Words
    """Its words after renaming, with its kind (`<If>`) and the blocks around it (`in For`)."""
    blocks: str
    """Kinds of the blocks around it, from the outside, separated by spaces: `For If`, `orelse`."""
    text: str
    """Its kind and its first line as `ast.unparse` writes it, after renaming."""
    kind: str
    """Name of its `ast` class."""
    lines: tuple[tuple[int, Words], ...]
    """For a simple statement of several lines: each line number and its words, not renamed. Else empty."""
    method: str = ""
    """In a class: name of the method around it; empty otherwise."""

    @property
    def line(self) -> int:
        """Number of its first line, from 1."""
        return self.node.lineno

    @property
    def binds(self) -> set[str]:
        """Names that a simple statement assigns or puts something into: `x = …`, `x += …`, `x.append(…)`."""
        return _bound(self.node)

    @property
    def passes_on(self) -> set[str]:
        """For a `return` that computes nothing: the names whose values it returns. Else empty."""
        return _passed_on(self.node)

    def blocks_without(self, others: Set[str]) -> str:
        """Return `blocks` without the given kinds."""
        return " ".join(block for block in self.blocks.split(" ") if block not in others)

    @property
    def returns(self) -> bool:
        """True for a `return`."""
        return self.kind == "Return"

    @property
    def refuses(self) -> bool:
        """True for a `raise` or an `assert`."""
        return self.kind in ("Raise", "Assert")


def inlined_definition(text: str, name: str | None) -> Definition | None:
    """Return the last top-level definition of `name` (of any name if None), with its helpers inlined.

    None if the text does not parse or has no such definition.
    """
    program = definitions(text)
    last = next(reversed(program), None) if name is None else name
    found = program.get(last) if last is not None else None
    return inlined(found, program) if isinstance(found, ast.FunctionDef) else found


def statements_of(
    definition: Definition, names: dict[str, str], written: Sequence[str] = ()
) -> list[Statement]:
    """Return the statements of a definition in order, without docstrings.

    Args:
        definition: the function or class.
        names: replacements for names, by the name in the definition.
        written: the lines of the program's text, to tell apart the lines of a long statement; empty if not needed.
    """
    found: list[Statement] = []

    def visit(body: Sequence[ast.stmt], around: tuple[str, ...], method: str) -> None:
        for node in body:
            if is_constant(node):
                continue
            if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and node.test.value is True:
                visit(node.body, around, method)  # `if True:` is how a mistake removes a `with`
                continue
            kind = type(node).__name__
            text = " ".join(ast.unparse(renamed(part, names)) for part in head(node))
            words = _words(text) + Words([f"<{kind}>", *(f"in {block}" for block in around)])
            lines = _lines(node, written)
            found.append(Statement(node, words, " ".join(around), f"{kind} {text}", kind, lines, method))
            opens = isinstance(definition, ast.ClassDef) and isinstance(node, ast.FunctionDef) and not around
            for block, inner in _blocks(node):
                visit(inner, (*around, block), getattr(node, "name", "") if opens else method)

    visit(definition.body, (), "")
    return found


def is_written(statement: Statement, line: str) -> bool:
    """Return True if the statement is the given line of code; a compound statement is compared by its first line.

    Raises:
        SyntaxError: the line is not a statement.
    """
    text = line.strip()
    node = ast.parse(f"{text} pass" if text.endswith(":") else text).body[0]
    written = " ".join(ast.unparse(part) for part in head(node))
    return statement.text == f"{type(node).__name__} {written}"


def _blocks(node: ast.stmt) -> list[tuple[str, list[ast.stmt]]]:
    """Return the statement's non-empty blocks with their kinds: `For`, `orelse`, `finalbody`, `except`."""
    found = []
    for owner, field, inner in blocks(node):
        kind = "except" if isinstance(owner, ast.ExceptHandler) else type(node).__name__
        found.append((kind if field == "body" else field, inner))
    return found


def _bound(node: ast.stmt) -> set[str]:
    """Return the names that a simple statement assigns or puts something into; empty for a compound one."""
    if _blocks(node):
        return set()
    found = {*assignments_of_names(node)}
    targets = [*getattr(node, "targets", []), getattr(node, "target", None)]
    targets += [n.func for n in ast.walk(node) if isinstance(node, ast.Expr) and isinstance(n, ast.Call)]
    return found | {name for target in targets if (name := _owner(target)) is not None}


def _owner(target: ast.AST | None) -> str | None:
    """Return `x` for `x[0]`, `x.y` and `x.append`; None if no name is at the bottom."""
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _passed_on(node: ast.stmt) -> set[str]:
    """Return the names in a `return` that consists of names, tuples, dicts and `dict(…)` alone; else none."""
    if not isinstance(node, ast.Return) or node.value is None:
        return set()
    inner = list(ast.walk(node.value))
    plain = (ast.Name, ast.Tuple, ast.Dict, ast.Constant, ast.expr_context, ast.keyword)
    made = [n for n in inner if isinstance(n, ast.Call)]
    as_dict = len(made) == 1 and isinstance(made[0].func, ast.Name) and made[0].func.id == "dict"
    if not all(isinstance(n, plain) or (as_dict and n in made) for n in inner):
        return set()
    return {n.id for n in inner if isinstance(n, ast.Name)} - {"dict"}


def _lines(node: ast.stmt, written: Sequence[str]) -> tuple[tuple[int, Words], ...]:
    last = last_line(node)
    if _blocks(node) or last == node.lineno:
        return ()
    return tuple(
        (line, _words(written[line - 1])) for line in range(node.lineno, min(last, len(written)) + 1)
    )


def _words(text: str) -> Words:
    """Return names, numbers, operators and short strings, without brackets, commas and `=`, which every line has."""
    words = Words()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            operator = token.type == tokenize.OP and token.string not in "()[]{},:.="
            if operator or token.type in (tokenize.NAME, tokenize.NUMBER) or _is_identifier_string(token):
                words[token.string] += 1
    except (tokenize.TokenError, SyntaxError):  # one line of a longer statement need not be complete
        pass
    return words


def _is_identifier_string(token: tokenize.TokenInfo) -> bool:
    """Return True for an ASCII string without spaces, such as `"scheduler"`; messages for people vary freely."""
    return token.type == tokenize.STRING and token.string.isascii() and " " not in token.string
