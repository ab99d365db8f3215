"""Write the files that an instructor opens: class page, student pages, CSV, JSON, Gradescope files."""

import csv
import io
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from grader.base.file_names import file_names, safe_filename
from grader.base.files import write_whole
from grader.course.course import Course
from grader.course.feedback import ClassResult, Diagnosis, Feedback, Person, Repair, SubmissionResult
from grader.course.marks import Comment, Mark
from grader.report import plain_text, words
from grader.report.answer_code import CodeLine, answer_lines
from grader.report.class_facts import exercises_of, only_extras
from grader.report.class_page import class_page
from grader.report.hold_back import as_told, mistake_hints, without_repair
from grader.report.html import feedback_html, page
from grader.report.kept_answers import with_code
from grader.report.plain_text import WHOLE_COMMENT, comment_lines, spreadsheet_cell
from grader.report.regraded import regrade_told
from grader.report.results import dump, write_results
from grader.report.text import feedback_text


def write_report(out: Path, result: ClassResult, course: Course, *, when: datetime | None = None) -> None:
    """Write the whole report of a class into `out`.

    Args:
        out: the report's folder; created if missing, files of earlier runs are overwritten.
        result: the graded class. Code of its answers is taken from what `keep_answers` kept in `out`.
        course: gives the order and the titles of lessons and exercises.
        when: time shown in `index.html`; default: now.

    Raises:
        OSError: the folder cannot be written.
    """
    result = with_code(result, out)
    names = file_names([s.student for s in result.submissions])
    for submission, name in zip(result.submissions, names, strict=True):
        write_student(out, submission, course, name=name, repair=result.repair)
    write_whole(out / "gradebook.csv", gradebook_csv(result, course).encode("utf-8-sig"))
    write_whole(out / "index.html", class_page(result, course, names, when or datetime.now()))
    write_results(out / "results.json", result)  # last: its presence means that everything else is there


def write_student(
    out: Path,
    submission: SubmissionResult,
    course: Course,
    *,
    name: str | None = None,
    repair: Repair = "at-once",
) -> None:
    """Write one student's feedback page and Gradescope file.

    Called as soon as the student is graded, so that a killed run keeps the files.

    Args:
        out: the report's folder.
        submission: the student's result.
        course: gives the order and the titles of lessons and exercises.
        name: the student's file name if `file_names` has named the whole class; default: made from this student's name
            alone.
        repair: when the student reads the names of mistakes.
    """
    name = safe_filename(submission.student) if name is None else name
    write_whole(out / "feedback" / f"{name}.html", _student_page(submission, course, repair))
    document = gradescope(as_told(submission, repair))
    write_whole(out / "gradescope" / name / "results.json", dump(document) + "\n")


# ---- for other programs -------------------------------------------------------------------------------


def gradebook_csv(result: ClassResult, course: Course) -> str:
    """Return the CSV: one line per student with total points, points per exercise, statuses and mistakes.

    If a roster or a policy says more, further columns follow: who the student is, the final mark, and the reasons for
    it.
    """
    exercises = exercises_of(result.submissions, course)
    file = io.StringIO()
    # Quote every cell: a spreadsheet that splits columns at `;` would find a formula in the name `a;=1+1`.
    writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    keys = [f"{e.lesson}_{e.name}" for e in exercises]
    more = len(_MARK_COLUMNS) if result.absent or any(s.person or s.mark for s in result.submissions) else 0
    extras = int(any(map(only_extras, result.submissions)))
    again = int(any(s.regraded for s in result.submissions))
    said = int(any(s.comments for s in result.submissions) or any(a.comments for a in result.absent))
    writer.writerow(
        [
            *("학생", "점수", "만점"),
            *keys,
            *(f"{key}_상태" for key in keys),
            "실수",
            *_EXTRAS_COLUMN[:extras],
            *_MARK_COLUMNS[:more],
            *[_COMMENT_COLUMN][:said],
            *[_REGRADE_COLUMN][:again],
        ]
    )
    for submission in result.submissions:
        feedbacks = {f.exercise: f for f in submission.feedbacks}
        own = [feedbacks.get(e.name) for e in exercises]
        mistakes = "; ".join(f"{f.exercise}: {', '.join(f.mistake_ids)}" for f in own if f and f.mistake_ids)
        writer.writerow(
            [
                spreadsheet_cell(submission.student),
                "" if submission.awaits_mark else plain_text.points(submission.score),
                plain_text.points(submission.max_score),
                *("" if f is None or f.status == "unreadable" else plain_text.points(f.score) for f in own),
                *("" if f is None else words.status_name(f) for f in own),
                spreadsheet_cell(mistakes),
                *[plain_text.without_code_marks(_extras_cell(submission))][:extras],
                *_mark_cells(
                    submission.person,
                    submission.mark,
                    words.no_mark_yet(submission) if submission.awaits_mark else "",
                )[:more],
                *[_comments_cell(submission.comments)][:said],
                *[spreadsheet_cell(regrade_told(submission))][:again],
            ]
        )
    for absent in result.absent:
        blank = [""] * (2 + 2 * len(keys) + 1 + extras)
        name = spreadsheet_cell(absent.person.name)
        blank_mark = "" if absent.mark else absent.why_blank
        comments = [_comments_cell(absent.comments)][:said]
        who = _mark_cells(absent.person, absent.mark, blank_mark)
        writer.writerow([name, *blank, *who, *comments, *[""][:again]])
    return file.getvalue()


