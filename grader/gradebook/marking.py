"""Compute each student's mark from the results, a policy and marks given by hand. The measured results stay unchanged.

The order for one student: scale each exercise's score to the policy's points, replace scores given by hand, drop
exercises, sum (by weights of lessons if there are any), scale to `out_of`, subtract for lateness; a whole mark given by
hand replaces everything. Each step that changed something leaves a Korean reason.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil

from grader.base.errors import HanstepError
from grader.base.names import listed
from grader.course.feedback import ClassResult, ExerciseMark, Mark, SubmissionResult
from grader.gradebook.overrides import Override, OverrideError, by_student
from grader.gradebook.policy import Lateness, Policy, check_names, check_sections
from grader.report.plain_text import one_line, points

_DAY = timedelta(days=1)
_SHORT_TIME = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})[T ]+(\d{1,2}):(\d{2})(?::(\d{2}))?")
"""Matches times as spreadsheets write them: `2026-3-28 0:30`."""


class TimeError(HanstepError):
    """A time cannot be read; the message is Korean and says whose, and what to write."""


@dataclass(frozen=True)
class Rules:
    """The policy and the marks by hand, with the paths they were read from, for messages."""

    policy: Policy | None = None
    overrides: tuple[Override, ...] = ()
    policy_path: str = "policy.toml"
    overrides_path: str = "overrides.csv"


def marked(result: ClassResult, rules: Rules, known: Sequence[str]) -> ClassResult:
    """Return the class with a mark for each student; without a policy and marks by hand, nobody gets a mark.

    Args:
        result: the graded class; marks that it has already are discarded.
        rules: policy and marks by hand.
        known: names of all exercises in the course.

    Raises:
        PolicyError: the policy names something that does not exist.
        OverrideError: a mark by hand cannot be assigned to a student, or is larger than the full mark.
        TimeError: there is a deadline, and a time that cannot be read.
    """
    lesson_of = {f.exercise: f.lesson for s in result.submissions for f in s.feedbacks}
    policy = rules.policy or Policy()
    check_names(policy, lesson_of, known, rules.policy_path)
    people = (*(s.person for s in result.submissions), *(absent.person for absent in result.absent))
    check_sections(policy, {person.section for person in people if person is not None}, rules.policy_path)
    by_hand = by_student(rules.overrides, _known_as(result), list(lesson_of), rules.overrides_path)
    has_rules = rules.policy is not None or bool(rules.overrides)
    refuse_unread(s for s in result.submissions if policy.lateness(_section(s)).deadline is not None)
    submissions = []
    for submission in result.submissions:
        mark = _mark(submission, policy, by_hand.get(_key(submission), ()), rules) if has_rules else None
        submissions.append(replace(submission, mark=mark))
    full = max((s.mark.max_score for s in submissions if s.mark is not None), default=0.0)
    absent = [
        replace(
            absent_person,
            mark=_absent_mark(policy, full, by_hand.get(f"absent {absent_person.person.id}", ()), rules),
        )
        for absent_person in result.absent
    ]
    return replace(result, submissions=tuple(submissions), absent=tuple(absent), repair=policy.told)


def _key(submission: SubmissionResult) -> str:
    return f"student {submission.student}"


def _known_as(result: ClassResult) -> dict[str, list[str]]:
    """Return the students meant by each number and name, in lower case; a number wins over an identical name."""
    numbers: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for submission in result.submissions:
        names.setdefault(submission.student.casefold(), []).append(_key(submission))
        person = submission.person
        if person is not None:
            numbers.setdefault(person.id.casefold(), []).append(_key(submission))
            names.setdefault(person.name.casefold(), []).append(_key(submission))
    for absent in result.absent:
        key = f"absent {absent.person.id}"
        numbers.setdefault(absent.person.id.casefold(), []).append(key)
        names.setdefault(absent.person.name.casefold(), []).append(key)
    found = {**{name: list(dict.fromkeys(keys)) for name, keys in names.items()}, **numbers}
    return {name: keys for name, keys in found.items() if name}


def _mark(submission: SubmissionResult, policy: Policy, by_hand: Sequence[Override], rules: Rules) -> Mark:
    """Compute one student's mark with its reasons, in the order that the module describes."""
    given = {override.exercise: override for override in by_hand}
    reasons: list[str] = []
    exercises = _exercises(submission, policy, given, rules)
    for override in by_hand:
        if override.exercise:
            own = next(e for e in exercises if e.exercise == override.exercise)
            reasons.append(
                f"{override.exercise}: {points(own.score)}/{points(own.max_score)}점을 직접 주었어요. {override.reason}"
            )
    exercises, dropped = _dropped(exercises, policy)
    reasons += [f"세지 않은 연습: {', '.join(dropped)}"] if dropped else []
    lesson_of = {f.exercise: f.lesson for f in submission.feedbacks}
    # The full mark is the same for all students, even if each one's lowest exercises are different ones.
    _, full = _summed([e for e in exercises if e.exercise not in policy.drop.exercises], lesson_of, policy)
    score, reachable = _summed([e for e in exercises if not e.dropped], lesson_of, policy)
    score = score / reachable * full if reachable else 0.0
    if policy.out_of is not None:
        score, full = (score / full * policy.out_of if full else 0.0), policy.out_of
    percent, why = _late_penalty(submission, policy)
    if why:
        score *= 1 - percent / 100
        reasons.append(why)
    whole = given.get("")
    if whole is not None:
        score = _checked_score(whole, full, rules)
        reasons.append(f"전체 {points(score)}점을 직접 주었어요. {whole.reason}")
    return Mark(_rounded(score), _rounded(full), tuple(exercises), tuple(reasons))


