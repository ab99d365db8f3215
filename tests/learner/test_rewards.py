"""XP, levels, achievements: each rule can be reached, and none is given for nothing."""

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pytest

from grader.course.course import CourseError
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.judging.solution import exercise_source
from grader.learner import rewards as rewarding
from grader.learner.earned import order_of_calls, pass_notes, recorded_check
from grader.learner.event import LearnerEvent
from grader.learner.history import AWAY_SECONDS, history
from grader.learner.progress import Progress
from grader.learner.reward_facts import facts
from grader.learner.rewards import load_rewards, standing, won_at
from tests.places import ROOT

COURSE = load_course()
EVERY = [a.id for a in load_rewards().achievements]
DAY = 24 * 3600.0
START = datetime(2026, 3, 2, 12).timestamp()
ORDERS = [
    "opt.zero_grad()\n    a = model(xb)\n    b = loss_fn(a, yb)\n    b.backward()\n    opt.step()",
    "a = model(xb)\n    opt.zero_grad()\n    b = loss_fn(a, yb)\n    b.backward()\n    opt.step()",
    "b = loss_fn(model(xb), yb)\n    opt.zero_grad()\n    b.backward()\n    opt.step()",
    "b = loss_fn(model(xb), yb)\n    b.backward()\n    opt.step()\n    opt.zero_grad(set_to_none=True)",
]


class Life:
    """Events one after another, a minute apart."""

    def __init__(self) -> None:
        self.events: list[LearnerEvent] = []
        self.now = START

    def do(self, kind: str, what: str, **detail: object) -> None:
        self.now += 60
        self.events.append(LearnerEvent(f"{len(self.events):06}", self.now, kind, what, detail))


def exemplary() -> list[LearnerEvent]:
    """Somebody who does everything there is to do, over ten days in a row."""
    life = Life()
    for one in (p for lesson in COURSE.lessons for p in lesson.predictions):
        life.do("prediction", one.id, letter=one.answer)
        life.do("verdict", one.id, letter=one.answer, answer=one.answer)
    for number, exercise in enumerate(COURSE.exercises.values()):
        if number % 2:
            for mistake in exercise.mistakes[:10]:
                life.do("check", exercise.name, passed=False, mistakes=[mistake.id])
        life.do("check", exercise.name, passed=True)
    for body in ORDERS:
        life.do("check", "train_step", passed=True, order=order(body))
    for number, mistake in enumerate(COURSE.exercise("fit").mistakes[:10]):
        life.do("clinic", f"fit/{mistake.id}", rating=2, how="mend", real=f"bug-{number // 2}")
    for _ in range(10):
        life.now += DAY
        life.do("hint", "fit", number=1)
    return life.events


def order(body: str) -> str:
    source = (
        f"import torch\n\ndef train_step(model, opt, loss_fn, xb, yb):\n    {body}\n    return b.item()\n"
    )
    return order_of_calls(source, "train_step", load_rewards().orders["train_step"])


def test_there_are_enough_and_their_texts_read_alike() -> None:
    assert len(EVERY) >= 14
    assert all(a.text.endswith("기") for a in load_rewards().achievements)
    assert len({a.title for a in load_rewards().achievements}) == len(EVERY)
    assert load_rewards().levels[0].name == "호기심"


@pytest.mark.parametrize("id_", EVERY)
def test_each_achievement_can_be_won(id_: str) -> None:
    assert id_ in standing(history(exemplary())).won


@pytest.mark.parametrize("id_", EVERY)
def test_none_is_given_just_below_its_number(id_: str) -> None:
    (one,) = [a for a in load_rewards().achievements if a.id == id_]
    known = facts(history(exemplary()), COURSE)
    assert one.is_won(known)
    for fact, number in one.when.items():
        assert not one.is_won({**known, fact: number - 1})
        assert one.share_done({**known, fact: number - 1}) < 1


def test_each_achievement_has_a_day_even_if_no_event_tells_of_it() -> None:
    """As in progress that came from another computer, or was made before there were achievements."""
    events = [event for event in exemplary() if event.kind != "achievement"]
    at = won_at(events)
    assert at.keys() >= standing(history(events)).won
    assert at["first-prediction"] < at["seven-days"]


