"""Read `policy.toml`, which says what the measured points are worth: points, weights, drops, lateness."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta, Struct

from grader.base.decoding import ReadError, read_text
from grader.base.errors import HanstepError
from grader.base.names import listed, short
from grader.base.tables import why_unread
from grader.report.plain_text import one_line

_Points = Annotated[float, Meta(ge=0, le=1_000_000)]
_Positive = Annotated[float, Meta(gt=0, le=1_000_000)]
_Percent = Annotated[float, Meta(ge=0, le=100)]


class PolicyError(HanstepError):
    """A policy cannot be applied; the message is Korean and says what to fix."""


class Drops(Struct, frozen=True, forbid_unknown_fields=True):
    """Exercises that do not count."""

    exercises: tuple[str, ...] = ()
    lowest: Annotated[int, Meta(ge=0)] = 0
    """Number of each student's worst exercises to drop."""


class Lateness(Struct, frozen=True, forbid_unknown_fields=True):
    """Penalty for lateness, in percent of the mark."""

    deadline: datetime | None = None
    grace_minutes: Annotated[float, Meta(ge=0, le=100_000)] = 0
    per_day: _Percent = 0
    """Percent for each day or part of a day."""
    most: _Percent = 100
    marked: _Percent | None = None
    """Percent if the learning system marks work as late but no time is known; None: `per_day`."""
    closed_after_days: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    """Days after the deadline from which the mark is zero; None: never."""
    sections: dict[str, dict[str, Any]] = {}


class Policy(Struct, frozen=True, forbid_unknown_fields=True):
    """How marks are computed."""

    points: dict[str, _Points] = {}
    """Points by exercise, instead of the points of its checks."""
    weights: dict[str, _Points] = {}
    """Weight by lesson: its share of the mark; empty: lessons count by their points."""
    out_of: _Positive | None = None
    """The full mark after scaling; None: not scaled."""
    missing: str = "blank"
    """`zero`: students who handed in nothing get a mark of zero; `blank`: they get no mark."""
    timezone: str = "Asia/Seoul"
    """Time zone of times written without one."""
    drop: Drops = Drops()
    late: Lateness = Lateness()

    def lateness(self, section: str) -> Lateness:
        """Return the rules for a section: its own values where it has some, the common ones otherwise."""
        own = self.late.sections.get(section)
        if own is None:
            return self.late
        common = {f: getattr(self.late, f) for f in Lateness.__struct_fields__ if f != "sections"}
        return msgspec.convert({**common, **own}, Lateness)

    @property
    def zone(self) -> tzinfo:
        """Time zone of times written without one."""
        return ZoneInfo(self.timezone)


_RULES = {
    "points": "연습마다 0 이상의 수로 적어 주세요: train_step = 10",
    "weights": '레슨마다 0 이상의 수로 적어 주세요: "01" = 40',
    "out_of": "0보다 큰 수로 적어 주세요: out_of = 100",
    "missing": '"zero"나 "blank"로 적어 주세요.',
    "timezone": '시간대의 이름으로 적어 주세요: timezone = "Asia/Seoul"',
    "drop": '이렇게 적어 주세요: [drop] 아래에 exercises = ["train_step"], lowest = 1',
    "deadline": "따옴표 없이 날짜와 시각으로 적어 주세요: deadline = 2026-03-20T23:59:00",
    "late": "수는 0에서 100까지의 퍼센트로 적어 주세요: per_day = 10, most = 50",
}
_PLACE = re.compile(r"[\w.-]+")
_DIGITS = re.compile(r"[\d_]+")
_SHOWN = 120
"""Maximum characters of a value quoted in a message."""


