"""Read the course: `lessons/course.toml`, and `solutions/` with a folder for each lesson and a file for each exercise.

The files are checked against each other (tagged cells, TOML files, drivers), and every `CourseError` tells the author
of a course file in Korean what to change.
"""

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from grader import paths
from grader.course.conditions import CONDITION_WORDS, unreadable_condition
from grader.course.course import (
    Cases,
    Check,
    Copy,
    Course,
    CourseError,
    Exercise,
    Kind,
    Lesson,
    Mistake,
    Part,
    Prediction,
    Promise,
    SharedTexts,
    Text,
    unknown_exercise,
)
from grader.course.exercise_cell import answer_hint
from grader.exercises import NoDriver, driver_modules, load_driver
from grader.observe.wording import ordinal

if TYPE_CHECKING:  # importing it imports torch
    from grader.observe.play import Driver


class _LessonEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One entry of `[[lessons]]` in `course.toml`."""

    id: Text
    name: Text
    module: Text
    title: Text
    needs: tuple[Text, ...] = ()
    english: str = ""


class _CourseFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of `course.toml`; lessons are decoded one by one."""

    title: Text
    tagline: Text
    lessons: tuple[dict[str, Any], ...]


class _ExerciseFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of an exercise's TOML file; checks, mistakes and copies are decoded one by one."""

    title: Text
    because: Text
    checks: Annotated[tuple[dict[str, Any], ...], Meta(min_length=1)]
    kind: Kind = "exercise"
    hints: tuple[Text, ...] = ()
    answer_note: str = ""
    mistakes: tuple[dict[str, Any], ...] = ()
    copies: tuple[dict[str, Any], ...] = ()
    promises: tuple[dict[str, Any], ...] = ()
    cases: Cases | None = None


class _PredictionsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The contents of a lesson's `predictions.toml`."""

    predictions: tuple[dict[str, Any], ...] = ()


_PREDICTIONS = "predictions.toml"

_VALUE_RULES = {
    "answer": "a, b, c, d 가운데 하나를 적어 주세요.",
    "wrong": '정답이 아닌 글자마다 까닭을 적어 주세요: a = "…"',
    "predictions": "[[predictions]] 표로 적어 주세요.",
    "id": "소문자와 숫자를 붙임표(-)로 이어 적어 주세요.",
    "points": "0보다 큰 수로 적어 주세요.",
    "at": "쓸 수 있는 것: zero_grad, forward, backward, clip, first_step, step, scheduler, return, def, def 메서드이름",
    "edits": '[["바꿀 글", "새 글"], …]처럼 적어 주세요.',
    "excludes": "함께 저지를 수 없는 실수의 id를 목록으로 적어 주세요.",
    "variants": '[[["바꿀 글", "새 글"]], …]처럼 적어 주세요.',
    "kind": "exercise, warmup, bonus 가운데 하나를 적어 주세요.",
    "hints": "글의 목록으로 적어 주세요. 정답은 연습 셀에서 가져오니 적지 않아요.",
    "checks": "[[checks]] 표로 하나 이상 적어 주세요.",
    "mistakes": "[[mistakes]] 표로 적어 주세요.",
    "copies": "[[copies]] 표로 적어 주세요.",
    "promises": "[[promises]] 표로 적어 주세요.",
    "broken_by": "실수의 id를 목록으로 적어 주세요.",
    "lessons": "[[lessons]] 표로 적어 주세요.",
}
"""Korean rule for the value of a key, shown when the value is invalid. Keys that are not here hold non-empty text."""


@cache
def load_course() -> Course:
    """Return the course as its files describe it. A driver is imported only when its exercise first needs it.

    Raises:
        CourseError: a file contradicts itself or another one.
        CourseNotFound: the course files are not there.
    """
    path = paths.lessons_path("course.toml")
    document = _decoded(_read_toml(path), _CourseFile, str(path))
    entries = tuple(_entries(document.lessons, _LessonEntry, f"{path}: 레슨"))
    lessons = tuple(_lesson(entry) for entry in entries)
    _check_prerequisites(entries, path)
    for name in _duplicates([e.name for lesson in lessons for e in lesson.exercises]):
        where = ", ".join(lesson.name for lesson in lessons for e in lesson.exercises if e.name == name)
        raise CourseError(f"연습 문제 이름이 겹쳐요: {name} ({where}). 하나의 이름을 바꿔 주세요.")
    return Course(document.title, document.tagline, lessons)


def require_exercise(name: str) -> None:
    """Refuse a name that no exercise has, without reading the course: a misspelt command is answered at once.

    Raises:
        CourseError: there is no such exercise.
    """
    names = [path.stem for path in paths.solutions_path().glob("*/*.toml") if path.name != _PREDICTIONS]
    if name not in names:
        raise unknown_exercise(name, names)


