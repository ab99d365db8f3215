"""Follow one case from when it is handed out until it is solved: the learner's answers, the replies, the record."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date

from grader.base.errors import CommandError
from grader.course.course import Course, Exercise
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.learner.earned import gain_since
from grader.learner.event import happened
from grader.learner.progress import Progress
from grader.learner.rewards import standing
from grader.observe.wording import in_past
from grader.practice.case import Case, is_short
from grader.practice.culprits import lines_of_code
from grader.practice.pointing import on_wrong_line
from grader.practice.real_bugs import RealBug, case_of, load_real_bugs
from grader.practice.schedule import appointments
from grader.practice.symptoms import Question, question
from grader.practice.today import (
    MINUTES,
    MOST_DUE,
    Today,
    candidates,
    closed_cases,
    for_new_cases,
    last_exercise,
    new_case,
    returning,
    seen_on,
    today,
)
from grader.report.plain_text import one_line

_ASKED, _AFTER_TRIES, _AT_ONCE = 1, 2, 3
"""FSRS ratings: again (the answer was asked for), hard (found after wrong tries), good (found at once)."""
LINE_IS_RIGHT, SYMPTOM_IS_RIGHT = "줄은 맞았어요", "증상은 맞았어요"
"""How a reply begins where only the other one was wrong; by these words `practice.js` keeps what was right chosen."""
_BY_NAME = 3
"""Number of cases if an exercise is asked for by name."""


@dataclass(frozen=True)
class Answer:
    """The reply to what the learner did."""

    lines: tuple[str, ...]
    over: bool
    """True if the case is closed."""
    repair: str = ""
    """How the code is mended, as a diff with the lines around it; only for a closed case that was not mended."""


class Visit:
    """One case handed out to one learner."""

    def __init__(
        self, case: Case, chance: random.Random, *, bug: RealBug | None = None, met: bool = False
    ) -> None:
        """Prepare the visit. Nothing is recorded before the case is closed.

        Args:
            case: the case that is handed out.
            chance: draws the question on it.
            bug: the public bug that the case retells, if any.
            met: True if the mistake has come back.
        """
        self.case, self.bug = case, bug
        self.question: Question | None = question(case, chance) if self.can_be_pointed_at else None
        self.right_line: int | None = None
        """The wrong line of the code, as soon as the learner has found it; then only the symptom is asked."""
        self.right_symptom = False
        """True as soon as the learner has found the symptom; then only the line is asked."""
        self._wrong = 0
        self._met = met

    @property
    def can_be_pointed_at(self) -> bool:
        """True if the wrong line can be pointed at, and not only mended.

        Not where most lines would be right: a missing line that may stand nearly anywhere needs no search.
        """
        lines = self.case.lines
        few = len(lines_of_code(self.case.text)) // 2
        return len(self.case.mistakes) == 1 and 0 < len(lines) <= few

    @property
    def what_to_do(self) -> str:
        """Korean sentence on what the learner does with the code."""
        return "어느 줄인지 찾아 짚거나 고쳐 보세요." if self.can_be_pointed_at else "찾아서 고쳐 보세요."

    @property
    def introduction(self) -> tuple[str, ...]:
        """Korean lines shown before the code; the first one is the title."""
        exercise, bug = self.case.exercise, self.bug
        if bug is not None:
            title = f"실제로 있었던 버그 · {bug.where} ({bug.year}년) · {exercise.name}"
            return (title, bug.story, f"그 버그가 이 코드에 있어요. {self.what_to_do}")
        kind = "다시 만난 실수" if self._met else "새 코드"
        count = "둘" if len(self.case.mistakes) > 1 else "하나"
        what = "클래스" if self.case.is_class else "함수"
        return (f"{kind} · {exercise.name} ({exercise.title})", f"이 {what}에는 실수가 {count} 있어요.")

    def mended(self, feedback: Feedback) -> Answer:
        """Take a mended function; `feedback` is the result of its checks."""
        if feedback.status == "passed":
            return self._close(_AFTER_TRIES if self._wrong else _AT_ONCE, "mend", "고쳤어요!")
        self._wrong += 1
        return Answer(still_wrong(feedback), over=False)

    def marked(self, line: object = None, letter: object = "") -> Answer:
        """Take the line and the symptom that the learner points out; what can be neither counts as no try.

        Where no question about symptoms is asked, the line alone counts. What was right before need not be told again.
        """
        letter = letter.strip().lower() if isinstance(letter, str) else letter
        if line is None and self.right_line is not None:
            line = self.right_line
        if not letter and self.question is not None and self.right_symptom:
            letter = self.question.answer
        if refused := self._refused(line, letter):
            return Answer((refused,), over=False)
        assert isinstance(line, int)  # anything else was refused
        is_right_line = line in self.case.lines
        is_right_symptom = self.question is None or letter == self.question.answer
        if is_right_line and is_right_symptom:
            return self._close(_AFTER_TRIES if self._wrong else _AT_ONCE, "mark", "찾았어요!")
        self._wrong += 1
        self.right_line = line if is_right_line else self.right_line
        self.right_symptom = self.right_symptom or (self.question is not None and is_right_symptom)
        about = "" if is_right_line else on_wrong_line(self.case, line, kind=self._wrong > 1)
        against = self._against(str(letter))
        lines: tuple[str, ...]
        if is_right_line:
            lines = (f"{LINE_IS_RIGHT}. 증상은 {letter}가 아니에요.", against, "증상만 다시 골라 보세요.")
        elif self.question is None:
            lines = (f"{line}번째 줄 때문은 아니에요.", about, "다른 줄을 골라 보세요.")
        elif is_right_symptom:
            what = f"{SYMPTOM_IS_RIGHT}. 그런데 {line}번째 줄 때문은 아니에요."
            lines = (what, about, "줄만 다시 골라 보세요.")
        else:
            what = f"{line}번째 줄도 아니고, 증상 {letter}도 아니에요."
            lines = (what, f"줄: {about}", f"증상: {against}", "둘 다 다시 골라 보세요.")
        return Answer(lines, over=False)

    def _against(self, letter: str) -> str:
        """Return what the run says against a symptom; empty for the right one, and where none is asked."""
        return "" if self.question is None else self.question.against.get(letter, "")

    def _refused(self, line: object, letter: object) -> str:
        """Return a Korean line on what is no line of the code, or no symptom to choose; empty if both are."""
        if not self.can_be_pointed_at:
            return "이 코드는 줄을 고르는 문제가 아니에요. 코드를 고쳐 주세요."
        last, letters = len(self.case.text.splitlines()), [*self.question.choices] if self.question else []
        if not isinstance(line, int) or isinstance(line, bool) or not 1 <= line <= last:
            got = "" if line is None else f" (받은 값: {one_line(repr(line), 60)})"
            return f"줄 번호는 1부터 {last}까지의 정수로 적어 주세요{got}."
        if letters and letter not in letters:
            wanted = f"증상은 {', '.join(letters)} 가운데 한 글자로 적어 주세요"
            return f"{wanted} (받은 값: {one_line(repr(letter), 60)})."
        return ""

    def given_up(self) -> Answer:
        """Tell the answer and close the case."""
        at = _ranges(sorted(self.case.lines))
        return self._close(_ASKED, "answer", f"볼 곳은 {at} 줄이에요." if at else "이런 실수였어요.")

    def _close(self, rating: int, how: str, first: str) -> Answer:
        """Record the answer under each mistake and tell the mistake, its reward and when it comes back."""
        learner = Progress.load()
        before = standing(learner.history)
        detail = {"rating": rating, "how": how} | ({} if self.bug is None else {"real": self.bug.id})
        name = self.case.exercise.name
        learner.record([happened("clinic", f"{name}/{m.id}", **detail) for m in self.case.mistakes])
        told = zip(self.case.mistakes, self.case.explanations(), strict=True)
        # What has been mended was a mistake; in code that was pointed at, or given up, it still is one.
        tense = in_past if how == "mend" else str
        lines = [first]
        if self.question is not None and how != "mark":  # who pointed at the line has chosen the symptom, too
            lines.append(f"증상: 「{self.question.choices[self.question.answer]}」")
        lines += [f"{tense(mistake.title)}. {explain}" for mistake, explain in told]
        if self.bug is not None:
            lines += [f"실제로는: {self.bug.cost}", self.bug.link]
        lines += gain_since(learner, before, first=False).lines
        ids = {(name, mistake.id) for mistake in self.case.mistakes}
        due = [a.due for a in appointments(learner.events, load_course()) if (a.exercise, a.mistake) in ids]
        if due:
            lines.append(f"{on_day(min(due))}에 다시 나와요.")
        repair = "" if how == "mend" else self.case.repair_in_place()
        return Answer((*lines, *learner.take_notices()), over=True, repair=repair)


def _ranges(lines: list[int]) -> str:
    """Return line numbers as Korean ranges: `5~6번째, 10번째`."""
    parts: list[list[int]] = []
    for line in lines:
        if parts and parts[-1][-1] == line - 1:
            parts[-1].append(line)
        else:
            parts.append([line])
    return ", ".join(f"{p[0]}번째" if len(p) == 1 else f"{p[0]}~{p[-1]}번째" for p in parts)


def still_wrong(feedback: Feedback) -> tuple[str, ...]:
    """Return what a wrong try is told: what can be seen from outside, but neither the mistake's name nor its line."""
    failed = [check.title for check in feedback.checks if not check.passed]
    first = feedback.diagnosis.first_difference
    if feedback.error is not None:
        return (f"아직이에요. 예외가 났어요: {feedback.error}",)
    if feedback.status != "failed":
        return (f"아직이에요. {feedback.message}",)
    lines = [f"아직이에요. 통과하지 못한 항목: {' / '.join(failed)}"]
    if first is not None:
        what = first.what if first.tensor is None else f"{first.what} · {first.tensor}"
        lines.append(
            f"처음 갈라지는 곳: {first.scenario} · {what} · 내 코드 {first.got} · 정답 {first.expected}"
        )
    return tuple(lines)


