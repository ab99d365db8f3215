"""Find marks given at the desk whose plus sign a spreadsheet took away: Excel saves `+0.5` as `0.5`.

Half a point more would become half a point in all. The desk's log still has the sign.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from grader.classroom.desk.changes import Changes
from grader.gradebook.hand_files import OVERRIDES
from grader.gradebook.overrides import WHOLE, Override, OverrideError, parse_score, written_student
from grader.report.plain_text import one_line, points

_Line = tuple[str, str, str]
"""Student, exercise and reason of a mark, as they are compared."""


def refuse_lost_signs(out: Path, overrides: Sequence[Override], path: str) -> None:
    """Refuse marks that the desk wrote with a plus sign and that now have none.

    Whoever means the mark without the sign writes another reason: the old one was given for added points.

    Args:
        out: the report's folder, with the desk's log.
        overrides: the marks as they are now.
        path: their file, for the message.

    Raises:
        OverrideError: names all the lines, each of which has to be mended.
    """
    given = _given_at_the_desk(out)
    found = []
    for one in overrides:
        written = given.get(_line(one.student, one.exercise, one.reason), set())
        had_sign = (one.score, True) in written and (one.score, False) not in written
        if one.score and not one.is_change and had_sign:
            found.append(f"{one.line}번째 줄 {one.student} {one.exercise or '전체'} +{points(one.score)}")
    if found:
        raise OverrideError(
            f"{path}: grader desk에서 더할 점수로 적었는데 지금은 +가 없어요: {', '.join(found)}. "
            "이대로면 그 점수로 정하게 돼요. Excel이 지웠다면 칸의 서식을 '텍스트'로 하고 +를 다시 적어 주세요. "
            "정말 그 점수로 정하려면 까닭을 새로 적어 주세요."
        )


def _given_at_the_desk(out: Path) -> dict[_Line, set[tuple[float | None, bool]]]:
    """Return all scores that the desk ever wrote, as `parse_score` reads them."""
    found: dict[_Line, set[tuple[float | None, bool]]] = defaultdict(set)
    for event in Changes(out, "").events():
        if event.get("file") != OVERRIDES.name:
            continue
        for entry in _entries(event.get("after")):
            student = written_student(entry.get("id", ""), entry.get("name", ""))
            key = _line(student, entry.get("exercise", ""), entry.get("text", ""))
            try:
                found[key].add(parse_score(entry.get("score", "")))
            except ValueError:
                continue
    return found


def _entries(lines: object) -> Iterable[dict[str, str]]:
    """Return the lines of a log's entry; anybody may have edited the log."""
    entries = lines if isinstance(lines, list) else []
    return [{key: str(value) for key, value in one.items()} for one in entries if isinstance(one, dict)]


def _line(student: str, exercise: str, reason: str) -> _Line:
    whole = exercise.casefold() in WHOLE
    return student.casefold(), "" if whole else exercise, one_line(reason)