def _check_prerequisites(entries: Sequence[_LessonEntry], path: Path) -> None:
    """Raise `CourseError` if a lesson needs one that does not come before it."""
    for place, entry in enumerate(entries):
        earlier = [before.id for before in entries[:place]]
        too_late = [needed for needed in entry.needs if needed not in earlier]
        if too_late:
            raise CourseError(
                f"{path}: 레슨 {entry.id}의 needs에 그보다 앞에 없는 레슨이 있어요: {too_late[0]!r}. "
                f"앞의 레슨 가운데에서 적어 주세요: {', '.join(earlier) or '없음'}"
            )


def _lesson(entry: _LessonEntry) -> Lesson:
    """Read a lesson; raise `CourseError` unless source cells, TOML files and drivers name the same exercises."""
    folder = paths.solutions_path(entry.name)
    parts = _parts(entry.name, folder)
    tagged = [(name, part.source) for part in parts for name in part.exercises]
    described = {path.stem: path for path in folder.glob("*.toml") if path.name != _PREDICTIONS}
    drivers = _driver_modules(entry.name, entry.module)
    places: Mapping[str, Collection[str]] = {
        f"{folder}/*.py의 exercise 셀": dict(tagged),
        f"{folder}의 TOML 파일": described,
        f"grader/exercises/{entry.module}의 드라이버": drivers,
    }
    missing = [
        f"{name}: {place}에 없어요"
        for name in sorted({name for names in places.values() for name in names})
        for place, names in places.items()
        if name not in names
    ]
    if missing:
        raise CourseError(f"연습 문제 이름이 서로 달라요. {'. '.join(missing)}. 이름을 맞춰 주세요.")
    minutes = {name: spent for part in parts for name, spent in task_minutes(_read(part.source)).items()}
    exercises = tuple(
        _exercise(name, entry.id, source, described[name], drivers[name], minutes.get(name))
        for name, source in tagged
    )
    predictions = _predictions(folder / _PREDICTIONS, entry.id)
    return Lesson(
        entry.id,
        entry.name,
        entry.module,
        entry.title,
        sum(part.minutes for part in parts),
        exercises,
        predictions,
        entry.needs,
        entry.english,
        parts,
    )


def _parts(lesson: str, folder: Path) -> tuple[Part, ...]:
    """Read the parts of a lesson from its sources; raise `CourseError` if there is none."""
    found = []
    for path in sorted(folder.glob("[0-9]*_*.py"), key=_number):
        text = _read(path)
        title = _TITLE.search(text)
        found.append(
            Part(
                lesson, path.stem, title[1] if title else "", reading_minutes(text), tuple(_TAG.findall(text))
            )
        )
    if not found:
        raise CourseError(
            f"{folder}: 레슨의 원본이 없어요. 노트북마다 하나씩 적어 주세요. 예: {folder}/1_begin.py"
        )
    return tuple(found)


def _number(path: Path) -> int:
    return int(path.stem.partition("_")[0])


def reading_minutes(text: str) -> int:
    """Return the minutes of a source's sections; those of exercises, warm-ups and bonus tasks are not counted.

    Args:
        text: the source. The minutes of a section stand below its heading: `약 20분 · ★☆☆`.
    """
    minutes, is_task = 0, False
    for line in text.split("\n"):
        if line.startswith("#") and (heading := _HEADING.match(line)):
            is_task = heading[1] is not None
        elif (spent := _MINUTES.match(line)) and not is_task:
            minutes += int(spent[1])
    return minutes


def task_minutes(text: str) -> dict[str, int]:
    """Return the minutes of the exercises in a source: those below the heading of the section that has the cell."""
    found: dict[str, int] = {}
    minutes = 0
    for line in text.split("\n"):
        if line.startswith("### "):
            minutes = 0
        elif (spent := _MINUTES.match(line)) and not minutes:
            minutes = int(spent[1])
        elif minutes and (cell := _TAG.match(line)):
            found[cell[1]] = minutes
    return found


def _predictions(path: Path, lesson: str) -> tuple[Prediction, ...]:
    """Read a lesson's predictions; raise `CourseError` if an id or the choices of one are impossible."""
    if not path.is_file():  # a lesson need not ask for predictions
        return ()
    document = _decoded(_read_toml(path), _PredictionsFile, str(path))
    found = tuple(_entries(document.predictions, Prediction, f"{path}: 예측(predictions)"))
    for prediction in found:
        if not prediction.id.startswith(f"{lesson}-"):
            raise CourseError(
                f"{path}: 예측의 id는 레슨의 번호로 시작해야 해요: {prediction.id}. 예: {lesson}-3"
            )
        if prediction.answer in prediction.wrong or len(prediction.choices) < 3:
            raise CourseError(
                f"{path}: 예측 {prediction.id}의 wrong에는 정답({prediction.answer})이 아닌 글자가 둘 이상 "
                f"있어야 해요: {', '.join(sorted(prediction.wrong)) or '없음'}. 글자마다 까닭을 적어 주세요."
            )
    if doubled := _duplicates([prediction.id for prediction in found]):
        raise CourseError(f"{path}: 예측의 id가 겹쳐요: {', '.join(doubled)}")
    return found