def test_nothing_is_given_to_one_who_did_nothing_or_passed_nothing() -> None:
    """Failing, reading hints and telling answers first earn no XP; only the days count."""
    assert standing(history([])).won == frozenset()
    assert (standing(history([])).xp, standing(history([])).level.name) == (0, "호기심")
    life = Life()
    for exercise in COURSE.exercises.values():
        for mistake in exercise.mistakes[:12]:
            life.do("check", exercise.name, passed=False, mistakes=[mistake.id])
        life.do("hint", exercise.name, number=1)
        life.do("reset", exercise.name)
        life.do("clinic", f"{exercise.name}/{exercise.mistakes[0].id}", rating=1, how="answer", real="bug")
    life.do("prediction", "01-1", letter="a")
    life.do("something-new", "01-1")
    reached = standing(history(life.events))
    assert (reached.won, reached.xp) == (frozenset(), 0)


def test_the_last_level_is_reached_by_doing_everything() -> None:
    reached = standing(history(exemplary()))
    assert reached.following is None
    assert reached.share == 1.0
    names = [level.name for level in load_rewards().levels]
    assert reached.number == len(names) == len(set(names))


def test_passing_again_and_starting_over_earn_nothing_twice() -> None:
    life = Life()
    life.do("check", "train_step", passed=True)
    once = standing(history(life.events))
    life.do("check", "train_step", passed=True)
    life.do("reset", "train_step")
    life.do("check", "train_step", passed=True)
    again = standing(history(life.events))
    assert (once.xp, once.won) == (again.xp, again.won)


def test_a_mistake_is_mastered_when_its_exercise_passes_and_open_when_it_comes_back() -> None:
    life = Life()
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad"])
    life.do("check", "train_step", passed=True)
    assert [m.mastered for m in history(life.events).mistakes.values()] == [False]
    life.do("check", "fit", passed=True)
    assert [m.mastered for m in history(life.events).mistakes.values()] == [True]
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad"])
    (made,) = history(life.events).mistakes.values()
    assert (made.times, made.mastered) == (2, False)
    assert facts(history(life.events), COURSE)["mistakes_mastered"] == 1, "nothing that was won is taken away"


def test_what_was_mended_with_the_answer_in_view_is_overcome_later() -> None:
    """The pass gave all its XP, the mistakes' too, minutes after the answer was read."""
    life = Life()
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad", "returns-tensor"])
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad"])
    for _ in range(10):
        life.do("check", "fit", passed=False, mistakes=["missing-zero-grad"])
    life.do("hint", "fit", number=9, answer=True)
    life.do("check", "fit", passed=True)
    told = history(life.events)
    assert {m.id: m.mastered for m in told.mistakes.values()} == {
        "missing-zero-grad": False,
        "returns-tensor": True,  # mended before
    }
    known = facts(told, COURSE)
    assert (known["passed"], known["passed_with_answer"], known["passed_without_answer"]) == (1, 1, 0)
    assert (known["most_tries"], known["mistakes_mastered"]) == (0, 1)
    assert "kept-at-it" not in standing(told).won
    assert (standing(told).earned["통과"], standing(told).earned["정답을 보고 통과"]) == (0, 10)
    for kind, what, detail in (
        ("clinic", "fit/missing-zero-grad", {"rating": 2}),
        ("drill", "fit", {}),
        ("reset", "fit", {}),
    ):
        later = Life()
        later.events, later.now = [*life.events], life.now
        later.do(kind, what, **detail)
        if kind == "reset":
            later.do("check", "fit", passed=True)
        assert all(m.mastered for m in history(later.events).mistakes.values()), kind
        assert standing(history(later.events)).earned["정답을 보고 통과"] == 10, kind
    life.do("clinic", "fit/missing-zero-grad", rating=1)  # the answer again
    assert not all(m.mastered for m in history(life.events).mistakes.values())


def test_the_answer_after_a_pass_takes_nothing_away() -> None:
    """Neither do hints that earlier versions wrote: they do not tell whether one was the answer."""
    life = Life()
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad"])
    life.do("hint", "fit", number=9)
    life.do("check", "fit", passed=True)
    once = standing(history(life.events))
    life.do("hint", "fit", number=9, answer=True)
    assert standing(history(life.events)).earned == once.earned
    assert not history(life.events).exercise("fit").with_answer
    assert all(m.mastered for m in history(life.events).mistakes.values())