def draws_of(on: date) -> random.Random:
    """Return the draws for the day's next case: the same until a case is closed, so that one left open comes again."""
    closed = sum(event.kind == "clinic" for event in Progress.load().events)
    return random.Random(f"{on} {closed}")


def visits(
    on: date,
    draws: Callable[[], random.Random],
    *,
    exercise: str | None = None,
    real: bool = False,
    more: bool = False,
) -> Iterator[Visit]:
    """Yield today's cases; each is drawn when the one before it is done.

    Args:
        on: the day.
        draws: called once for each case, gives what draws it.
        exercise: only cases of this exercise, passed or not.
        real: public bugs instead, those not solved yet first.
        more: new cases even if the day's have been seen.

    Raises:
        CourseError: there is no such exercise, or a course file is broken.
        CommandError: the exercise has nothing that could be handed out.
    """
    course = load_course()
    if real:
        return (Visit(case_of(bug, course), draws(), bug=bug) for bug in _open_bugs(course, exercise))
    if exercise is not None:
        return _exercise_visits(course.exercise(exercise), course, draws)
    return _todays_visits(today(Progress.load(), course, on, more=more), course, draws)


def _todays_visits(plan: Today, course: Course, draws: Callable[[], random.Random]) -> Iterator[Visit]:
    """Yield the cases that are due, then new ones."""
    for appointment in plan.due:
        chance = draws()
        if (case := returning(appointment, course, chance)) is not None:
            yield Visit(case, chance, met=True)
    for _ in range(plan.fresh):
        chance, learner = draws(), Progress.load()
        among, seen = for_new_cases(learner, course), len(closed_cases(learner))
        case = new_case(among, _met(course), chance, seen=seen, last=last_exercise(learner))
        if case is not None:
            yield Visit(case, chance)


