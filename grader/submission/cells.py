"""Split the text of a notebook or `.py` file into code cells, and replace what only IPython understands."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from grader.base.decoding import ReadError, unix_lines

MAX_CODE_CHARS = 300_000
"""Maximum characters of code in one file, a notebook's outputs and prose not counted: five times our longest lesson.
Parsing this much takes a second and 300 MB at worst."""
MAX_CELLS = 3_000
"""Maximum number of code cells in one file; a long notebook has a hundred."""
MAX_BRACKETS = 500_000
"""Maximum number of `[` and `{` in one notebook, outputs included. Each may begin a list or an object, which takes far
more space in memory than in the file."""
_MAX_TAGS = 100
"""Maximum number of tags read for one cell."""

_TAG = re.compile(r"exercise:(\w+)")
"""Tag of the cell in which an exercise is answered."""
_WRITEFILE = re.compile(
    r"(?:[ \t]*+(?:\#[^\n]*+)?\n)*+[ \t]*+%%(?:writefile|file)[ \t]++(?:-a[ \t]++)?(\S++)[^\n]*+"
)
_MARKER = re.compile(r"^(?:#[ \t]*%%+(?:[ \t](.*))?|# In\[[ \d*]*\]:[ \t]*)$", re.MULTILINE)
"""Line between two cells of a script, as jupytext or nbconvert writes it; only the first has tags."""


@dataclass(frozen=True)
class Cell:
    """One code cell of a notebook, or one `# %%` or `# In[1]:` section of a `.py` file."""

    number: int | None
    """Number from 1 among the code cells that are not blank, as Jupyter's `[n]` counts them; None in a `.py` file."""
    first_line: int
    """Number of the first line of `text` as the learner counts it: 1 in a notebook, the line in a `.py` file."""
    text: str
    exercises: tuple[str, ...]
    """Exercises that the cell is tagged for."""
    written: str = ""
    """Name of the `.py` file into which the cell writes its code by `%%writefile`; else empty."""


def notebook_cells(text: str) -> list[Cell]:
    """Return the code cells of a notebook of format 3 or 4, translated to plain Python.

    Raises:
        ReadError: the text is not a notebook, or it exceeds a size limit.
    """
    if text.count("[") + text.count("{") > MAX_BRACKETS:
        raise ReadError(
            "노트북 파일(JSON)에 든 데이터가 너무 많아요. 출력을 모두 지우고 다시 저장한 .ipynb 파일을 내 주세요."
        )
    raws = [
        raw for raw in _raw_cells(_json(text)) if isinstance(raw, dict) and raw.get("cell_type") == "code"
    ]
    parts = [_parts(raw.get("source", raw.get("input"))) for raw in raws]  # format 3 calls it `input`
    _check_size(sum(len(part) for source in parts for part in source))
    cells: list[Cell] = []
    for raw, source in zip(raws, map(_source_text, parts), strict=True):
        if source.strip():
            _check_cells(len(cells) + 1)
            written, body = _without_writefile(source)
            tags = _exercises(raw.get("metadata"))
            cells.append(Cell(len(cells) + 1, 1, as_python(body), tags, written))
    return cells


def percent_cells(text: str) -> list[Cell]:
    """Cut the text of a `.py` file at its `# %%` and `# In[1]:` lines; a file without any is one cell.

    Raises:
        ReadError: the text exceeds a size limit.
    """
    _check_size(len(text))
    markers = list(islice(_MARKER.finditer(text), MAX_CELLS + 1))
    _check_cells(len(markers))
    bounds = [0, *(m.start() for m in markers), len(text)]
    headers = ["", *(m[1] or "" for m in markers)]
    cells = []
    line = 1
    for header, start, end in zip(headers, bounds[:-1], bounds[1:], strict=True):
        if end > start:
            # The newline before the next marker ends this cell's last line; it does not begin an empty line.
            body = text[start:end].removesuffix("\n") if end < len(text) else text[start:end]
            cells.append(
                Cell(None, line, body, tuple(m[1] for m in islice(_TAG.finditer(header), _MAX_TAGS)))
            )
        line += text.count("\n", start, end)
    return cells


def written_file(text: str) -> str:
    """Return the name of the `.py` file into which a text that begins with `%%writefile` is written; else empty."""
    match = _WRITEFILE.match(text)
    return match[1].strip("\"'") if match and match[1].strip("\"'").endswith(".py") else ""


def _without_writefile(source: str) -> tuple[str, str]:
    """Return the name of the `.py` file that a cell writes, and its source with the `%%writefile` blanked out."""
    written = written_file(source)
    match = _WRITEFILE.match(source) if written else None
    return written, "\n" * source.count("\n", 0, match.end()) + source[match.end() :] if match else source


def _check_size(size: int) -> None:
    if size > MAX_CODE_CHARS:
        raise ReadError(
            f"코드가 너무 길어요: {size:,}자예요. {MAX_CODE_CHARS:,}자까지 읽어요."
            " 데이터는 빼고 코드만 내 주세요."
        )


def _check_cells(count: int) -> None:
    if count > MAX_CELLS:
        raise ReadError(f"코드 셀이 {MAX_CELLS:,}개 넘게 있어요. 셀을 합쳐서 다시 내 주세요.")


