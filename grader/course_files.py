"""Reads the course: `lessons/course.toml`, and in `solutions/` a folder a lesson, a file an exercise."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from grader import paths
from grader.course import Check, Course, CourseError, Exercise, Lesson, Mistake, SharedTexts, Text
from grader.exercises import drivers
from grader.observe.play import Driver


class _LessonEntry(Struct, frozen=True, forbid_unknown_fields=True):
    id: Text
    name: Text
    module: Text
    title: Text
    minutes: Annotated[int, Meta(ge=1)]


class _CourseFile(Struct, frozen=True, forbid_unknown_fields=True):
    title: Text
    tagline: Text
    lessons: tuple[_LessonEntry, ...]


class _ExerciseFile(Struct, frozen=True, forbid_unknown_fields=True):
    title: Text
    hints: Annotated[tuple[Text, ...], Meta(min_length=1)]
    checks: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    mistakes: tuple[dict[str, Any], ...] = ()


@cache
def load_course() -> Course:
    """The course as its files describe it.

    Raises:
        CourseError: a file contradicts itself or the drivers.
        CourseNotFound: there are no such files.
    """
    path = paths.lessons_path("course.toml")
    document = _decoded(_read_toml(path), _CourseFile, str(path))
    lessons = tuple(_lesson(entry) for entry in document.lessons)
    doubled = _doubled([e.name for lesson in lessons for e in lesson.exercises])
    if doubled:
        raise CourseError(f"연습 문제 이름이 겹쳐요: {', '.join(doubled)}. 하나의 이름을 바꿔 주세요.")
    return Course(document.title, document.tagline, lessons)


def _lesson(entry: _LessonEntry) -> Lesson:
    folder = paths.solutions_path(entry.name)
    source = folder / f"{entry.name}.py"
    try:
        tagged = _TAG.findall(source.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CourseError(
            f"{source}: 레슨의 원본을 읽을 수 없어요 ({error}). 파일을 만들거나 UTF-8로 저장해 주세요."
        ) from error
    described = {path.stem: path for path in folder.glob("*.toml")}
    driven = _drivers(entry, folder)
    if not set(tagged) == set(described) == set(driven):
        raise CourseError(
            f"연습 문제 이름이 서로 달라요. {source.name}: {sorted(tagged)}, "
            f"{folder.name}/*.toml: {sorted(described)}, "
            f"grader/exercises/{entry.module}: {sorted(driven)}. 이름을 맞춰 주세요."
        )
    exercises = tuple(_exercise(name, entry.id, described[name], driven[name]) for name in tagged)
    return Lesson(entry.id, entry.name, entry.module, entry.title, entry.minutes, exercises)


_TAG = re.compile(r'^# %%.*"exercise:(\w+)"', re.MULTILINE)
"""The notebook's order is the course's order."""


def _drivers(entry: _LessonEntry, folder: Path) -> Mapping[str, Driver]:
    try:
        return drivers(entry.module)
    except ModuleNotFoundError as error:
        raise CourseError(
            f"{folder.name}의 드라이버가 없어요 ({error}). grader/exercises/{entry.module}/ 폴더를 만들어 주세요."
        ) from error
    except AttributeError as error:
        raise CourseError(
            f'grader/exercises/{entry.module}: {error}. 모듈마다 driver = Driver("연습 이름")이 있어야 해요.'
        ) from error


def _exercise(name: str, lesson: str, path: Path, driver: Driver) -> Exercise:
    document = _decoded(_read_toml(path), _ExerciseFile, str(path))
    checks = tuple(_entries(document.checks, Check, f"{path}: 항목(check)"))
    told = [_with_shared_texts(entry) for entry in document.mistakes]
    mistakes = tuple(_entries(told, Mistake, f"{path}: 실수"))
    for kind, ids in (("항목(check)", [c.id for c in checks]), ("실수", [m.id for m in mistakes])):
        if _doubled(ids):
            raise CourseError(
                f"{path}: {kind}의 id가 겹쳐요: {', '.join(_doubled(ids))}. 하나를 바꿔 주세요."
            )
    decided = {scenario.check for scenario in driver.scenarios}
    if decided != {check.id for check in checks}:
        raise CourseError(
            f"{path}: 항목(check)의 id {sorted(c.id for c in checks)}와 드라이버의 시나리오가 정하는 것 "
            f"{sorted(decided)}가 달라요. 드라이버의 check나 여기의 id를 맞춰 주세요."
        )
    return Exercise(name, lesson, document.title, checks, document.hints, mistakes, driver)


def _with_shared_texts(entry: Mapping[str, Any]) -> dict[str, Any]:
    shared = _shared_texts().get(str(entry.get("id")))
    return {**({} if shared is None else msgspec.structs.asdict(shared)), **entry}


@cache
def _shared_texts() -> Mapping[str, SharedTexts]:
    path = paths.solutions_path("shared_mistakes.toml")
    return {
        key: _decoded(value, SharedTexts, f"{path}: 실수 '{key}'") for key, value in _read_toml(path).items()
    }


_Kind = TypeVar("_Kind", bound=Struct)


def _entries(documents: Sequence[Mapping[str, Any]], kind: type[_Kind], where: str) -> Iterator[_Kind]:
    """Each entry decoded by itself, so that a message can say by its id which one is wrong."""
    for number, document in enumerate(documents, start=1):
        yield _decoded(document, kind, f"{where} '{document.get('id', f'{number}번째')}'")


def _decoded(document: object, kind: type[_Kind], where: str) -> _Kind:
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise CourseError(f"{where}: {_in_korean(str(error), kind)}") from error


def _in_korean(said: str, kind: type[Struct]) -> str:
    """What msgspec says of a value that does not fit, for the author of a course file."""
    what, _, place = said.partition(" - at ")
    name = re.search("`([^`]+)`", what)
    if name is not None and what.startswith("Object contains unknown field"):
        fields = ", ".join(kind.__struct_fields__)
        return f"모르는 항목이에요: {name[1]}. 쓸 수 있는 것: {fields}"
    if name is not None and what.startswith("Object missing required field"):
        return f"빠진 항목이 있어요: {name[1]}"
    got = re.fullmatch("Expected `(.+)`, got `(.+)`", what)
    at = place.strip("`").removeprefix("$.")
    if got is not None:
        return f"{at}의 타입이 {got[2]}예요. {got[1]}로 적어 주세요."
    return f"{at}의 값이 맞지 않아요 ({what})."


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CourseError(
            f"{path}: 읽을 수 없어요 ({error.strerror}). 파일이 있는지 확인해 주세요."
        ) from error
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: UTF-8이 아니에요. UTF-8로 다시 저장해 주세요.") from error
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: TOML 문법이 틀렸어요: {error}") from error


def _doubled(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})