def _met(course: Course) -> set[tuple[str, str]]:
    """Return the (exercise, mistake) pairs that are scheduled already."""
    return {(one.exercise, one.mistake) for one in appointments(Progress.load().events, course)}


def _exercise_visits(
    exercise: Exercise, course: Course, draws: Callable[[], random.Random]
) -> Iterator[Visit]:
    """Return new cases of one exercise; raise `CommandError` if it is too long to be handed out."""
    if not is_short(exercise):
        raise CommandError(
            f"`{exercise.name}` 코드는 클리닉에서 다루기에는 길어요. 다른 함수를 골라 주세요. "
            '예: 노트북에서는 `clinic("accumulate")`, 터미널에서는 `grader clinic accumulate`'
        )
    chances = (draws() for _ in range(_BY_NAME))
    seen = len(closed_cases(Progress.load()))
    drawn = ((new_case([exercise], _met(course), chance, seen=seen), chance) for chance in chances)
    return (Visit(case, chance) for case, chance in drawn if case is not None)


def _open_bugs(course: Course, exercise: str | None) -> list[RealBug]:
    """Return the bugs of passed exercises, or of the one that is asked for; those not solved yet come first."""
    learner = Progress.load()
    open_ = [e.name for e in candidates(learner, course)]
    if exercise is not None:
        open_ = [course.exercise(exercise).name]
    bugs = [bug for bug in load_real_bugs() if bug.exercise in open_]
    if not bugs and exercise is not None:
        known = ", ".join(dict.fromkeys(bug.exercise for bug in load_real_bugs()))
        raise CommandError(f"{exercise}에는 실제로 있었던 버그가 아직 없어요. 있는 연습 문제: {known}")
    if not bugs:
        raise CommandError(
            "실제로 있었던 버그는 그 연습 문제를 통과한 다음에 나와요. 먼저 하나를 통과해 보세요: `grader next`"
        )
    return sorted(bugs, key=lambda bug: bug.id in learner.history.real_bugs)