def _json(text: str) -> object:
    """Parse a notebook's JSON; raise a ReadError that says in Korean what is probably wrong with it."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError, MemoryError) as error:
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


def _raw_cells(notebook: object) -> Iterable[object]:
    """Return the cells of a parsed notebook of format 3 or 4, of whatever type they are.

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
    raise ReadError(
        "노트북 형식이 아니에요(`cells`가 없어요). Jupyter에서 열어 다시 저장한 .ipynb 파일을 내 주세요."
    )


def _list(value: object) -> list[object]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _parts(source: object) -> list[str]:
    """Return the strings of which a cell's source consists: nbformat allows a list of lines or one text."""
    return [part for part in (source if isinstance(source, list) else [source]) if isinstance(part, str)]


def _source_text(parts: Iterable[str]) -> str:
    """Return the parts as one text with Unix line ends, without a byte order mark."""
    return unix_lines("".join(parts)).removeprefix("\ufeff")


def _exercises(metadata: object) -> tuple[str, ...]:
    """Return the exercises named in a cell's tags."""
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    found = (_TAG.fullmatch(tag) for tag in _list(tags)[:_MAX_TAGS] if isinstance(tag, str))
    return tuple(match[1] for match in found if match)


# The code below replaces IPython's TransformerManager, for two reasons: IPython joins the lines of a continued
# `!command`, which shifts the line numbers after it, and it reads the whole cell again for every magic (half a minute
# for a cell of 500 magics). Tests compare the two. Possessive quantifiers (`*+`, `++`) never backtrack, so hostile text
# takes only linear time.

# Blank lines, comments and the magics `%%time`, `%%timeit`, `%%capture` at the start of a cell.
_KEPT_MAGICS = re.compile(r"(?:[ \t]*+(?:\#[^\n]*+)?\n|[ \t]*+%%(?:time|timeit|capture)\b[^\n]*+(?:\n|\Z))*+")
_MAGIC = re.compile(
    r"""([ \t]*+)
    (?: (?: [%!?] | [\w.,*\[\] \t]++=[ \t]*+[%!] )          # %magic, !shell, ?help; x = %magic, x = !shell
        (?: \\\n | [^\n] )*+                                #   with the lines it is continued on
    | %{0,2}(?!\d)[\w*]++(?:\.[\w*]++|\[-?\d++\])*+\?\??(?=\n|\Z)    # object?, object??
    )""",
    re.VERBOSE,
)
_INDENT = re.compile(r"(?:[ \t]*+\n)*+([ \t]*+)")
_PROMPT = re.compile(r"^(?:>>>|\.\.\.)(?: |$)", re.MULTILINE)
# Tokens that decide where a logical line ends: comments, strings (closed or not), continuations, brackets, newlines.
_TOKEN = re.compile(
    r"""\#[^\n]*+
    | \"\"\" (?:[^\\"]|\\.|"(?!""))*+ (?:\"\"\"|\\?\Z)
    | '{3}   (?:[^\\']|\\.|'(?!''))*+ (?:'{3}|\\?\Z)
    | " (?:[^\\"\n]|\\.)*+ "?
    | ' (?:[^\\'\n]|\\.)*+ '?
    | \\\n | [()\[\]{}\n]""",
    re.VERBOSE | re.DOTALL,
)


def as_python(text: str) -> str:
    """Translate a cell to plain Python with the same number of lines: magics, shell and help lines become `0`.

    The lines `%%time`, `%%timeit` and `%%capture` are blanked out. A cell with another `%%` magic (bash, html,
    writefile …) is not Python, and all of its lines are blanked out.
    """
    found = _KEPT_MAGICS.match(text)
    end = found.end() if found else 0
    if "%%" in text[:end]:
        text = "\n" * text.count("\n", 0, end) + text[end:]
        end = text.count("\n", 0, end)
    if text[end:].lstrip(" \t").startswith("%%"):
        return "\n" * text.count("\n")
    return without_magics(_without_prompts_and_indent(text))


def without_magics(text: str) -> str:
    """Replace every line that only IPython understands by `0`, and the lines it is continued on by blank lines."""
    done: list[str] = []
    position = 0
    while position < len(text):
        magic = _MAGIC.match(text, position)
        if magic:
            end = magic.end()
            done.append(f"{magic[1]}0" + "\n" * text.count("\n", position, end))
        else:
            end = end_of_logical_line(text, position)
            done.append(text[position:end])
        position = end
    return "".join(done)


def end_of_logical_line(text: str, start: int) -> int:
    """Return the position after the logical line at `start`, skipping strings, comments and open brackets."""
    depth = 0
    for piece in _TOKEN.finditer(text, start):
        token = piece[0]
        if token == "\n" and depth == 0:
            return piece.end()
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
    return len(text)


def _without_prompts_and_indent(text: str) -> str:
    """Remove the `>>>` prompts of a pasted session and the indentation of a whole cell, as IPython does."""
    indent = _INDENT.match(text)
    if indent and indent[1]:
        text = "\n".join(line.removeprefix(indent[1]) for line in text.split("\n"))
    if text.lstrip().startswith(">>>"):
        text = _PROMPT.sub("", text)
    return text
