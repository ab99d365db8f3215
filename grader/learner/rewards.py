"""Read XP, levels and achievements from `lessons/rewards.toml`, and evaluate their rules."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated

from msgspec import Meta, Struct

from grader import paths
from grader.course.course import CourseError, Text
from grader.course.reading import load_course, read_typed
from grader.learner.event import LearnerEvent
from grader.learner.history import History, history_after_each
from grader.learner.reward_facts import facts

_Positive = Annotated[float, Meta(gt=0)]


class Achievement(Struct, frozen=True, forbid_unknown_fields=True):
    """An achievement that can be won."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    text: Text
    """What is to be done: Korean, ending in -기."""
    xp: Annotated[int, Meta(ge=0)]
    when: Annotated[dict[str, _Positive], Meta(min_length=1)]
    """Fact -> number that it must reach; all of them must."""

    def is_won(self, known: Mapping[str, float]) -> bool:
        """Return True if the facts reach all numbers."""
        return all(known[fact] >= number for fact, number in self.when.items())

    def share_done(self, known: Mapping[str, float]) -> float:
        """Return how far the learner has come, 0 to 1; the fact that is farthest from its number decides."""
        return min(min(1.0, known[fact] / number) for fact, number in self.when.items())


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """A level: its name, and the XP at which it begins."""

    name: Text
    xp: Annotated[int, Meta(ge=0)]


class Worth(Struct, frozen=True, forbid_unknown_fields=True):
    """XP for each unit of a fact."""

    each: Annotated[int, Meta(ge=0)]
    name: Text
    """What the XP are for, in Korean."""


class Rewards(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `rewards.toml`."""

    xp: dict[str, Worth]
    """Fact -> its worth."""
    levels: Annotated[tuple[Level, ...], Meta(min_length=1)]
    achievements: tuple[Achievement, ...]
    orders: dict[str, tuple[Text, ...]] = {}
    """Exercise -> names of the calls whose order is noted when it passes."""


@dataclass(frozen=True)
class Standing:
    """XP, level and achievements of a learner."""

    known: Mapping[str, float]
    """Value of each fact; see `grader.learner.reward_facts`."""
    won: frozenset[str]
    """Ids of the achievements whose rule holds now or that were won earlier.

    An achievement stays won when a lesson gets a new exercise.
    """
    earned: Mapping[str, int]
    """Korean name of what XP are given for -> XP earned by it."""
    xp: int
    """The sum of these."""
    number: int
    """Number of the level, from 1."""
    level: Level
    following: Level | None
    """The next level; None at the last one."""

    @property
    def share(self) -> float:
        """Fraction of the way from this level to the next, 0 to 1; 1 at the last one."""
        if self.following is None:
            return 1.0
        return (self.xp - self.level.xp) / (self.following.xp - self.level.xp)


@cache
def load_rewards() -> Rewards:
    """Read `rewards.toml`; cached.

    Raises:
        CourseError: the file is invalid, or names a fact or an exercise that does not exist.
    """
    path = paths.lessons_path("rewards.toml")
    read = read_typed(path, Rewards)
    course = load_course()
    known = facts(History(), course)
    unknown = {fact for achievement in read.achievements for fact in achievement.when} | read.xp.keys()
    for fact in sorted(unknown - known.keys()):
        raise CourseError(f"{path}: 모르는 사실이에요: {fact}. 쓸 수 있는 이름: {', '.join(known)}")
    for name in read.orders:
        course.exercise(name)
    ids = [achievement.id for achievement in read.achievements]
    if len(set(ids)) < len(ids):
        raise CourseError(f"{path}: 업적의 id가 겹쳐요. 하나를 바꿔 주세요: {', '.join(sorted(ids))}")
    starts = [level.xp for level in read.levels]
    if starts[0] != 0 or starts != sorted(set(starts)):
        raise CourseError(f"{path}: 레벨의 xp는 0에서 시작해 커져야 해요: {starts}. 차례를 고쳐 주세요.")
    return read


def standing(history: History) -> Standing:
    """Evaluate every rule for a history.

    Raises:
        CourseError: see `load_rewards`.
    """
    rewards, known = load_rewards(), facts(history, load_course())
    won = {a.id for a in rewards.achievements if a.id in history.achievements or a.is_won(known)}
    earned = {worth.name: int(worth.each * known[fact]) for fact, worth in rewards.xp.items()}
    earned["업적"] = sum(achievement.xp for achievement in rewards.achievements if achievement.id in won)
    xp = sum(earned.values())
    number = sum(level.xp <= xp for level in rewards.levels)
    following = rewards.levels[number] if number < len(rewards.levels) else None
    return Standing(known, frozenset(won), earned, xp, number, rewards.levels[number - 1], following)


def won_at(events: Sequence[LearnerEvent]) -> dict[str, float]:
    """Return when each achievement's rule first held, by id, in seconds since 1970; checked at the end of each day.

    It is for achievements without an event of their own, for example in progress imported from another computer.
    """
    found: dict[str, float] = {}
    days = [datetime.fromtimestamp(event.at).date() for event in events]
    for event, day, following, until_then in zip(
        events, days, [*days[1:], None], history_after_each(events), strict=True
    ):
        if following == day:
            continue
        known = facts(until_then, load_course())
        for achievement in load_rewards().achievements:
            if achievement.is_won(known):
                found.setdefault(achievement.id, event.at)
    return found
