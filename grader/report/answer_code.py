"""Lay out a learner's whole answer with its line numbers, and with what is said of its lines."""

from dataclasses import dataclass

from grader.course.feedback import Feedback
from grader.report import words
from grader.report.plain_text import clean, one_line, without_code_marks


@dataclass(frozen=True)
class CodeLine:
    """One line of an answer."""

    number: int
    """As the learner counts, in the cell or the `.py` file."""
    text: str
    told: tuple[str, ...] = ()
    """What is said of this line: mistakes and exceptions, in Korean."""


def answer_lines(feedback: Feedback, *, tell: bool = True) -> list[CodeLine]:
    """Return the lines of the whole answer; empty if there is none.

    Args:
        feedback: the feedback with the answer's code.
        tell: False to leave out what is said of the lines, for learners who are to find it.
    """
    if not feedback.code or feedback.code_line is None:
        return []
    told = _told(feedback) if tell else {}
    lines = (clean(line, 400) for line in feedback.code.split("\n"))
    return [
        CodeLine(number, text, told.get(number, ())) for number, text in enumerate(lines, feedback.code_line)
    ]


def _told(feedback: Feedback) -> dict[int, tuple[str, ...]]:
    """Return what is said of lines of the answer's own cell, by line."""
    found: dict[int, dict[str, None]] = {}
    for named in feedback.diagnosis.mistakes:
        if named.line is not None and named.cell == feedback.code_cell:
            missing = words.missing_beside(named)
            text = without_code_marks(words.either(named)) + (f" · {missing}" if missing else "")
            found.setdefault(named.line, {})[text] = None
    if feedback.status == "error" and feedback.line is not None and feedback.cell == feedback.code_cell:
        found.setdefault(feedback.line, {})[one_line(feedback.error or "문법 오류", 200)] = None
    return {line: tuple(texts) for line, texts in found.items()}
