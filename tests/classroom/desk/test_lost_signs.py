"""Excel takes the plus sign away: half a point more must not become half a point in all."""

from pathlib import Path

import pytest

from grader.base.errors import HanstepError
from grader.classroom.desk.changes import Changes, Edited
from grader.classroom.desk.lost_signs import refuse_lost_signs
from grader.gradebook.hand_files import OVERRIDES, HandLine, Sheet
from grader.gradebook.overrides import read_overrides

HALF = HandLine("20240001", "", "train_step", "+0.5", "반올림은  반만", "묶음:d011efec34")
FIXED = HandLine("20240002", "", "train_step", "3", "구두 시험", "")
LESS = HandLine("20240003", "", "train_step", "-0.5", "반올림은  반만", "")


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A folder in which the desk has written three marks."""

    def edit(sheet: Sheet) -> Edited:
        for line in (HALF, FIXED, LESS):
            sheet.add(line)
        return Edited(added=(HALF, FIXED, LESS))

    Changes(tmp_path, "조교").edit("points", OVERRIDES, edit, {})
    return tmp_path


def check(report: Path, old: str = "", new: str = "") -> None:
    """Replace text in the file as Excel or a hand does, and read it."""
    path = report / "overrides.csv"
    text = path.read_text(encoding="utf-8-sig")
    assert old in text
    path.write_bytes(text.replace(old, new).encode("cp949"))
    refuse_lost_signs(report, read_overrides(path), str(path))


def test_as_the_desk_wrote_it(report: Path) -> None:
    check(report)


def test_a_lost_sign_stops_with_the_line(report: Path) -> None:
    with pytest.raises(HanstepError, match=r"overrides\.csv: .*2번째 줄 20240001 train_step \+0\.5"):
        check(report, "+0.5", "0.5")


def test_each_line_to_be_mended_is_named(report: Path) -> None:
    """A spreadsheet takes all signs at once."""
    more = [HandLine(f"2024{n:04}", "", "fit", "+1", "부분 점수", "") for n in range(12)]

    def edit(sheet: Sheet) -> Edited:
        for line in more:
            sheet.add(line)
        return Edited(added=more)

    Changes(report, "조교").edit("points", OVERRIDES, edit, {})
    with pytest.raises(HanstepError) as error:
        check(report, "+", "")
    assert str(error.value).count("번째 줄") == 13


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("+0.5", "+1"),  # another change
        ("+0.5", "2"),  # a mark that is not the added points
        (",3,", ",2.5,"),  # a fixed mark, corrected by hand
        ("+0.5,반올림은  반만", "0.5,다시 보니 거의 빈 답"),  # meant, with a reason of its own
    ],
)
def test_corrections_by_hand_are_no_lost_signs(old: str, new: str, report: Path) -> None:
    check(report, old, new)


def test_what_the_desk_also_fixed_at_that_score_is_believed(report: Path) -> None:
    fixed = HandLine(HALF.id, "", HALF.exercise, "0.5", HALF.text, "")
    Changes(report, "조교").edit("points", OVERRIDES, lambda sheet: _swapped(sheet, fixed), {})
    check(report)


def _swapped(sheet: Sheet, fixed: HandLine) -> Edited:
    sheet.remove(HALF)
    sheet.add(fixed)
    return Edited((HALF,), (fixed,))


def test_a_log_that_somebody_edited_is_passed_over(report: Path) -> None:
    with (report / "desk.jsonl").open("a", encoding="utf-8") as log:
        log.write(
            '{"file": "overrides.csv", "after": [3, {"score": "x"}]}\n{"file": "overrides.csv", "after": 7}\n'
        )
    check(report)