_EXTRAS_COLUMN = ("점수에 들지 않는 과제만 낸 학생",)
"""Only if there is such a student, who would seem to have handed in nothing."""
_MARK_COLUMNS = ("학번", "이름", "분반", "최종 점수", "최종 만점", "최종 점수의 까닭")
_COMMENT_COLUMN = "코멘트"
"""Only if there is a comment."""
_REGRADE_COLUMN = "다시 채점"
"""Only if somebody was graded again."""


def _extras_cell(submission: SubmissionResult) -> str:
    extras = only_extras(submission)
    return words.extras_only(extras) if extras else ""


def _mark_cells(person: Person | None, mark: Mark | None, instead: str = "") -> list[str]:
    """Return the cells of `_MARK_COLUMNS`; `instead` says why there is no mark."""
    who = person or Person()
    numbers = ["", ""]
    if mark is not None:
        score = "면제" if mark.score is None else plain_text.points(mark.score)
        numbers = [score, plain_text.points(mark.max_score)]
    why = "" if mark is None else " / ".join(mark.reasons)
    return [
        *map(spreadsheet_cell, (who.id, who.name, who.section)),
        *numbers,
        spreadsheet_cell(why or instead),
    ]


def _comments_cell(comments: Sequence[Comment]) -> str:
    return spreadsheet_cell(" / ".join(comment_lines(comments)), WHOLE_COMMENT)


def gradescope(submission: SubmissionResult) -> dict[str, Any]:
    """Return the document that a Gradescope autograder writes to `results.json`: one test per exercise.

    The feedback is sent as text because Gradescope's pages keep only some HTML. The score is the final mark, or the
    measured one of an excused student, for which Gradescope has no word; the tests show the measured scores. It has no
    word for a submission that could not be read either, so the output says that its score is none.
    """
    mark = submission.mark
    score = submission.score if mark is None or mark.score is None else mark.score
    again = regrade_told(submission)
    lines = [*([again] if again else []), *comment_lines(submission.comments), *submission.notes]
    if mark is not None:
        final = f"최종 점수: {plain_text.mark_points(mark.score, mark.max_score, ' / ')}"
        lines = [final, *mark.reasons, *lines]
    if submission.awaits_mark:
        lines = [
            f"{words.no_mark_yet(submission)}. 아래의 숫자는 점수가 아니에요. 고쳐서 다시 내 주세요.",
            *lines,
        ]
    return {
        "score": round(score, 6),
        "execution_time": round(sum(f.seconds for f in submission.feedbacks), 3),
        "output": "\n".join(plain_text.clean(line) for line in lines),
        "output_format": "text",
        "visibility": "visible",
        "tests": [
            {
                "number": f"{feedback.lesson}.{number}",
                "name": f"{plain_text.without_code_marks(feedback.title)} ({feedback.exercise})",
                "score": round(feedback.score, 6),
                "max_score": round(feedback.max_score, 6),
                "status": "passed" if feedback.status == "passed" else "failed",
                "output": _rendered_safely(feedback_text, feedback),
                "output_format": "text",
                "visibility": "visible",
            }
            for number, feedback in enumerate(submission.feedbacks, start=1)
        ],
    }


