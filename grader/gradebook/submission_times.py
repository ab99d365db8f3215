"""Read times of handing in, as rosters and systems write them.

A time that cannot be read is reported; it is never taken as being in time.
"""

import re
from collections.abc import Iterable
from datetime import datetime

from grader.base.errors import HanstepError
from grader.base.names import listed
from grader.course.feedback import SubmissionResult
from grader.report.plain_text import one_line

_SHORT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?")
"""Matches times as spreadsheets write them: `2026-3-28 0:30`."""


class TimeError(HanstepError):
    """A time cannot be read; the message is Korean and says whose, and what to write."""


def read_time(text: str) -> datetime | None:
    """Parse a time; it has no time zone if none is written. Return None if it cannot be parsed."""
    try:
        if short := _SHORT.fullmatch(text.strip()):
            return datetime(*(int(number or 0) for number in short.groups()))  # type: ignore[arg-type]
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def refuse_unread(submissions: Iterable[SubmissionResult]) -> None:
    """Refuse times that cannot be read; empty ones are accepted.

    Raises:
        TimeError: names each student with such a time.
    """
    wrong = [s for s in submissions if s.handed_in.strip() and read_time(s.handed_in) is None]
    if wrong:
        rows = listed([f"{_who(s)} '{one_line(s.handed_in, 60)}'" for s in wrong])
        raise TimeError(
            f"제출 시각을 읽을 수 없어서 지각인지 알 수 없어요: {rows}. "
            "명단의 제출 시각을 이렇게 적고 다시 채점해 주세요: 2026-03-20 23:50"
        )


def _who(submission: SubmissionResult) -> str:
    person = submission.person
    return submission.student if person is None else " ".join(filter(None, (person.id, person.name)))