def test_a_mistake_that_was_only_one_of_several_is_not_counted() -> None:
    """`early-clip|no-clip` is a guess; the hints about it stay."""
    life = Life()
    guess, hints = "early-clip|no-clip", ["생각할 것", "", ""]
    life.do("check", "fit", passed=False, mistakes=[guess, "returns-tensor"], road=[[guess, hints]])
    told = history(life.events)
    assert list(told.mistakes) == [("fit", "returns-tensor")]
    assert told.exercise("fit").last_mistakes == (guess, "returns-tensor")
    assert [id_ for id_, _ in told.exercise("fit").road] == [guess]
    life.do("check", "fit", passed=True)
    assert facts(history(life.events), COURSE)["mistakes_mastered"] == 1


def test_breaking_what_has_passed_and_mending_it_earns_nothing() -> None:
    life = Life()
    life.do("check", "fit", passed=True)
    once = standing(history(life.events))
    for mistake in COURSE.exercise("fit").mistakes[:12]:
        life.do("check", "fit", passed=False, mistakes=[mistake.id])
        life.do("check", "fit", passed=True)
    again = standing(history(life.events))
    assert (once.xp, once.won) == (again.xp, again.won)


def test_only_the_letter_that_stood_when_the_answer_was_told_counts() -> None:
    life = Life()
    life.do("prediction", "01-1", letter="a")
    life.do("verdict", "01-1", letter="a", answer="b")
    life.do("prediction", "01-1", letter="b")
    life.do("verdict", "01-1", letter="b", answer="b")
    known = facts(history(life.events), COURSE)
    assert (known["predictions"], known["predictions_right"]) == (1, 0)


def test_the_own_time_leaves_out_when_the_learner_was_away() -> None:
    life = Life()
    life.do("check", "fit", passed=False)
    life.do("hint", "fit", number=1)
    life.now += AWAY_SECONDS
    life.do("check", "fit", passed=False)
    life.do("check", "fit", passed=True)
    life.do("check", "fit", passed=True)
    told = history(life.events).exercise("fit")
    assert told.minutes == pytest.approx(2.0)
    assert (told.tries, told.hints_used) == (3, 1)


def test_a_streak_ends_with_the_first_day_that_is_missing() -> None:
    life = Life()
    for gap in (0, 1, 1, 2, 1):
        life.now += gap * DAY
        life.do("hint", "fit", number=1)
    told = history(life.events)
    last = date.fromtimestamp(life.now)
    assert told.longest_streak == 3
    assert told.streak(last) == told.streak(date.fromordinal(last.toordinal() + 1)) == 2
    assert told.streak(date.fromordinal(last.toordinal() + 2)) == 0


def test_the_four_right_orders_are_four() -> None:
    assert len({order(body) for body in ORDERS}) == 4
    assert all(order(body) for body in ORDERS)


@pytest.mark.parametrize(
    "source",
    [
        "",
        "def train_step(:",
        "\0",
        "x = 1",
        f"def train_step(a):\n    {ORDERS[0]}\n    opt.step()",
        "(" * 10_000,
    ],
)
def test_an_order_that_cannot_be_told_is_none(source: str) -> None:
    assert order_of_calls(source, "train_step", load_rewards().orders["train_step"]) == ""


def test_a_check_tells_what_it_has_brought() -> None:
    """XP, the level and the achievements are told once, and kept with the day on which they were won."""
    learner, exercise = Progress.load(), COURSE.exercise("train_step")
    wrong = Feedback("01", "train_step", exercise.title, "failed", (), "")
    passed = Feedback("01", "train_step", exercise.title, "passed", (), "")
    assert recorded_check(learner, wrong, "", "at-once").lines == ()
    gain = recorded_check(learner, passed, exercise_source(exercise), "at-once")
    assert gain.first
    assert gain.xp > 30
    assert gain.level is not None
    assert [a.id for a in gain.achievements] == ["first-pass"]
    told = pass_notes(COURSE, exercise, learner, gain)
    assert "확인 2번 만에 통과" in " ".join(told.lines)
    assert told.following.section.heading == "연습 2. train_step_extras"
    assert told.following.section.link.startswith("../01_five_line_step/")
    assert learner.history.achievements.keys() == {"first-pass"}
    assert learner.history.exercise("train_step").orders == {"zero_grad model loss_fn backward step"}
    again = recorded_check(learner, passed, exercise_source(exercise), "at-once")
    assert again.lines == ()
    assert not again.first
    (told,) = pass_notes(COURSE, exercise, learner, again).gains
    assert told == f"전에 통과한 연습이에요 (지금까지 {gain.xp} XP)"


