"""Put two orders of events side by side: the learner's and the right one, in columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.feedback import Moment
from grader.report.plain_text import one_line

_FEW_COLUMNS = 7
"""Number of columns that can be read even if most of them differ."""
_PHONE_WIDTH = 262.0
"""Width in CSS pixels that a card on a phone leaves for columns."""
# In CSS pixels, for the font sizes of `card.html.j2`: a letter of a name, a Hangul syllable and any other character of
# a detail, the narrowest column, and the padding and gap of a column.
_NAME_LETTER, _SYLLABLE, _DETAIL_LETTER, _NARROWEST, _AROUND = 7.3, 11, 5, 50, 18

MOMENT_NAMES = {"scheduler": "scheduler.step"}


@dataclass(frozen=True)
class Pair:
    """One column of the two timelines; None if one side has nothing there."""

    yours: Moment | None
    right: Moment | None

    @property
    def differs(self) -> bool:
        """True if only one side has an event."""
        return self.yours is None or self.right is None


def align(yours: Sequence[Moment], right: Sequence[Moment]) -> list[Pair]:
    """Put both timelines in columns, so that moments that have a partner stand above each other.

    Each timeline is a window of a longer one. If one window is over and the other goes on with a moment whose partner
    lies outside, the columns end: that moment is not missing in the other program.
    """
    pairs: list[Pair] = []
    i = j = 0
    while i < len(yours) or j < len(right):
        mine = yours[i] if i < len(yours) else None
        theirs = right[j] if j < len(right) else None
        if mine is not None and mine.differs:
            pairs.append(Pair(mine, None))
            i += 1
        elif theirs is not None and theirs.differs:
            pairs.append(Pair(None, theirs))
            j += 1
        elif mine is None or theirs is None:
            break
        elif mine.kind == theirs.kind:
            pairs.append(Pair(mine, theirs))
            i, j = i + 1, j + 1
        else:  # both flags promise a partner, but the kinds differ: show each side alone
            pairs += [Pair(mine, None), Pair(None, theirs)]
            i, j = i + 1, j + 1
    return pairs


def phone_rows(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Split the columns into rows that fit a phone, beside the labels of both programs."""
    made: list[list[Pair]] = [[]]
    left = _PHONE_WIDTH
    for pair in pairs:
        wide = _estimated_width(pair)
        if made[-1] and wide > left:
            made.append([])
            left = _PHONE_WIDTH
        made[-1].append(pair)
        left -= wide
    return [row for row in made if row]


def _estimated_width(pair: Pair) -> float:
    """Estimate the width of a column in pixels, including the gap behind it."""
    sides = [moment for moment in (pair.yours, pair.right) if moment is not None]
    names = max(_NAME_LETTER * (len(moment_name(moment)) + 2 * pair.differs) for moment in sides)
    details = max(
        sum(_SYLLABLE if "가" <= sign <= "힣" else _DETAIL_LETTER for sign in moment_detail(moment))
        for moment in sides
    )
    return max(names, details, _NARROWEST) + _AROUND


def is_readable(pairs: Sequence[Pair]) -> bool:
    """Return True if columns help; if most of them have no partner, two lines in words say more."""
    return len(pairs) < _FEW_COLUMNS or sum(pair.differs for pair in pairs) <= len(pairs) / 2


def order_in_words(moments: Sequence[Moment], limit: int = 8) -> str:
    """Return the names of the first `limit` events, as in `zero_grad → forward → backward → step`.

    `…` stands for what is left out at either end.
    """
    names = [moment_name(moment) for moment in moments[:limit]]
    before = ["…"] if moments and moments[0].goes_before else []
    return " → ".join([*before, *names, *(["…"] if len(moments) > limit else [])])


def moment_name(moment: Moment) -> str:
    """Return the event's name: `zero_grad`, `forward`, …"""
    return MOMENT_NAMES.get(moment.kind, one_line(moment.kind, 40))


def moment_detail(moment: Moment) -> str:
    """Return batch and line: `줄 3`, `배치 2 · 줄 5`, or empty."""
    parts = [] if moment.batch is None else [f"배치 {moment.batch}"]
    if moment.line is not None:
        parts.append(f"줄 {moment.line}")
    return " · ".join(parts)
