"""Make text that others wrote, and numbers, fit to show on a page, on a terminal or in a spreadsheet."""

import re
import unicodedata
from collections.abc import Sequence

from grader.course.marks import Comment

_WORD_STARTS = re.compile(r"(?<=_)|(?<=[a-z])(?=[A-Z])")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def clean(text: str, limit: int = 2000) -> str:
    r"""Return `text` without anything that could steer a terminal or a page, cut to `limit` characters.

    Terminal colours, which PyTorch writes into some of its messages, are removed. Other control characters,
    bidirectional overrides and lone surrogates become visible escapes such as `\x1b`; tabs become spaces, and line
    breaks stay.
    """
    text = _COLORS.sub("", text)
    cut = text[:limit]
    plain = cut.replace("\r\n", "\n").expandtabs(4)
    # What is printable has nothing to escape; asking a long text as a whole is many times faster.
    shown = plain if plain.replace("\n", "").isprintable() else "".join(map(_visible, plain))
    return shown if len(text) <= limit else f"{shown} … ({len(text):,}자 중 {limit:,}자)"


def _visible(char: str) -> str:
    """Return a character, or its escape if it would steer a terminal or a page."""
    if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    # Joiners inside emoji and Indic scripts are Cf too, but no error message needs them intact.
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str, limit: int = 300) -> str:
    """Return `text` cleaned as by `clean`, with runs of white space, line breaks included, as single spaces."""
    return " ".join(clean(text, limit).split())


def without_code_marks(text: str) -> str:
    """Return `text` in one line without its backticks, for places that cannot set code."""
    return one_line(text).replace("`", "")


# The apostrophe is listed, and so doubled, so that `=a` and `'=a` stay two names.
_FORMULA_STARTS = ("'", "=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def spreadsheet_cell(text: str, limit: int = 300) -> str:
    """Return `text` in one line, with an apostrophe in front if a spreadsheet would take it for a formula."""
    shown = one_line(text, limit)
    return f"'{shown}" if text.startswith(_FORMULA_STARTS) or shown.startswith(_FORMULA_STARTS) else shown


def comment_lines(comments: Sequence[Comment]) -> list[str]:
    """Return an instructor's comments as lines, each with the exercise that it is about."""
    return [f"{c.exercise}: {one_line(c.text, WHOLE_COMMENT)}".removeprefix(": ") for c in comments]


WHOLE_COMMENT = 20_000
"""Maximum characters shown of an instructor's reasons and comments together: more than anybody writes."""


def name_parts(name: str) -> list[str]:
    """Split an identifier where a narrow column may break it: `train_`, `step`."""
    return _WORD_STARTS.split(name)


def points(value: float) -> str:
    """Format points as people write them: `3`, `2.5`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


_UNBREAKABLE = re.compile(
    r"(?<=[)\]」』”’])(?=[가-힣])"  # a particle after a bracket or a quotation mark
    r"|(?<=\d[eE]-)(?=\d)"  # 1.5e-16
)
"""Matches places within a word at which a browser would break the line."""
JOINER = "\u2060"
"""Word joiner: invisible, and no line breaks at it."""


def whole_words(text: str, after_code: bool = False) -> str:
    """Return `text` in which no line breaks inside a word.

    Browsers that keep Korean words whole still break between a bracket and its particle, or inside `1.5e-16`.

    Args:
        text: prose, or the part of it between two pieces of code.
        after_code: True if code stands right before it; a particle after code is kept with it as after a bracket.
    """
    text = re.sub(r"(?<=[\dα-ω]) ([±~×=]) (?=\d)", "\u00a0\\1\u00a0", text)
    text = _UNBREAKABLE.sub(JOINER, text)
    return JOINER + text if after_code and re.match("[가-힣]", text) else text


_CODE = re.compile(r"`([^`\n]+)`")


_CODE_JOINTS = re.compile(r"(?<=[(\[{,])(?=[^\s)\]}])|(?<=\w)(?=\.[A-Za-z_])")
SHORT_CODE = 24
"""Maximum characters of inline code kept on one line: less than half of a phone's line."""


def code_pieces(line: str) -> list[str]:
    """Split a line of code where it may wrap without a space: before a dot, after a bracket or a comma."""
    return _CODE_JOINTS.split(line)


def split_code(text: str) -> list[tuple[str, bool]]:
    """Split text into prose and inline code: [(text, is code), …]."""
    pieces = _CODE.split(text)
    return [(piece, index % 2 == 1) for index, piece in enumerate(pieces) if piece]


def mark_points(score: float | None, full: float, between: str = "/") -> str:
    """Format a final mark: `19.5/20`, or `면제` for a student who is excused."""
    return "면제" if score is None else f"{points(score)}{between}{points(full)}"
