"""Read the times that people, spreadsheets and learning systems write; refuse what is not certain.

dateutil knows the names of months and the zones; what it would guess is settled before: Korean words, the order of day
and month, what `UTC+9` means, and parts that are missing.
"""

import re
import unicodedata
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Literal

from dateutil import parser

Order = Literal["month-day", "day-month"]
"""Order of day and month in dates that end with the year."""

_ZONES = {"UTC": 0, "UT": 0, "GMT": 0, "Z": 0, "KST": 9, "JST": 9}
"""Hours ahead of UTC. Other abbreviations have several meanings."""
_DEFAULTS = (datetime(2001, 1, 1, 0, 0), datetime(2002, 2, 2, 1, 1))
"""Two times from which dateutil takes what a text leaves out: if the results differ, something is left out."""
_NUMERIC = re.compile(r"(?<![\d/.\-])(\d{1,2})([/.\-]) ?(\d{1,2})\2 ?(\d{4})(?!\d)")
"""Matches a date that ends with the year: `3/21/2026`, `21.3.2026`."""
_HAS_TIME = re.compile(r"\d:\d\d|\d{8}[T ]?\d{4}|T\d\d|\d ?[AP]M\b", re.IGNORECASE)
_HAS_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|(?<!\d)[12]\d{7}(?!\d)|(?<!\d)[12]\d{7}T")
_YEAR_FIRST = re.compile(r"(?<!\d)(\d{4})-(\d{1,2})-(\d{1,2})(?!\d)")
_LAST_HOUR = re.compile(r"(?<![\d:])24:00(?::00)?(?![\d:])")
_AFTERNOON = re.compile(r"(?<!\d)(1[3-9]|2[0-3])(:\d\d(?::\d\d)?) PM\b")
"""Matches an hour that says already that it is after noon: `오후 23:50`."""
_REWRITTEN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[(（]?(?:[월화수목금토일]요일|(?<=\()[월화수목금토일](?=\)))[)）]?,?"), " "),
    (re.compile(r"^[월화수목금토일], "), " "),
    (re.compile(r"(\d{4}) ?년 ?(\d{1,2}) ?월 ?(\d{1,2}) ?일,?"), r" \1-\2-\3 "),
    (re.compile(r"(?<!\d)(\d{1,2})일? (\d{1,2})월 (\d{4})년?,?"), r" \3-\2-\1 "),
    (re.compile(r"(?<!\d)(\d{4})([./]) ?(\d{1,2})\2 ?(\d{1,2})(?!\d)\.?"), r" \1-\3-\4 "),
    (re.compile(r"(?<!\d)(\d{1,2}) ?시 ?(\d{1,2}) ?분 ?(\d{1,2}) ?초"), r" \1:\2:\3 "),
    (re.compile(r"(?<!\d)(\d{1,2}) ?시 ?(\d{1,2}) ?분"), r" \1:\2 "),
    (re.compile(r"(?<!\d)(\d{1,2}) ?시(?![가-힣])"), r" \1:00 "),
    (re.compile(r":(\d)(?!\d)"), r":0\1"),
    (re.compile(r"\b([ap])\. ?m\.?", re.IGNORECASE), r"\1m"),
    (re.compile(r"오전 ?(\d{1,2}(?::\d\d){0,2})|(\d{1,2}(?::\d\d){1,2}) ?오전"), r" \1\2 AM "),
    (re.compile(r"오후 ?(\d{1,2}(?::\d\d){0,2})|(\d{1,2}(?::\d\d){1,2}) ?오후"), r" \1\2 PM "),
    (re.compile(r"\b([AP]M) (\d{1,2}(?::\d\d){1,2})(?!\d)", re.IGNORECASE), r"\2 \1"),
    (re.compile(r"[(（]?\b(?:UTC|GMT) ?([+-])(\d{1,2})(?::?(\d\d))?\b[)）]?"), r" \1\2:\3 "),
    (re.compile(r"([+-]\d{1,2}:?\d\d) ?\([^()]*\)"), r"\1 "),
    (re.compile(r"\(([A-Z]{1,4})\)"), r" \1 "),
)
"""What is rewritten before dateutil reads it, in this order. dateutil takes `UTC+9` for nine hours behind."""
_OFFSET = re.compile(r"([+-])(\d{1,2}):(\d\d)? ")


