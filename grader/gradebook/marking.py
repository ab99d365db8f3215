"""Compute each student's mark from the results, a policy and marks given by hand. The measured results stay unchanged.

The order for one student: scale each exercise's score to the policy's points, replace scores given by hand, drop
exercises, sum (by weights of lessons if there are any), scale to `out_of`, subtract for lateness; a whole mark given by
hand replaces everything. Each step that changed something leaves a Korean reason.

What could not be read gets no mark, and neither does somebody who has handed in nothing while the deadline is open.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil

from grader.base.errors import HanstepError
from grader.base.names import listed
from grader.course.feedback import Absent, ClassResult, Feedback, SubmissionResult
from grader.course.marks import Comment, ExerciseMark, Mark
from grader.gradebook.comments import WrittenComment
from grader.gradebook.comments import by_student as comments_by_student
from grader.gradebook.extensions import Extension, extensions_by_student
from grader.gradebook.judged_answers import still_meant
from grader.gradebook.overrides import Override, OverrideError
from grader.gradebook.overrides import by_student as overrides_by_student
from grader.gradebook.policy import Policy, check_names, check_sections
from grader.gradebook.summing import summed, without_dropped
from grader.gradebook.times import Times
from grader.report.kept_answers import Answers
from grader.report.plain_text import one_line, points

_DAY = timedelta(days=1)


class TimeError(HanstepError):
    """A time cannot be read; the message is Korean and says whose, and what to write."""


@dataclass(frozen=True)
class Rules:
    """The policy, the marks by hand and the extensions, with the paths they were read from, for messages."""

    policy: Policy | None = None
    overrides: tuple[Override, ...] = ()
    policy_path: str = "policy.toml"
    overrides_path: str = "overrides.csv"
    extensions: tuple[Extension, ...] = ()
    """Personal deadlines and excuses, those of the policy included."""
    comments: tuple[WrittenComment, ...] = ()
    """What is said to students apart from points."""
    comments_path: str = "comments.csv"
    answers: Answers | None = None
    """The code of the class: judgements of answers that have been handed in anew stand aside. None: all count."""


def marked(
    result: ClassResult, rules: Rules, known: Sequence[str], *, now: datetime | None = None
) -> ClassResult:
    """Return the class with a mark for each student; without a policy and marks by hand, nobody gets a mark.

    Args:
        result: the graded class; marks that it has already are discarded.
        rules: policy and marks by hand.
        known: names of all exercises in the course.
        now: time at which open deadlines are told from past ones; without a time zone, in the policy's. None: now.

    Raises:
        PolicyError: the policy names something that does not exist.
        OverrideError: a mark by hand cannot be assigned to a student, or is larger than the full mark.
        CommentError: a comment cannot be assigned to a student.
        ExtensionError: a personal deadline cannot be assigned to a student.
        TimeError: there is a deadline, and a time that cannot be read.
    """
    lesson_of = {f.exercise: f.lesson for s in result.submissions for f in s.feedbacks}
    policy = rules.policy or Policy()
    check_names(policy, lesson_of, known, rules.policy_path)
    people = (*(s.person for s in result.submissions), *(absent.person for absent in result.absent))
    check_sections(policy, {person.section for person in people if person is not None}, rules.policy_path)
    meant = known_as(result)
    there = {student_key(submission): submission for submission in result.submissions}
    given = still_meant(rules.overrides, meant, there, rules.answers)
    by_hand = overrides_by_student(given, meant, list(lesson_of), rules.overrides_path)
    extended = extensions_by_student(rules.extensions, meant)
    comments = still_meant(rules.comments, meant, there, rules.answers)
    said = comments_by_student(comments, meant, list(lesson_of), rules.comments_path)
    has_rules = rules.policy is not None or bool(given) or bool(rules.extensions)
    times = _times(result.submissions, policy, extended)
    marker = _Marker(policy, rules, times, _aware(now or datetime.now(UTC), policy))
    submissions = []
    for submission in result.submissions:
        key = student_key(submission)
        mark = marker.mark(submission, by_hand.get(key, ()), extended.get(key)) if has_rules else None
        given_so_far = marker.while_waiting(submission, by_hand.get(key, ())) if mark is None else ()
        told = (*given_so_far, *said.get(key, ()))
        submissions.append(replace(submission, mark=mark, comments=told))
    full = max((s.mark.max_score for s in submissions if s.mark is not None), default=0.0)
    absent = []
    for one in result.absent:
        key = f"absent {one.person.id}"
        mark = marker.absent_mark(one, full, by_hand.get(key, ()), extended.get(key), result.submissions)
        until = marker.open_deadline(one, extended.get(key)) if mark is None else None
        until = until if policy.missing == "zero" else None
        still_open = "" if until is None else f"{until:%Y-%m-%d %H:%M}"
        absent.append(replace(one, mark=mark, open_until=still_open, comments=said.get(key, ())))
    return replace(result, submissions=tuple(submissions), absent=tuple(absent), repair=policy.told)


def taken_as_in_time(result: ClassResult, policy: Policy | None) -> tuple[SubmissionResult, ...]:
    """Return the students with a deadline of whom nobody knows when they handed in; they count as being in time.

    Where the system has marked anybody's work as late, it would have marked theirs too: then there are none.
    """
    if policy is None or any(s.late for s in result.submissions):
        return ()
    return tuple(
        s
        for s in result.counted
        if not s.handed_in.strip()
        and policy.lateness(_section(s)).deadline is not None
        and not policy.lateness(_section(s)).by_system
        and not (s.mark is not None and s.mark.score is None)
    )


def scaled_score(feedback: Feedback, policy: Policy) -> tuple[float, float]:
    """Return the measured score and the full mark in the policy's points, before any mark by hand."""
    full = policy.points.get(feedback.exercise, feedback.max_score)
    return (feedback.score / feedback.max_score if feedback.max_score else 0.0) * full, full


