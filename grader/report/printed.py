"""Shorten what a learner's function printed, for cards and terminals."""

from dataclasses import dataclass

from grader.course.feedback import Feedback
from grader.report.plain_text import clean, one_line

_FIRST_LINES = 3
_MOST_LINES = 60
"""Maximum number of lines shown when unfolded."""
_MOST_CHARS = 160
"""Maximum number of characters shown of a line."""


@dataclass(frozen=True)
class Output:
    """Output of one scenario as it is shown; harmless on a page and on a terminal."""

    title: str
    first: tuple[str, ...]
    rest: tuple[str, ...]
    """Further lines, to be unfolded; not always all of them."""
    more: str
    """Line in place of those folded away, such as `나머지 24줄`; empty if nothing is."""
    left_out: str
    """Line on what is not shown even when unfolded; empty if nothing is."""


def printed(feedback: Feedback) -> Output | None:
    """Return the output to show below the card; None if the function printed nothing."""
    output = feedback.printed
    if output is None:
        return None
    kept = [_shown(line) for line in output.text.replace("\r\n", "\n").removesuffix("\n").split("\n")]
    kept = kept[: min(_MOST_LINES, output.lines)]
    hidden = output.lines - min(_FIRST_LINES, len(kept))
    return Output(
        title=f"내 함수가 출력한 것 · {one_line(feedback.printed_in, 60)}",
        first=tuple(kept[:_FIRST_LINES]),
        rest=tuple(kept[_FIRST_LINES:]),
        more=f"나머지 {hidden:,}줄" if hidden > 0 else "",
        left_out=f"여기까지만 보여 드려요 (모두 {output.lines:,}줄)." if output.lines > len(kept) else "",
    )


def _shown(line: str) -> str:
    """Return a line as a terminal would leave it: what a carriage return overwrites is gone, and long lines are cut."""
    last = line.rstrip("\r").rpartition("\r")[2]
    return clean(last[:_MOST_CHARS]) + (" …" if len(last) > _MOST_CHARS else "")