@dataclass(frozen=True)
class Times:
    """Times as written, read together: the others in a file tell the order of day and month in a date such as 4/3."""

    read: Mapping[str, datetime]
    """Time by its text; without a time zone if none is written."""
    unclear: frozenset[str]
    """Texts whose day and month could be swapped, and nothing tells which is which."""

    @classmethod
    def of(cls, texts: Iterable[str], order: Order | None = None) -> "Times":
        """Read all times of a class; texts in neither part of the result cannot be read.

        Args:
            texts: times as written.
            order: of day and month in dates that end with the year; None: as the other texts tell.
        """
        wanted = set(texts)
        told = {found for text in wanted if (found := _order_told_by(text)) is not None}
        used = order or (told.pop() if len(told) == 1 else None)
        read = {text: when for text in wanted if (when := read_time(text, used)) is not None}
        unclear = {text for text in wanted if used is None and text not in read and _could_be_swapped(text)}
        return cls(read, frozenset(unclear))


@lru_cache(maxsize=4096)
def read_time(text: str, order: Order | None = None) -> datetime | None:
    """Parse one time, without a time zone if none is written; None if it cannot be read with certainty.

    Year, month, day, hour and minute must all be there, the year with four digits.
    """
    plain = _plain(text)
    rewritten = _with_year_first(_rewritten(plain), order)
    if rewritten is None or not _HAS_TIME.search(rewritten):
        return None
    try:
        return datetime.fromisoformat(plain)
    except ValueError:
        return _parsed(rewritten) if _HAS_YEAR.search(rewritten) else None


def _parsed(text: str) -> datetime | None:
    """Read what has been rewritten; None if a part is missing or means nothing."""
    later = timedelta(0)
    if _LAST_HOUR.search(text):
        text, later = _LAST_HOUR.sub("00:00", text), timedelta(days=1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first, second = (parser.parse(text, default=d, tzinfos=_zone) for d in _DEFAULTS)
        read: datetime = first + later
    # OverflowError: the last day that datetime can represent.
    except (ValueError, OverflowError, TypeError, Warning):
        return None
    return read if first == second and _is_year_month_day(text, first) else None


def _is_year_month_day(text: str, when: datetime) -> bool:
    """Return True unless dateutil has taken the second number of `2026-21-03` for the day."""
    found = _YEAR_FIRST.search(text)
    return found is None or (int(found[2]), int(found[3])) == (when.month, when.day)


def _plain(text: str) -> str:
    """Return the text with one kind of space; spreadsheets and browsers write others."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _rewritten(plain: str) -> str:
    for pattern, new in _REWRITTEN:
        plain = " ".join(pattern.sub(new, plain).split())
    plain = _OFFSET.sub(lambda found: f"{found[1]}{found[2]:0>2}:{found[3] or '00'} ", f"{plain} ")
    return _AFTERNOON.sub(r"\1\2", " ".join(plain.split())).strip(" ,")


def _with_year_first(text: str, order: Order | None) -> str | None:
    """Write a date that ends with the year in the order of ISO 8601; None if its day and month could be swapped."""
    found = _NUMERIC.search(text)
    if found is None:
        return text
    order = _order_of(found) or order
    if order is None and int(found[1]) != int(found[3]):
        return None
    month, day = (found[3], found[1]) if order == "day-month" else (found[1], found[3])
    return f"{text[: found.start()]}{found[4]}-{month}-{day}{text[found.end() :]}"


def _order_of(found: re.Match[str]) -> Order | None:
    """Return the order that a date shows by a number above twelve; None if it shows none."""
    if int(found[1]) > 12:
        return "day-month"
    return "month-day" if int(found[3]) > 12 else None


def _order_told_by(text: str) -> Order | None:
    found = _NUMERIC.search(_rewritten(_plain(text)))
    return None if found is None else _order_of(found)


def _could_be_swapped(text: str) -> bool:
    return all(read_time(text, order) is not None for order in ("month-day", "day-month"))


def _zone(name: str | None, offset: int | None) -> timezone | None:
    """Return the time zone that a text names; None if it names none.

    Raises:
        ValueError: its name has no certain meaning.
    """
    if offset is not None:
        return timezone(timedelta(seconds=offset))
    if name is None:
        return None
    if name not in _ZONES:
        raise ValueError(name)
    return timezone(timedelta(hours=_ZONES[name]))
