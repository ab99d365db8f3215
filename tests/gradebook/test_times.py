"""Times as people, spreadsheets and learning systems write them: read rightly, or not at all."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.gradebook.times import Times, read_time

HALF_PAST_MIDNIGHT = datetime(2026, 3, 21, 0, 30)
SEOUL = timezone(timedelta(hours=9))


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-21 0:30",
        "2026-3-21 00:30",
        "2026-03-21T00:30:00",
        "2026/03/21 00:30",
        "2026.03.21 00:30",
        "2026. 3. 21. 오전 12:30",  # Korean Windows
        "2026. 3. 21 0:30",
        "2026-03-21 오전 12:30",
        "2026-03-21 12:30 오전",
        "2026-03-21 AM 12:30",
        "2026-03-21 12:30\u202fAM",  # browsers
        "2026-03-21 12:30 a.m.",
        "3/21/2026 12:30 AM",  # Excel in English
        "21/3/2026 0:30",
        "20260321 0030",
        "2026-03-20 24:00",
        "2026년 3월 21일 토요일, 오전 12:30",  # Moodle in Korean
        "토요일, 21 3월 2026, 12:30 오전",  # Moodle in Korean, language pack 4.5
        "Saturday, 21 March 2026, 12:30 AM",  # Moodle in English
        "2026년 3월 21일 (토) 오전 12시 30분",
        "Mar 21, 2026 at 12:30am",  # Canvas
    ],
)
def test_half_past_midnight(text: str) -> None:
    expected = HALF_PAST_MIDNIGHT - timedelta(minutes=30 if "24:00" in text else 0)
    assert read_time(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-21 00:30 KST",
        "2026-03-21 00:30 (KST)",
        "2026-03-21T00:30:00+09:00",
        "2026-03-21 00:30 UTC+9",  # dateutil reads nine hours behind
        "2026-03-21 00:30 GMT+09:00",
        "Sat Mar 21 2026 00:30:00 GMT+0900 (Korean Standard Time)",  # JavaScript
        "Sat, 21 Mar 2026 00:30:00 +0900",  # mail
        "2026-03-20 15:30 UTC",
        "2026-03-20 15:30:00.123456789 Z",  # Gradescope
    ],
)
def test_half_past_midnight_in_seoul(text: str) -> None:
    read = read_time(text)
    assert read is not None
    assert read.replace(microsecond=0) == HALF_PAST_MIDNIGHT.replace(tzinfo=SEOUL)


def test_the_afternoon() -> None:
    for text in (
        "2026. 3. 20. 오후 11:50",
        "2026-03-20 오후 23:50",
        "2026-03-20 11:50 PM",
        "2026-03-20 23시 50분",
    ):
        assert read_time(text) == datetime(2026, 3, 20, 23, 50), text
    assert read_time("2026-03-20 오후 12:10") == datetime(2026, 3, 20, 12, 10)


@pytest.mark.parametrize(
    "text",
    ["", "no time", "10", "11:50", "2026-03-21", "2026년 3월 21일", "March 2026 11:50", "26/03/21 00:30",
     "04/03/2026 00:30", "2026-13-40 00:00", "2026-21-03 00:30", "2026-02-30 10:00", "2026-03-21 오전 13:00",
     "2026-03-21 25:00", "2026-03-21 00:30 EST", "46102.0208", "Mar 21 at 12:30am", "9" * 5_000],
)  # fmt: skip
def test_what_is_not_certain_is_not_read(text: str) -> None:
    """Something is missing, cannot be, or could be something else."""
    assert read_time(text) is None


def test_the_others_tell_day_and_month() -> None:
    assert Times.of(["04/03/2026 0:30", "21/03/2026 0:30"]).read["04/03/2026 0:30"].month == 3
    assert Times.of(["04/03/2026 0:30", "03/21/2026 0:30"]).read["04/03/2026 0:30"].month == 4
    assert Times.of(["04/03/2026 0:30"], "day-month").read["04/03/2026 0:30"].month == 3
    assert Times.of(["04/03/2026 0:30", "x"]).unclear == {"04/03/2026 0:30"}
    both = Times.of(["04/03/2026 0:30", "03/21/2026 0:30", "21/03/2026 0:30"])
    assert both.unclear == {"04/03/2026 0:30"}
    assert len(both.read) == 2
    assert Times.of(["04/04/2026 0:30"]).unclear == set()


@given(st.datetimes(datetime(1900, 1, 1), datetime(2099, 12, 31)))
def test_every_form_means_the_same_time(when: datetime) -> None:
    minute = when.replace(second=0, microsecond=0)
    half = "오전" if when.hour < 12 else "오후"
    hour = when.hour % 12 or 12
    for text in (
        f"{when:%Y-%m-%d %H:%M}",
        f"{when.year}. {when.month}. {when.day}. {half} {hour}:{when.minute:02}",
        f"{when.year}년 {when.month}월 {when.day}일 {half} {hour}:{when.minute:02}",
        f"{when:%A, %d %B %Y, %I:%M %p}",
        f"{when:%Y/%m/%d %H:%M}",
    ):
        assert read_time(text) == minute, text
    for order, text in (("month-day", f"{when:%m/%d/%Y %H:%M}"), ("day-month", f"{when:%d/%m/%Y %H:%M}")):
        assert read_time(text, order) == minute, text  # type: ignore[arg-type]
    assert read_time(f"{when:%Y-%m-%d %H:%M} UTC") == minute.replace(tzinfo=UTC)
