"""Read the cells of a notebook's JSON text.

Outputs may be a thousand times as large as the code. So before a text of more than 1 MiB is parsed, the outputs of its
cells and the metadata of the notebook are cut out of it, and what is left is limited. They are cut only where a
notebook has them, such as at the key `outputs` of a cell. Jupyter shows no cell that stands there, so no code can be
hidden in what is cut.
"""

import json
import re
from collections.abc import Iterable, Iterator

from grader.base.decoding import ReadError

_MAX_BRACKETS = 500_000
"""Maximum number of `[` and `{` in a large notebook, those in strings included, those that are cut not. Each may begin
a list or an object, which takes far more space in memory than in the file."""
_MAX_COMMAS = 2_000_000
"""Maximum number of commas, counted like brackets: each may separate two values."""
_MAX_CUT_BRACKETS = 12_000_000
"""Maximum number of brackets in what is cut; those in strings and of empty lists and objects do not count. Finding the
end of them takes 0.3 seconds a million."""
_MAX_TOKENS = 1_500_000
"""Maximum number of keys and brackets that are passed on the way to what is cut."""
_MAX_UNCUT_CHARS = 2**20
"""Notebooks of so few characters are parsed as they are."""
# Of the patterns below, no part that repeats gives characters back (`*+`). So a match takes no more time than the
# characters that it passes, even in a text that was made to be slow.
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SPACE = r"[ \t\r\n]*+"
_EMPTY = rf"\[{_SPACE}\]|\{{{_SPACE}\}}"
_TOKEN = re.compile(
    rf"""[^"\[\]{{}}]*+(?:(?:{_STRING}(?!{_SPACE}:)|{_EMPTY})[^"\[\]{{}}]*+)*+
    (?:({_STRING}){_SPACE}:|([\[{{])|[\]}}])""",
    re.DOTALL | re.VERBOSE,
)
"""A key (group 1), or a bracket of a list or object that is not empty (group 2 if it opens), with all before it."""
_TO_BRACKET = re.compile(
    rf"""[^"\[\]{{}}]*+(?:(?:{_STRING}|{_EMPTY})[^"\[\]{{}}]*+)*+([\[\]{{}}])""", re.DOTALL | re.VERBOSE
)
"""A bracket of a list or object that is not empty, with all before it; keys are passed like other strings."""
_OPENING = re.compile(rf"{_SPACE}(?!{_EMPTY})[\[{{]")
_CUT_KEYS = {
    ('"cells"',): '"outputs"',  # format 4
    ('"worksheets"', '"cells"'): '"outputs"',  # formats 2 and 3
    ('"commands"',): '"results"',  # Databricks
    (): '"metadata"',  # of the notebook: holds the state of widgets
}
"""Keys on the way from the notebook to an object -> the key in it whose value is cut. Lists on the way have no key.
Keys keep their quotes."""
_MOST_NAMED = max(map(len, _CUT_KEYS))
"""Deeper than this nothing is cut; a text may be made of so many levels that looking at all of them takes hours."""
_ALL_CUT_KEYS = frozenset(_CUT_KEYS.values())
_START = re.compile(r'\s*+(?:"(?:\s|\\[nrt])*+)?+\{')
"""The beginning of a JSON object, or of a JSON string that holds one."""
_QUOTE = re.compile(r'\s*+"')
_KEY_OF_CELLS = re.compile(r'\\?"(?:cells|worksheets|commands)\\?"\s*+:')
_CONFLICT = re.compile(r"^<{7} ", re.MULTILINE)
_TOO_MUCH = "노트북 파일(JSON)에 든 데이터가 너무 많아요. 출력을 모두 지우고 다시 저장한 파일을 내 주세요."


def is_notebook(text: str) -> bool:
    """Return True if a text looks like the JSON of a notebook, whatever its file is called."""
    return bool(_START.match(text) and _KEY_OF_CELLS.search(text))


def raw_cells(text: str) -> list[dict[str, object]]:
    """Return the cells of a notebook of format 2, 3 or 4 or of a Databricks archive.

    They are parsed and otherwise as the JSON has them, except that outputs may be cut, and that each command of
    Databricks is a code cell. What is no object in the list of cells is left out.

    Raises:
        ReadError: the text is not a notebook, or it exceeds a size limit.
    """
    return [raw for raw in _listed_cells(_parsed(text)) if isinstance(raw, dict)]


