"""Group a class's answers to one exercise by behaviour: what behaves alike is marked by hand once.

Answers are one group if these agree: the status, the checks that passed, the mistakes that were named and whether they
explain everything, and the place where the run first differs. Where they do not explain everything, the values there
and the exception must agree as well; where they explain an exception, the place need not. (Answers
under another name stand apart from those under the right one.)
"""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

from grader.base.names import unique
from grader.course.feedback import Feedback, SubmissionResult
from grader.report import words
from grader.report.plain_text import one_line, without_code_marks

UNREADABLE = "읽을 수 없는 파일"
UNDER_ANOTHER_NAME = "이름이 다른 함수를 냈어요"
UNREAD_LINE = "문법 오류로 읽을 수 없는 줄이 있어요"
_UNREAD = "읽을 수 없어요"
"""End of the headlines that name the line with the syntax error."""
_MOST_TITLES = 2
"""Maximum headlines of one group: wordings of one mistake, by the code."""
_MOST_OF_ERROR = 80
"""Maximum characters of an exception in a group's headline."""


@dataclass(frozen=True)
class Group:
    """Answers that behave alike."""

    key: str
    """Short fingerprint of the behaviour; the same after grading again with the same seed and edition of the course."""
    title: str
    """Korean headline."""
    sample: Feedback
    """The feedback on the first of them; the others agree with it in what `_behaviour` compares, not in all."""
    members: tuple[int, ...]
    """Indices of the submissions in the results."""

    @property
    def is_blank(self) -> bool:
        """True if there is nothing to mark: the function is missing or as handed out, and no other may be meant."""
        return status_of(self.sample) == "missing" and not self.sample.other_name


def feedback_on(submission: SubmissionResult, exercise: str) -> Feedback | None:
    """Return the student's feedback on an exercise; None if it was not graded."""
    return next((f for f in submission.all_feedback if f.exercise == exercise), None)


def behaviour_key(feedback: Feedback) -> str:
    """Return a short fingerprint of how an answer behaves."""
    return hashlib.sha256(repr(_behaviour(feedback)).encode("utf-8", "replace")).hexdigest()[:10]


def _behaviour(feedback: Feedback) -> Hashable:
    """Return what must be equal in one group.

    Keys made from it are kept in instructors' files (`묶음:KEY` in `overrides.csv`) and mean nobody once it changes. So
    something new is added at the end, and only where it says something, as the other name is.
    """
    diagnosis = feedback.diagnosis
    first = diagnosis.first_difference
    explained = diagnosis.mistakes_explain_all
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
        *(["under another name"] if feedback.other_name else []),
    )


def groups_of(submissions: Sequence[SubmissionResult], exercise: str) -> list[Group]:
    """Return the groups of an exercise: most frequent first, passed and missing answers last."""
    found: dict[str, tuple[list[Feedback], list[int]]] = {}
    for index, submission in enumerate(submissions):
        feedback = feedback_on(submission, exercise)
        if feedback is not None:
            alike, members = found.setdefault(behaviour_key(feedback), ([], []))
            alike.append(feedback)
            members.append(index)
    groups = [
        Group(key, _common_title(alike), alike[0], tuple(members)) for key, (alike, members) in found.items()
    ]
    return _told_apart(sorted(groups, key=lambda g: (_sort_rank(g), -len(g.members), g.title)))


def _told_apart(groups: list[Group]) -> list[Group]:
    """Return the groups such that no two have one title: with the first check that differs, or else with a number."""
    by_title: dict[str, list[Group]] = {}
    for group in groups:
        by_title.setdefault(group.title, []).append(group)
    titles: dict[str, str] = {}
    for title, alike in by_title.items():
        passed = {
            group.key: [(check.title, check.passed) for check in group.sample.checks] for group in alike
        }
        found = zip(*passed.values(), strict=False)
        differing = next((at for at, checks in enumerate(found) if len(set(checks)) > 1), None)
        taken: set[str] = set()
        for group in alike if len(alike) > 1 else ():
            check = None if differing is None else group.sample.checks[differing]
            sign = (
                ""
                if check is None
                else f"{check.title} {words.MARKS['passed' if check.passed else 'failed']}"
            )
            told = without_code_marks(f"{title} · {sign}" if sign else title)
            titles[group.key] = unique(told, taken)
            taken.add(titles[group.key])
    return [replace(group, title=titles.get(group.key, group.title)) for group in groups]


def _sort_rank(group: Group) -> int:
    """Return 0, 1 or 2: those that need the least reading come last."""
    return 2 if group.is_blank else int(group.sample.status == "passed")


def _common_title(alike: Sequence[Feedback]) -> str:
    """Return a headline that is true of all: not the line or the wording of the first of them alone."""
    titles = [*dict.fromkeys(map(_title, alike))]
    if len(titles) > 1 and all(title.endswith(_UNREAD) for title in titles):
        return UNREAD_LINE
    return " / ".join(titles[:_MOST_TITLES])


def _title(feedback: Feedback) -> str:
    """Return one Korean line: as the card's headline, or where the run first differs; with an unexplained exception."""
    if feedback.status == "unreadable":  # their messages name single files: none of them is true of all
        return UNREADABLE
    if feedback.other_name:
        return UNDER_ANOTHER_NAME
    summary, first = words.summary(feedback), feedback.diagnosis.first_difference
    if summary == words.DIFFERS and first is not None:
        summary = words.first_place(first)
    if feedback.error and feedback.begun and not feedback.diagnosis.mistakes_explain_all:
        summary += f" · {one_line(feedback.error, _MOST_OF_ERROR)}"
    return without_code_marks(summary)


def status_of(feedback: Feedback) -> str:
    """Return the status, or `missing` if the student has not begun: the function is as handed out, or empty."""
    return feedback.status if feedback.begun else "missing"
