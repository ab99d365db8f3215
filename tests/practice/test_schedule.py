"""When a mistake comes back: the same day on every machine that knows the same events, whatever else they hold."""

import random
from datetime import date, datetime, timedelta

import pytest

from grader.course.reading import load_course
from grader.learner.event import LearnerEvent, in_order
from grader.learner.progress import Progress
from grader.practice.case import changes_only_numbers, is_scattered
from grader.practice.schedule import Appointment, appointments
from grader.practice.today import candidates, for_new_cases, last_exercise, new_case, today
from grader.practice.visit import closing, opening

COURSE = load_course()
DAY = 86_400.0
START = datetime(2026, 3, 2, 12).timestamp()
FIRST = date(2026, 3, 2)


def event(days: float, kind: str, what: str, **detail: object) -> LearnerEvent:
    return LearnerEvent(f"{days}-{kind}-{what}", START + days * DAY, kind, what, detail)


def made(days: float, *ids: str) -> LearnerEvent:
    return event(days, "check", "train_step", passed=False, mistakes=list(ids))


def mended(days: float, id_: str, rating: object = 3) -> LearnerEvent:
    return event(days, "clinic", f"train_step/{id_}", rating=rating, how="mend")


def only(*events: LearnerEvent) -> Appointment:
    (found,) = appointments(events, COURSE)
    return found


def test_a_mistake_comes_back_the_next_day_and_then_later_and_later() -> None:
    events, gaps = [made(0, "missing-step")], []
    for _ in range(5):
        one = only(*events)
        gaps.append((one.due - one.last).days)
        events.append(mended((one.due - FIRST).days, "missing-step"))
    assert gaps[0] == 1
    assert gaps == sorted(gaps)
    assert gaps[-1] > 7


def test_what_was_told_comes_back_sooner_than_what_was_found() -> None:
    due = {
        rating: only(made(0, "missing-step"), mended(1, "missing-step", rating)).due for rating in (1, 2, 3)
    }
    assert due[1] <= due[2] <= due[3]
    assert due[1] < due[3]


def test_five_checks_in_a_row_are_one_meeting() -> None:
    many = [made(n / 1000, "missing-step") for n in range(5)]
    assert only(*many) == only(many[0])


def test_a_mistake_that_was_only_one_of_several_makes_no_appointment() -> None:
    assert appointments([made(0, "missing-step|missing-backward")], COURSE) == []
    assert only(made(0, "returns-tensor", "missing-step|missing-backward")).mistake == "returns-tensor"


def test_two_machines_agree_after_a_merge() -> None:
    events = [made(n, "missing-step", "missing-zero-grad") for n in range(3)] + [mended(4, "missing-step")]
    shuffled = random.Random(0).sample(events, len(events))
    assert appointments(in_order({e.id: e for e in shuffled}), COURSE) == appointments(events, COURSE)


@pytest.mark.parametrize(
    "strange",
    [
        event(1, "clinic", "train_step"),
        event(1, "clinic", "///", rating=3),
        event(1, "clinic", "train_step/missing-step", rating="3"),
        event(1, "clinic", "train_step/missing-step", rating=99),
        event(1, "clinic", "train_step/missing-step", rating=True),
        event(1, "clinic", "gone/missing-step", rating=3),
        event(1, "check", "train_step", passed=False, mistakes={"a": 1}),
        event(1, "check", "train_step", passed=False, mistakes=[None, ["x"]]),
        event(1, "from the future", "train_step/missing-step", rating=3),
    ],
    ids=lambda e: f"{e.kind} {e.what} {e.detail}",
)
def test_strange_events_are_left_out(strange: LearnerEvent) -> None:
    base = made(0, "missing-step")
    found = only(base, strange)
    assert (found.exercise, found.mistake) == ("train_step", "missing-step")


def test_a_clock_far_off_breaks_nothing() -> None:
    events = [
        LearnerEvent("a", 0.0, "check", "train_step", {"mistakes": ["missing-step"]}),
        mended(1e6, "missing-step"),
    ]
    assert only(*events).due > date(2100, 1, 1)


def test_todays_list_has_what_is_due_and_then_new_ones() -> None:
    learner = Progress.load()
    assert [e.name for e in candidates(learner, COURSE)] == ["mend_step"], "other cases would tell an answer"
    assert opening(FIRST) == "오늘의 클리닉: 새 코드 3개 (약 5분). 연습 문제를 통과하면 그 코드로도 나와요."
    assert "3개 남았어요" in closing(FIRST)[0]
    learner.record([made(0, "missing-step")])
    assert today(learner, COURSE, FIRST + timedelta(1)).waiting == 1
    learner.record([event(0.01, "check", "train_step", passed=True)])
    plan = today(learner, COURSE, FIRST)
    assert (plan.due, plan.following, plan.coming) == ((), FIRST + timedelta(1), 1)
    plan = today(learner, COURSE, FIRST + timedelta(1))
    assert [one.mistake for one in plan.due] == ["missing-step"]
    assert plan.fresh == 2
    assert opening(FIRST + timedelta(1)) == "오늘의 클리닉: 다시 볼 실수 1개, 새 코드 2개 (약 5분)"
    learner.record([mended(1, id_) for id_ in ("missing-step", "step-twice", "returns-tensor")])
    done = FIRST + timedelta(1)
    assert (today(learner, COURSE, done).due, today(learner, COURSE, done).fresh) == ((), 0)
    assert today(learner, COURSE, done, more=True).fresh == 3
    assert any("다음에 볼 실수" in line for line in closing(done))


