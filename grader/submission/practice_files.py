"""Files that `grader drill` and `grader clinic` write: practice, which is never read as an answer.

They lie beside the lessons and are handed in with the folder. A comment at their end says what they are, so that no
line is counted otherwise; those of version 0.2.0 have none and are known by their names.
"""

import ast
import re
from collections.abc import Collection

from grader.submission.practice_cells import Practice, is_blank
from grader.submission.statements import ParseError, parse

_MARK = "# grader {}: 이 파일은 답으로 세지 않아요"
_MARKED = re.compile(_MARK.format("(?P<tool>drill|clinic)"))
_OLD_NAME = re.compile(
    r"(?:.*/)?(?:(?P<tool>clinic)/(?P<case>\w+?)(?:_\d+)?|drill_(?P<drilled>\w+))\.py", re.DOTALL
)


def marked(text: str, tool: str) -> str:
    """A file's text, and that `drill` or `clinic` wrote it."""
    return f"{text.rstrip()}\n\n{_MARK.format(tool)}\n"


def unmarked(text: str) -> str:
    """The text without that, line for line."""
    return "\n".join("" if _MARKED.fullmatch(line.strip()) else line for line in text.split("\n"))


def tool_of(name: str, text: str, exercises: Collection[str]) -> str | None:
    """`drill` or `clinic`, where one of them wrote a `.py` file; None for a learner's own.

    Args:
        name: path within what was handed in.
        text: of the file.
        exercises: all names.
    """
    if mark := next(filter(None, (_MARKED.fullmatch(line.strip()) for line in text.split("\n"))), None):
        return mark["tool"]
    old = _OLD_NAME.fullmatch(name)
    if old and (old["case"] or old["drilled"]) in exercises:
        return old["tool"] or "drill"
    return None


def practices(text: str, exercises: Collection[str]) -> tuple[Practice, ...]:
    """What was written in a drill's file; not what is still blank."""
    try:
        body = parse(text)
    except ParseError:
        return ()
    return tuple(
        Practice(s.name, None, s.lineno)
        for s in body
        if isinstance(s, ast.FunctionDef) and s.name in exercises and not is_blank(s)
    )
