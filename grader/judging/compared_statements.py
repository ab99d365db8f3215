"""Read a definition as a list of statements with the words of each, to compare the lines of two programs.

To make programs comparable that do the same in different forms, helpers are inlined (`inlined_helpers`), the bodies of
compound statements are taken out and follow as statements of their own, and variables can be renamed.

Example: the words of `total += loss.item() * len(xb)` in a `for` are `total`, `+=`, `loss`, `item`, `*`, `len`, `xb`,
`<AugAssign>` and `in For`.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from grader.judging.inlined_helpers import inline_helpers, inline_methods
from grader.judging.variable_roles import rename_variables
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
"""Words of one or more statements, with the number of times each occurs."""
MAX_STATEMENTS = 200
"""Maximum number of statements of a definition that is compared; the time grows with their square."""


@dataclass(frozen=True)
class Statement:
    """A statement without its body, to be compared by its words."""

    node: ast.stmt
    """The statement before renaming."""
    words: Words
    """Its words after renaming, its kind (as `<If>`), and the blocks around it (as `in For`)."""
    blocks: str
    """Kinds of the blocks around it, outermost first, separated by spaces: `For If`, `orelse`."""
    text: str
    """Its kind and what `head` returns of it, as `ast.unparse` writes it after renaming."""
    kind: str
    """Name of its `ast` class: `Assign`, `If`."""
    words_by_line: tuple[tuple[int, Words], ...]
    """For a simple statement of several lines: the number and the words of each line, not renamed. Else empty."""
    method: str = ""
    """Name of the method around it; empty outside of methods and in functions."""

    @property
    def line(self) -> int:
        """Number of its first line, counted from 1."""
        return self.node.lineno

    @property
    def names_changed(self) -> set[str]:
        """Names that a simple statement assigns or changes by a method: `x = …`, `x += …`, `x.append(…)`."""
        return _names_changed(self.node)

    @property
    def names_passed_on(self) -> set[str]:
        """For a `return` that computes nothing: the names whose values it returns. Else empty."""
        return _names_passed_on(self.node)

    @property
    def is_return(self) -> bool:
        """True for a `return`."""
        return self.kind == "Return"

    @property
    def is_initialisation(self) -> bool:
        """True for an assignment of constants and empty containers: `total, losses = 0.0, []`."""
        value = self.node.value if isinstance(self.node, ast.Assign) else None
        parts = value.elts if isinstance(value, ast.Tuple) else [value]
        return all(
            isinstance(part, ast.Constant)
            or (isinstance(part, ast.List) and not part.elts)
            or (isinstance(part, ast.Dict) and not part.keys)
            for part in parts
        )

    @property
    def is_guard(self) -> bool:
        """True for a `raise` or an `assert`."""
        return self.kind in ("Raise", "Assert")

    def blocks_without(self, kinds: Set[str]) -> str:
        """Return `blocks` without the given kinds."""
        return " ".join(block for block in self.blocks.split(" ") if block not in kinds)


def inlined_definition(text: str, name: str | None, asked_for: Set[str] | None = None) -> Definition | None:
    """Return the last top-level definition of `name` (of any name if None), with its helpers inlined.

    None if the text does not parse or has no such definition.

    Args:
        text: source of the program.
        name: name of the function or class.
        asked_for: names of a class's methods that are no helpers; None if no method is one.
    """
    top_level = definitions(text)
    if name is None:
        name = next(reversed(top_level), None)
    found = top_level.get(name) if name is not None else None
    if isinstance(found, ast.ClassDef):
        return found if asked_for is None else inline_methods(found, top_level, asked_for)
    return inline_helpers(found, top_level) if found is not None else None


def number_of_statements(definition: Definition) -> int:
    """Return the number of statements in a definition, those inside others and the definition itself included."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(definition))


def statements_of(
    definition: Definition, new_names: dict[str, str], source_lines: Sequence[str] = ()
) -> list[Statement]:
    """Return the statements of a definition in the order of the text, without docstrings.

    Args:
        definition: the function or class.
        new_names: new names of variables, by their names in the definition.
        source_lines: lines of the program's text, for `words_by_line`; empty if that is not needed.
    """
    found: list[Statement] = []

    def visit(body: Sequence[ast.stmt], around: tuple[str, ...], method: str) -> None:
        for node in body:
            if is_constant(node):
                continue
            if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and node.test.value is True:
                visit(node.body, around, method)  # `if True:` is how a mistake removes a `with`
                continue
            same = _as_augmented(node)
            kind = type(same).__name__
            text = " ".join(ast.unparse(rename_variables(part, new_names)) for part in head(same))
            words = words_of(text) + Words([f"<{kind}>", *(f"in {block}" for block in around)])
            by_line = _words_by_line(node, source_lines)
            found.append(Statement(node, words, " ".join(around), f"{kind} {text}", kind, by_line, method))
            is_method = (
                isinstance(definition, ast.ClassDef) and isinstance(node, ast.FunctionDef) and not around
            )
            for block, inner in _blocks(node):
                visit(inner, (*around, block), getattr(node, "name", "") if is_method else method)

    visit(definition.body, (), "")
    return found


