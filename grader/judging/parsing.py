"""Parse program texts, with a small cache: several readers ask for the same tree in each exercise."""

import ast
from functools import lru_cache


# Enough for the learner's program, the solution and what is compared with them; the largest takes a second to parse.
@lru_cache(maxsize=4)
def parsed(text: str) -> ast.Module | None:
    """Return the tree of a program; None if it cannot be parsed. Cached: do not modify the tree."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
