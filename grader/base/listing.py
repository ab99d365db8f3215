"""Names of files and students for messages: in natural order, short, no two of them equal."""

import re
from collections.abc import Collection
from itertools import islice

LISTED = 5
"""Names or messages put into one line; the others are counted."""
_LONGEST_NAME = 200


def natural(name: str) -> tuple[list[list[tuple[int, int, str]]], str]:
    """Sort key: `hw.py`, `hw2.py`, `hw10.py`, folder by folder; the name itself decides between `A` and `a`."""
    folders = []
    for component in name.removesuffix(".py").removesuffix(".ipynb").split("/"):
        parts = re.split(r"(\d+)", component.casefold())
        folders.append([(0, int(p), "") if p.isdecimal() else (1, 0, p) for p in parts if p])
    return folders, name


def unique(wanted: str, taken: Collection[str]) -> str:
    """The name, numbered where it is taken."""
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted} ({number})"
    return name


def short(name: str) -> str:
    """A path for messages: folders within folders can make one of thousands of characters."""
    return name if len(name) <= _LONGEST_NAME else f"{name[:60]}…{name[61 - _LONGEST_NAME :]}"


def listed(names: Collection[str]) -> str:
    """The first few names in a line, and how many more there are."""
    shown = ", ".join(map(short, islice(names, LISTED)))
    return f"{shown} 외 {len(names) - LISTED:,}개" if len(names) > LISTED else shown
