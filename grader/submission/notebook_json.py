"""Read the cells of a notebook's JSON text, without its outputs: these may be a thousand times as large as the code.

Outputs are cut out of the text before it is parsed, and only where a notebook has them: at the key `outputs` of a cell.
The cells that are left are those that Jupyter shows, so nothing can be hidden in what is skipped.
"""

import json
import re
from collections.abc import Iterable, Iterator

from grader.base.decoding import ReadError

MAX_BRACKETS = 500_000
"""Maximum number of `[` and `{` in one notebook, outputs not counted. Each may begin a list or an object, which takes
far more space in memory than in the file."""
_MAX_COMMAS = 2_000_000
"""Maximum number of commas, outputs not counted: each may separate two values."""
_MAX_OUTPUT_BRACKETS = 12_000_000
"""Maximum number of brackets in the outputs of one notebook; finding the end of them takes 0.3 seconds a million."""
_MAX_TOKENS = 1_500_000
"""Maximum number of keys and brackets outside of outputs."""
_SMALL = 2**20
"""Notebooks of so few characters are parsed as they are."""
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SPACE = r"[ \t\r\n]*+"
_EMPTY = rf"\[{_SPACE}\]|\{{{_SPACE}\}}"
_TOKEN = re.compile(
    rf"""[^"\[\]{{}}]*+(?:(?:{_STRING}(?!{_SPACE}:)|{_EMPTY})[^"\[\]{{}}]*+)*+
    (?:({_STRING}){_SPACE}:|([\[{{])|[\]}}])""",
    re.DOTALL | re.VERBOSE,
)
"""A key, or a bracket of a list or object that is not empty, with all that stands before it."""
_TO_BRACKET = re.compile(
    rf"""[^"\[\]{{}}]*+(?:(?:{_STRING}|{_EMPTY})[^"\[\]{{}}]*+)*+([\[\]{{}}])""", re.DOTALL | re.VERBOSE
)
_OPENING = re.compile(rf"{_SPACE}(?!{_EMPTY})[\[{{]")
_SKIPPED = {
    ('"cells"',): '"outputs"',
    ('"worksheets"', '"cells"'): '"outputs"',  # format 3
    (): '"metadata"',  # of the notebook: holds the state of widgets
}
"""Keys on the way to an object, lists left out -> the key in it whose value is skipped."""
_SKIPPED_KEYS = frozenset(_SKIPPED.values())
_OBJECT = re.compile(r'\s*+(?:"\s*+)?+\{')
_CELLS = re.compile(r'\\?"(?:cells|worksheets|commands)\\?"\s*+:')
_TOO_MUCH = (
    "노트북 파일(JSON)에 든 데이터가 너무 많아요. 출력을 모두 지우고 다시 저장한 .ipynb 파일을 내 주세요."
)


def is_notebook(text: str) -> bool:
    """Return True if a text looks like the JSON of a notebook, whatever its file is called."""
    return bool(_OBJECT.match(text) and _CELLS.search(text))


def raw_cells(text: str) -> list[dict[str, object]]:
    """Return the cells of a notebook of format 2, 3 or 4 or of a Databricks archive, as its JSON has them.

    Raises:
        ReadError: the text is not a notebook, or it exceeds a size limit.
    """
    return [raw for raw in _cells(_json(without_outputs(text))) if isinstance(raw, dict)]


