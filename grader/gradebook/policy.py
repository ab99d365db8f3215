"""Read `policy.toml`, which says what the measured points are worth: points, weights, drops, lateness."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, tzinfo
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec
from msgspec import Meta, Struct

from grader.base.decoding import ReadError, read_text
from grader.base.errors import HanstepError
from grader.base.names import listed, natural, short
from grader.base.tables import why_unread
from grader.course.feedback import Repair
from grader.gradebook.times import Order
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
    by_system: bool = False
    """True if the learning system subtracts for lateness itself, so that nothing is subtracted here."""
    closed_after_days: Annotated[float, Meta(gt=0, le=10_000)] | None = None
    """Days after the deadline from which the mark is zero; None: never."""
    sections: dict[str, dict[str, Any]] = {}


class ExtensionEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A personal deadline, or an excuse, as the policy writes it."""

    student: str | int
    """The roster's number, or the name in the results."""
    until: datetime | None = None
    excused: bool = False
    reason: str = ""


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
    handed_in_again: str = "last"
    """Which answer counts of those that were graded in turn: `last`, or `best`, exercise by exercise."""
    date_order: str = ""
    """Order of dates that end with the year, `04/03/2026`: `month-day` or `day-month`; empty: as other dates tell."""
    repair: str = "at-once"
    """When students read the names of their mistakes; see `grader.course.feedback.Repair`."""
    drop: Drops = Drops()
    late: Lateness = Lateness()
    extensions: tuple[ExtensionEntry, ...] = ()

    @property
    def told(self) -> Repair:
        """`repair`, once it has been read."""
        return "after-hint" if self.repair == "after-hint" else "at-once"

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

    @property
    def order(self) -> Order | None:
        """Order of day and month that the policy fixes; None if it fixes none."""
        orders: dict[str, Order] = {"month-day": "month-day", "day-month": "day-month"}
        return orders.get(self.date_order)


_RULES = {
    "points": "연습 문제마다 0 이상의 수로 적어 주세요: train_step = 10",
    "weights": '레슨마다 0 이상의 수로 적어 주세요: "01" = 40',
    "out_of": "0보다 큰 수로 적어 주세요: out_of = 100",
    "missing": '"zero"나 "blank"로 적어 주세요.',
    "handed_in_again": '"last"(마지막에 낸 답)나 "best"(연습마다 가장 잘한 답)로 적어 주세요.',
    "repair": '"at-once"(실수의 이름부터)나 "after-hint"(증상부터)로 적어 주세요.',
    "timezone": '시간대의 이름으로 적어 주세요: timezone = "Asia/Seoul"',
    "date_order": '"month-day"(3/21/2026)나 "day-month"(21/3/2026)로 적어 주세요.',
    "extensions": '학생마다 이렇게 적어 주세요: [[extensions]] 아래에 student = "20191234", '
    "until = 2026-03-25T23:59:00 (면제라면 excused = true)",
    "drop": '이렇게 적어 주세요: [drop] 아래에 exercises = ["train_step"], lowest = 1',
    "exercises": '연습 문제의 이름을 따옴표와 대괄호로 적어 주세요: exercises = ["train_step"]',
    "lowest": "0 이상의 정수로 적어 주세요: lowest = 1",
    "grace_minutes": "늦어도 봐줄 시간을 분 단위로, 0 이상의 수로 적어 주세요: grace_minutes = 10",
    "by_system": "LMS가 지각을 스스로 빼면 이렇게 적어 주세요: by_system = true",
    "closed_after_days": "0보다 큰 일수로 적어 주세요: closed_after_days = 14",
    "sections": "분반마다 [late.sections.분반] 아래에 적어 주세요: [late.sections.B]",
    "deadline": "따옴표 없이 날짜와 시각으로 적어 주세요: deadline = 2026-03-20T23:59:00",
    "late": "퍼센트는 0에서 100까지의 수로 적어 주세요: per_day = 10, most = 50",
}
_NEED_DEADLINE = ("grace_minutes", "per_day", "closed_after_days")
"""Keys of `[late]` that count from the deadline, and mean nothing without one."""
_LESSON = re.compile(r"\d\d")
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
            known = [f for f in Lateness.__struct_fields__ if f != "sections"]
            raise PolicyError(
                f'{path}: [late.sections."{short(name)}"]에 모르는 키가 있어요: {listed(unknown)}.'
                f"{_guess(unknown[0], known)} 쓸 수 있는 키: {', '.join(known)}"
            )
        try:
            policy.lateness(name)
        except (msgspec.ValidationError, OverflowError) as error:
            raise PolicyError(
                f'{path}: [late.sections."{short(name)}"]: {_worded(error, section)}'
            ) from error
    _refuse_lateness_without_deadline(policy, document, path)
    for key, value, choices in (
        ("missing", policy.missing, ("zero", "blank")),
        ("repair", policy.repair, get_args(Repair)),
        ("handed_in_again", policy.handed_in_again, ("last", "best")),
        ("date_order", policy.date_order, ("", "month-day", "day-month")),
    ):
        if value not in choices:
            shown = one_line(value, _SHOWN)
            raise PolicyError(f"{path}: {key}의 값이 맞지 않아요: '{shown}'. {_RULES[key]}")
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