def test_mistakes_made_in_checks_leave_room_for_the_first_clinic() -> None:
    """After three checks that failed, the first `clinic()` ever said that all had been seen."""
    learner = Progress.load()
    learner.record([event(0, "check", "train_step", passed=True)])
    learner.record([made(0.01, id_) for id_ in ("missing-step", "step-twice", "returns-tensor")])
    assert "새 코드 3개" in opening(FIRST)
    assert "3개 남았어요" in closing(FIRST)[0]
    learner.record([mended(0.02, "missing-backward")])
    assert today(learner, COURSE, FIRST).fresh == 2


def test_what_the_clinic_has_shown_comes_back_before_it_has_passed() -> None:
    """`grader clinic train_step` says on which day; its code has been seen already."""
    learner = Progress.load()
    learner.record([mended(0, "missing-step")])
    day = only(*learner.events).due
    assert [one.mistake for one in today(learner, COURSE, day).due] == ["missing-step"]
    assert "train_step" not in [e.name for e in candidates(learner, COURSE)]


def test_new_cases_begin_with_the_shortest_exercise_and_one_mistake() -> None:
    """The first case of a learner's life was 33 lines of `accumulate`."""
    passed = [COURSE.exercise(name) for name in ("accumulate", "train_step", "mend_step")]
    for number in range(12):
        for seen, short in ((0, {"mend_step"}), (1, {"mend_step", "train_step"})):
            case = new_case(passed, (), random.Random(number), seen=seen)
            assert case is not None
            assert case.exercise.name in short
            assert len(case.mistakes) == 1
    drawn = [new_case(passed, (), random.Random(number), seen=9) for number in range(24)]
    assert {case.exercise.name for case in drawn if case is not None} == {e.name for e in passed}
    assert any(len(case.mistakes) == 2 for case in drawn if case is not None)


def test_new_cases_begin_with_the_mistakes_that_come_first_in_the_file() -> None:
    """The very first one forwarded twice without gradients, for which one has to know of dropout."""
    exercise = COURSE.exercise("train_step")
    ids = [mistake.id for mistake in exercise.mistakes]
    met: set[tuple[str, str]] = set()
    for number in range(8):
        case = new_case([exercise], met, random.Random(number), seen=0)
        assert case is not None
        left = [id_ for id_ in ids if (exercise.name, id_) not in met]
        assert (
            case.mistakes[0].id in left[:5]
        )  # one of the first four, or the next if none of them can be drawn
        met.add((exercise.name, case.mistakes[0].id))


def test_no_new_case_of_the_warm_up_once_something_else_has_passed() -> None:
    """After two exercises the first two cases still came from the warm-up."""
    learner = Progress.load()
    learner.record([event(0, "check", "mend_step", passed=True)])
    assert [e.name for e in for_new_cases(learner, COURSE)] == ["mend_step"]
    learner.record([event(0.01, "check", "train_step", passed=True)])
    assert [e.name for e in for_new_cases(learner, COURSE)] == ["train_step"]
    assert "mend_step" in [e.name for e in candidates(learner, COURSE)], "its mistakes come back all the same"


def test_a_mistake_in_many_places_comes_after_all_others() -> None:
    exercise = COURSE.exercise("amp_accumulate")
    scattered = {m.id for m in exercise.mistakes if is_scattered(exercise, m.id)}
    assert scattered
    for number in range(8):
        case = new_case([exercise], (), random.Random(number), seen=0)
        assert case is not None
        assert case.mistakes[0].id not in scattered
    others = {(exercise.name, m.id) for m in exercise.mistakes if m.id not in scattered}
    last = new_case([exercise], others, random.Random(0), seen=0)
    assert last is not None
    assert last.mistakes[0].id in scattered


def test_no_exercise_twice_in_a_row_where_another_waits() -> None:
    """Two of three new cases were of one exercise, one after the other."""
    passed = [COURSE.exercise(name) for name in ("train_step", "mend_step")]
    for number in range(8):
        for last, other in (("train_step", "mend_step"), ("mend_step", "train_step")):
            case = new_case(passed, (), random.Random(number), seen=1, last=last)
            assert case is not None
            assert case.exercise.name == other
    alone = new_case(passed[:1], (), random.Random(1), seen=1, last="train_step")
    assert alone is not None
    learner = Progress.load()
    learner.record([mended(0, "missing-step")])
    assert last_exercise(learner) == "train_step"


def test_a_mistake_of_written_numbers_comes_after_those_of_the_loop() -> None:
    """`(2 + step) / (11 + step)` is found by comparing digits with the docstring."""
    exercise = COURSE.exercise("ema_update_")
    numbers = {mistake.id for mistake in exercise.mistakes if changes_only_numbers(exercise, mistake.id)}
    assert "counts-from-one" in numbers
    assert not numbers & {"swapped-shares", "no-warmup", "copies-weights"}
    met: set[tuple[str, str]] = set()
    for number in range(6):
        case = new_case([exercise], met, random.Random(number), seen=0)
        assert case is not None
        assert case.mistakes[0].id not in numbers
        met.add((exercise.name, case.mistakes[0].id))
