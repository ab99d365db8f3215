"""Compare two changes of a program by the words and signs that go and come, whatever the variables are called.

Example: the mistake turns `return loss.item()` into `return loss`, the learner's edit `return error` into
`return error.item()`. Taken back, the mistake brings `.`, `item`, `(` and `)`, and so does the edit.

`own_edit.py` sorts the small edits of the learner's code by it.
"""

import re
from collections import Counter
from collections.abc import Iterable

_WORD = re.compile(r"\w+|[^\w\s]")


def words_changed(old: Iterable[str], new: Iterable[str]) -> tuple[Counter[str], Counter[str]]:
    """Return the words and signs that lines lose, and those that they gain."""
    before, after = (Counter(_WORD.findall("\n".join(lines))) for lines in (old, new))
    return before - after, after - before


def likeness_of(one: tuple[Counter[str], Counter[str]], other: tuple[Counter[str], Counter[str]]) -> float:
    """Return how alike two changes are, from 0 to 1: the same words and signs go and come. Two moves are alike."""
    shared = sum((a & b).total() for a, b in zip(one, other, strict=True))
    either = sum((a | b).total() for a, b in zip(one, other, strict=True))
    return shared / either if either else 1.0
