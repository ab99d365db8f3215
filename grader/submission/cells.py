"""Split the text of a notebook or `.py` file into code cells, and replace what only IPython understands."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from grader.base.decoding import ReadError, unix_lines
from grader.submission.notebook_json import raw_cells
from grader.submission.syntax import ParseError, parse

MAX_CODE_CHARS = 300_000
"""Maximum characters of code in one file, a notebook's outputs and prose not counted: five times our longest lesson.
Parsing this much takes a second and 300 MB at worst."""
MAX_CELLS = 3_000
"""Maximum number of code cells in one file; a long notebook has a hundred."""
_MAX_TAGS = 100
"""Maximum number of tags read for one cell."""

_OTHER_TYPES = ("markdown", "raw")
"""Types of cells besides code that may hold an answer, after a slip of the keyboard."""
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


@dataclass(frozen=True)
class NotebookCell:
    """One cell of a notebook, of whatever type, as its file has it."""

    is_code: bool
    source: str
    exercises: tuple[str, ...]
    """Exercises that the cell is tagged for."""


def notebook_cells(text: str) -> list[NotebookCell]:
    """Return the cells of a notebook that are not blank.

    Raises:
        ReadError: the text is not a notebook, or it exceeds a size limit.
    """
    cells: list[NotebookCell] = []
    size = number = 0
    for raw in raw_cells(text):
        is_code = raw.get("cell_type") == "code"
        is_old = "input" in raw and "source" not in raw  # format 3
        parts = _parts(raw.get("input" if is_old else "source"))
        size += sum(map(len, parts)) if is_code else 0
        _check_size(size)
        is_read = is_code or raw.get("cell_type") in _OTHER_TYPES
        source = _source_text(parts, by_lines=is_old or not is_code) if is_read else ""
        if source.strip():
            number += is_code
            _check_cells(number)
            cells.append(NotebookCell(is_code, source, _exercises(raw.get("metadata"))))
    return cells


def numbered(cells: Iterable[NotebookCell]) -> list[Cell]:
    """Return these cells as code, translated to plain Python and counted from 1."""
    found: list[Cell] = []
    for number, cell in enumerate(cells, start=1):
        written, body = _without_writefile(cell.source)
        found.append(Cell(number, 1, as_python(body), cell.exercises, written))
    _check_size(sum(len(cell.text) for cell in found))
    _check_cells(len(found))
    return found


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


def module_of(written: str) -> str:
    """Return the name by which a written `.py` file is imported, without its folder."""
    return written.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


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


def _parts(source: object) -> list[str]:
    """Return the strings of which a cell's source consists: nbformat allows a list of lines or one text."""
    return [part for part in (source if isinstance(source, list) else [source]) if isinstance(part, str)]


def _source_text(parts: Sequence[str], *, by_lines: bool) -> str:
    """Return the parts of a cell's source as one text with Unix line ends, without a byte order mark.

    The parts are lines with their ends. Some programs leave out the ends; format 3 allowed that (`by_lines`).
    """
    text = "".join(parts)
    if len(parts) > 1 and not any(part.endswith(("\n", "\r")) for part in parts[:-1]):
        lines = "\n".join(parts)
        if by_lines or _is_python(lines) or not _is_python(text):
            text = lines
    return unix_lines(text).removeprefix("\ufeff")


def _is_python(text: str) -> bool:
    try:
        parse(as_python(text))
    except ParseError:
        return False
    return True


def _list(value: object) -> list[object]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def _exercises(metadata: object) -> tuple[str, ...]:
    """Return the exercises named in a cell's tags."""
    tags = metadata.get("tags") if isinstance(metadata, dict) else None
    found = (_TAG.fullmatch(tag) for tag in _list(tags)[:_MAX_TAGS] if isinstance(tag, str))
    return tuple(match[1] for match in found if match)


# The code below replaces IPython's TransformerManager, for two reasons: IPython joins the lines of a continued
# `!command`, which shifts the line numbers after it, and it reads the whole cell again for every magic (half a minute
# for a cell of 500 magics). Tests compare the two. Possessive quantifiers (`*+`, `++`) never backtrack, so hostile text
# takes only linear time.

# Blank lines, comments and the magics that run a cell and measure it at the start of one.
_KEPT_MAGICS = re.compile(
    r"(?:[ \t]*+(?:\#[^\n]*+)?\n|[ \t]*+%%(?:time|timeit|capture|prun|memit|snakeviz|pyinstrument)\b[^\n]*+(?:\n|\Z))*+"
)
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

    The lines of magics that measure a cell (`%%time`, `%%capture` …) are blanked out. A cell with another `%%` magic
    (bash, html, writefile …) is not Python, and all of its lines are blanked out.
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