def is_written_as(statement: Statement, line: str) -> bool:
    """Return True if the statement is the given line of code; only the first line of a compound statement counts.

    Raises:
        SyntaxError: the line is not a statement.
    """
    code = line.strip()
    node = ast.parse(f"{code} pass" if code.endswith(":") else code).body[0]
    text = " ".join(ast.unparse(part) for part in head(node))
    return statement.text == f"{type(node).__name__} {text}"


def _as_augmented(node: ast.stmt) -> ast.stmt:
    """Return `x += 1` for `x = x + 1`, and any other statement unchanged.

    Only a number may be added: of tensors, `x = x + y` makes a new one.
    """
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name) as target],
            value=ast.BinOp(left=ast.Name(id=left), right=ast.Constant()) as value,
        ) if name == left:
            return ast.copy_location(ast.AugAssign(target, value.op, value.right), node)
    return node


def _blocks(node: ast.stmt) -> list[tuple[str, list[ast.stmt]]]:
    """Return the statement's non-empty blocks with their kinds: `For`, `orelse`, `finalbody`, `except`."""
    found = []
    for owner, field, inner in blocks(node):
        kind = "except" if isinstance(owner, ast.ExceptHandler) else type(node).__name__
        found.append((kind if field == "body" else field, inner))
    return found


def _names_changed(node: ast.stmt) -> set[str]:
    """Return the names that a simple statement assigns or changes by a method; empty for a compound one."""
    if _blocks(node):
        return set()
    targets = [*getattr(node, "targets", []), getattr(node, "target", None)]
    if isinstance(node, ast.Expr):
        targets += [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    changed = {name for target in targets if (name := _variable_under(target)) is not None}
    return changed.union(assignments_of_names(node))


def _variable_under(target: ast.AST | None) -> str | None:
    """Return `x` for `x`, `x[0]`, `x.y` and `x.append`; None if there is no variable under it, as in `f().y`."""
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _names_passed_on(node: ast.stmt) -> set[str]:
    """Return the names in a `return` that consists of names, tuples, dicts and `dict(…)` alone; else none."""
    if not isinstance(node, ast.Return) or node.value is None:
        return set()
    parts = list(ast.walk(node.value))
    plain = (ast.Name, ast.Tuple, ast.Dict, ast.Constant, ast.expr_context, ast.keyword)
    calls = [part for part in parts if isinstance(part, ast.Call)]
    only_dict = len(calls) == 1 and isinstance(calls[0].func, ast.Name) and calls[0].func.id == "dict"
    if not all(isinstance(part, plain) or (only_dict and part in calls) for part in parts):
        return set()
    return {part.id for part in parts if isinstance(part, ast.Name)} - {"dict"}


def _words_by_line(node: ast.stmt, source_lines: Sequence[str]) -> tuple[tuple[int, Words], ...]:
    """Return the field `Statement.words_by_line`."""
    last = last_line(node)
    if _blocks(node) or last == node.lineno:
        return ()
    numbers = range(node.lineno, min(last, len(source_lines)) + 1)
    return tuple((number, words_of(source_lines[number - 1])) for number in numbers)


def words_of(text: str) -> Words:
    """Return names, numbers, operators and short strings, without brackets, commas and `=`, which every line has."""
    words = Words()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_operator = token.type == tokenize.OP and token.string not in "()[]{},:.="
            if is_operator or token.type in (tokenize.NAME, tokenize.NUMBER) or _is_identifier_string(token):
                words[token.string] += 1
    except (tokenize.TokenError, SyntaxError):
        pass  # one line of a longer statement need not be complete: what was read before its end counts
    return words


def _is_identifier_string(token: tokenize.TokenInfo) -> bool:
    """Return True for an ASCII string without spaces, such as `"scheduler"`.

    Other strings are messages for people, which everyone words differently.
    """
    return token.type == tokenize.STRING and token.string.isascii() and " " not in token.string