def _exercises(
    submission: SubmissionResult, policy: Policy, given: Mapping[str, Override], rules: Rules
) -> list[ExerciseMark]:
    """Return the exercises with the policy's points and the scores given by hand."""
    found = []
    for feedback in submission.feedbacks:
        full = policy.points.get(feedback.exercise, feedback.max_score)
        share = feedback.score / feedback.max_score if feedback.max_score else 0.0
        override = given.get(feedback.exercise)
        score = share * full if override is None else _checked_score(override, full, rules)
        reason = "" if override is None else override.reason
        found.append(ExerciseMark(feedback.exercise, _rounded(score), _rounded(full), reason=reason))
    return found


def _checked_score(override: Override, full: float, rules: Rules) -> float:
    if override.score > full + 1e-9:
        raise OverrideError(
            f"{rules.overrides_path} {override.line}번째 줄: {points(override.score)}점은 만점 {points(full)}점보다 "
            "커요. 점수를 확인해 주세요."
        )
    return override.score


def _dropped(exercises: Sequence[ExerciseMark], policy: Policy) -> tuple[list[ExerciseMark], list[str]]:
    """Mark the dropped exercises; return all exercises, and the names of the dropped ones."""
    out = {e.exercise for e in exercises if e.exercise in policy.drop.exercises}
    left = [e for e in exercises if e.exercise not in out and e.max_score > 0]
    # At least one exercise stays. Of equally bad ones drop the one worth most: that is best for the student.
    worst = sorted(left, key=lambda e: (e.score / e.max_score, -e.max_score))
    lowest = worst[: min(policy.drop.lowest, max(0, len(left) - 1))]
    out |= {e.exercise for e in lowest}
    marked = [replace(e, dropped=True) if e.exercise in out else e for e in exercises]
    return marked, [e.exercise for e in marked if e.dropped]


def _summed(
    exercises: Sequence[ExerciseMark], lesson_of: Mapping[str, str], policy: Policy
) -> tuple[float, float]:
    """Return score and full mark; with weights, each lesson's fraction counts by its weight."""
    if not policy.weights:
        return sum(e.score for e in exercises), sum(e.max_score for e in exercises)
    score = full = 0.0
    for lesson in dict.fromkeys(lesson_of[e.exercise] for e in exercises):
        own = [e for e in exercises if lesson_of[e.exercise] == lesson]
        most = sum(e.max_score for e in own)
        if most > 0:
            full += policy.weights[lesson]
            score += policy.weights[lesson] * sum(e.score for e in own) / most
    return score, full


