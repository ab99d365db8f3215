"""XP, levels and achievements as `lessons/rewards.toml` has them, and the evaluator of its rules."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Annotated

from msgspec import Meta, Struct

from grader import paths
from grader.course.course import CourseError, Text
from grader.course.reading import load_course, read_typed
from grader.learner.event import Event
from grader.learner.history import History, growing
from grader.learner.reward_facts import facts

_Positive = Annotated[float, Meta(gt=0)]


class Achievement(Struct, frozen=True, forbid_unknown_fields=True):
    """One that can be won."""

    id: Annotated[str, Meta(pattern="^[a-z0-9]+(-[a-z0-9]+)*$")]
    title: Text
    text: Text
    """What is to be done: Korean, ending in -기."""
    xp: Annotated[int, Meta(ge=0)]
    when: Annotated[dict[str, _Positive], Meta(min_length=1)]
    """Fact -> the number it must have reached; all of them must."""

    def is_won(self, known: Mapping[str, float]) -> bool:
        """Whether the facts are enough."""
        return all(known[fact] >= number for fact, number in self.when.items())

    def way(self, known: Mapping[str, float]) -> float:
        """How far the learner has come, 0 to 1: that of the fact that is farthest from its number."""
        return min(min(1.0, known[fact] / number) for fact, number in self.when.items())


class Level(Struct, frozen=True, forbid_unknown_fields=True):
    """A name for what begins at so many XP."""

    name: Text
    xp: Annotated[int, Meta(ge=0)]


class Rewards(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    xp: dict[str, Annotated[int, Meta(ge=0)]]
    """Fact -> XP for each one."""
    levels: Annotated[tuple[Level, ...], Meta(min_length=1)]
    achievements: tuple[Achievement, ...]
    orders: dict[str, tuple[Text, ...]] = {}
    """Exercise -> names of the calls whose order is noted when it passes."""


@dataclass(frozen=True)
class Standing:
    """What a learner has come to."""

    known: Mapping[str, float]
    """The facts."""
    won: frozenset[str]
    """Ids of the achievements: those whose rule holds, and those that were won earlier. What was won is kept when a
    lesson gets a new exercise."""
    xp: int
    number: int
    """Of the level, from 1."""
    level: Level
    following: Level | None
    """The next level; None at the last one."""

    @property
    def share(self) -> float:
        """How far it is from this level to the next, 0 to 1."""
        if self.following is None:
            return 1.0
        return (self.xp - self.level.xp) / (self.following.xp - self.level.xp)


@cache
def load_rewards() -> Rewards:
    """The file.

    Raises:
        CourseError: it does not say what it should, or is about facts or exercises that there are not.
    """
    path = paths.lessons_path("rewards.toml")
    read = read_typed(path, Rewards)
    course = load_course()
    known = facts(History(), course)
    strange = {fact for one in read.achievements for fact in one.when} | read.xp.keys()
    for fact in sorted(strange - known.keys()):
        raise CourseError(f"{path}: 모르는 사실이에요: {fact}. 쓸 수 있는 이름: {', '.join(known)}")
    for name in read.orders:
        course.exercise(name)
    ids = [one.id for one in read.achievements]
    if len(set(ids)) < len(ids):
        raise CourseError(f"{path}: 업적의 id가 겹쳐요. 하나를 바꿔 주세요: {', '.join(sorted(ids))}")
    starts = [level.xp for level in read.levels]
    if starts[0] != 0 or starts != sorted(set(starts)):
        raise CourseError(f"{path}: 레벨의 xp는 0에서 시작해 커져야 해요: {starts}. 차례를 고쳐 주세요.")
    return read


def standing(told: History) -> Standing:
    """Evaluate every rule.

    Raises:
        CourseError: see `load_rewards`.
    """
    rewards, known = load_rewards(), facts(told, load_course())
    won = {a.id for a in rewards.achievements if a.id in told.achievements or a.is_won(known)}
    xp = _points(rewards, known, won)
    number = sum(level.xp <= xp for level in rewards.levels)
    following = rewards.levels[number] if number < len(rewards.levels) else None
    return Standing(known, frozenset(won), xp, number, rewards.levels[number - 1], following)


def won_at(events: Sequence[Event]) -> dict[str, float]:
    """When each achievement's rule first held at a day's end, by id: for those that no event tells of, as in progress
    that came from another computer."""
    found: dict[str, float] = {}
    days = [datetime.fromtimestamp(event.at).date() for event in events]
    for event, day, following, until_then in zip(
        events, days, [*days[1:], None], growing(events), strict=True
    ):
        if following == day:
            continue
        known = facts(until_then, load_course())
        for one in load_rewards().achievements:
            if one.is_won(known):
                found.setdefault(one.id, event.at)
    return found


def _points(rewards: Rewards, known: Mapping[str, float], won: Set[str]) -> int:
    each = sum(int(number * known[fact]) for fact, number in rewards.xp.items())
    return each + sum(one.xp for one in rewards.achievements if one.id in won)