def read_policy(path: Path) -> Policy:
    """Read a policy.

    Raises:
        PolicyError: the file cannot be read, is not TOML, or contains a value that makes no sense.
    """
    try:
        document = _document(read_text(path), path)
    except ReadError as error:
        raise PolicyError(f"정책 파일을 읽을 수 없어요: {path}. {why_unread(error)}") from error
    try:
        policy = msgspec.convert(document, Policy)
    # OverflowError: an integer too large for a float.
    except (msgspec.ValidationError, OverflowError) as error:
        raise PolicyError(f"{path}: {_worded(error, document)}") from error
    for name, section in policy.late.sections.items():
        unknown = [key for key in section if key not in Lateness.__struct_fields__ or key == "sections"]
        if unknown:
            raise PolicyError(
                f'{path}: [late.sections."{short(name)}"]에 모르는 키가 있어요: {listed(unknown)}. '
                f"쓸 수 있는 키: {', '.join(f for f in Lateness.__struct_fields__ if f != 'sections')}"
            )
        try:
            policy.lateness(name)
        except (msgspec.ValidationError, OverflowError) as error:
            raise PolicyError(
                f'{path}: [late.sections."{short(name)}"]: {_worded(error, section)}'
            ) from error
    if policy.missing not in ("zero", "blank"):
        shown = one_line(policy.missing, _SHOWN)
        raise PolicyError(f"{path}: missing의 값이 맞지 않아요: '{shown}'. {_RULES['missing']}")
    try:
        _ = policy.zone
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        shown = one_line(policy.timezone, _SHOWN)
        raise PolicyError(f"{path}: 모르는 시간대예요: '{shown}'. {_RULES['timezone']}") from error
    return policy


def _document(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what = one_line(str(error), _SHOWN)
        raise PolicyError(f"{path}: TOML 문법이 틀렸어요 ({what}). 그 줄을 고쳐 주세요.") from error
    except ValueError as error:  # Python refuses to read numbers of more than 4,300 digits
        found = max(_DIGITS.findall(text), key=len, default="")
        raise PolicyError(
            f"{path}: 수가 너무 길어요: {found[:10]}… ({len(found):,}자리). 짧은 수로 고쳐 주세요."
        ) from error


def _worded(error: Exception, document: Mapping[str, Any]) -> str:
    """Word a message of our own; from msgspec's message only the place and the keys are taken."""
    what, _, place = str(error).partition(" - at ")
    keys = _PLACE.findall(place.strip("`").removeprefix("$"))
    names = [part for key in keys for part in key.split(".") if part and part != "..."]
    unknown = re.search("unknown field `([^`]+)`", what)
    if unknown:
        kind = {"late": Lateness, "drop": Drops}.get(names[0] if names else "", Policy)
        known = ", ".join(kind.__struct_fields__)
        key = short(".".join([*names, unknown[1]]))
        return f"모르는 키예요: {key}. 쓸 수 있는 키: {known}"
    where = names or [next(iter(document), "")]
    rule = next((_RULES[name] for name in reversed(where) if name in _RULES), _RULES["late"])
    return f"{short('.'.join(where))}의 값이 맞지 않아요. {rule}"


def check_names(policy: Policy, lesson_of: Mapping[str, str], known: Sequence[str], path: str) -> None:
    """Refuse names of exercises and lessons that do not exist; most often they are misspelt.

    Args:
        policy: the policy to check.
        lesson_of: lesson of each graded exercise.
        known: names of all exercises in the course.
        path: path of the policy, for the message.

    Raises:
        PolicyError: a name does not exist, or a graded lesson has no weight.
    """
    names = [name for name in (*policy.points, *policy.drop.exercises) if name not in {*known, *lesson_of}]
    if names:
        raise PolicyError(
            f"{path}: 없는 연습 문제예요: {listed(names)}. 있는 연습 문제: {', '.join(lesson_of)}"
        )
    lessons = dict.fromkeys(lesson_of.values())
    unweighed = [lesson for lesson in lessons if policy.weights and lesson not in policy.weights]
    if unweighed:
        raise PolicyError(
            f"{path}: [weights]에 채점한 레슨이 빠져 있어요: {', '.join(unweighed)}. "
            "세지 않으려면 0으로 적어 주세요."
        )