_TAG = re.compile(r'^# %%.*"exercise:(\w+)"', re.MULTILINE)
"""Finds the tagged exercise cells in a part's source. Their order there is the order of the course."""
_TITLE = re.compile(r'^# %% \[markdown\]\nr?"""\n# ([^\n]+)$', re.MULTILINE)
"""Finds the title of a part, with which a text cell begins."""
_HEADING = re.compile(r"#{2,4} (연습|몸풀기|보너스)?")
_MINUTES = re.compile(r"약 (\d+)분(?: |$)")


def _driver_modules(lesson: str, module: str) -> Mapping[str, str]:
    """Return the module name of each exercise that has a driver."""
    where = f"grader/exercises/{module}"
    try:
        return driver_modules(module)
    except ModuleNotFoundError as error:
        if error.name != f"grader.exercises.{module}":
            raise  # a driver's own import failed: the folder is there
        raise CourseError(f"레슨 {lesson}의 드라이버 폴더가 없어요: {where}/. 만들어 주세요.") from error
    except NoDriver as error:
        raise CourseError(
            f'{where}/{error}.py: driver가 없어요. driver = Driver("연습 이름")을 적어 주세요.'
        ) from error


def _exercise(name: str, lesson: str, source: Path, path: Path, driver: str, minutes: int | None) -> Exercise:
    document = _decoded(_read_toml(path), _ExerciseFile, str(path))
    if (document.kind == "bonus") == bool(document.hints):
        rule = "보너스 문제에는 힌트가 없어야 해요" if document.hints else "힌트가 하나도 없어요"
        raise CourseError(
            f"{path}: {rule}. hints를 고치거나, kind를 고쳐 주세요. 지금 kind는 {document.kind}예요."
        )
    checks = tuple(_entries(document.checks, Check, f"{path}: 채점 항목(checks)"))
    mistake_entries = [_with_shared_texts(entry) for entry in document.mistakes]
    mistakes = tuple(_entries(mistake_entries, Mistake, f"{path}: 실수(mistakes)"))
    for mistake in mistakes:
        for number in range(len(mistake.programs)):
            if word := unreadable_condition(mistake.explanation(number)):
                raise CourseError(
                    f"{path}: 실수 '{mistake.id}'의 설명에서 조건을 읽을 수 없어요: {word!r}. "
                    f"쓸 수 있는 낱말: {', '.join(CONDITION_WORDS)}. explain을 고쳐 주세요."
                )
    copies = tuple(_entries(document.copies, Copy, f"{path}: 퍼진 코드(copies)"))
    promises = tuple(_entries(document.promises, Promise, f"{path}: 약속(promises)"))
    for kind, ids in (
        ("채점 항목", [c.id for c in checks]),
        ("실수나 퍼진 코드", [*(m.id for m in mistakes), *(c.id for c in copies)]),
    ):
        if _duplicates(ids):
            raise CourseError(
                f"{path}: {kind}의 id가 겹쳐요: {', '.join(_duplicates(ids))}. 하나를 바꿔 주세요."
            )
    for where, named in (
        ("cases의 mistakes", document.cases.mistakes if document.cases else ()),
        *((f"실수 '{mistake.id}'의 excludes", mistake.excludes) for mistake in mistakes),
    ):
        unknown = set(named) - {mistake.id for mistake in mistakes}
        if unknown:
            raise CourseError(f"{path}: {where}에 없는 실수가 있어요: {', '.join(sorted(unknown))}")
    return Exercise(
        name,
        lesson,
        document.title,
        checks,
        document.hints,
        mistakes,
        partial(_driver, driver, path, checks),
        document.because,
        copies,
        promises,
        document.cases,
        document.kind,
        minutes,
        None if document.kind == "bonus" else partial(answer_hint, source, name, document.answer_note),
    )


def _driver(module: str, path: Path, checks: Sequence[Check]) -> "Driver":
    """Import the exercise's driver and check it against the exercise's checks."""
    driver = load_driver(module)
    _match_scenarios(path, checks, driver)
    return driver