def _refuse_lateness_without_deadline(policy: Policy, document: Mapping[str, Any], path: Path) -> None:
    """Refuse penalties that count from a deadline where there is none: nobody would be late.

    Raises:
        PolicyError: names the table and its first such key.
    """
    late = document.get("late", {})
    deadlines = [policy.lateness(name).deadline for name in policy.late.sections]
    tables = {} if any(deadlines) else {"[late]": (late, policy.late)}
    for name in policy.late.sections:
        tables[f'[late.sections."{short(name)}"]'] = (late["sections"][name], policy.lateness(name))
    for title, (written, rule) in tables.items():
        twice = next((key for key in (*_NEED_DEADLINE, "most", "marked") if key in written), None)
        if written.get("by_system") and twice is not None:
            raise PolicyError(
                f"{path}: {title}에 by_system = true와 {twice} 값이 함께 있어요. 지각을 LMS가 빼면 {twice} 줄을, "
                "여기에서 빼면 by_system 줄을 지워 주세요."
            )
        needy = _NEED_DEADLINE if rule.marked is not None else (*_NEED_DEADLINE, "most")
        key = next((key for key in needy if key in written), None)
        if rule.deadline is None and key is not None:
            raise PolicyError(
                f"{path}: {title}에 마감이 없어서 {key} = {one_line(repr(written[key]), _SHOWN)}에 따라 점수를 뺄 수 "
                "없어요. 마감을 적어 주세요: deadline = 2026-03-20T23:59:00. LMS의 지각 표시만 보고 빼려면 "
                "그 줄을 지우고 퍼센트를 적어 주세요: marked = 10"
            )


def _guess(key: str, known: Sequence[str]) -> str:
    """Return a question on the known key that was probably meant; empty if none is near."""
    near = get_close_matches(key, known, 1)
    return f" 혹시 {near[0]}인가요?" if near else ""


def _value(document: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the value at a place of the document, as written in a message; empty if there is none."""
    found: Any = document
    for name in names:
        if not isinstance(found, Mapping) or name not in found:
            return ""
        found = found[name]
    return f": {one_line(str(found), _SHOWN)}" if isinstance(found, str | int | float) else ""


def _worded(error: Exception, document: Mapping[str, Any]) -> str:
    """Word a message of our own; from msgspec's message only the place and the keys are taken."""
    what, _, place = str(error).partition(" - at ")
    keys = _PLACE.findall(place.strip("`").removeprefix("$"))
    names = [part for key in keys for part in key.split(".") if part and part != "..."]
    unknown = re.search("unknown field `([^`]+)`", what)
    if unknown:
        kinds = {"late": Lateness, "drop": Drops, "extensions": ExtensionEntry}
        kind = kinds.get(names[0] if names else "", Policy)
        known = ", ".join(kind.__struct_fields__)
        key = short(".".join([*names, unknown[1]]))
        return f"모르는 키예요: {key}.{_guess(unknown[1], kind.__struct_fields__)} 쓸 수 있는 키: {known}"
    where = names or [next(iter(document), "")]
    rule = next((_RULES[name] for name in reversed(where) if name in _RULES), _RULES["late"])
    return f"{short('.'.join(where))}의 값이 맞지 않아요{_value(document, where)}. {rule}"


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
            "점수에 넣지 않으려면 0으로 적어 주세요."
        )
    unknown = [name for name in policy.weights if name not in lessons and not _LESSON.fullmatch(name)]
    if unknown:
        raise PolicyError(
            f"{path}: [weights]에 적은 것이 레슨의 번호가 아니에요: {listed(unknown)}. "
            f"채점한 레슨: {', '.join(lessons)}"
        )
    weights = {lesson: policy.weights[lesson] for lesson in lessons} if policy.weights else {}
    if weights and not sum(weights.values()):
        shown = ", ".join(f'"{lesson}" = {weight:g}' for lesson, weight in weights.items())
        raise PolicyError(
            f"{path}: [weights]의 비중을 더하면 0이라서 모두 0점이 돼요 ({shown}). "
            "점수에 넣을 레슨에는 0보다 큰 수를 적어 주세요."
        )


def check_sections(policy: Policy, sections: Collection[str], path: str) -> None:
    """Refuse rules for a section in which nobody is: its students would silently get the common ones.

    Args:
        policy: the policy to check.
        sections: sections of the roster; an empty name stands for none.
        path: path of the policy, for the message.

    Raises:
        PolicyError: names the unknown sections.
    """
    known = sorted({section for section in sections if section}, key=natural)
    unknown = [name for name in policy.late.sections if name not in known]
    if unknown:
        there = (
            f"명단에 있는 분반: {listed(known)}"
            if known
            else "명단에 분반이 없어요. --roster로 분반이 든 명단을 주세요."
        )
        raise PolicyError(
            f"{path}: [late.sections]에 적은 분반에 아무도 없어요: {listed(unknown)}."
            f"{_guess(unknown[0], known)} {there}"
        )
