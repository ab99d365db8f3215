"""Find answers in cells of a notebook that are not code: one key turns a code cell into Markdown or a raw cell.

Such a cell is read if it defines an exercise that no code cell answers. Then cells that hold nothing but imports and
definitions are read too, because the answer may need them.
"""

import ast
import re
from collections.abc import Collection, Sequence

from grader.submission.practice_cells import is_blank
from grader.submission.recovery import recover
from grader.submission.syntax import DEFINED_NAME, DEFINITIONS, ParseError, parse

_DEFINITION = re.compile(rf"^[ \t]*+{DEFINED_NAME}", re.MULTILINE)
_MAX_CHARS = 50_000
"""Longest cell that is read; the longest answer of the course has 5,000 characters."""
_MAX_CELLS = 200
"""Maximum number of cells that are parsed in search of answers."""
_ONLY_BINDS = (*DEFINITIONS, ast.Import, ast.ImportFrom)


def lost_cells(
    code: Sequence[str], others: Sequence[str], exercises: Collection[str]
) -> tuple[frozenset[int], tuple[str, ...]]:
    """Return which cells that are no code are to be read, and the exercises that they answer.

    Args:
        code: sources of the code cells.
        others: sources of the other cells, whose indices are returned.
        exercises: names of all exercises of the course.
    """
    names = [_defined(text, exercises) if len(text) <= _MAX_CHARS else set[str]() for text in others]
    wanted = set().union(*names)
    if not wanted:
        return frozenset(), ()
    wanted -= {name for text in code if wanted & _defined(text, wanted) for name in _answered(text, wanted)}
    # Prose may quote a `def` that is not an answer; what is left after reading it as code decides.
    hopeful = [index for index, own in enumerate(names) if own & wanted][:_MAX_CELLS]
    answers = {
        index: found
        for index in hopeful
        if (found := _answered(recover(others[index]).text, names[index] & wanted))
    }
    if not answers:
        return frozenset(), ()
    rest = [index for index, text in enumerate(others) if index not in answers and _may_bind(text)]
    helpers = (index for index in rest[:_MAX_CELLS] if _only_binds(others[index]))
    answered = set().union(*answers.values())
    return frozenset((*answers, *helpers)), tuple(name for name in exercises if name in answered)


def _defined(text: str, names: Collection[str]) -> set[str]:
    """Return which of the names a text seems to define; it need not parse."""
    return {match[1] for match in _DEFINITION.finditer(text) if match[1] in names}


def _answered(text: str, names: Collection[str]) -> set[str]:
    """Return which of the names a text defines and does not leave blank; of a text that does not parse, all it may."""
    try:
        body = parse(text)
    except ParseError:
        return _defined(text, names)
    return {s.name for s in body if isinstance(s, DEFINITIONS) and s.name in names and not is_blank(s)}


def _may_bind(text: str) -> bool:
    """Return True if a text may hold an import or a definition."""
    return len(text) <= _MAX_CHARS and any(word in text for word in ("import", "def", "class"))


def _only_binds(text: str) -> bool:
    """Return True if a text is Python with nothing but imports and definitions."""
    try:
        body = parse(text)
    except ParseError:
        return False
    return bool(body) and all(isinstance(statement, _ONLY_BINDS) for statement in body)