def test_the_same_check_once_more_is_no_new_attempt() -> None:
    """A check follows a definition that runs again; it counted as a second attempt, and spoilt the first-try prize."""
    learner, exercise = Progress.load(), COURSE.exercise("train_step")
    wrong = Feedback("01", "train_step", exercise.title, "failed", (), "")
    other = "\n\ndef mine(): ...\n"
    for source in ("def train_step(): ...", "def train_step(): ..." + other, "def train_step(): pass"):
        recorded_check(learner, wrong, source, "at-once")
    assert learner.history.exercise("train_step").tries == 2
    learner.forget("train_step")
    recorded_check(learner, wrong, "def train_step(): pass", "at-once")
    assert learner.history.exercise("train_step").checks == 1


def test_xp_are_told_with_what_they_are_for() -> None:
    learner, exercise = Progress.load(), COURSE.exercise("train_step")
    learner.record_check("train_step", passed=False, mistakes=["missing-zero-grad"])
    passed = Feedback("01", "train_step", exercise.title, "passed", (), "")
    line = recorded_check(learner, passed, "", "at-once").lines[0]
    assert line == "+65 XP (통과 30, 힌트 없이 10, 고친 실수 5, 업적 20)"


def test_what_predictions_have_won_is_told_with_the_next_pass() -> None:
    learner, exercise = Progress.load(), COURSE.exercise("fit")
    for number in range(10):
        learner.record_verdict(f"01-{number}", "a", "b")
    wrong = Feedback("01", "fit", exercise.title, "failed", (), "")
    assert recorded_check(learner, wrong, "", "at-once").lines == ()
    gain = recorded_check(learner, Feedback("01", "fit", exercise.title, "passed", (), ""), "", "at-once")
    assert [a.id for a in gain.achievements] == ["first-prediction", "first-pass", "ten-predictions"]


def test_what_was_won_is_kept_when_its_rule_no_longer_holds() -> None:
    """A lesson that gets another exercise takes nothing away."""
    learner = Progress.load()
    learner.record_achievements(["course"])
    assert "course" in standing(learner.history).won


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("passed_bonus = {", "pased_bonus = {", "pased_bonus"),
        ("train_step = [", "train_stp = [", "train_stp"),
        ('id = "ten-passes"', 'id = "first-pass"', "겹쳐요"),
        ('name = "첫걸음"\nxp = 30', 'name = "첫걸음"\nxp = 3000', "0에서 시작해 커져야"),
        ("when = { passed = 1 }", "when = {}", "맞지 않아요"),
        ("[[levels]]", "[[levels", "맞지 않아요"),
    ],
)
def test_a_slip_in_the_file_is_told_to_its_author(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, told: str
) -> None:
    text = (ROOT / "lessons" / "rewards.toml").read_text(encoding="utf-8")
    assert old in text
    (tmp_path / "rewards.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    monkeypatch.setattr(rewarding.paths, "lessons_path", tmp_path.joinpath)
    with pytest.raises(CourseError, match=told):
        load_rewards.__wrapped__()


@pytest.fixture(autouse=True)
def _no_kept_rewards() -> Iterator[None]:
    yield
    load_rewards.cache_clear()


def test_what_was_mended_by_lines_that_were_told_is_overcome_later() -> None:
    """All 36 mistakes counted as overcome after the lines to write had been read of each."""
    life = Life()
    road = [["missing-zero-grad", ["생각할 것", "", "고칠 줄"]]]
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad", "returns-tensor"], road=road)
    life.do("hint", "fit", number=1, mistake="missing-zero-grad")
    life.do("hint", "fit", number=3, mistake="missing-zero-grad", lines=True)
    life.do("check", "fit", passed=False, mistakes=["missing-zero-grad"], road=road)
    life.do("check", "fit", passed=True)
    told = {m.id: m.mastered for m in history(life.events).mistakes.values()}
    assert told == {"missing-zero-grad": False, "returns-tensor": True}
    for kind, what, detail in (
        ("clinic", "fit/missing-zero-grad", {"rating": 2}),
        ("drill", "fit", {}),
        ("reset", "fit", {}),
        ("check", "fit", {"passed": False, "mistakes": ["missing-zero-grad"]}),  # and mended by oneself
    ):
        later = Life()
        later.events, later.now = [*life.events], life.now
        later.do(kind, what, **detail)
        if kind in ("reset", "check"):
            later.do("check", "fit", passed=True)
        assert all(m.mastered for m in history(later.events).mistakes.values()), kind