# ---- for people ---------------------------------------------------------------------------------------


def _student_page(submission: SubmissionResult, course: Course, repair: Repair) -> str:
    """Return the HTML of one student's page, with a card for each exercise."""
    draw = feedback_html if repair == "at-once" else _card_with_hints
    titles = {lesson.id: lesson.title for lesson in course.lessons}
    lessons: dict[str, list[tuple[Feedback, str, list[CodeLine]]]] = {}
    common = _common_notes(submission)
    shown: set[tuple[str, str]] = set()
    for feedback in submission.all_feedback:
        # A broken file gives every exercise the same message: show it once, and only a line for each other exercise.
        story = (feedback.status, feedback.message)
        again = feedback.status in ("missing", "unreadable") and story in shown
        shown.add(story)
        # The code, which hardly two have in common, stands below the card.
        own = replace(feedback, code="", notes=tuple(note for note in feedback.notes if note not in common))
        card = "" if again else _rendered_safely(draw, own)
        code = answer_lines(feedback, tell=repair == "at-once")
        lessons.setdefault(feedback.lesson, []).append((feedback, card, code))
    return page(
        "student.html.j2",
        course=course,
        submission=submission,
        again=regrade_told(submission),
        notes=(*submission.notes, *common),
        given={one.exercise: one for one in (submission.mark.exercises if submission.mark else ())},
        comments={key: [c.text for c in own] for key, own in _by_exercise(submission.comments).items()},
        lessons=[(key, titles.get(key, ""), cards) for key, cards in lessons.items()],
        untouched=_untouched(submission),
    )


def _untouched(submission: SubmissionResult) -> dict[str, int]:
    """Return the number of exercises of each lesson of which nothing was handed in and nothing more is to be told.

    Empty if that is so of all lessons: then the page is about what is missing.
    """
    spoken = {one.exercise for one in (submission.mark.exercises if submission.mark else ()) if one.reason}
    spoken |= {comment.exercise for comment in submission.comments}
    by_lesson: dict[str, list[Feedback]] = {}
    for feedback in submission.all_feedback:
        by_lesson.setdefault(feedback.lesson, []).append(feedback)
    is_missing = {
        lesson: all(
            one.status == "missing" and not one.other_name and one.exercise not in spoken for one in every
        )
        for lesson, every in by_lesson.items()
    }
    if all(is_missing.values()):
        return {}
    return {key: len(by_lesson[key]) for key, missing in is_missing.items() if missing}


def _by_exercise(comments: Sequence[Comment]) -> dict[str, list[Comment]]:
    """Return the comments by exercise; an empty key stands for the whole submission."""
    found: dict[str, list[Comment]] = {}
    for comment in comments:
        found.setdefault(comment.exercise, []).append(comment)
    return found


def _card_with_hints(feedback: Feedback) -> str:
    """Return the card that tells the symptoms of the named mistakes, with their hints folded below."""
    hints = [mistake_hints(feedback, named) for named in feedback.diagnosis.mistakes]
    return feedback_html(without_repair(feedback), steps=hints)


def _common_notes(submission: SubmissionResult) -> list[str]:
    """Return the notes that would stand in several cards, such as one about the whole file or a missing `pandas`."""
    times = Counter(note for feedback in submission.all_feedback for note in dict.fromkeys(feedback.notes))
    return [note for note, number in times.items() if number > 1]


def _rendered_safely(draw: Callable[[Feedback], str], feedback: Feedback) -> str:
    """Draw the feedback; if that fails, draw it without its diagnosis, so that the class still gets its report."""
    # The time is not drawn, and would make equal feedbacks differ in the cache.
    return _drawn_once(draw, replace(feedback, seconds=0.0))


@lru_cache(maxsize=500)
def _drawn_once(draw: Callable[[Feedback], str], feedback: Feedback) -> str:
    """Draw one feedback; cached, because most of a class passes alike and drawing takes longer than judging."""
    try:
        return draw(feedback)
    except Exception:
        logging.getLogger(__name__).exception("drawing the feedback on %s", feedback.exercise)
        return draw(replace(feedback, diagnosis=Diagnosis(), source_line=None, error=None, notes=()))