def without_outputs(text: str) -> str:
    """Return a notebook's text with the outputs of all cells replaced by `[]`.

    Raises:
        ReadError: it holds more brackets than are read.
    """
    if len(text) <= _SMALL:
        return text
    pieces: list[str] = []
    done = position = tokens = 0
    left = _MAX_OUTPUT_BRACKETS
    keys: list[str] = []
    """Keys of the objects and lists that are open; a list within an object has the object's key, others none."""
    key = ""
    while token := _TOKEN.match(text, position):
        position = token.end()
        tokens += 1
        if tokens > _MAX_TOKENS:
            raise ReadError(_TOO_MUCH)
        if token[1]:
            key = token[1]
            if key in _SKIPPED_KEYS and _SKIPPED.get(tuple(k for k in keys[1:] if k)) == key:
                end, used = _end_of_value(text, position, left)
                left -= used
                if end > position:
                    pieces += (text[done:position], "[]")
                    done = position = end
        elif token[2]:
            keys.append(key)
            key = ""
        else:
            key = ""
            del keys[-1:]
    rest = "".join((*pieces, text[done:]))
    if rest.count("[") + rest.count("{") > MAX_BRACKETS or rest.count(",") > _MAX_COMMAS:
        raise ReadError(_TOO_MUCH)
    return rest


def _end_of_value(text: str, start: int, most: int) -> tuple[int, int]:
    """Return where the list or object at `start` ends, and how many brackets it has; `start` if it is no such value.

    Raises:
        ReadError: it has more than `most` brackets.
    """
    depth = used = 0
    if not _OPENING.match(text, start):
        return start, 0  # a number, a string, `null`, an empty list
    for bracket in _brackets(text, start):
        used += 1
        if used > most:
            raise ReadError(_TOO_MUCH)
        depth += 1 if bracket[1] in "[{" else -1
        if depth <= 0:
            return bracket.end(), used
    return start, used


def _brackets(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield a match for each bracket outside of strings; group 1 is the bracket."""
    while found := _TO_BRACKET.match(text, start):
        yield found
        start = found.end()


def _json(text: str) -> object:
    """Parse a notebook's JSON; raise a ReadError that says in Korean what is probably wrong with it."""
    try:
        parsed = json.loads(text, strict=False)
        # Some programs store the notebook's text as a JSON string.
        return json.loads(without_outputs(parsed), strict=False) if isinstance(parsed, str) else parsed
    except (ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, ReadError):
            raise
        if not text.strip():
            what = "빈 파일이에요."
        elif "<<<<<<< " in text:
            what = "Git 병합 충돌 표시(<<<<<<<)가 남아 있어요."
        elif text.lstrip().startswith("<"):
            what = "노트북이 아니라 웹 페이지(HTML)가 저장됐어요."
        elif isinstance(error, json.JSONDecodeError):
            what = f"노트북 파일(JSON)이 {error.lineno}번째 줄에서 깨져 있어요."
        else:
            what = "노트북 파일(JSON)을 읽을 수 없어요."
        raise ReadError(f"{what} Jupyter에서 열어 다시 저장한 .ipynb 파일을 내 주세요.") from error


def _cells(notebook: object) -> Iterable[object]:
    """Return the cells of a parsed notebook, of whatever type they are.

    Raises:
        ReadError: the notebook has none.
    """
    if isinstance(notebook, dict):
        cells = notebook.get("cells")
        if isinstance(cells, list):
            return cells
        sheets = notebook.get("worksheets")  # format 3
        if isinstance(sheets, list):
            return [c for sheet in sheets if isinstance(sheet, dict) for c in _list(sheet.get("cells"))]
        commands = notebook.get("commands")  # an archive of Databricks
        if isinstance(commands, list):
            return _commands(commands)
    raise ReadError(
        "노트북 형식이 아니에요(`cells`가 없어요). Jupyter에서 열어 다시 저장한 .ipynb 파일을 내 주세요."
    )


def _list(value: object) -> list[object]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _commands(commands: list[object]) -> list[object]:
    """Return the commands of a Databricks notebook as code cells, in the order in which they are shown."""
    found = [command for command in commands if isinstance(command, dict)]

    def position(command: dict[str, object]) -> float:
        place = command.get("position")
        return place if isinstance(place, (int, float)) else 0.0

    return [
        {"cell_type": "code", "source": command.get("command")} for command in sorted(found, key=position)
    ]
