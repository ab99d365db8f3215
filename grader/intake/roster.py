"""Read the roster, a table of the people in the class, and look people up by name or number."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from grader.base.headings import find_columns, find_title, plain_header, time_columns
from grader.base.names import listed
from grader.base.tables import Table, TableError, read_table, refuse_rounded_numbers, student_number
from grader.course.feedback import Person
from grader.report.plain_text import one_line

_FIELDS = (
    *("id", "name", "last_name", "first_name", "system_name", "section", "login", "email", "github"),
    *("canvas_id", "moodle_id", "record_id", "group", "handed_in", "handed_in_day"),
)
"""Fields of `HEADINGS` that a roster may have.

Canvas' gradebook and its list of groups, Moodle's worksheet and GitHub Classroom's roster can be used unchanged.
"""
_NUMBER = re.compile(r"\d+$")
_PARTICIPANT = re.compile(r"(?:참가자|참여자|participant)\s*\d+", re.IGNORECASE)
"""Matches Moodle's identifiers; in Korean, language packs put no space before the number."""
_RECORD = re.compile(rf"\D+ \d+|{_PARTICIPANT.pattern}", re.IGNORECASE)
"""Matches Moodle's identifiers in any language, in a column that has their title."""
_SUMS = frozenset(("합계", "총계", "소계", "계", "총원", "총인원", "인원", "total", "sum"))
"""What stands instead of a student number in a row below the students."""
_TEST_STUDENTS = frozenset(("studenttest", "학생테스트"))
"""Canvas' student for trying things out, as `plain_header` gives the name."""
_NO_STUDENTS = _SUMS | _TEST_STUDENTS | {"pointspossible"}
_YEAR = re.compile(r"\d{4}")
_HANGUL = re.compile("[가-힣]+")
_WORD = re.compile(r"[^\W_]+")
_DIGITS = re.compile(r"\d+")
_SHORTEST_NUMBER = 6
"""Minimum digits of a student number within an address; fewer may be a year or a birthday."""


@dataclass(frozen=True)
class Roster:
    """All people of the class, in the file's order."""

    people: tuple[Person, ...]
    handed_in: Mapping[str, str]
    """Time of handing in by the person's id, for people with such an entry in the roster."""
    system_names: Mapping[str, str] = field(default_factory=dict)
    """Name in the learning system by the person's id, for people whose name there differs from the roster's."""
    notes: tuple[str, ...] = ()
    """Korean lines for the instructor on what the roster leaves open."""
    groups_are_systems: bool = False
    """True if no two groups have one name, as in a learning system; where somebody has filled in a column, each
    section may have a group 1."""
    has_numbers: bool = True
    """True if the ids are student numbers; False if the file has none and another column stands in, such as Moodle's
    addresses."""
    is_group_work: bool = False
    """True if a list of groups was given for this very work: what one member hands in is the whole group's."""

    def known_as(self, key: str, *fields: str) -> list[Person]:
        """Return the people with this value in one of `fields` (id, login, email …), ignoring case.

        A number of digits is the same with hyphens and without: `2020-12345`.
        """
        value = key.strip().casefold()
        found = self._by_value.get(value) or self._by_value.get(_without_hyphens(value), [])
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
                    if _without_hyphens(value) != value:
                        found[_without_hyphens(value)].append((name, person))
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[Person]]:
        found: dict[str, list[Person]] = defaultdict(list)
        for person in self.people:
            for key in frozenset().union(*map(name_keys, self.names_of(person))):
                found[key].append(person)
        return found


def _without_hyphens(value: str) -> str:
    """Return a number that is only digits and hyphens without the hyphens; other values as they are."""
    plain = value.replace("-", "")
    return plain if plain.isdecimal() else value


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


