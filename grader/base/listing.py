"""Prepare names of files and students for messages: sort them naturally, shorten them, make them unique."""

import re
from collections.abc import Collection
from itertools import islice

LISTED = 5
"""Maximum number of names or messages in one line; the rest is given as a number."""
_LONGEST_NAME = 200
"""Maximum characters of a path in a message."""


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
    return name if len(name) <= _LONGEST_NAME else f"{name[:60]}…{name[61 - _LONGEST_NAME :]}"


def listed(names: Collection[str]) -> str:
    """Return a Korean line with the first five names and the number of the others."""
    shown = ", ".join(map(short, islice(names, LISTED)))
    return f"{shown} 외 {len(names) - LISTED:,}개" if len(names) > LISTED else shown