def student_key(submission: SubmissionResult) -> str:
    """Return the key of a student in `known_as`."""
    return f"student {submission.student}"


def known_as(result: ClassResult) -> dict[str, list[str]]:
    """Return the students meant by each number and name, in lower case; a number wins over an identical name."""
    numbers: dict[str, list[str]] = {}
    names: dict[str, list[str]] = {}
    for submission in result.submissions:
        names.setdefault(submission.student.casefold(), []).append(student_key(submission))
        person = submission.person
        if person is not None:
            numbers.setdefault(person.id.casefold(), []).append(student_key(submission))
            names.setdefault(person.name.casefold(), []).append(student_key(submission))
    for absent in result.absent:
        key = f"absent {absent.person.id}"
        numbers.setdefault(absent.person.id.casefold(), []).append(key)
        names.setdefault(absent.person.name.casefold(), []).append(key)
    found = {**{name: list(dict.fromkeys(keys)) for name, keys in names.items()}, **numbers}
    return {name: keys for name, keys in found.items() if name}


@dataclass(frozen=True)
class _Marker:
    """Computes marks, one student at a time."""

    policy: Policy
    rules: Rules
    times: Mapping[str, datetime]
    """Times of handing in by their texts."""
    now: datetime

    def mark(
        self, submission: SubmissionResult, by_hand: Sequence[Override], extension: Extension | None
    ) -> Mark | None:
        """Compute one student's mark with its reasons, in the order that the module describes; None if it must wait."""
        given = _by_exercise(by_hand)
        is_excused = extension is not None and extension.excused
        waits = not is_excused and self._awaits_reading(submission, given)
        return None if waits else self._mark(submission, given, extension)

    def while_waiting(self, submission: SubmissionResult, by_hand: Sequence[Override]) -> tuple[Comment, ...]:
        """Return what was given by hand for single exercises, of a student who has no mark yet that could show it."""
        given, found = _by_exercise(by_hand), []
        for feedback in submission.feedbacks:
            if overrides := given.get(feedback.exercise):
                reasons: list[str] = []
                self._by_hand(overrides, *scaled_score(feedback, self.policy), feedback.exercise, reasons)
                said = " ".join(reason.removeprefix(f"{feedback.exercise}: ") for reason in reasons)
                found.append(Comment(feedback.exercise, said))
        return tuple(found)

    def _awaits_reading(self, submission: SubmissionResult, given: Mapping[str, Sequence[Override]]) -> bool:
        """Return True if an exercise that counts could not be read, and its score is not given by hand either."""

        def is_given(exercise: str) -> bool:
            return any(not override.is_change for override in given.get(exercise, ()))

        return not is_given("") and any(
            feedback.status == "unreadable"
            and feedback.exercise not in self.policy.drop.exercises
            and not is_given(feedback.exercise)
            for feedback in submission.feedbacks
        )

    def _mark(
        self,
        submission: SubmissionResult,
        given: Mapping[str, Sequence[Override]],
        extension: Extension | None,
    ) -> Mark:
        """Compute the mark of a student whose files could all be read, or are marked by hand."""
        policy = self.policy
        reasons: list[str] = []
        exercises = self._exercises(submission, given, reasons)
        exercises, dropped = without_dropped(exercises, policy)
        reasons += [f"세지 않은 연습: {', '.join(dropped)}"] if dropped else []
        lesson_of = {f.exercise: f.lesson for f in submission.feedbacks}
        # The full mark is the same for all students, even if each one's lowest exercises are different ones.
        counted = [e for e in exercises if e.exercise not in policy.drop.exercises]
        _, full = summed(counted, lesson_of, policy)
        score, reachable = summed([e for e in exercises if not e.dropped], lesson_of, policy)
        is_excused = (
            bool(counted)
            and not reachable
            and any(one.score is None for overrides in given.values() for one in overrides)
        )
        score = score / reachable * full if reachable else 0.0
        if policy.out_of is not None:
            score, full = (score / full * policy.out_of if full else 0.0), policy.out_of
        whole = given.get("", ())
        is_let_off = any(one.score is None for one in whole) or (extension is not None and extension.excused)
        percent, why = (0.0, "") if is_let_off else self._late_penalty(submission, extension)
        score *= 1 - percent / 100
        reasons += [why] if why else []
        if whole:
            is_excused = whole[0].score is None
            score = self._by_hand(whole, score, full, "전체", reasons)
        elif extension is not None and extension.excused:
            is_excused = True
            reasons.append(f"면제예요. {extension.reason}".rstrip())
        lost = 0.0 if whole or is_excused else percent
        own = None if is_excused else _rounded(score)
        return Mark(own, _rounded(full), tuple(exercises), tuple(reasons), lost)

    def _exercises(
        self, submission: SubmissionResult, given: Mapping[str, Sequence[Override]], reasons: list[str]
    ) -> list[ExerciseMark]:
        """Return the exercises with the policy's points and the scores given by hand; add to the reasons."""
        found = []
        better = _better_before(submission) if self.policy.handed_in_again == "best" else {}
        for feedback in submission.feedbacks:
            score, full = scaled_score(feedback, self.policy)
            if feedback.exercise in better:
                score = better[feedback.exercise] / feedback.max_score * full
                reasons.append(
                    f"{feedback.exercise}: 다시 낸 답보다 앞에 낸 답이 나아서 그 점수로 세었어요: "
                    f"{points(score)}/{points(full)}점."
                )
            overrides = given.get(feedback.exercise, ())
            own = ExerciseMark(feedback.exercise, _rounded(score), _rounded(full))
            if overrides:
                score = self._by_hand(overrides, score, full, feedback.exercise, reasons)
                own = replace(
                    own,
                    score=_rounded(score),
                    reason=" / ".join(override.reason for override in overrides),
                    dropped=overrides[0].score is None,
                )
            found.append(own)
        return found

    def _by_hand(
        self, overrides: Sequence[Override], score: float, full: float, what: str, reasons: list[str]
    ) -> float:
        """Return the score after marks by hand; add their Korean reasons.

        Several changes are summed before the sum is held between zero and the full mark, so that their order does not
        matter.

        Args:
            overrides: one mark or excuse, or one or several changes.
            score: what was computed.
            full: full mark; changes end there, and at zero.
            what: Korean name or exercise that each reason begins with.
            reasons: the reasons so far.

        Raises:
            OverrideError: the mark is larger than the full mark.
        """
        after = changed = score
        for override in overrides:
            before = changed
            if override.is_change:
                changed += override.score or 0.0
            after, why = self._one_by_hand(override, before, changed, full, what)
            reasons.append(why)
        return after

    def _one_by_hand(
        self, override: Override, before: float, score: float, full: float, what: str
    ) -> tuple[float, str]:
        """Return the score after one mark by hand, and the Korean reason, which tells only points that moved.

        Args:
            override: the mark.
            before: sum of the score and the changes before this one.
            score: `before`, with this change.
            full: full mark.
            what: Korean name or exercise that the reason begins with.

        Raises:
            OverrideError: the mark is larger than the full mark.
        """
        if override.score is None:
            return score, f"{what}: 면제예요. {override.reason}"
        if override.is_change:
            held, after = (min(max(sum_, 0.0), full) for sum_ in (before, score))
            moved, wanted = points(abs(after - held)), points(abs(override.score))
            how, still = ("더해", "더해도") if override.score >= 0 else ("빼서", "빼도")
            mark = f"{points(after)}/{points(full)}점"
            if moved == "0":
                told = f"{wanted}점을 {still} {mark} 그대로예요."
            elif moved == wanted:
                told = f"{wanted}점을 {how} {mark}이에요."
            else:
                told = f"{wanted}점 가운데 {moved}점만 {how} {mark}이에요."
            return after, f"{what}: {told} {override.reason}"
        if override.score > full + 1e-9:
            raise OverrideError(
                f"{self.rules.overrides_path} {override.line}번째 줄: {points(override.score)}점은 만점 "
                f"{points(full)}점보다 커요. 점수를 확인해 주세요."
            )
        shown = f"{what}: {points(override.score)}/{points(full)}점"
        if override.exercise == "":
            shown = f"전체 {points(override.score)}점"
        return override.score, f"{shown}을 직접 주었어요. {override.reason}"

    def absent_mark(
        self,
        absent: Absent,
        full: float,
        by_hand: Sequence[Override],
        extension: Extension | None,
        submissions: Sequence[SubmissionResult],
    ) -> Mark | None:
        """Return the mark of a student who handed in nothing; None if the policy leaves it blank.

        Marks of single exercises count as for others; the exercises without one are worth nothing.
        """
        if any(one.exercise for one in by_hand):
            nothing = SubmissionResult("", _nothing_done(submissions), person=absent.person)
            mark = self._mark(nothing, _by_exercise(by_hand), extension)
            return replace(mark, reasons=("낸 것이 없어요.", *mark.reasons))
        if by_hand:
            reasons: list[str] = []
            score = self._by_hand(by_hand, 0.0, full, "전체", reasons)
            excused = by_hand[0].score is None
            return Mark(None if excused else _rounded(score), full, reasons=tuple(reasons))
        if extension is not None and extension.excused:
            return Mark(None, full, reasons=(f"면제예요. {extension.reason}".rstrip(),))
        is_due = self.open_deadline(absent, extension) is None
        if self.policy.missing == "zero" and not absent.in_doubt and is_due:
            return Mark(0.0, full, reasons=("낸 것이 없어요.",))
        return None

    def open_deadline(self, absent: Absent, extension: Extension | None) -> datetime | None:
        """Return the deadline of somebody who handed in nothing, if it has not passed yet; None otherwise."""
        deadline = self.policy.lateness(absent.person.section).deadline
        if extension is not None:
            deadline = extension.until or deadline
        is_open = deadline is not None and self.now <= _aware(deadline, self.policy)
        return deadline if is_open else None

    def _late_penalty(self, submission: SubmissionResult, extension: Extension | None) -> tuple[float, str]:
        """Return the lateness penalty in percent and its Korean reason; 0 and empty if it was in time."""
        policy = self.policy
        rule = policy.lateness(_section(submission))
        if rule.by_system:
            return 0.0, ""
        until = None if extension is None else extension.until
        deadline = until or rule.deadline
        came = self.times.get(submission.handed_in)
        if came is None or deadline is None:
            if not submission.late or (extension is not None and extension.excused):
                return 0.0, ""
            percent = min(rule.per_day if rule.marked is None else rule.marked, rule.most)
            return percent, f"늦게 냈어요: {points(percent)}%를 뺐어요." if percent else ""
        over = _aware(came, policy) - _aware(deadline, policy)
        name = "마감"
        if until is not None:
            name = f"늘려 준 마감({until:%Y-%m-%d %H:%M})"
        if over <= timedelta(minutes=rule.grace_minutes):
            was_late = rule.deadline is not None and _aware(came, policy) > _aware(rule.deadline, policy)
            return 0.0, f"{name} 안에 냈어요." if until is not None and was_late else ""
        if rule.closed_after_days is not None and over > rule.closed_after_days * _DAY:
            return 100.0, f"{name}보다 {points(rule.closed_after_days)}일 넘게 늦어서 받지 않아요."
        days = ceil(over / _DAY)
        percent = min(days * rule.per_day, rule.most)
        return percent, f"{name}보다 {days}일 늦게 냈어요: {points(percent)}%를 뺐어요." if percent else ""


