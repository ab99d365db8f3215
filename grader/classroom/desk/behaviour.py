"""Group a class's answers to one exercise by behaviour: what behaves alike is judged once.

Two answers are one group if the same checks passed, the same mistakes were named and the run first differs at the same
place. Where the mistakes do not explain everything, the values there must agree too, and so must the exception.
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from grader.course.feedback import Feedback, SubmissionResult
from grader.report import words
from grader.report.plain_text import one_line, without_code_marks

UNREADABLE = "읽을 수 없는 파일"
UNDER_ANOTHER_NAME = "이름이 다른 함수를 냈어요"
_MOST_OF_ERROR = 80
"""Maximum characters of an exception in a group's headline."""


@dataclass(frozen=True)
class Group:
    """Answers that behave alike."""

    key: str
    """Short fingerprint of the behaviour; the same after grading again with the same seed."""
    title: str
    """Korean headline."""
    sample: Feedback
    """The feedback on one of them; in all of them everything but lines and texts is the same."""
    members: tuple[int, ...]
    """Indices of the students in the results."""

    @property
    def is_blank(self) -> bool:
        """True if there is nothing to read: no function, and none that is probably meant as it either."""
        return status_of(self.sample) == "missing" and not self.sample.other_name


def feedback_on(submission: SubmissionResult, exercise: str) -> Feedback | None:
    """Return the student's feedback on an exercise; None if it was not graded."""
    return next((f for f in submission.all_feedback if f.exercise == exercise), None)


def behaviour_key(feedback: Feedback) -> str:
    """Return a short fingerprint of how an answer behaves."""
    return hashlib.sha256(repr(_behaviour(feedback)).encode("utf-8", "replace")).hexdigest()[:10]


def _behaviour(feedback: Feedback) -> Hashable:
    diagnosis = feedback.diagnosis
    first = diagnosis.first_difference
    explained = _is_explained(feedback)
    where = None if first is None else (first.scenario, first.what, first.update, first.tensor)
    values = None if first is None or explained else (first.expected, first.got)
    return (
        feedback.exercise,
        feedback.status,
        feedback.begun,
        tuple(check.passed for check in feedback.checks),
        tuple(feedback.mistake_ids),
        diagnosis.unexplained,
        diagnosis.signature,
        None if diagnosis.pasted is None else diagnosis.pasted.id,
        "" if explained else feedback.error,
        None if explained and feedback.error else where,
        values,
        *(
            ["under another name"] if feedback.other_name else []
        ),  # others keep the keys that files have noted
    )


def _is_explained(feedback: Feedback) -> bool:
    """Return True if the mistakes named explain all that is wrong."""
    return bool(feedback.diagnosis.mistakes) and not feedback.diagnosis.unexplained


def groups_of(submissions: Sequence[SubmissionResult], exercise: str) -> list[Group]:
    """Return the groups of an exercise: most frequent first, passed and missing answers last."""
    found: dict[str, tuple[Feedback, list[int]]] = {}
    for index, submission in enumerate(submissions):
        feedback = feedback_on(submission, exercise)
        if feedback is not None:
            found.setdefault(behaviour_key(feedback), (feedback, []))[1].append(index)
    groups = [Group(key, _title(sample), sample, tuple(members)) for key, (sample, members) in found.items()]
    return sorted(groups, key=lambda g: (_place(g), -len(g.members), g.title))


def _place(group: Group) -> int:
    """Return where a group stands: those that need the least reading last."""
    return 2 if group.is_blank else int(group.sample.status == "passed")


def _title(feedback: Feedback) -> str:
    """Return one Korean line: the mistakes, or where an unnamed one shows first, and an unexplained exception."""
    if feedback.status == "unreadable":  # each has a file and a reason of its own
        return UNREADABLE
    if feedback.other_name:
        return UNDER_ANOTHER_NAME
    summary, first = words.summary(feedback), feedback.diagnosis.first_difference
    if summary == words.DIFFERS and first is not None:
        summary = words.first_place(first)
    if feedback.error and feedback.begun and not _is_explained(feedback):
        summary += f" · {one_line(feedback.error, _MOST_OF_ERROR)}"
    return without_code_marks(summary)


def status_of(feedback: Feedback) -> str:
    """Return the status; that of a missing answer while the function is as it was handed out."""
    return feedback.status if feedback.begun else "missing"