def _match_scenarios(path: Path, checks: Sequence[Check], driver: "Driver") -> None:
    """Raise `CourseError` unless scenarios decide existing checks, and every check is decided by a scenario."""
    ids = {check.id for check in checks}
    for scenario in driver.scenarios:
        if scenario.check not in ids:
            raise CourseError(
                f"{path}: 드라이버의 시나리오 '{scenario.name}'이 정하는 채점 항목 '{scenario.check}'이 없어요. "
                f"있는 항목: {', '.join(sorted(ids))}. [[checks]]를 더하거나 드라이버의 check를 고쳐 주세요."
            )
    idle = ids - {scenario.check for scenario in driver.scenarios}
    if idle:
        raise CourseError(
            f"{path}: 어느 시나리오도 정하지 않는 채점 항목이 있어요: {', '.join(sorted(idle))}. "
            "지우거나, 드라이버의 시나리오에 check를 적어 주세요."
        )


def _with_shared_texts(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Add the shared texts of a mistake with this id.

    Texts of the entry itself take precedence; its own wordings come before the shared ones.
    """
    shared = _shared_texts().get(str(entry.get("id")))
    if shared is None:
        return dict(entry)
    own = entry.get("wordings", ())
    wordings = [*own, *shared.wordings] if isinstance(own, list | tuple) else own
    return {**msgspec.structs.asdict(shared), **entry, "wordings": wordings}


@cache
def _shared_texts() -> Mapping[str, SharedTexts]:
    """Return mistake id -> texts from `shared_mistakes.toml`."""
    path = paths.solutions_path("shared_mistakes.toml")
    return {
        key: _decoded(value, SharedTexts, f"{path}: 실수 '{key}'") for key, value in _read_toml(path).items()
    }


# ---- decoding ------------------------------------------------------------------------------------

_File = TypeVar("_File", bound=Struct)


def _entries(documents: Sequence[Mapping[str, Any]], kind: type[_File], where: str) -> Iterator[_File]:
    """Decode each entry separately, so that an error message can name the wrong one by its id."""
    for number, document in enumerate(documents, start=1):
        which = f"'{document['id']}'" if "id" in document else ordinal(number)
        yield _decoded(document, kind, f"{where} {which}")


def read_typed(path: Path, kind: type[_File]) -> _File:
    """Decode another TOML file of the course: rewards, real bugs, the gallery, the glossary.

    Raises:
        CourseError: the file cannot be read or does not have the right form.
    """
    try:
        return msgspec.toml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise CourseError(f"{path}: 파일을 읽지 못했어요 ({error.strerror}). 다시 설치해 주세요.") from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise CourseError(f"{path}: 내용이 맞지 않아요 ({error}). 그 자리를 고쳐 주세요.") from error


def _decoded(document: object, kind: type[_File], where: str) -> _File:
    """Convert a document; raise `CourseError` with a Korean explanation if it does not fit `kind`."""
    try:
        return msgspec.convert(document, kind)
    except msgspec.ValidationError as error:
        raise CourseError(f"{where}: {_explain_error(str(error), document, kind)}") from error


def _explain_error(error: str, document: object, kind: type[Struct]) -> str:
    """Explain a validation error to the author of a course file, in Korean.

    Only the kind of error and the key are taken from msgspec's English message.
    """
    if not isinstance(document, Mapping):
        return f"표가 아니에요: {document!r}. 키와 값을 적어 주세요: {', '.join(kind.__struct_fields__)}"
    what, _, place = error.partition(" - at ")
    name = re.search("`([^`]+)`", what)
    if name is not None and what.startswith("Object contains unknown field"):
        return f"모르는 키예요: {name[1]}. 쓸 수 있는 키: {', '.join(kind.__struct_fields__)}"
    if name is not None and what.startswith("Object missing required field"):
        shared = name[1] in SharedTexts.__struct_fields__ and kind is Mistake
        elsewhere = (
            " 여러 연습에 같은 글이면 solutions/shared_mistakes.toml에 한 번만 적어도 돼요." if shared else ""
        )
        return f"빠진 키가 있어요: {name[1]}. 적어 주세요.{elsewhere}"
    key = re.split(r"[.\[`]", place.strip("`").removeprefix("$."))[0]
    rule = _VALUE_RULES.get(key, "비어 있지 않은 글로 적어 주세요.")
    return f"{key}의 값이 맞지 않아요: {document.get(key)!r}. {rule}"


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(_read(path))
    except tomllib.TOMLDecodeError as error:
        raise CourseError(f"{path}: TOML 문법이 틀렸어요 ({error}). 그 줄을 고쳐 주세요.") from error


def _read(path: Path) -> str:
    """Return the text of a course file; raise `CourseError` if it is missing or not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise CourseError(f"{path}: 파일이 없어요. 만들어 주세요.") from error
    except UnicodeDecodeError as error:
        raise CourseError(f"{path}: UTF-8이 아니에요. UTF-8로 다시 저장해 주세요.") from error


def _duplicates(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once, sorted."""
    return sorted({name for name in names if names.count(name) > 1})
