"""Read a definition as a list of statements with the words of each, to compare the lines of two programs.

Two programs may do the same in different forms. So that their lines can be compared all the same, helpers are inlined
(`inlined_helpers`), the statements in the body of an `if` or `for` follow it in the same list, and variables can be
renamed. Another form of statement that counts as the same is read in `_as_augmented`, and tested in
`tests/judging/test_text_location.py`.

Example: the words of `total += loss.item() * len(xb)` in a `for` are `total`, `+=`, `loss`, `item`, `*`, `len`, `xb`,
`<AugAssign>` and `in For`.
"""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from grader.judging.inlined_helpers import inline_helpers, inline_methods
from grader.judging.variables import rename_variables
from grader.submission.syntax import (
    Definition,
    assignments_of_names,
    blocks,
    definitions,
    head,
    is_compound,
    is_constant,
    last_line,
)

Words = Counter[str]
"""Words of one or more statements -> how often each occurs."""
MAX_STATEMENTS = 200
"""Maximum number of statements of a definition that is compared, because the time grows with their square. The longest
solution has 60."""
_CONTROL_FLOW = frozenset({"Return", "Break", "Continue", "Raise", "Assert", "Pass"})
"""Kinds of statements that change no value: what is wrong with one in a block is the condition above it."""
_COMMON_OPERATORS = frozenset("()[]{},:.=")
"""Operators that do not count as words, because almost every line has them."""


@dataclass(frozen=True)
class ComparedStatement:
    """A statement without its body, to be compared by its words."""

    node: ast.stmt
    """The statement before variables are renamed."""
    words: Words
    """Words of its code after renaming (`words_of`), its kind (as `<If>`), each kind of block around it (`in For`)."""
    outer_blocks: str
    """Kinds of the blocks around it, outermost first, separated by spaces: `For If`, `orelse`. Empty at the top."""
    text: str
    """Its kind and its code after renaming: `Return return total`. A compound one has only what `head` returns of it:
    `If max_norm is not None`."""
    kind: str
    """Name of its `ast` class: `Assign`, `If`; `AugAssign` for `x = x + 1`, too (`_as_augmented`)."""
    words_by_line: tuple[tuple[int, Words], ...]
    """For a simple statement of several lines: the number and the words of each line, not renamed. Else empty, and if
    the program's lines were not given."""
    method: str = ""
    """Name of the method around it; empty outside of methods and in functions."""

    @property
    def line(self) -> int:
        """Number of its first line, counted from 1."""
        return self.node.lineno

    @property
    def line_before_next(self) -> int:
        """Number of the line behind which something is missing that belongs after it: for a simple statement its last
        line; for one with a body the first, behind which the body begins."""
        return self.node.lineno if is_compound(self.node) else self.node.end_lineno or self.node.lineno

    @property
    def names_changed(self) -> set[str]:
        """Names that it assigns, or with which a call in a bare expression begins: `x` in `x = …`, `x[0] += …`,
        `x.append(…)` and `x(…)`. Empty if it has a body."""
        return _names_changed(self.node)

    @property
    def names_passed_on(self) -> set[str]:
        """For a `return` that computes nothing, such as `return {"losses": losses}`: the names in it. Else empty.

        It computes nothing if it consists of names, constants, tuples, dicts and at most one `dict(…)`.
        """
        return _names_passed_on(self.node)

    @property
    def is_return(self) -> bool:
        """True for a `return`."""
        return self.kind == "Return"

    @property
    def is_initialisation(self) -> bool:
        """True for an assignment of constants, `[]` and `{}`: `total, losses = 0.0, []`."""
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
        """True for a `raise` or an `assert`, which usually checks arguments."""
        return self.kind in ("Raise", "Assert")

    @property
    def changes_something(self) -> bool:
        """False for a statement with a body, and for one of `_CONTROL_FLOW`."""
        return not is_compound(self.node) and self.kind not in _CONTROL_FLOW

    def outer_blocks_without(self, kinds: Set[str]) -> str:
        """Return `outer_blocks` without the given kinds."""
        return " ".join(kind for kind in self.outer_blocks.split(" ") if kind not in kinds)