def numbers_in_address(address: str) -> list[str]:
    """Return the runs of digits before the `@` that are long enough for student numbers: `s20191234@x.ac.kr`."""
    return [
        digits for digits in _DIGITS.findall(address.partition("@")[0]) if len(digits) >= _SHORTEST_NUMBER
    ]


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def read_roster(path: Path) -> Roster:
    """Read a roster with columns for student number and name, and optionally section, login, group and others.

    Raises:
        TableError: the file is missing, a column is missing, two rows have one number, a number was rounded by Excel,
            or nobody is in it.
    """
    table = read_table(path, "명단", ("id", "name"))
    places, has_numbers = _places(table)
    missing = [
        title for field, title in (("id", "학번(id)"), ("name", "이름(name)")) if places[field] is None
    ]
    if missing:
        raise TableError(
            f"명단에 {', '.join(missing)} 열이 없어요: {path} (있는 열: {listed(table.header)}). "
            "첫 줄을 이렇게 적어 주세요: 학번,이름,분반"
        )
    assert places["id"] is not None
    refuse_rounded_numbers(table, places["id"], "명단")
    people, times, system_names = [], {}, {}
    numberless = []
    rows: dict[str, list[int]] = {}
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else one_line(row[at], 200) for field, at in places.items()}
        handed_in, system_name = cells.pop("handed_in"), cells.pop("system_name")
        day = cells.pop("handed_in_day")
        person = None if _is_sum(row, cells["name"]) else _person(cells)
        if person is None:
            if cells["name"] and not cells["id"] and plain_header(cells["name"]) not in _NO_STUDENTS:
                numberless.append(f"{number}번째 줄 '{cells['name']}'")
            continue
        people.append(person)
        rows.setdefault(person.id, []).append(number)
        if day and not _YEAR.search(handed_in):
            handed_in = f"{day} {handed_in}".strip()
        if handed_in.strip("- "):  # Moodle writes a hyphen for somebody who handed in nothing
            times[person.id] = handed_in
        if system_name:
            system_names[person.id] = system_name
    doubled = [
        f"{key} ({', '.join(map(str, lines))}번째 줄)" for key, lines in rows.items() if len(lines) > 1
    ]
    if doubled:
        raise TableError(f"명단에 학번이 겹쳐요: {path}: {listed(doubled)}. 학생마다 한 줄만 남겨 주세요.")
    if not people:
        raise TableError(f"명단에 학생이 없어요: {path}. 학번이 빈 줄은 세지 않아요.")
    in_system = find_title(table.header, "group_name") is not None or bool(people[0].moodle_id)
    line = (
        "명단에 학번이 비어 있어서 세지 않은 학생: {}. 학번이나 다른 고유한 번호를 적고 다시 채점해 주세요."
    )
    notes = (*((line.format(listed(numberless, "명")),) if numberless else ()), *_unread_identifiers(table))
    return Roster(
        tuple(people), times, system_names, notes, groups_are_systems=in_system, has_numbers=has_numbers
    )


def _places(table: Table) -> tuple[dict[str, int | None], bool]:
    """Return the column of each field, by what the system that wrote the table means by its titles.

    The second value is True if the table has student numbers of its own.
    """
    places = find_columns(table.header, _FIELDS)
    record = places.pop("record_id")
    if record is None or record == places["id"]:
        untitled = _participants_column(table)
        record = record if untitled is None else untitled
    has_numbers = places["id"] is not None
    if _is_worksheet(table, record):
        places["moodle_id"] = record
        has_numbers = places["id"] not in (None, record)
        number = places["id"] if places["id"] != record else None
        places["id"] = next(at for at in (number, places["email"], record) if at is not None)
    elif _is_gradebook(table):
        found = [find_title(table.header, title) for title in ("SIS User ID", "SIS Login ID", "ID")]
        places["canvas_id"] = found[-1]
        places["id"] = next(at for at in found if at is not None)
        has_numbers = places["id"] != places["canvas_id"]
    if places["handed_in"] is None:
        places["handed_in"] = _time_column(table)
    if places["name"] is None:
        places["name"] = places["first_name"] if places["last_name"] is None else places["last_name"]
    return places, has_numbers


