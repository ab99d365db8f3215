"""Read `comments.csv`: what an instructor says to students about their answers, apart from points."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from grader.base.errors import HanstepError
from grader.base.headings import find_columns
from grader.base.names import listed
from grader.base.tables import read_table, refuse_rounded_numbers
from grader.course.marks import Comment
from grader.gradebook.overrides import is_whole, written_student
from grader.report.plain_text import clean, one_line

MOST_CHARS = 4_000
"""Maximum characters of a comment; the rest is cut off."""
_FIELDS = ("id", "name", "exercise", "comment", "answer")


class CommentError(HanstepError):
    """Comments cannot be assigned; the message is Korean and names the line."""


@dataclass(frozen=True)
class WrittenComment:
    """One line of the file."""

    line: int
    """Line number in the file."""
    student: str
    """As written: the roster's number, or the name in the results."""
    exercise: str
    """Name of the exercise; empty for the whole submission."""
    text: str
    answer: str = ""
    """Fingerprint of the answer that was judged (`Answers.fingerprint`); empty: the line is for any answer."""


def read_comments(path: Path) -> tuple[WrittenComment, ...]:
    """Read the comments; lines without a text are left out.

    Raises:
        TableError: the file cannot be read.
        CommentError: a column is missing.
    """
    table = read_table(path, "코멘트", ("id", "comment"))
    places = find_columns(table.header, _FIELDS)
    student_at = places["name"] if places["id"] is None else places["id"]
    missing = [title for title, at in {"학번": student_at, "코멘트": places["comment"]}.items() if at is None]
    if missing or student_at is None:
        raise CommentError(
            f"{path}: 열이 없어요: {', '.join(missing)} (있는 열: {listed(table.header)}). "
            "첫 줄을 이렇게 적어 주세요: 학번,연습,코멘트"
        )
    refuse_rounded_numbers(table, student_at, "코멘트")
    found = []
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else row[at] for field, at in places.items()}
        if cells["comment"]:
            exercise = "" if is_whole(cells["exercise"]) else cells["exercise"]
            text = clean(cells["comment"], MOST_CHARS)
            student = written_student(cells["id"], cells["name"])
            found.append(WrittenComment(number, student, exercise, text, cells["answer"]))
    return tuple(found)


def by_student(
    comments: Collection[WrittenComment],
    known_as: Mapping[str, Collection[str]],
    exercises: Collection[str],
    path: str,
) -> dict[str, tuple[Comment, ...]]:
    """Group the comments by student, in the order of the file.

    Args:
        comments: the comments as read.
        known_as: keys of the students meant by each number or name, in lower case.
        exercises: names of the graded exercises.
        path: path of the file, for messages.

    Raises:
        CommentError: a line names an unknown or ambiguous student, or an exercise that was not graded.
    """
    found: dict[str, list[Comment]] = {}
    for comment in comments:
        where = f"{path} {comment.line}번째 줄"
        meant = known_as.get(comment.student.casefold(), ())
        if len(meant) != 1:
            what = "이 학생을 찾지 못했어요" if not meant else "이 이름의 학생이 여럿이에요"
            raise CommentError(
                f"{where}: {what}: '{one_line(comment.student, 80)}'. 명단의 학번으로 적어 주세요."
            )
        if comment.exercise and comment.exercise not in exercises:
            raise CommentError(
                f"{where}: 채점한 연습 문제가 아니에요: '{one_line(comment.exercise, 80)}'. "
                f"채점한 것: {', '.join(exercises)}. 제출물 전체에 대한 말이면 '전체'라고 적어 주세요."
            )
        (student,) = meant
        found.setdefault(student, []).append(Comment(comment.exercise, comment.text))
    return {student: tuple(dict.fromkeys(ones)) for student, ones in found.items()}