def opening(on: date) -> str:
    """Return one Korean line on what there is today; empty if nothing."""
    plan = today(Progress.load(), load_course(), on)
    parts = [f"다시 볼 실수 {len(plan.due)}개"] if plan.due else []
    parts += [f"새 코드 {plan.fresh}개"] if plan.fresh else []
    if not parts:
        return ""
    line = f"오늘의 클리닉: {', '.join(parts)} (약 {MINUTES}분)"
    return line if Progress.load().passed else f"{line}. 연습 문제를 통과하면 그 코드로도 나와요."


def closing(on: date, again: str = "grader clinic", more: str = "grader clinic --more") -> tuple[str, ...]:
    """Return the closing lines: what is left, when the next mistake comes back, and what examines one's own scripts.

    Args:
        on: today.
        again: the command for the rest of today's cases.
        more: the command for new cases beyond today's.
    """
    learner, course = Progress.load(), load_course()
    plan = today(learner, course, on)
    lines = []
    if not candidates(learner, course):
        lines.append(
            "클리닉의 코드는 정답과 거의 같아서, 통과한 연습 문제에서만 꺼내요. "
            "먼저 하나를 통과해 보세요: `grader next`"
        )
    elif plan.due or plan.fresh:
        lines.append(f"오늘 볼 것이 {len(plan.due) + plan.fresh}개 남았어요. 이어서 하려면: {again}")
    else:
        lines.append(f"오늘 볼 것은 다 봤어요. 더 하려면: {more}")
    if plan.following is not None:
        lines.append(comes_back(plan.following, plan.coming))
    if plan.waiting:
        lines.append(f"아직 통과하지 않은 연습 문제의 실수 {plan.waiting}개는 통과한 다음에 나와요.")
    lines.append("내 스크립트도 진찰하기: `grader xray train.py`")
    return tuple(lines)


def share_of(on: date) -> tuple[int, int]:
    """Return how many of a day's cases are closed, and how many there are in all."""
    learner = Progress.load()
    plan, done = today(learner, load_course(), on), seen_on(learner, on)
    return done, done + len(plan.due) + plan.fresh


def comes_back(day: date, count: int) -> str:
    """Return the line on the next day on which mistakes come back, with their number."""
    if count <= MOST_DUE:
        return f"다음에 볼 실수 {count}개는 {on_day(day)}에 나와요."
    return f"다음에 볼 실수 {count}개는 {on_day(day)}부터 하루에 {MOST_DUE}개씩 나와요."


def on_day(day: date) -> str:
    """Return a day as `11월 24일`, with the year if it is not this year."""
    text = f"{day.month}월 {day.day}일"
    return text if day.year == date.today().year else f"{day.year}년 {text}"