def _participants_column(table: Table) -> int | None:
    """Return the column of Moodle's identifiers, whatever its title; None if there is none."""
    columns = range(len(table.header))
    return next(
        (at for at in columns if all(_PARTICIPANT.fullmatch(row[at].strip()) for row in table.rows)), None
    )


def _unread_identifiers(table: Table) -> tuple[str, ...]:
    """Return a Korean line if Moodle's column of identifiers, beside student numbers, holds no identifiers."""
    places = find_columns(table.header, ("id", "record_id", "github"))
    at = places["record_id"]
    if at is None or at == places["id"] or places["github"] is not None or _is_worksheet(table, at):
        return ()
    bad = [row[at] for row in table.rows if not _RECORD.fullmatch(row[at].strip())]
    return (
        f"명단의 '{one_line(table.header[at], 40)}' 열에서 Moodle의 번호를 읽지 못했어요: "
        f"{listed([one_line(cell, 40) or '빈칸' for cell in bad])}. "
        "Moodle에서 받은 대로 '참가자 12345'처럼 적어 주세요.",
    )


def _time_column(table: Table) -> int | None:
    """Return the column that seems to hold the times of handing in; None if there is none.

    Raises:
        TableError: there are several. None of them may be passed over: somebody late would be in time.
    """
    found = time_columns(table.header)
    if len(found) > 1:
        titles = ", ".join(table.header[at] for at in found)
        raise TableError(
            f"명단에 제출 시각으로 보이는 열이 여럿이에요: {table.path}: {titles}. "
            "지각을 정할 열의 이름을 '제출 시각'으로 바꿔 주세요."
        )
    return found[0] if found else None


def _person(cells: dict[str, str]) -> Person | None:
    """Return the person whom a row describes; None for a row without a student, such as Canvas' points or a sum."""
    cells["name"] = full_name(cells["name"], cells.pop("first_name"), cells.pop("last_name"))
    if moodle := _NUMBER.search(cells["moodle_id"]):
        cells["moodle_id"] = moodle.group()
    for key in ("id", "canvas_id"):
        cells[key] = student_number(cells[key])
    cells["id"] = cells["id"] or cells["login"] or cells["canvas_id"] or cells["moodle_id"]
    if not cells["id"] or plain_header(cells["name"]) in _TEST_STUDENTS | {"pointspossible"}:
        return None
    if plain_header(cells["id"]) in _SUMS:
        return None
    return Person(**cells)


def _is_sum(row: Sequence[str], name: str) -> bool:
    """Return True for a row below the students whose count stands in the column of numbers: `합계,,60,`."""
    return not name and any(plain_header(cell) in _SUMS for cell in row)


def full_name(name: str, first: str, last: str) -> str:
    """Return the whole name, out of columns of which some systems have two: `하늘` and `김`."""
    given = first or name.removeprefix(last)
    if not last or last == given or (first and name not in ("", first, last)):
        return name
    if _HANGUL.fullmatch(last + given):
        return last + given
    return f"{given} {last}" if given else last


def _is_gradebook(table: Table) -> bool:
    """Return True for Canvas' gradebook: students' columns in English, whatever the language of the course."""
    has_name = any(find_title(table.header, title) is not None for title in ("Student", "LastName"))
    others = ("ID", "Section") if find_title(table.header, "SIS User ID") is None else ("ID",)
    return has_name and all(find_title(table.header, title) is not None for title in others)


def _is_worksheet(table: Table, record: int | None) -> bool:
    """Return True for Moodle's grading worksheet, whose identifiers read `Participant 12345` or `참가자12345`."""
    if record is None or find_title(table.header, "github_username") is not None:
        return False
    return all(_RECORD.fullmatch(row[record].strip()) for row in table.rows)
