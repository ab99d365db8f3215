"""Make the learner's text of a lesson from its source: replace each solution by a place to write.

This is the first step of `build`; input and output are in percent format.
"""

import ast
import re
from collections.abc import Iterator

from grader.base.errors import HanstepError

PLACEHOLDER = "# 여기에 코드를 쓰세요"

_BEGIN = re.compile(r"(\s*)# BEGIN SOLUTION\s*")
_END = re.compile(r"\s*# END SOLUTION\s*")
_LINE = re.compile(r"(?P<code>\s*\S.*?)\s+# SOLUTION\s*")
_LEFT_OUT = re.compile(r"\s*\S.*?\s+# SOLUTION: left out\s*")
_CELL = re.compile(r"# %%(?P<header>.*)")
_NOT_CODE = re.compile(r"\[(markdown|md|raw)\]")


class BuildError(HanstepError):
    """A lesson's source cannot be built; the message names the file and the line."""


def starter_text(text: str, name: str) -> str:
    """Return the lesson's source as a learner gets it.

    `# BEGIN SOLUTION` … `# END SOLUTION` becomes a comment and `raise NotImplementedError` at the same indentation; a
    line that ends in `# SOLUTION` keeps only the part before its value; a line that ends in `# SOLUTION: left out` is
    left out without a trace, so that learners get code that runs, and look for what is missing.

    Args:
        text: percent-format source.
        name: file name for messages.

    Raises:
        BuildError: markers are nested, unbalanced, or reach over the end of a cell, or `# SOLUTION` follows no
            statement.
    """
    return "\n".join(_starter_lines(text, name)) + "\n"


def _starter_lines(text: str, name: str) -> Iterator[str]:
    """Yield the learner's lines; `opened` is the line number of an open `BEGIN SOLUTION`."""
    opened: int | None = None
    code = True
    for number, line in enumerate(text.splitlines(), start=1):
        cell = _CELL.fullmatch(line)
        if cell:
            if opened is not None:
                raise BuildError(f"{name} {opened}번째 줄의 BEGIN SOLUTION이 셀 안에서 끝나지 않았어요.")
            code = not _NOT_CODE.search(cell["header"])
        begin, end = (_BEGIN.fullmatch(line), _END.fullmatch(line)) if code else (None, None)
        if begin:
            if opened is not None:
                raise BuildError(
                    f"{name} {number}번째 줄: {opened}번째 줄의 BEGIN SOLUTION이 끝나기 전에 또 시작해요."
                )
            opened = number
            yield f"{begin[1]}{PLACEHOLDER}"
            yield f"{begin[1]}raise NotImplementedError"
        elif end:
            if opened is None:
                raise BuildError(
                    f"{name} {number}번째 줄의 END SOLUTION에 짝이 되는 BEGIN SOLUTION이 없어요."
                )
            opened = None
        elif opened is None and not (code and _LEFT_OUT.fullmatch(line)):
            single = _LINE.fullmatch(line) if code else None
            yield _blanked(single["code"], f"{name} {number}번째 줄") if single else line
    if opened is not None:
        raise BuildError(f"{name} {opened}번째 줄의 BEGIN SOLUTION에 짝이 되는 END SOLUTION이 없어요.")


def _blanked(line: str, where: str) -> str:
    """Replace the value in a line: `x = 0.1` becomes `x = ...`."""
    body = line.lstrip()
    indent = line[: len(line) - len(body)]
    if body.startswith("@"):  # a decorator is no statement of its own: all of it is the answer
        return f"{indent}{PLACEHOLDER}"
    try:
        (statement,) = ast.parse(body).body
    except (SyntaxError, ValueError):
        raise BuildError(f"{where}: # SOLUTION은 한 줄로 끝나는 문장에만 붙일 수 있어요: {body}") from None
    value = getattr(statement, "value", None)
    if isinstance(statement, ast.Expr) or not isinstance(value, ast.expr):
        return f"{indent}...  {PLACEHOLDER}"
    kept = body.encode()[: value.col_offset].decode()  # ast counts columns in bytes of UTF-8
    return f"{indent}{kept}...  {PLACEHOLDER}"
