"""Prepare names of files and students for messages: decode them, show what hides in them, sort, shorten, list them."""

import os
import re
import unicodedata
from collections.abc import Collection
from itertools import islice

ENCODINGS = ("utf-8", "cp949")
"""Encodings to try in this order: Korean Windows writes cp949, which contains euc-kr."""
LISTED = 5
"""Maximum number of names or messages in one line; the rest is given as a number."""
_LONGEST_PATH = 200
"""Maximum characters of a path in a message."""
_LONGEST_NAME = 200
"""Maximum characters of a student's name: a longer one fits in no table."""
# Letters, marks, symbols and unassigned characters that are invisible; Unicode calls most "default ignorable".
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2065\u2800\u3164\ufe00-\ufe0f\uffa0\ufff0-\ufff8"
    "\U0001d159\U000e0000-\U000e0fff]"
)
_VISIBLE_EVERYWHERE = re.compile("[ -\\[\\]-~가-힣]")
"""Matches a character that `escaped` keeps: ASCII but the backslash, and Hangul syllables."""
_STEERS = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Unicode categories: control, format (bidirectional overrides), surrogate, line separator, paragraph separator."""


def display_name(name: str) -> str:
    r"""Return a file name in a form that can be printed and written to any file.

    Names that a Korean Windows packed as cp949 are decoded, decomposed Hangul from macOS is composed, and characters
    that are invisible or steer the text around them, and undecodable bytes, become escapes such as `\n` and `\xff`.
    """
    data = os.fsencode(name)
    text = data.decode("utf-8", "backslashreplace")
    for encoding in ENCODINGS:
        try:
            text = data.decode(encoding)
            break
        except UnicodeDecodeError:
            continue
    return "".join(
        char.encode("unicode_escape").decode("ascii") if unicodedata.category(char) in _STEERS else char
        for char in unicodedata.normalize("NFC", text)
    )


def shown_name(name: str) -> str:
    """Return `display_name` without invisible characters, and with each run of white space replaced by one space.

    Empty if nothing would be visible; cut to 200 characters.
    """
    visible = _INVISIBLE.sub("", display_name(name))
    shown = " ".join(unicodedata.normalize("NFC", visible).split())
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[:_LONGEST_NAME]}…"


def escaped(name: str) -> str:
    """Return a file name with everything escaped but visible ASCII and Hangul syllables, so that nothing can hide."""
    text = "".join(c if _VISIBLE_EVERYWHERE.match(c) else ascii(c)[1:-1] for c in name)
    return text.replace(" ", r"\x20")


def natural(name: str) -> tuple[list[list[tuple[int, int, str]]], str]:
    """Return a sort key for natural order: `hw.py`, `hw2.py`, `hw10.py`, folder by folder.

    Case is ignored, except that the name itself decides between `A` and `a`.
    """
    folders = []
    for component in name.removesuffix(".py").removesuffix(".ipynb").split("/"):
        parts = re.split(r"(\d+)", component.casefold())
        folders.append([(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p])
    return folders, name


def unique(wanted: str, taken: Collection[str]) -> str:
    """Return `wanted`, or, if it is taken, the first of `wanted (2)`, `wanted (3)` … that is not."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} ({number})"
    return name


def short(name: str) -> str:
    """Cut the middle out of a path longer than 200 characters: nested folders can make it thousands long."""
    return name if len(name) <= _LONGEST_PATH else f"{name[:60]}…{name[61 - _LONGEST_PATH :]}"


def listed(names: Collection[str], counted: str = "개") -> str:
    """Return a Korean line with the first five names and the number of the others; people are counted in `명`."""
    shown = ", ".join(map(short, islice(names, LISTED)))
    return f"{shown} 외 {len(names) - LISTED:,}{counted}" if len(names) > LISTED else shown
