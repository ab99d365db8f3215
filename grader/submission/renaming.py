"""Give the functions of a file other names: those under which they are to be checked (`--as trainStep=train_step`)."""

import ast
import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from itertools import accumulate

from grader.submission.source_file import SourceFile
from grader.submission.syntax import DEFINITIONS, Scope, ScopeNames, arguments_of, parse

_KEYWORD = re.compile(rb"(?:async[\s\\]+)?(?:def|class)[\s\\]+")
"""Start of a definition, up to its name; a backslash continues the line."""
_IDENTIFIER = re.compile(rb"[^\s\\(:,;]+")
"""Name in a first line of a definition or in a `global` statement, as it is written."""


def with_names(file: SourceFile, names: Mapping[str, str]) -> SourceFile:
    """Return the file with top-level names replaced, in definitions and `ast.Name` nodes; parameters and imports keep
    theirs.

    So does everything else that has such a name in a scope of its own, with all that refers to it there.

    Args:
        file: the file.
        names: own name -> new name.
    """
    text = file.text.encode()
    parts: list[bytes] = []
    copied = 0
    for start, end, name in sorted(set(_places_of_names(text, parse(file.text), names))):
        parts += (text[copied:start], names[name].encode())
        copied = end
    parts.append(text[copied:])
    defines = {names.get(name, name): line for name, line in file.defines.items()}
    problems = tuple(replace(p, name=names.get(p.name or "", p.name)) for p in file.problems)
    return replace(file, text=b"".join(parts).decode(), defines=defines, problems=problems)


def _places_of_names(
    text: bytes, body: list[ast.stmt], names: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, name) in bytes wherever one of the names is that of the top level."""
    lines = [0, *accumulate(len(line) + 1 for line in text.split(b"\n"))]
    # Node, the names that are local where it stands, and those that are local in a function around it.
    pending: list[tuple[ast.AST, frozenset[str], frozenset[str]]] = [
        (node, frozenset(), frozenset()) for node in body
    ]
    while pending:  # not by recursion: a sum of 900 terms is 900 nodes deep
        node, local, enclosing = pending.pop()
        if isinstance(node, (ast.Name, ast.Global, *DEFINITIONS)):
            start = lines[node.lineno - 1] + node.col_offset
            end = lines[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
            for first, last in _identifiers(text, start, end, node):
                # As Python reads it; also compared for the sake of f-strings, where Python may give a wrong place.
                name = unicodedata.normalize("NFKC", text[first:last].decode(errors="replace"))
                if name in names and (name not in local or isinstance(node, ast.Global)):
                    yield first, last, name
        inside: frozenset[ast.AST] = frozenset()
        local_inside = enclosing_inside = enclosing
        if isinstance(node, Scope):
            inside = frozenset(node.body if isinstance(node.body, list) else [node.body])
            local_inside = _local_names(node, enclosing, names)
            enclosing_inside = enclosing if isinstance(node, ast.ClassDef) else local_inside
        for child in ast.iter_child_nodes(node):
            pending.append(
                (child, local_inside, enclosing_inside) if child in inside else (child, local, enclosing)
            )


def _identifiers(text: bytes, start: int, end: int, node: ast.AST) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the names that a node between these places itself gives or declares."""
    if isinstance(node, ast.Name):
        yield start, end
    elif isinstance(node, ast.Global):
        yield from (found.span() for found in _IDENTIFIER.finditer(text, start + len(b"global"), end))
    elif (keyword := _KEYWORD.match(text, start)) and (found := _IDENTIFIER.match(text, keyword.end())):
        yield found.span()


def _local_names(scope: Scope, enclosing: frozenset[str], names: Collection[str]) -> frozenset[str]:
    """Return those of the names that do not mean the top level's inside a function, class or lambda."""
    body: list[ast.AST] = [*scope.body] if isinstance(scope.body, list) else [scope.body]
    found = ScopeNames(body)
    bound = found.bound | _names_bound_as_text(body)
    if not isinstance(scope, ast.ClassDef):
        bound |= {argument.arg for argument in arguments_of(scope.args)}
    return (enclosing | (bound & {*names})) - found.declared_global


def _names_bound_as_text(body: list[ast.AST]) -> set[str]:
    """Return the names of caught exceptions and of captures in a `match`, which are no `ast.Name` nodes."""
    found: set[str | None] = set()
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
            found.add(node.name)
        elif isinstance(node, ast.MatchMapping):
            found.add(node.rest)
    return {name for name in found if name}
