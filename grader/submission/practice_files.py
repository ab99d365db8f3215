"""Mark and recognize the files that `grader drill` and `grader clinic` write: practice, never read as answers.

These files lie beside the lessons and are handed in with the folder. A comment marks them; it stands at the end, so
that it shifts no line numbers. Files of version 0.2.0 have no such comment and are recognized by their names.
"""

import ast
import hashlib
import re
from collections.abc import Collection, Iterator

from grader.submission.practice_cells import Practice, is_blank
from grader.submission.syntax import ParseError, parse

_MARK = "# grader {}: 이 파일은 답으로 세지 않아요"
_MARKED = re.compile(_MARK.format("(?P<tool>drill|clinic)") + r"(?: · (?P<print>[0-9a-f]{12}))?")
_OLD_NAME = re.compile(
    r"(?:.*/)?(?:(?P<tool>clinic)/(?P<case>\w+?)(?:_\d+)?|drill_(?P<drilled>\w+))\.py", re.DOTALL
)


def marked(text: str, tool: str) -> str:
    """Return the text with a last line: the tool (`drill` or `clinic`) that wrote the file, and the text's hash."""
    return f"{text.rstrip()}\n\n{_MARK.format(tool)} · {_fingerprint(text)}\n"


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.rstrip().encode()).hexdigest()[:12]


def began_as(text: str, original: str) -> bool:
    """Return True if the text, edited since, was written as `marked(original, ...)`."""
    return any(mark["print"] == _fingerprint(original) for mark in _marks(text))


def _marks(text: str) -> Iterator[re.Match[str]]:
    """Yield the lines that `marked` added, as `_MARKED` matches them."""
    return filter(None, (_MARKED.fullmatch(line.strip()) for line in text.split("\n")))


def unmarked(text: str) -> str:
    """Return the text with the line that `marked` added blanked out; line numbers stay the same."""
    return "\n".join("" if _MARKED.fullmatch(line.strip()) else line for line in text.split("\n"))


def is_marked(text: str, tool: str) -> bool:
    """Return True if the text has the line that `marked` added for this tool."""
    return any(mark["tool"] == tool for mark in _marks(text))


def tool_of(name: str, text: str, exercises: Collection[str]) -> str | None:
    """Return the tool that wrote a `.py` file, `drill` or `clinic`; None for a file of the learner's own.

    Args:
        name: path of the file within the submission.
        text: text of the file.
        exercises: names of all exercises of the course.
    """
    if mark := next(_marks(text), None):
        return mark["tool"]
    old = _OLD_NAME.fullmatch(name)
    if old and (old["case"] or old["drilled"]) in exercises:
        return old["tool"] or "drill"
    return None


def practices(text: str, exercises: Collection[str]) -> tuple[Practice, ...]:
    """Return the definitions that a learner wrote in a drill file, not those still blank; none if it does not parse."""
    try:
        body = parse(text)
    except ParseError:
        return ()
    return tuple(
        Practice(s.name, None, s.lineno)
        for s in body
        if isinstance(s, ast.FunctionDef) and s.name in exercises and not is_blank(s)
    )
