"""Read `overrides.csv`: marks, changes of marks and excuses that an instructor gave by hand, each with its reason."""

import math
import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.headings import find_columns
from grader.base.names import listed
from grader.base.tables import read_table, refuse_rounded_numbers, student_number
from grader.gradebook.extensions import EXCUSED_WORDS
from grader.report.plain_text import one_line, spreadsheet_cell

WHOLE = ("", "전체", "total")
"""Values of the exercise column that mean the whole mark."""
_FIELDS = ("id", "name", "exercise", "score", "reason", "answer")
_CHANGE = re.compile(r"([+-])\s*(\d+(?:\.\d+)?|\.\d+)")
"""Matches points to add or to take away: `+1`, `-0.5`."""


class OverrideError(HanstepError):
    """Marks by hand cannot be applied; the message is Korean and names the line."""


@dataclass(frozen=True)
class Override:
    """One mark given by hand."""

    line: int
    """Line number in the file."""
    student: str
    """As written: the roster's number, or the name in the results."""
    exercise: str
    """Name of the exercise; empty for the whole mark."""
    score: float | None
    """None: the student is excused (면제) from this."""
    reason: str
    is_change: bool = False
    """True if the score is to be added to what was measured; it may be negative."""
    answer: str = ""
    """Fingerprint of the answer that was judged (`Answers.fingerprint`); empty: the line is for any answer."""


def read_overrides(path: Path) -> tuple[Override, ...]:
    """Read the marks given by hand.

    Raises:
        TableError: the file cannot be read.
        OverrideError: a column is missing, or a line lacks a valid score or a reason.
    """
    table = read_table(path, "직접 준 점수", ("id", "score", "reason"))
    places = find_columns(table.header, _FIELDS)
    student_at = places["name"] if places["id"] is None else places["id"]
    wanted = {"학번": student_at, "점수": places["score"], "까닭": places["reason"]}
    missing = [title for title, at in wanted.items() if at is None]
    if missing or student_at is None:
        raise OverrideError(
            f"{path}: 열이 없어요: {', '.join(missing)} (있는 열: {listed(table.header)}). "
            "첫 줄을 이렇게 적어 주세요: 학번,연습,점수,까닭"
        )
    refuse_rounded_numbers(table, student_at, "직접 준 점수")
    found = []
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else row[at] for field, at in places.items()}
        try:
            score, is_change = parse_score(cells["score"])
        except ValueError as error:
            raise OverrideError(
                f"{path} {number}번째 줄: 점수가 0 이상의 수가 아니에요: '{one_line(cells['score'], 40)}'. "
                "더하려면 +1, 빼려면 -0.5, 세지 않으려면 면제라고 적어 주세요."
            ) from error
        if not cells["reason"]:
            raise OverrideError(
                f"{path} {number}번째 줄: 까닭이 비어 있어요. 학생도 읽는 글이니 한 문장으로 적어 주세요."
            )
        exercise = "" if is_whole(cells["exercise"]) else cells["exercise"]
        student = written_student(cells["id"], cells["name"])
        reason, answer = one_line(cells["reason"]), cells["answer"]
        found.append(Override(number, student, exercise, score, reason, is_change, answer))
    return tuple(found)


def written_student(number: str, name: str) -> str:
    """Return the student that a line means: the number, or else the name, without the apostrophe before a formula."""
    plain = name.removeprefix("'")
    return student_number(number) or (plain if spreadsheet_cell(plain) == name else name)


def is_whole(exercise: str) -> bool:
    """Return True if this cell of the exercise column means the whole mark."""
    return exercise.casefold() in WHOLE


def parse_score(text: str) -> tuple[float | None, bool]:
    """Read a cell of scores: the score, or None for 면제, and whether it is a change to what was measured.

    Raises:
        ValueError: it is none of these.
    """
    plain = unicodedata.normalize("NFKC", text).replace("\N{MINUS SIGN}", "-").removesuffix("점").strip()
    if plain.casefold() in EXCUSED_WORDS:
        return None, False
    if change := _CHANGE.fullmatch(plain):
        return float(f"{change[1]}{change[2]}"), True
    value = float(plain)
    if not (math.isfinite(value) and value >= 0) or plain[0] in "+-":
        raise ValueError(text)
    return value, False


def by_student(
    overrides: Collection[Override],
    known_as: Mapping[str, Collection[str]],
    exercises: Collection[str],
    path: str,
) -> dict[str, tuple[Override, ...]]:
    """Group the marks by hand by student; only changes of a mark (`+1`) may come several times.

    Args:
        overrides: the marks as read.
        known_as: keys of the students meant by each number or name, in lower case.
        exercises: names of the graded exercises.
        path: path of the file, for messages.

    Raises:
        OverrideError: a line names an unknown or ambiguous student, an exercise that was not graded, or the same mark
            twice.
    """
    found: dict[str, dict[str, list[Override]]] = {}
    for override in overrides:
        where = f"{path} {override.line}번째 줄"
        meant = known_as.get(override.student.casefold(), ())
        if len(meant) != 1:
            what = "이 학생을 찾지 못했어요" if not meant else "이 이름의 학생이 여럿이에요"
            raise OverrideError(
                f"{where}: {what}: '{one_line(override.student, 80)}'. 명단의 학번으로 적어 주세요."
            )
        if override.exercise and override.exercise not in exercises:
            raise OverrideError(
                f"{where}: 채점한 연습 문제가 아니에요: '{one_line(override.exercise, 80)}'. "
                f"채점한 것: {', '.join(exercises)}. 점수 전체를 정하려면 '전체'라고 적어 주세요."
            )
        (student,) = meant
        before = found.setdefault(student, {}).setdefault(override.exercise, [])
        if before and not (override.is_change and before[0].is_change):
            raise OverrideError(
                f"{where}: {before[0].line}번째 줄에 같은 학생의 점수가 또 있어요. 한 줄만 남겨 주세요. "
                "여러 줄을 적을 수 있는 것은 +1, -0.5처럼 더하고 뺄 점수뿐이에요."
            )
        before.append(override)
    return {student: tuple(one for ones in own.values() for one in ones) for student, own in found.items()}
