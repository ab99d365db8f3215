"""Indent lines that a learner typed or pasted as a function's body."""

import ast
import textwrap
from collections.abc import Iterator

_INDENT = 4


def as_body(text: str) -> str:
    """Return the text as a function's body, indented by four spaces.

    Pasted code has the indentation of where it was copied from, and often only its first line has none, because the
    copy began at the line's first letter. The first reading that is valid Python is taken; if none is, the text with
    its common indentation removed, so that the learner is told about his own lines.
    """
    readings = [*_readings(text.expandtabs(_INDENT).replace("\r\n", "\n"))]
    body = next((reading for reading in readings if _is_body(reading)), readings[0])
    return textwrap.indent(body, " " * _INDENT)


def _readings(text: str) -> Iterator[str]:
    """Yield the text without common indentation, then with the first line placed at other depths below the rest."""
    yield textwrap.dedent(text)
    first, _, rest = text.lstrip("\n").partition("\n")
    depths = sorted({len(line) - len(line.lstrip(" ")) for line in rest.splitlines() if line.strip()})
    for depth in range(depths[0] if depths else 0, 0, -1):
        yield f"{first.strip()}\n" + "".join(line[depth:] for line in rest.splitlines(keepends=True))


def _is_body(text: str) -> bool:
    try:
        ast.parse("def f():\n" + textwrap.indent(text, " "))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
