"""Read `overrides.csv`: marks that an instructor gave by hand, each with its reason."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.names import listed
from grader.base.tables import read_table
from grader.report.plain_text import one_line

WHOLE = ("", "전체", "total")
"""Values of the exercise column that mean the whole mark."""
_COLUMNS = {
    "student": ("학번", "학생", "student", "student id", "sis user id", "id"),
    "exercise": ("연습", "연습 문제", "exercise", "assignment"),
    "score": ("점수", "score", "mark"),
    "reason": ("까닭", "이유", "사유", "reason", "comment"),
}


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
    score: float
    reason: str


def read_overrides(path: Path) -> tuple[Override, ...]:
    """Read the marks given by hand.

    Raises:
        TableError: the file cannot be read.
        OverrideError: a column is missing, or a line lacks a valid score or a reason.
    """
    table = read_table(path, "직접 준 점수")
    places = {field: table.column(*titles) for field, titles in _COLUMNS.items()}
    missing = [
        titles[0] for field, titles in _COLUMNS.items() if places[field] is None and field != "exercise"
    ]
    if missing:
        raise OverrideError(
            f"{path}: 열이 없어요: {', '.join(missing)} (있는 열: {listed(table.header)}). "
            "첫 줄을 이렇게 적어 주세요: 학번,연습,점수,까닭"
        )
    found = []
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else row[at] for field, at in places.items()}
        score = _number(cells["score"])
        if score is None:
            raise OverrideError(
                f"{path} {number}번째 줄: 점수가 0 이상의 수가 아니에요: '{one_line(cells['score'], 40)}'."
            )
        if not cells["reason"]:
            raise OverrideError(
                f"{path} {number}번째 줄: 까닭이 비어 있어요. 학생도 읽는 글이니 한 문장으로 적어 주세요."
            )
        whole = cells["exercise"].casefold() in WHOLE
        exercise = "" if whole else cells["exercise"]
        found.append(Override(number, cells["student"], exercise, score, one_line(cells["reason"])))
    return tuple(found)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def by_student(
    overrides: Collection[Override],
    known_as: Mapping[str, Collection[str]],
    exercises: Collection[str],
    path: str,
) -> dict[str, tuple[Override, ...]]:
    """Group the marks by hand by student.

    Args:
        overrides: the marks as read.
        known_as: keys of the students meant by each number or name, in lower case.
        exercises: names of the graded exercises.
        path: path of the file, for messages.

    Raises:
        OverrideError: a line names an unknown or ambiguous student, an exercise that was not graded, or the same mark
            twice.
    """
    found: dict[str, dict[str, Override]] = {}
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
        before = found.setdefault(student, {}).get(override.exercise)
        if before is not None:
            raise OverrideError(
                f"{where}: {before.line}번째 줄에 같은 학생의 점수가 또 있어요. 한 줄만 남겨 주세요."
            )
        found[student][override.exercise] = override
    return {student: tuple(ones.values()) for student, ones in found.items()}
