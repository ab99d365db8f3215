"""Say which students' scores a class's averages are of, and compare sections (분반)."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from grader.course.feedback import Absent, ClassResult, SubmissionResult
from grader.report.class_facts import MistakeCount, count_mistakes, tried


@dataclass(frozen=True)
class Scores:
    """The scores of those who handed in and have one: final marks if there are any, else measured scores."""

    values: tuple[float, ...]
    full: float
    final: bool
    """True for marks after the policy and after marks by hand."""
    left_out: str
    """Korean list of those who are not counted, with their numbers; empty if all are."""

    @property
    def name(self) -> str:
        """What kind of score it is, in Korean."""
        return "최종 점수" if self.final else "채점 점수"

    @property
    def whose(self) -> str:
        """Korean sentences on which students and which scores these are."""
        without = f" {self.left_out}은 뺐어요." if self.left_out else ""
        return f"낸 학생 {len(self.values)}명의 {self.name}예요.{without}"

    @property
    def mean(self) -> float:
        """Mean; only if there are values."""
        return fmean(self.values)

    @property
    def median(self) -> float:
        """Median; only if there are values."""
        return median(self.values)


def scores_of(
    submissions: Sequence[SubmissionResult], absent: Sequence[Absent] = (), final: bool | None = None
) -> Scores:
    """Return the scores that averages are taken of.

    Args:
        submissions: all students who handed in, or those of one section.
        absent: those who handed in nothing; they are left out, and counted as such.
        final: whether to take final marks; None: if anybody has one.
    """
    if final is None:
        final = any(s.mark is not None for s in submissions)
    values, unread, excused, unmatched = [], 0, 0, 0
    for submission in submissions:
        mark = submission.mark if final else None
        if submission.unmatched:
            unmatched += 1
        elif submission.awaits_mark:
            unread += 1
        elif mark is not None and mark.score is None:
            excused += 1
        else:
            values.append(submission.score if mark is None else mark.score or 0.0)
    full = max((s.mark.max_score if final and s.mark else s.max_score for s in submissions), default=0.0)
    parts = (
        *((len(absent), "내지 않은"), (excused, "면제한"), (unread, "채점하지 못한")),
        (unmatched, "명단과 짝짓지 못한"),
    )
    told = [f"{what} {number}명" for number, what in parts if number]
    left_out = ("과 " if len(told) < 3 else ", ").join(told)
    return Scores(tuple(sorted(values)), full, final, left_out)


@dataclass(frozen=True)
class SectionFacts:
    """One section of the class, to compare with the others."""

    name: str
    key: int
    """Number of the section on the page, from 0."""
    scores: Scores
    passed: int
    """Students who passed every exercise."""
    raised: int
    """Students whose code raised an exception."""
    absent: int
    worst: MistakeCount | None
    """Most frequent named mistake."""


def sections_of(result: ClassResult) -> list[SectionFacts]:
    """Return the sections in the order of their names; empty if there are not two."""
    names = {s.person.section for s in result.counted if s.person} | {a.person.section for a in result.absent}
    names.discard("")
    if len(names) < 2:
        return []
    final = any(s.mark is not None for s in result.submissions)
    found = []
    for key, name in enumerate(sorted(names)):
        own = [s for s in result.counted if s.person and s.person.section == name]
        absent = [a for a in result.absent if a.person.section == name]
        counts = [count for count in count_mistakes(own) if count.id]
        found.append(
            SectionFacts(
                name,
                key,
                scores_of(own, absent, final),
                sum(s.passed for s in own),
                sum(any(tried(f) and f.status == "error" for f in s.feedbacks) for s in own),
                len(absent),
                counts[0] if counts else None,
            )
        )
    return found