def _better_before(submission: SubmissionResult) -> dict[str, float]:
    """Return the points by exercise of answers handed in before that were better than what is there now."""
    before = () if submission.regraded is None else submission.regraded.before
    now = {f.exercise: f for f in submission.feedbacks if f.status != "unreadable"}
    return {
        one.exercise: one.best
        for one in before
        if one.exercise in now and now[one.exercise].score < one.best <= now[one.exercise].max_score
    }


def _by_exercise(by_hand: Sequence[Override]) -> dict[str, list[Override]]:
    """Return what was given by hand for each exercise, in its order; the empty name is the whole submission."""
    given: dict[str, list[Override]] = {}
    for override in by_hand:
        given.setdefault(override.exercise, []).append(override)
    return given


def _nothing_done(submissions: Sequence[SubmissionResult]) -> tuple[Feedback, ...]:
    """Return the feedback on the graded exercises of somebody who did none of them."""
    graded = {f.exercise: f for submission in submissions for f in submission.feedbacks}
    return tuple(
        replace(f, status="missing", checks=tuple(replace(check, passed=False) for check in f.checks))
        for f in graded.values()
    )


def _section(submission: SubmissionResult) -> str:
    return submission.person.section if submission.person else ""


def _aware(when: datetime, policy: Policy) -> datetime:
    known = when if when.tzinfo is not None else when.replace(tzinfo=policy.zone)
    try:
        return known.astimezone(UTC)
    except OverflowError:  # first or last day that datetime can represent
        return when.replace(tzinfo=UTC)