def inlined_definition(text: str, name: str | None, asked_for: Set[str] | None = None) -> Definition | None:
    """Return the last top-level definition of a name in a program, with its helpers inlined.

    None if the text does not parse or has no such definition.

    Args:
        text: text of the whole program.
        name: name of the function or class; None for the last definition of any name.
        asked_for: names of a class's methods that are no helpers; None: a class is returned as it is.
    """
    top_level = definitions(text)
    if name is None:
        name = next(reversed(top_level), None)
    found = top_level.get(name) if name is not None else None
    if isinstance(found, ast.ClassDef):
        return found if asked_for is None else inline_methods(found, top_level, asked_for)
    return inline_helpers(found, top_level) if found is not None else None


def number_of_statements(definition: Definition) -> int:
    """Return the number of statements in a definition, including nested ones and the definition itself."""
    return sum(isinstance(node, ast.stmt) for node in ast.walk(definition))


def statements_of(
    definition: Definition, new_names: dict[str, str], source_lines: Sequence[str] = ()
) -> list[ComparedStatement]:
    """Return the statements inside a definition in the order of the text, nested ones included.

    Constants such as docstrings are left out, and of an `if True:` its first line.

    Args:
        definition: the function or class.
        new_names: new names of variables, by their names in the definition.
        source_lines: lines of the program's text, for `words_by_line`; empty if that is not needed.
    """
    found: list[ComparedStatement] = []

    def visit(body: Sequence[ast.stmt], outer_blocks: tuple[str, ...], method: str) -> None:
        for node in body:
            if is_constant(node):
                continue
            if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and node.test.value is True:
                visit(node.body, outer_blocks, method)  # `if True:` is how a mistake removes a `with`
                continue
            found.append(_read_statement(node, outer_blocks, method, new_names, source_lines))
            is_method = (
                isinstance(definition, ast.ClassDef)
                and isinstance(node, ast.FunctionDef)
                and not outer_blocks
            )
            inner_method = getattr(node, "name", "") if is_method else method
            for block in _inner_blocks(node):
                visit(block.statements, (*outer_blocks, block.kind), inner_method)

    visit(definition.body, (), "")
    return found


def is_written_as(statement: ComparedStatement, line: str) -> bool:
    """Return True if the statement is the given line of code, however formatted; of a compound one, its first line.

    Raises:
        SyntaxError: the line is not one statement.
    """
    code = line.strip()
    nodes = ast.parse(f"{code} pass" if code.endswith(":") else code).body
    if len(nodes) != 1:
        raise SyntaxError(f"not one statement: {line!r}")
    return statement.text == _kind_and_code(_as_augmented(nodes[0]), {})


def words_of(text: str) -> Words:
    """Return the names, keywords, numbers, operators (but `_COMMON_OPERATORS`) and one-word strings of a text.

    The text may be part of a statement.
    """
    words = Words()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            is_operator = token.type == tokenize.OP and token.string not in _COMMON_OPERATORS
            if is_operator or token.type in (tokenize.NAME, tokenize.NUMBER) or _is_one_word_string(token):
                words[token.string] += 1
    except (tokenize.TokenError, SyntaxError):
        pass  # one line of a longer statement may break off: the words read so far count
    return words


def words_of_all(statements: Iterable[ComparedStatement]) -> Words:
    """Return the words of all the statements together."""
    return sum((statement.words for statement in statements), Words())


def changed_words(old: Iterable[ComparedStatement], new: Iterable[ComparedStatement]) -> Words:
    """Return the words that are more frequent in one of the two lists, as often as they are more frequent."""
    before, after = words_of_all(old), words_of_all(new)
    return (after - before) + (before - after)


def _is_one_word_string(token: tokenize.TokenInfo) -> bool:
    """Return True for an ASCII string without spaces, such as `"scheduler"`.

    Other strings are messages for people, which everyone words differently.
    """
    return token.type == tokenize.STRING and token.string.isascii() and " " not in token.string


