"""Two updates of a run, event by event, in a form that card and page draw."""

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from grader.scripts.facts import (
    BackwardRan,
    BatchLoaded,
    Cleared,
    Clipped,
    Event,
    Facts,
    ForwardRan,
    LossComputed,
    ScalerCalled,
    Scheduled,
    Stepped,
    UpdatedByHand,
)
from grader.scripts.ledger import MOST_IN_RECIPE

_MOST_ROWS = 24
_MOST_UPDATES = 2
_MOST_TERMS, _LARGEST = 6, 3
"""Of more terms than these only the largest stand by themselves."""
SUM = "Σ"
_LONGEST, _OFTEN = 8, 3
"""Blocks of up to so many rows are folded if they follow one another so often."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A recipe as it is drawn: the terms that stand by themselves, newest first, and the sum of all others."""

    own: list[tuple[int, float]]
    others: int = 0
    rest: float = 0.0


def terms(step: Stepped) -> Terms:
    """Sort a recipe for drawing: of many terms the largest few stand by themselves."""
    whole = list(step.recipe.items())[::-1]
    if len(whole) <= _MOST_TERMS:
        return Terms(whole)
    largest = sorted(whole, key=lambda one: -float(f"{abs(one[1]):.2g}"))[:_LARGEST]
    others = [value for one, value in whole if one not in dict(largest)]
    return Terms([one for one in whole if one in largest], len(others), sum(others))


def formula(step: Stepped) -> str:
    """Write a recipe as `1.0·g₇ + 1.0·g₆`, newest first; `Σ₃₆ 12` stands for the sum of 36 others."""
    if step.read_norm == 0:
        return "0"
    drawn = terms(step)
    parts = [f"{value:.2g}·g{_low(number + 1)}" for number, value in drawn.own]
    if drawn.others:
        more = "₊" if len(step.recipe) == MOST_IN_RECIPE else ""
        parts.append(f"{SUM}{_low(drawn.others)}{more} {drawn.rest:.2g}")
    return " + ".join(parts)


def _low(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


_TOLD: dict[type[Event], tuple[str, Callable[[Any], str]]] = {
    BatchLoaded: ("batch", lambda event: str(event.size)),
    ForwardRan: (
        "forward",
        lambda event: ("train" if event.training else "eval") + ("" if event.grad else ", no_grad"),
    ),
    LossComputed: ("loss", lambda event: str(event.name)),
    BackwardRan: ("backward", lambda event: f"g{_low(event.number + 1)}"),
    Cleared: ("zero_grad", lambda _: ""),
    Clipped: ("clip", lambda event: f"{event.limit:g}"),
    ScalerCalled: ("scaler", lambda event: event.method + (" (skipped)" if event.skipped else "")),
    Stepped: ("step", formula),
    Scheduled: ("scheduler", lambda event: f"lr {event.after[0]:.3g}" if event.after else ""),
    UpdatedByHand: ("by hand", lambda _: ""),
}
"""Name of each kind of event and a note on it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One event with the learner's line."""

    update: int
    kind: str
    file: str
    line: int
    code: str
    note: str
    step: Stepped | None = None


def timeline(facts: Facts, last: bool = True) -> list[Row]:
    """Return the events of the last two whole updates, or of the first two."""
    ends = [event.update for event in facts.of(Stepped) if not event.inside]
    ends += [event.update for event in facts.of(UpdatedByHand)]
    if not ends:
        return _folded([row for event in facts.events if (row := _row(event))])[:_MOST_ROWS]
    first = max(0, max(ends) - _MOST_UPDATES + 1) if last else 0
    rows = [
        row
        for event in facts.events
        if first <= event.update < first + _MOST_UPDATES and (row := _row(event))
    ]
    return _folded(rows)[-_MOST_ROWS:]


def shares_of(row: Row) -> list[float]:
    """Return how much each term of the note weighs in an update, from 0 to 1 of the one that weighs most.

    The sum of the terms that do not stand by themselves is the last one.
    """
    if row.step is None or not row.step.recipe:
        return []
    drawn = terms(row.step)
    values = [value for _, value in drawn.own] + ([drawn.rest] if drawn.others else [])
    largest = max(map(abs, values))
    return [abs(value) / largest for value in values]


def _folded(rows: list[Row]) -> list[Row]:
    """Leave out the middle of what comes again and again, such as a closure's passes: first, `× n`, last."""
    folded: list[Row] = []
    at = 0
    while at < len(rows):
        length, times = max(((n, _times(rows, at, n)) for n in range(1, _LONGEST + 1)), key=_saved)
        if times < _OFTEN:
            folded.append(rows[at])
            at += 1
            continue
        end = at + length * times
        begin = rows[at]
        folded += rows[at : at + length]
        folded.append(Row(begin.update, "…", begin.file, begin.line, "", f"×{times}"))
        folded += rows[end - length : end]
        at = end
    return folded


def _times(rows: list[Row], at: int, length: int) -> int:
    """Count how often the lines of some rows follow one another."""
    block = [(row.update, row.kind, row.line) for row in rows[at : at + length]]
    times = 1
    while [(row.update, row.kind, row.line) for row in rows[at + times * length :][:length]] == block:
        times += 1
    return times


def _saved(block: tuple[int, int]) -> tuple[int, int]:
    length, times = block
    return (times - 2) * length if times >= _OFTEN else 0, -length


def _row(event: Event) -> Row | None:
    told = _TOLD.get(type(event))
    if told is None or event.place is None:
        return None
    code = linecache.getline(event.place.file, event.place.line).strip()
    step = event if isinstance(event, Stepped) else None
    return Row(event.update + 1, told[0], event.place.file, event.place.line, code, told[1](event), step)
