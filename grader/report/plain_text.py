"""Text that others wrote, and numbers, as a page or a terminal can show them."""

import re
import unicodedata

_PARTS = re.compile(r"(?<=_)|(?<=[a-z])(?=[A-Z])")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")


def clean(text: str, limit: int = 2000) -> str:
    """`text` without what could steer a terminal or a page, cut to `limit` characters.

    A terminal's colours, as PyTorch writes them into some of its messages, are left out. Other control characters,
    bidirectional overrides and lone surrogates become visible `\\x1b`-like escapes; tabs become spaces, and line
    breaks stay.
    """
    text = _COLORS.sub("", text)
    cut = text[:limit]
    shown = "".join(_shown(char) for char in cut.replace("\r\n", "\n").expandtabs(4))
    return shown if len(text) <= limit else f"{shown} … ({len(text):,}자 중 {limit:,}자)"


def _shown(char: str) -> str:
    if char == "\n" or unicodedata.category(char) not in ("Cc", "Cf", "Cs"):
        return char
    # Joiners inside emoji and Indic scripts are Cf too, but no error message needs them whole.
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def one_line(text: str, limit: int = 300) -> str:
    """As `clean`, with line breaks turned into spaces."""
    return " ".join(clean(text, limit).split())


def without_code_marks(text: str) -> str:
    """`text` for places that cannot set code: without its backticks."""
    return one_line(text).replace("`", "")


def name_parts(name: str) -> list[str]:
    """An identifier in pieces between which a narrow column may break it: `train_`, `step`."""
    return _PARTS.split(name)


def points(value: float) -> str:
    """Points as people write them: `3`, `2.5`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


_JOINED = re.compile(
    r"(?<=[)\]」』”’])(?=[가-힣])"  # a particle after a bracket or a quotation mark
    r"|(?<=\d[eE]-)(?=\d)"  # 1.5e-16
)
JOINER = "\u2060"
"""Seen by nobody; no line breaks at it."""


def whole_words(text: str, after_code: bool = False) -> str:
    """`text` in which no line breaks inside a word, where a browser would though it keeps Korean words whole.

    Args:
        text: prose, or the part of it between two pieces of code.
        after_code: whether code stands right before it, which takes a particle as a bracket does.
    """
    text = re.sub(r"(?<=[\dα-ω]) ([±~×=]) (?=\d)", "\u00a0\\1\u00a0", text)
    text = _JOINED.sub(JOINER, text)
    return JOINER + text if after_code and re.match("[가-힣]", text) else text


_CODE = re.compile(r"`([^`\n]+)`")


_CODE_JOINTS = re.compile(r"(?<=[(\[{,])(?=[^\s)\]}])|(?<=\w)(?=\.[A-Za-z_])")
SHORT_CODE = 24
"""Characters of inline code that stay on one line: less than half of a phone's."""


def code_pieces(line: str) -> list[str]:
    """A line of code, parted where it may be broken without a space: before a dot, after a bracket or a comma."""
    return _CODE_JOINTS.split(line)


def split_code(text: str) -> list[tuple[str, bool]]:
    """Prose and inline code in turn: [(text, is code), …]."""
    pieces = _CODE.split(text)
    return [(piece, index % 2 == 1) for index, piece in enumerate(pieces) if piece]
