"""Write results for GitHub: a step summary in Markdown, and the two notices that GitHub Classroom reads points from."""

import json
import math
import re

from grader.course.feedback import ClassResult, SubmissionResult
from grader.report import words
from grader.report.hold_back import as_told
from grader.report.plain_text import comment_lines, mark_points, one_line, points, without_code_marks

_MOST_STUDENTS = 200
"""Maximum rows of the class table."""
_MOST_BYTES = 900_000
"""Maximum size of the summary's rows; GitHub refuses a step summary of more than 1 MiB."""
_ROUNDING = 1e-6
"""Rounding errors of sums of points are smaller."""
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@:-])")


def step_summary(result: ClassResult) -> str:
    """Return Markdown for `$GITHUB_STEP_SUMMARY`: a table of exercises for one student, of students for a class."""
    if len(result.submissions) == 1:
        return _student(as_told(result.submissions[0], result.repair))
    lines = ["## 채점 결과", "", "| 학생 | 점수 | 통과한 연습 | 까닭 |", "|---|---:|---:|---|"]
    size = 0
    for count, submission in enumerate(result.submissions):
        passed = sum(f.status == "passed" for f in submission.feedbacks)
        line = (
            f"| {_cell(submission.student)} | {_score(submission)} "
            f"| {passed}/{len(submission.feedbacks)} | {_cell(' / '.join(_reasons(submission)))} |"
        )
        size += len(line.encode())
        if count == _MOST_STUDENTS or size > _MOST_BYTES:
            lines += ["", f"이 밖에 {len(result.submissions) - count:,}명이 더 있어요."]
            break
        lines.append(line)
    return "\n".join(lines) + "\n"


def _student(submission: SubmissionResult) -> str:
    lines = [f"## {'점수 없음' if submission.awaits_mark else f'{_score(submission)}점'}", ""]
    lines += [f"- {_cell(reason)}" for reason in _reasons(submission)]
    lines += ["", "| | 연습 | 점수 | 먼저 볼 것 |", "|---|---|---:|---|"]
    for f in submission.feedbacks:
        telling = "" if f.status == "passed" else without_code_marks(words.summary(f))
        mark = f"{words.mark(f)} {words.status_name(f)}"
        lines.append(
            f"| {mark} | {_cell(f.title)} `{f.exercise}` | {points(f.score)}/{points(f.max_score)} | {_cell(telling)} |"
        )
    return "\n".join(lines) + "\n"


def classroom_notices(result: ClassResult) -> str:
    """Return workflow commands with the total points, as GitHub Classroom's own reporter prints them.

    Classroom stores whole numbers only; the step summary has the exact ones. If nothing could be read, it gets no
    points at all, but a warning.
    """
    waiting = result.without_mark
    if waiting and len(waiting) == len(result.submissions):
        told = one_line(words.no_mark_yet(waiting[0])).replace("%", "%25")
        return f"::warning title=Autograding incomplete::{told}\n"
    totals = [
        (s.score, s.max_score) if s.mark is None else (s.mark.score, s.mark.max_score)
        for s in result.submissions
        if not s.awaits_mark and (s.mark is None or s.mark.score is not None)
    ]
    sums = [sum(numbers) for numbers in zip(*totals, strict=True)] if totals else [0.0, 0.0]
    # Rounded down, so that only full marks become full marks.
    got, most = math.floor(sums[0] + _ROUNDING), math.ceil(sums[1] - _ROUNDING)
    report = json.dumps({"totalPoints": got, "maxPoints": most}, separators=(",", ":"))
    return (
        f"::notice title=Autograding complete::Points {points(got)}/{points(most)}\n"
        f"::notice title=Autograding report::{report}\n"
    )


def _score(submission: SubmissionResult) -> str:
    mark = submission.mark
    if submission.awaits_mark:
        return "—"
    if mark is None:
        return f"{points(submission.score)}/{points(submission.max_score)}"
    return mark_points(mark.score, mark.max_score)


def _reasons(submission: SubmissionResult) -> tuple[str, ...]:
    """Return the reasons for the final mark, or why there is none yet, and what the instructor says."""
    if submission.awaits_mark:
        reasons: tuple[str, ...] = (words.no_mark_yet(submission),)
    else:
        reasons = () if submission.mark is None else submission.mark.reasons
    return (*reasons, *comment_lines(submission.comments))


def _cell(text: str) -> str:
    """Escape text so that Markdown shows it literally, on one line."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))
