"""The tree of a program's text. For each exercise of a submission several readers ask for the same one."""

import ast
from functools import lru_cache


@lru_cache(
    maxsize=4
)  # a learner's, the solution's, and what is compared with them; the largest takes a second
def parsed(text: str) -> ast.Module | None:
    """What `ast.parse` makes of it, which nobody may change; None where it makes nothing of it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