def _read_statement(
    node: ast.stmt,
    outer_blocks: tuple[str, ...],
    method: str,
    new_names: dict[str, str],
    source_lines: Sequence[str],
) -> ComparedStatement:
    """Return what is compared of a statement; `outer_blocks` and `method` tell where it stands."""
    comparable = _as_augmented(node)
    text = _kind_and_code(comparable, new_names)
    kind, _, code = text.partition(" ")
    return ComparedStatement(
        node=node,
        words=words_of(code) + Words([f"<{kind}>", *(f"in {block}" for block in outer_blocks)]),
        outer_blocks=" ".join(outer_blocks),
        text=text,
        kind=kind,
        words_by_line=_words_by_line(node, source_lines),
        method=method,
    )


def _kind_and_code(node: ast.stmt, new_names: dict[str, str]) -> str:
    """Return `ComparedStatement.text` of a statement: its kind, and the code of its `head` after renaming."""
    code = " ".join(ast.unparse(rename_variables(part, new_names)) for part in head(node))
    return f"{type(node).__name__} {code}"


def _as_augmented(node: ast.stmt) -> ast.stmt:
    """Return `x += 1` for `x = x + 1`, whatever the operator and the constant; any other statement unchanged.

    Only for constants: with tensors, `x = x + y` makes a new tensor, and `x += y` changes the old one.
    """
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name) as target],
            value=ast.BinOp(left=ast.Name(id=left), right=ast.Constant()) as value,
        ) if name == left:
            return ast.copy_location(ast.AugAssign(target, value.op, value.right), node)
    return node


def _words_by_line(node: ast.stmt, source_lines: Sequence[str]) -> tuple[tuple[int, Words], ...]:
    """Return the field `ComparedStatement.words_by_line`."""
    last = last_line(node)
    if _inner_blocks(node) or last == node.lineno:
        return ()
    numbers = range(node.lineno, min(last, len(source_lines)) + 1)
    return tuple((number, words_of(source_lines[number - 1])) for number in numbers)


class _InnerBlock(NamedTuple):
    """A block of statements directly inside a statement."""

    kind: str
    """`except`, `orelse` or `finalbody`; for any other body the name of the statement's class, such as `For`."""
    statements: list[ast.stmt]


def _inner_blocks(node: ast.stmt) -> list[_InnerBlock]:
    """Return the non-empty blocks directly inside a statement; none for a `match`."""
    found = []
    for owner, field, statements in blocks(node):
        kind_of_body = "except" if isinstance(owner, ast.ExceptHandler) else type(node).__name__
        found.append(_InnerBlock(kind_of_body if field == "body" else field, statements))
    return found


def _names_changed(node: ast.stmt) -> set[str]:
    """Return the property `ComparedStatement.names_changed`."""
    if _inner_blocks(node):
        return set()
    targets = [*getattr(node, "targets", []), getattr(node, "target", None)]
    if isinstance(node, ast.Expr):
        targets += [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
    changed = {name for target in targets if (name := _variable_under(target)) is not None}
    return changed.union(assignments_of_names(node))


def _variable_under(target: ast.AST | None) -> str | None:
    """Return `x` for `x`, `x[0]`, `x.y` and `x.append`; None if it does not begin with a variable, as `f().y`."""
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _names_passed_on(node: ast.stmt) -> set[str]:
    """Return the property `ComparedStatement.names_passed_on`."""
    if not isinstance(node, ast.Return) or node.value is None:
        return set()
    parts = list(ast.walk(node.value))
    plain = (ast.Name, ast.Tuple, ast.Dict, ast.Constant, ast.expr_context, ast.keyword)
    calls = [part for part in parts if isinstance(part, ast.Call)]
    calls_only_dict = len(calls) == 1 and isinstance(calls[0].func, ast.Name) and calls[0].func.id == "dict"
    if not all(isinstance(part, plain) or (calls_only_dict and part in calls) for part in parts):
        return set()
    return {part.id for part in parts if isinstance(part, ast.Name)} - {"dict"}
