"""Put two orders of events side by side: the learner's and the right one, in columns."""

from collections.abc import Sequence
from dataclasses import dataclass

from grader.course.feedback import Diagnosis, Moment
from grader.observe.wording import particle
from grader.report.plain_text import one_line

_FEW_COLUMNS = 7
"""Number of columns that can be read even if most of them differ."""

MOMENT_NAMES = {"scheduler": "scheduler.step"}


_ELLIPSIS = Moment("…", None)


@dataclass(frozen=True)
class Pair:
    """One column of the two timelines; None if one side has nothing there."""

    yours: Moment | None
    right: Moment | None

    @property
    def differs(self) -> bool:
        """True if only one side has an event."""
        return self.yours is None or self.right is None


OTHERS = Pair(_ELLIPSIS, _ELLIPSIS)
"""A column that stands for events that are not drawn."""


def align(yours: Sequence[Moment], right: Sequence[Moment]) -> list[Pair]:
    """Put both timelines in columns, so that moments that have a partner stand above each other.

    Each timeline is a window of a longer one. If one window is over and the other goes on with a moment whose partner
    lies outside, the columns end: that moment is not missing in the other program. A column of `…` stands for what the
    call did before the windows, and for what it did after them.
    """
    before = any(side and side[0].goes_before for side in (yours, right))
    pairs: list[Pair] = [OTHERS] if before else []
    is_cut = any(side and side[-1].goes_on for side in (yours, right))
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
            is_cut = True
            break
        elif mine.kind == theirs.kind:
            pairs.append(Pair(mine, theirs))
            i, j = i + 1, j + 1
        else:  # both flags promise a partner, but the kinds differ: show each side alone
            pairs += [Pair(mine, None), Pair(None, theirs)]
            i, j = i + 1, j + 1
    return [*pairs, OTHERS] if pairs and is_cut else pairs


def to_show(diagnosis: Diagnosis) -> list[Pair]:
    """Return the columns of both timelines; none if all are alike and mistakes explain everything, or of one kind.

    Alike, they tell a learner where not to look any more, who has no need of it then. None also if the solution does
    nothing and the learner's program runs `backward` without a recorded `forward`: then the scenario watches no model,
    because it expects an exception, and the learner's timeline lacks most of what happened.
    """
    kinds = {moment.kind for moment in diagnosis.yours}
    if not diagnosis.right and "backward" in kinds and "forward" not in kinds:
        return []
    pairs = align(diagnosis.yours, diagnosis.right)
    # Events of one kind have no order that could be told.
    says_nothing = diagnosis.mistakes_explain_all or len(_kinds_drawn(pairs)) < 2
    return [] if says_nothing and not any(pair.differs for pair in pairs) else pairs


def is_readable(pairs: Sequence[Pair]) -> bool:
    """Return True if columns help; if most of them have no partner, two lines in words say more."""
    return len(pairs) < _FEW_COLUMNS or sum(pair.differs for pair in pairs) <= len(pairs) / 2


def order_in_words(moments: Sequence[Moment], limit: int = 8) -> str:
    """Return the names of the first `limit` events, as in `zero_grad → forward → backward → step`.

    `…` stands for what is left out at either end.
    """
    names = [moment_name(moment) for moment in moments[:limit]]
    before = ["…"] if moments and moments[0].goes_before else []
    after = ["…"] if len(moments) > limit or (moments and moments[-1].goes_on) else []
    return " → ".join([*before, *names, *after])


def same_order(pairs: Sequence[Pair]) -> str:
    """Return a Korean sentence for two timelines without a difference; it names the kinds that were recorded."""
    return f"{', '.join(_kinds_drawn(pairs))}의 순서는 정답과 같아요."


def _kinds_drawn(pairs: Sequence[Pair]) -> list[str]:
    """Return the names of the kinds of events on the learner's timeline, each once."""
    names = (moment_name(pair.yours) for pair in pairs if pair.yours is not None and pair.yours != _ELLIPSIS)
    return [*dict.fromkeys(names)]


def nothing_happened(right: Sequence[Moment]) -> str:
    """Return a Korean sentence for a call of which nothing was recorded; it names the kinds on the solution's timeline.

    Other kinds may not be recorded in that call at all, so nothing is said of them.
    """
    drawn = ", ".join(dict.fromkeys(map(moment_name, right)))
    steps = drawn + particle(drawn, "을/를")
    return f"결과가 처음 달라진 호출에서 정답은 {steps} 실행하지만, 내 코드는 하나도 실행하지 않았어요."


def moment_name(moment: Moment) -> str:
    """Return the event's name: `zero_grad`, `forward`, …"""
    return MOMENT_NAMES.get(moment.kind, one_line(moment.kind, 40))


def moment_detail(moment: Moment) -> str:
    """Return batch and line: `줄 3`, `배치 2 · 줄 5`, or empty."""
    parts = [] if moment.batch is None else [f"배치 {moment.batch}"]
    if moment.line is not None:
        parts.append(f"줄 {moment.line}")
    return " · ".join(parts)
