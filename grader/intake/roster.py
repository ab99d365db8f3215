"""Read the roster, a CSV of the people in the class, and look people up by name or number."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader.base.names import listed
from grader.base.tables import Table, TableError, read_table
from grader.course.feedback import Person
from grader.report.plain_text import one_line

_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "id": ("sis user id", "학번", "student id", "student number", "id number", "sid", "identifier", "id"),
    "name": ("name", "이름", "성명", "student name", "full name", "student"),
    "system_name": (
        "시스템 이름",
        "system name",
        "lms name",
        "lms 이름",
        "영문 이름",
        "영어 이름",
        "english name",
    ),
    "section": ("section", "분반", "반"),
    "login": ("sis login id", "login", "username", "아이디"),
    "email": ("email", "이메일", "email address", "이메일 주소"),
    "github": ("github username", "github", "깃허브"),
    "canvas_id": ("canvas id",),
    "moodle_id": ("moodle id",),
    "handed_in": ("handed in", "submitted", "제출 시각", "제출시각"),
}
"""Accepted column titles by field.

Canvas' gradebook, Moodle's worksheet and GitHub Classroom's roster can be used unchanged.
"""
_NUMBER = re.compile(r"\d+$")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Roster:
    """All people of the class, in the file's order."""

    people: tuple[Person, ...]
    handed_in: Mapping[str, str]
    """Time of handing in by the person's id, for people with such an entry in the roster."""
    system_names: Mapping[str, str] = field(default_factory=dict)
    """Name in the learning system by the person's id, for people whose name there differs from the roster's."""

    def known_as(self, key: str, *fields: str) -> list[Person]:
        """Return the people with this value in one of `fields` (id, login, email …), ignoring case."""
        found = self._by_value.get(key.strip().casefold(), ())
        return list(dict.fromkeys(person for field, person in found if field in fields))

    def named(self, name: str) -> list[Person]:
        """Return the people who may have this name: as written or with the family name first, ignoring punctuation."""
        found = (person for key in name_keys(name) for person in self._by_name.get(key, ()))
        return list(dict.fromkeys(found))

    def names_of(self, person: Person) -> tuple[str, ...]:
        """Return all names of a person: the roster's and the learning system's."""
        return tuple(filter(None, (person.name, self.system_names.get(person.id, ""))))

    @cached_property
    def _by_value(self) -> dict[str, list[tuple[str, Person]]]:
        found: dict[str, list[tuple[str, Person]]] = defaultdict(list)
        for person in self.people:
            for name in ("id", "login", "email", "github", "canvas_id", "moodle_id"):
                if value := getattr(person, name).casefold():
                    found[value].append((name, person))
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Person]]:
        found: dict[str, list[Person]] = defaultdict(list)
        for person in self.people:
            for key in frozenset().union(*map(name_keys, self.names_of(person))):
                found[key].append(person)
        return found


def name_keys(name: str) -> frozenset[str]:
    """Return the keys under which a name is looked up: no spaces, commas or case, family name first and last.

    Systems write one name in several ways, and Canvas' file names keep only its letters: `Kim, Ha-neul` gives
    `haneulkim` as well.
    """
    plain = name_words(name)
    turns = (plain, plain[1:] + plain[:1], plain[-1:] + plain[:-1])
    return frozenset("".join(turn) for turn in turns) - {""}


def name_words(name: str) -> list[str]:
    """Return the words of a name in lower case, letters and digits only: `kim`, `haneul` for `Kim, Ha-neul`."""
    words = [word for part in _composed(name).split(",") for word in part.split()]
    return [plain for word in words if (plain := "".join(_WORD.findall(word)))]


def words_of(text: str) -> list[str]:
    """Return the runs of letters and digits; one of them may be a student's number."""
    return _WORD.findall(_composed(text))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def read_roster(path: Path) -> Roster:
    """Read a roster with columns for student number and name, and optionally section, login, address and others.

    Raises:
        TableError: the file is missing, a column is missing, two rows have one number, or nobody is in it.
    """
    table = read_table(path, "명단")
    places = {field: table.column(*titles) for field, titles in _COLUMNS.items()}
    worksheet = _is_worksheet(table)
    if table.column("sis user id") is not None:
        places["canvas_id"] = table.column("id")
    if worksheet:
        places["moodle_id"] = table.column("identifier", "식별자")
        numbers = (table.column("id number", "학번"), places["email"], places["moodle_id"])
        places["id"] = next(at for at in numbers if at is not None)
    missing = [
        title for field, title in (("id", "학번(id)"), ("name", "이름(name)")) if places[field] is None
    ]
    if missing:
        raise TableError(
            f"명단에 {', '.join(missing)} 열이 없어요: {path} (있는 열: {listed(table.header)}). "
            "첫 줄을 이렇게 적어 주세요: 학번,이름,분반"
        )
    people, times, system_names = [], {}, {}
    rows: dict[str, list[int]] = {}
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else one_line(row[at], 200) for field, at in places.items()}
        if worksheet:
            found = _NUMBER.search(cells["moodle_id"])
            cells["moodle_id"] = found.group() if found else ""
        handed_in, system_name = cells.pop("handed_in"), cells.pop("system_name")
        cells["id"] = cells["id"] or cells["login"] or cells["canvas_id"] or cells["moodle_id"]
        if not cells["id"] or cells["name"].casefold() in ("points possible", "student, test"):
            continue  # Canvas writes such rows below its header
        people.append(Person(**cells))
        rows.setdefault(cells["id"], []).append(number)
        if handed_in:
            times[cells["id"]] = handed_in
        if system_name:
            system_names[cells["id"]] = system_name
    doubled = [
        f"{key} ({', '.join(map(str, lines))}번째 줄)" for key, lines in rows.items() if len(lines) > 1
    ]
    if doubled:
        raise TableError(f"명단에 학번이 겹쳐요: {path}: {listed(doubled)}. 학생마다 한 줄만 남겨 주세요.")
    if not people:
        raise TableError(f"명단에 학생이 없어요: {path}. 학번이 빈 줄은 세지 않아요.")
    return Roster(tuple(people), times, system_names)


def _is_worksheet(table: Table) -> bool:
    """Return True for Moodle's grading worksheet, whose identifiers read `Participant 12345`."""
    at = table.column("identifier", "식별자")
    if at is None or table.column("github username") is not None:
        return False
    return all(re.fullmatch(r"\D+ \d+", row[at]) for row in table.rows)
