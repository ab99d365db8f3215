"""Recover the code of a file or cell that does not parse: without the prose around it, and without broken definitions.

An answer copied from a chat comes with sentences and Markdown fences; a syntax error in one function says nothing about
the others. The text is cut into pieces that each begin at the left margin. A piece that parses is kept; a definition
that does not is reported by itself; everything else is left out. What is left out becomes blank, so that every line
keeps its number.

    물론입니다! 다음과 같습니다.       # left out
    ```python                          # left out
    def train_step(model, opt):        # kept
        opt.step()
    ```                                # left out
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from grader.submission.cells import end_of_logical_line, without_magics
from grader.submission.syntax import ASSIGNED_NAME, DEFINED_NAME, ParseError, parse, parses

_MAX_PIECES = 3_000
"""Maximum pieces parsed in one text; a long file has some hundred statements at its left margin."""
_MAX_SCANS = 3
"""Maximum times, on average, that a character is looked at while looking for ends of pieces: hostile text could make
every piece reach to the end of the file."""
_MAX_FENCES_IN_STRING = 20
"""Maximum fences passed over inside one string: hostile text could make every block reach to the end of the file."""

_MAX_SHOWN = 400
"""Maximum characters shown of a line that does not parse."""

_LANGUAGES = frozenset(("", "py", "python", "python3", "py3", "ipython", "ipython3", "pytorch", "code-cell"))
"""Languages after an opening fence whose code is read."""
_FENCE = re.compile(r"[ \t]*+(?P<marks>`{3,}+|~{3,}+)[ \t]*+(?:\{?\.?(?P<language>[\w+-]*+)[^`\n]*+)")
_TRIPLE = re.compile(r"\"\"\"|'''")
_BEGINS_PIECE = re.compile(r"(?!(?:else|elif|except|finally)\b)[^\s)\]}\#]|\#[ \t]*+%%")
"""Start of a line that begins a piece. A line that begins with a closing bracket, a comment or `else` belongs to the
piece before."""
_BEGINS_PIECE_ANYWAY = re.compile(
    r"^(?:(?:async[ \t]++)?def\b|class\b|@|import\b|from[ \t]++[\w.]++[ \t]++import\b|\#[ \t]*+%%)",
    re.MULTILINE,
)
"""Line that begins a piece even if a bracket or a string before it was never closed."""
_STATEMENT = re.compile(
    r"""@ | (?:async|def|class|import|from|if|try|for|while|with|match|del|assert|raise|pass|global|lambda|await)\b
    | (?!\d)\w++(?:\.\w++)*+[ \t]*+(?:\[[^\]\n]*+\])?[ \t]*+[(\[=:+\-*/|&,;]
    | [(\[*](?=[^=]*+=)
    | [rbfuRBFU]{0,2}["'] | [\#0]""",
    re.VERBOSE,
)
"""Start of a piece that may be code; other pieces are taken for prose and not parsed."""
_DECORATORS = r"(?:@[^\n]*+\n(?:[ \t\#][^\n]*+\n|\n)*+)*+"
_PROSE_ON_A_CLASS = r"class[ \t]++\w++(?![ \t]*+(?:[(:\[\#]|\n[ \t]))"
_DEFINITION = re.compile(rf"{_DECORATORS}(?!{_PROSE_ON_A_CLASS}){DEFINED_NAME}|{ASSIGNED_NAME}")
"""Start of a piece that defines a name: group 1 of a `def` or `class`, group 2 of an assignment."""
_ANY_DEFINITION = re.compile(rf"^(?P<indent>[ \t]*+){DEFINED_NAME}", re.MULTILINE)
_KEPT_OUTSIDE_FENCES = re.compile(r"(?:(?:async[ \t]++)?def|class|import|from)\b|@")
"""Start of a piece that is kept outside of fences, where there are some."""


@dataclass(frozen=True)
class Broken:
    """A definition, or a text without any, that does not parse."""

    name: str | None
    """The function, class or variable that it was meant to define; None if it defines nothing at the left margin."""
    error: ParseError
    """The reason; its line counts in the whole text."""
    text: str
    shown: str
    """The line to look at and those to show above and below it, without their common indentation."""


@dataclass(frozen=True)
class Recovery:
    """What could be read of a text."""

    text: str
    """As many lines as the text that was given; it always parses."""
    broken: tuple[Broken, ...] = ()
    left_out: tuple[int, ...] = ()
    """Lines from 1 that are not code: prose, fences, statements outside of definitions that do not parse."""
    fenced: bool = False
    """True if the code stood between Markdown fences."""
    unread_from: int | None = None
    """First line, from 1, that was not parsed because the text has too many pieces; None if all were."""

    @property
    def is_partial(self) -> bool:
        """True if the text did not parse as it was."""
        return bool(self.broken or self.left_out or self.unread_from)


def recover(text: str) -> Recovery:
    """Return what can be read of a text as Python; of one that parses, all of it.

    Lines that only IPython understands are replaced if the text does not parse with them.
    """
    try:
        parse(text)
        return Recovery(text)
    except ParseError as error:
        reason = error
    plain = without_magics(text)
    if plain != text and parses(plain):
        return Recovery(plain)
    return _Reader(_at_the_margin(text)).read(reason)


def _at_the_margin(text: str) -> str:
    """Remove the indentation of the definitions, if none stands at the left margin: code within a list, say."""
    indents = {match["indent"] for match in _ANY_DEFINITION.finditer(text)}
    if not indents or "" in indents:
        return text
    indent = min(indents, key=lambda each: (len(each), each))
    return "\n".join(line.removeprefix(indent) for line in text.split("\n"))


class _Reader:
    """Reads one text that does not parse as a whole."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._kept = [""] * len(self._lines)
        self._broken: list[Broken] = []
        self._left_out = set(range(len(self._lines)))
        """Lines, from 0, that belong neither to what is kept nor to a broken definition."""
        self._pieces_left = _MAX_PIECES
        self._unread_from: int | None = None
        """First line, from 0, that was not parsed because the pieces were used up."""
        self._scans_left = _MAX_SCANS * len(text)

    def read(self, reason: ParseError) -> Recovery:
        """Read all of it.

        Args:
            reason: why the whole text does not parse.
        """
        segments = list(_segments(self._lines))
        fenced = any(inside for _, _, inside in segments)
        for first, end, inside in segments:
            if first < end:  # a fence may open on the last line
                self._read_segment(first, end, prose=fenced and not inside)
        text, nothing = "\n".join(self._kept), "\n" * (len(self._lines) - 1)
        try:
            is_empty = not parse(text)
        except ParseError:  # pieces that parse alone do together; should they not, nothing is graded
            text, is_empty = nothing, True
        if is_empty and not self._broken:
            return Recovery(nothing, (self._broken_text(None, reason, "\n".join(self._lines)),))
        end = len(self._lines) if self._unread_from is None else self._unread_from
        left_out = tuple(
            number + 1 for number in sorted(self._left_out) if number < end and self._is_text(number)
        )
        unread_from = None if self._unread_from is None else self._unread_from + 1
        return Recovery(text, tuple(self._broken), left_out, fenced, unread_from)

    def _is_text(self, number: int) -> bool:
        """Return True if a line is neither blank nor a comment."""
        line = self._lines[number].strip()
        return bool(line) and not line.startswith("#")

    def _read_segment(self, first: int, end: int, *, prose: bool) -> None:
        """Read the lines from `first` up to `end`; of `prose` around fences, only definitions and imports."""
        text = "\n".join(self._lines[first:end])
        if not prose:
            text = without_magics(_at_the_margin(text))
            if parses(text):
                self._keep(text, first)
                return
        position, line = 0, first
        while position < len(text):
            stop = self._end_of_piece(text, position)
            if not self._read_piece(text[position:stop], line, prose=prose):
                resumed = _BEGINS_PIECE_ANYWAY.search(text, text.find("\n", position) + 1 or len(text), stop)
                stop = resumed.start() if resumed else stop
                self._note_broken(text[position:stop], line, prose=prose)
            line += text.count("\n", position, stop)
            position = stop

    def _end_of_piece(self, text: str, start: int) -> int:
        """Return where the piece that begins at `start` ends: before the next line at the margin."""
        if self._scans_left <= 0:
            resumed = _BEGINS_PIECE_ANYWAY.search(text, text.find("\n", start) + 1 or len(text))
            return resumed.start() if resumed else len(text)
        position, decorated = start, False
        while position < len(text) and (
            position == start or decorated or not _BEGINS_PIECE.match(text, position)
        ):
            decorated = text[position] == "@" or (decorated and text[position] in "\n#")
            position = end_of_logical_line(text, position)
        self._scans_left -= position - start
        return position

    def _read_piece(self, piece: str, line: int, *, prose: bool) -> bool:
        """Keep a piece that parses. Return False if it may be code but does not parse."""
        if not (_KEPT_OUTSIDE_FENCES if prose else _STATEMENT).match(piece):
            return piece.isspace() or not _BEGINS_PIECE_ANYWAY.search(piece)
        self._pieces_left -= 1
        if self._pieces_left < 0:
            self._unread_from = line if self._unread_from is None else self._unread_from
            return False
        if not parses(piece):
            return False
        self._keep(piece.removesuffix("\n"), line)
        return True

    def _note_broken(self, piece: str, line: int, *, prose: bool) -> None:
        """Report a piece that does not parse, if it begins a definition."""
        match = _DEFINITION.match(piece)
        if match is None or self._pieces_left < 0 or (prose and not _KEPT_OUTSIDE_FENCES.match(piece)):
            return
        try:
            parse(piece)
        except ParseError as error:
            self._broken.append(self._broken_text(match[1] or match[2], error.moved(line), piece))
            self._left_out.difference_update(range(line, line + piece.rstrip().count("\n") + 1))
        else:  # it parses now that it was cut off at the next definition
            self._keep(piece.removesuffix("\n"), line)

    def _broken_text(self, name: str | None, error: ParseError, text: str) -> Broken:
        lines = self._lines[error.line - 1 - error.above : error.line + error.below]
        return Broken(name, error, text, dedent("\n".join(line[:_MAX_SHOWN].rstrip() for line in lines)))

    def _keep(self, text: str, first: int) -> None:
        lines = text.split("\n")
        self._kept[first : first + len(lines)] = lines
        self._left_out.difference_update(range(first, first + len(lines)))


def _segments(lines: list[str]) -> Iterator[tuple[int, int, bool]]:
    """Yield (first line, line after the last, True if between fences) of the text, without the fences themselves.

    Code of other languages is left out. A fence inside a string of three quotes is none. Without fences around any
    definition, the whole text is one segment outside of fences.
    """
    found: list[tuple[int, int, bool]] = []
    start, number, quote = 0, 0, ""
    while number < len(lines):
        opening = None if quote else _FENCE.fullmatch(lines[number])
        if opening is None:
            quote = _quote_after(lines[number], quote)
            number += 1
            continue
        found.append((start, number, False))
        while opening:
            is_python = (opening["language"] or "").lower() in _LANGUAGES
            start = number + 1
            number = _end_of_block(lines, start, opening["marks"], is_python=is_python)
            if is_python:
                found.append((start, number, True))
            fence = _FENCE.fullmatch(lines[number]) if number < len(lines) else None
            opening = fence if fence and fence["language"] else None  # the block before was not closed
        number += 1
        start = number
    if start <= len(lines):
        found.append((start, len(lines), False))
    if any(inside and _ANY_DEFINITION.search("\n".join(lines[a:b])) for a, b, inside in found):
        yield from found
    else:
        yield 0, len(lines), False


def _end_of_block(lines: list[str], start: int, marks: str, *, is_python: bool) -> int:
    """Return the line that ends the block from `start` on: a closing or another opening fence, or the end of the text.

    In Python, a fence inside a string of three quotes ends nothing, unless the string never ends.

    Args:
        lines: the text.
        start: first line of the block.
        marks: marks of its opening fence.
        is_python: True if the block is read as Python.
    """
    quote = ""
    inside_string: list[int] = []
    for number in range(start, len(lines)):
        fence = _FENCE.fullmatch(lines[number])
        if fence and (fence["language"] or fence["marks"].startswith(marks)):
            if not quote:
                return number
            inside_string.append(number)
            if len(inside_string) > _MAX_FENCES_IN_STRING:
                break
        elif is_python:
            quote = _quote_after(lines[number], quote)
    return inside_string[0] if inside_string else len(lines)


def _quote_after(line: str, quote: str) -> str:
    """Return the three quotes of the string that is open after a line, given that before it; empty if none is."""
    for mark in _TRIPLE.findall(line):
        quote = mark if not quote else "" if mark == quote else quote
    return quote


def spans_of(lines: Sequence[int], text: str) -> list[str]:
    """Return ascending line numbers of a text as `1~3`, `7`; blank lines between them count as left out too."""
    written = text.split("\n")
    spans: list[list[int]] = []
    for line in lines:
        if spans and not "".join(written[spans[-1][1] : line - 1]).strip():
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return [f"{first}" if first == last else f"{first}~{last}" for first, last in spans]