def without_outputs(text: str) -> str:
    """Return a large notebook's text with `[]` in place of all outputs and of the notebook's metadata.

    What is left stands on the same lines. A text of at most 1 MiB is returned as it is.

    Raises:
        ReadError: what is cut has too many brackets, or what is left too many brackets, commas or keys.
    """
    if len(text) <= _MAX_UNCUT_CHARS:
        return text
    pieces: list[str] = []
    copied = position = tokens = 0
    brackets_left = _MAX_CUT_BRACKETS
    keys: list[str] = []
    """Keys of the objects and lists that are open; a list within an object has the object's key, others none."""
    named: list[str] = []
    """Those of them that are no empty text, but for the first one."""
    key = ""
    while token := _TOKEN.match(text, position):
        position = token.end()
        tokens += 1
        if tokens > _MAX_TOKENS:
            raise ReadError(_TOO_MUCH)
        if token[1]:
            key = token[1]
            if key in _ALL_CUT_KEYS and len(named) <= _MOST_NAMED and _CUT_KEYS.get(tuple(named)) == key:
                end, brackets = _end_of_value(text, position, brackets_left)
                brackets_left -= brackets
                if end > position:
                    pieces += (text[copied:position], "[]", "\n" * text.count("\n", position, end))
                    copied = position = end
        elif token[2]:
            if keys and key:
                named.append(key)
            keys.append(key)
            key = ""
        else:
            key = ""
            if len(keys) > 1 and keys[-1]:
                named.pop()
            del keys[-1:]
    rest = "".join((*pieces, text[copied:]))
    if rest.count("[") + rest.count("{") > _MAX_BRACKETS or rest.count(",") > _MAX_COMMAS:
        raise ReadError(_TOO_MUCH)
    return rest


def _end_of_value(text: str, start: int, max_brackets: int) -> tuple[int, int]:
    """Return where the list or object at `start` ends, and how many brackets were passed.

    The end is `start` if an empty list or another value stands there, or if the list or object has no end.

    Raises:
        ReadError: it has more than `max_brackets` brackets.
    """
    depth = brackets = 0
    if not _OPENING.match(text, start):
        return start, 0
    for bracket in _brackets(text, start):
        brackets += 1
        if brackets > max_brackets:
            raise ReadError(_TOO_MUCH)
        depth += 1 if bracket[1] in "[{" else -1
        if depth <= 0:
            return bracket.end(), brackets
    return start, brackets


def _brackets(text: str, start: int) -> Iterator[re.Match[str]]:
    """Yield a match for each bracket outside of strings, except of empty lists and objects; group 1 is the bracket."""
    while found := _TO_BRACKET.match(text, start):
        yield found
        start = found.end()


def _parsed(text: str) -> object:
    """Parse a notebook's JSON, without its outputs if it is large.

    Some programs store the notebook's text as a JSON string; then what the string holds is parsed.

    Raises:
        ReadError: it is no JSON, or it exceeds a size limit; the message is Korean and says what is probably wrong.
    """
    is_in_string = False
    try:
        if _QUOTE.match(text):
            text = json.loads(text, strict=False)
            is_in_string = True
        return json.loads(without_outputs(text), strict=False)
    except ReadError:
        raise
    except (ValueError, RecursionError, MemoryError) as error:
        what = _what_is_wrong(text, None if is_in_string else error)
        raise ReadError(f"{what} Jupyter에서 열어 다시 저장한 .ipynb 파일을 내 주세요.") from error


def _what_is_wrong(text: str, error: Exception | None) -> str:
    """Return a Korean sentence on a text that is no JSON.

    Args:
        text: the text.
        error: the error of parsing it; None if its line is not one of the file's.
    """
    if not text.strip():
        return "빈 파일이에요."
    if _CONFLICT.search(text):
        return "Git 병합 충돌 표시(<<<<<<<)가 남아 있어요."
    if text.lstrip().startswith("<"):
        return "노트북이 아니라 웹 페이지(HTML)가 저장됐어요."
    if isinstance(error, json.JSONDecodeError):
        return f"노트북 파일(JSON)이 {error.lineno}번째 줄에서 깨져 있어요."
    return "노트북 파일(JSON)을 읽을 수 없어요."


def _listed_cells(notebook: object) -> Iterable[object]:
    """Return what stands in the lists of cells of a parsed notebook, of whatever type it is.

    A list `cells` decides, even an empty one; then `worksheets`, then `commands`.

    Raises:
        ReadError: the notebook has none of these lists.
    """
    if isinstance(notebook, dict):
        cells = notebook.get("cells")
        if isinstance(cells, list):
            return cells
        sheets = notebook.get("worksheets")  # formats 2 and 3
        if isinstance(sheets, list):
            lists = [sheet.get("cells") for sheet in sheets if isinstance(sheet, dict)]
            return [cell for cells in lists if isinstance(cells, list) for cell in cells]
        commands = notebook.get("commands")  # an archive of Databricks
        if isinstance(commands, list):
            return _cells_of_commands(commands)
    raise ReadError(
        "노트북 형식이 아니에요(`cells`가 없어요). Jupyter에서 열어 다시 저장한 .ipynb 파일을 내 주세요."
    )


def _cells_of_commands(commands: list[object]) -> list[object]:
    """Return each command of a Databricks notebook as a code cell, in the order in which they are shown.

    So prose becomes a code cell, too, with the magic `%md` on its first line.
    """
    found = [command for command in commands if isinstance(command, dict)]

    def position(command: dict[str, object]) -> float:
        place = command.get("position")
        return place if isinstance(place, (int, float)) else 0.0

    return [
        {"cell_type": "code", "source": command.get("command")} for command in sorted(found, key=position)
    ]