def _rounded(value: float) -> float:
    return round(value, 4)


# ---- times of handing in ------------------------------------------------------------------------------


def _times(
    submissions: Sequence[SubmissionResult], policy: Policy, extended: Mapping[str, Extension]
) -> dict[str, datetime]:
    """Return the times of handing in by their texts; empty texts are left out.

    Raises:
        TimeError: somebody who has a deadline has a time that cannot be read, or has a deadline of one's own and is
            called late at an unknown time: neither may be taken for being in time.
    """
    read = Times.of((s.handed_in for s in submissions if s.handed_in.strip()), policy.order)
    unread: list[str] = []
    unclear: list[str] = []
    untold: list[str] = []
    for s in submissions:
        own = extended.get(student_key(s))
        until = None if own is None else own.until
        if s.late and not s.handed_in.strip() and until is not None:
            untold.append(f"{_who(s)} (늘려 준 마감 {until:%Y-%m-%d %H:%M})")
        if not s.handed_in.strip() or (until or policy.lateness(_section(s)).deadline) is None:
            continue
        if s.handed_in not in read.read:
            doubtful = s.handed_in in read.unclear
            (unclear if doubtful else unread).append(f"{_who(s)} '{one_line(s.handed_in, 60)}'")
    if unread:
        raise TimeError(
            f"제출 시각을 읽을 수 없어서 지각인지 알 수 없어요: {listed(unread, '명')}. "
            "명단의 제출 시각을 이렇게 적고 다시 채점해 주세요: 2026-03-20 23:50"
        )
    if unclear:
        raise TimeError(
            f"제출 시각의 달과 날을 구별할 수 없어서 지각인지 알 수 없어요: {listed(unclear, '명')}. "
            'policy.toml의 맨 위에 date_order = "month-day"(3/21/2026)나 "day-month"(21/3/2026)를 적고 '
            "다시 실행해 주세요."
        )
    if untold:
        raise TimeError(
            f"마감을 늘려 주었는데 언제 냈는지 몰라서, LMS의 지각 표시로는 지각인지 알 수 없어요: "
            f"{listed(untold, '명')}. 명단에 '제출 시각' 열을 더해 다시 채점하거나, "
            f"그 학생의 점수를 --override로 적어 주세요."
        )
    return dict(read.read)


def _who(submission: SubmissionResult) -> str:
    person = submission.person
    return submission.student if person is None else " ".join(filter(None, (person.id, person.name)))