def _late_penalty(submission: SubmissionResult, policy: Policy) -> tuple[float, str]:
    """Return the lateness penalty in percent and its Korean reason; 0 and empty if the submission was in time."""
    rule = policy.lateness(_section(submission))
    over = _time_past_deadline(submission, rule, policy)
    if over is None:
        if not submission.late:
            return 0.0, ""
        percent = min(rule.per_day if rule.marked is None else rule.marked, rule.most)
        return percent, f"늦게 냈어요: {points(percent)}%를 뺐어요." if percent else ""
    if over <= timedelta(minutes=rule.grace_minutes):
        return 0.0, ""
    if rule.closed_after_days is not None and over > rule.closed_after_days * _DAY:
        return 100.0, f"마감보다 {points(rule.closed_after_days)}일 넘게 늦어서 받지 않아요."
    days = ceil(over / _DAY)
    percent = min(days * rule.per_day, rule.most)
    return percent, f"마감보다 {days}일 늦게 냈어요: {points(percent)}%를 뺐어요." if percent else ""


def _section(submission: SubmissionResult) -> str:
    return submission.person.section if submission.person else ""


def _time_past_deadline(submission: SubmissionResult, rule: Lateness, policy: Policy) -> timedelta | None:
    """Return how much later than the deadline the work came; None if either time is unknown."""
    if rule.deadline is None or not submission.handed_in.strip():
        return None
    came = read_time(submission.handed_in)
    assert came is not None  # `marked` has refused times that cannot be read
    return _aware(came, policy) - _aware(rule.deadline, policy)


def _aware(when: datetime, policy: Policy) -> datetime:
    known = when if when.tzinfo is not None else when.replace(tzinfo=policy.zone)
    try:
        return known.astimezone(UTC)
    except OverflowError:  # first or last day that datetime can represent
        return when.replace(tzinfo=UTC)


def _absent_mark(policy: Policy, full: float, by_hand: Sequence[Override], rules: Rules) -> Mark | None:
    """Return the mark of a student who handed in nothing; None if the policy leaves it blank."""
    part = next((one for one in by_hand if one.exercise), None)
    if part is not None:
        raise OverrideError(
            f"{rules.overrides_path} {part.line}번째 줄: 낸 것이 없는 학생에게는 '전체' 점수만 줄 수 있어요."
        )
    if by_hand:
        score = _checked_score(by_hand[0], full, rules)
        reason = f"전체 {points(score)}점을 직접 주었어요. {by_hand[0].reason}"
        return Mark(_rounded(score), full, reasons=(reason,))
    return Mark(0.0, full, reasons=("낸 것이 없어요.",)) if policy.missing == "zero" else None


def _rounded(value: float) -> float:
    return round(value, 4)


# ---- times of handing in ------------------------------------------------------------------------------


def read_time(text: str) -> datetime | None:
    """Parse a time as rosters and systems write it; without a time zone if none is written. None: not parseable."""
    try:
        if short := _SHORT_TIME.fullmatch(text.strip()):
            return datetime(*(int(number or 0) for number in short.groups()))  # type: ignore[arg-type]
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def refuse_unread(submissions: Iterable[SubmissionResult]) -> None:
    """Refuse times that cannot be read, so that none is taken for being in time; empty ones are accepted.

    Raises:
        TimeError: names each student with such a time.
    """
    wrong = [s for s in submissions if s.handed_in.strip() and read_time(s.handed_in) is None]
    if wrong:
        rows = listed([f"{_who(s)} '{one_line(s.handed_in, 60)}'" for s in wrong])
        raise TimeError(
            f"제출 시각을 읽을 수 없어서 지각인지 알 수 없어요: {rows}. "
            "명단의 제출 시각을 이렇게 적고 다시 채점해 주세요: 2026-03-20 23:50"
        )


def _who(submission: SubmissionResult) -> str:
    person = submission.person
    return submission.student if person is None else " ".join(filter(None, (person.id, person.name)))
