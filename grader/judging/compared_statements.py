"""A definition read as statements with the words of each: what lines of two programs are compared by."""

import ast
import io
import tokenize
from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from grader.judging.inlined_helpers import head, inlined
from grader.judging.parsing import parsed
from grader.judging.variable_roles import Definition, renamed

Words = Counter[str]


@dataclass(frozen=True)
class Statement:
    """A statement without its body."""

    node: ast.stmt
    """In the program's own names."""
    words: Words
    blocks: str
    """The blocks that it stands in."""
    text: str
    """In the solution's names."""
    kind: str
    lines: tuple[tuple[int, Words], ...]
    """Each of its lines and the words on it, where it goes over several."""
    method: str = ""
    """Of a class: in which of its methods it stands."""

    @property
    def line(self) -> int:
        """Its first line."""
        return self.node.lineno

    @property
    def binds(self) -> set[str]:
        """Names that it gives a value or puts something into (`x = `, `x += `, `x.append()`), if it is simple."""
        return _bound(self.node)

    @property
    def hands_on(self) -> set[str]:
        """Of a `return`: names whose values it returns as they are; none where it computes something."""
        return _handed_on(self.node)

    def blocks_but(self, others: Set[str]) -> str:
        """The blocks that it stands in, without these."""
        return " ".join(block for block in self.blocks.split(" ") if block not in others)

    @property
    def returns(self) -> bool:
        """Whether it is a `return`."""
        return self.kind == "Return"

    @property
    def refuses(self) -> bool:
        """Whether it raises."""
        return self.kind in ("Raise", "Assert")


def definition_of(text: str, name: str | None) -> Definition | None:
    """The (last) definition of `name`, of anything for None, its helpers written into it; None where there is none."""
    tree = parsed(text)
    if tree is None:
        return None
    found = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and name in (None, node.name)
    ]
    if not found:
        return None
    return inlined(found[-1], tree) if isinstance(found[-1], ast.FunctionDef) else found[-1]


def statements_of(
    definition: Definition, names: dict[str, str], written: Sequence[str] = ()
) -> list[Statement]:
    """Its statements in order, without docstrings, in other names; `written`: the lines of the program's text."""
    found: list[Statement] = []

    def visit(body: Sequence[ast.stmt], blocks: tuple[str, ...], method: str) -> None:
        for node in body:
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue
            if isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and node.test.value is True:
                visit(node.body, blocks, method)  # stands where a `with` stood, lest the lines below move
                continue
            kind = type(node).__name__
            text = " ".join(ast.unparse(renamed(part, names)) for part in head(node))
            words = _words(text) + Words([f"<{kind}>", *(f"in {block}" for block in blocks)])
            lines = _lines(node, written)
            found.append(Statement(node, words, " ".join(blocks), f"{kind} {text}", kind, lines, method))
            opens = isinstance(definition, ast.ClassDef) and isinstance(node, ast.FunctionDef) and not blocks
            for block, inner in _blocks(node):
                visit(inner, (*blocks, block), getattr(node, "name", "") if opens else method)

    visit(definition.body, (), "")
    return found


def is_written(statement: Statement, line: str) -> bool:
    """Whether a statement is written so in the solution; a block by its first line.

    Raises:
        SyntaxError: the line is no code.
    """
    text = line.strip()
    node = ast.parse(f"{text} pass" if text.endswith(":") else text).body[0]
    written = " ".join(ast.unparse(part) for part in head(node))
    return statement.text == f"{type(node).__name__} {written}"


def _blocks(node: ast.stmt) -> list[tuple[str, list[ast.stmt]]]:
    """The statements in a statement, block by block."""
    found = [(key, getattr(node, key, [])) for key in ("body", "orelse", "finalbody")]
    found += [("except", handler.body) for handler in getattr(node, "handlers", [])]
    return [(type(node).__name__ if key == "body" else key, inner) for key, inner in found if inner]


def _bound(node: ast.stmt) -> set[str]:
    """Names that a simple statement gives a value or puts something into."""
    if _blocks(node):
        return set()
    found = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    targets = [*getattr(node, "targets", []), getattr(node, "target", None)]
    targets += [n.func for n in ast.walk(node) if isinstance(node, ast.Expr) and isinstance(n, ast.Call)]
    return found | {name for target in targets if (name := _owner(target)) is not None}


def _owner(target: ast.AST | None) -> str | None:
    """`x` of `x[0]`, `x.y`, `x.append`."""
    while isinstance(target, ast.Subscript | ast.Attribute):
        target = target.value
    return target.id if isinstance(target, ast.Name) else None


def _handed_on(node: ast.stmt) -> set[str]:
    """Names in a `return` that is made of names alone, in a tuple or a dict at most."""
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
    last = node.end_lineno or node.lineno
    if _blocks(node) or last == node.lineno:
        return ()
    return tuple(
        (line, _words(written[line - 1])) for line in range(node.lineno, min(last, len(written)) + 1)
    )


def _words(text: str) -> Words:
    """Names, numbers, operators and short strings; no punctuation that every line has."""
    words = Words()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            operator = token.type == tokenize.OP and token.string not in "()[]{},:.="
            if operator or token.type in (tokenize.NAME, tokenize.NUMBER) or _is_key(token):
                words[token.string] += 1
    except (tokenize.TokenError, SyntaxError):  # a piece of a statement
        pass
    return words


def _is_key(token: tokenize.TokenInfo) -> bool:
    """A string that names something, `"scheduler"`; a message for people is each one's own."""
    return token.type == tokenize.STRING and token.string.isascii() and " " not in token.string
