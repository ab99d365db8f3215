"""Know the groups of a class: from the roster, or from a list of groups that Canvas, Moodle or a person wrote."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grader.base.headings import find_column, find_columns
from grader.base.names import listed
from grader.base.tables import Table, TableError, read_table, refuse_rounded_numbers, student_number
from grader.course.feedback import Person
from grader.intake.merge_rosters import read_rosters
from grader.intake.roster import Roster, full_name, name_words, read_roster, words_of
from grader.report.plain_text import one_line

_WORDS = "조|팀|모둠|그룹|분단|group|team|gruppe|grupo|groupe"
_NUMBERED = re.compile(
    rf"(?:제 ?)?(?P<before>\d{{1,3}}|[a-z]) ?(?:{_WORDS})|(?:{_WORDS}) ?[-#.]? ?(?P<after>\d{{1,3}})"
    rf"|(?:{_WORDS}) ?[-#.]? ?(?P<letter>[a-z])|(?P<alone>\d{{1,3}})"
)
"""Matches `1조`, `제 2 조`, `Team 4`, and the bare number that stands in a column called 조."""
_DEFAULT = ("defaultgroup", "기본모둠", "기본그룹")
"""What Moodle calls the group of those who are in none, in its language packs en and ko."""
_PARTS = re.compile(r"[,;/]")
_FIELDS = (
    *("id", "name", "last_name", "first_name", "login", "email", "canvas_id", "moodle_id"),
    *("group", "members"),
)


@dataclass(frozen=True)
class Groups:
    """The groups of a class."""

    members: dict[str, tuple[Person, ...]]
    """Members by the group's name, compared without spaces, case and punctuation."""
    are_systems: bool
    """True if no two groups have one name, as in a learning system."""

    @classmethod
    def of(cls, people: Iterable[Person], are_systems: bool) -> "Groups":
        """Return the groups that the people of a roster are in; without any, nothing is known of groups."""
        listed_people = [(name, person) for person in people for name in _names(person.group)]
        one_name = _with_one_name_each({name for name, _ in listed_people})
        found: dict[str, list[Person]] = defaultdict(list)
        for name, person in listed_people:
            found[one_name[name]].append(person)
        return cls({name: tuple(members) for name, members in found.items()}, are_systems)

    def __bool__(self) -> bool:
        return bool(self.members)

    def named(self, name: str) -> list[str]:
        """Return the groups that a name may mean: one of this very name, or else those of the same number."""
        plain = _plain(name)
        if plain in self.members:
            return [plain]
        number = _number(name)
        return [] if not number else [one for one in self.members if _number(one) == number]

    def of_person(self, person: Person) -> str:
        """Return the only group that a person is in; empty if there is none, or several."""
        found = [name for name, members in self.members.items() if person in members]
        return found[0] if len(found) == 1 else ""

    def in_label(self, label: str) -> list[str]:
        """Return the groups whose name a label is, or has as a word: `1조_과제`."""
        whole = self.named(label)
        words = [word for word in words_of(label) if not word.isdigit()]
        return whole or list(dict.fromkeys(one for word in words for one in self.named(word)))

    def default(self, people: Iterable[Person]) -> tuple[Person, ...]:
        """Return the people of Moodle's default group: those whom the roster calls so, or else who are in none."""
        told = [person for name in _DEFAULT for person in self.members.get(name, ())]
        return tuple(told) or tuple(person for person in people if not person.group)

    def is_doubtful(self, name: str) -> bool:
        """Return True if the members may be two groups with one number, each in a section of its own."""
        sections = {person.section for person in self.members[name]}
        return not self.are_systems and len(sections) > 1 and bool(_number(name))


def read_class_list(rosters: Sequence[Path], groups: Path | None) -> Roster | None:
    """Read and merge the rosters, and the groups from a list of their own if there is one; None without either.

    Raises:
        TableError: a file cannot be read, or the list of groups puts somebody into two groups.
    """
    if not rosters:
        return None if groups is None else replace(read_roster(groups), is_group_work=True)
    people = read_rosters(rosters)
    return people if groups is None else _with_groups(people, groups)


def _with_groups(roster: Roster, path: Path) -> Roster:
    table = read_table(path, "모둠", ("group", "id"))
    places = find_columns(table.header, _FIELDS)
    if places["group"] is None or all(places[field] is None for field in ("id", "name", "members", "login")):
        raise TableError(
            f"모둠 파일에 조와 학번(또는 이름) 열이 있어야 해요: {path} (있는 열: {listed(table.header)}). "
            "첫 줄을 이렇게 적어 주세요: 학번,이름,조"
        )
    if places["id"] is not None:
        refuse_rounded_numbers(table, places["id"], "모둠")
    group_of: dict[str, str] = {}
    strangers = []
    for number, row in zip(table.numbers, table.rows, strict=True):
        cells = {field: "" if at is None else one_line(row[at], 2_000) for field, at in places.items()}
        if not cells["group"]:
            continue
        for found, written in _people(cells, roster):
            if len(found) != 1:
                strangers.append(f"{number}번째 줄 '{written}'")
                continue
            before = group_of.setdefault(found[0].id, cells["group"])
            if _plain(before) != _plain(cells["group"]):
                raise TableError(
                    f"모둠 파일에 한 학생이 두 모둠에 있어요: {path} {number}번째 줄: {found[0].id} {found[0].name} "
                    f"({before}, {cells['group']}). 이 과제의 모둠만 남겨 주세요."
                )
    notes = roster.notes
    if strangers:
        line = "모둠 파일에 있지만 명단에서 누구인지 정하지 못한 학생: {}. 명단의 학번으로 적어 주세요."
        notes = (*notes, line.format(listed(strangers, "명")))
    people = tuple(replace(person, group=group_of.get(person.id, person.group)) for person in roster.people)
    are_systems = _is_systems_list(table) or find_column(table.header, "section") is None
    return replace(roster, people=people, notes=notes, groups_are_systems=are_systems, is_group_work=True)


def _is_systems_list(table: Table) -> bool:
    """Return True for Canvas' list of groups."""
    return (
        find_column(table.header, "canvas_id") is not None and find_column(table.header, "group") is not None
    )


def _people(cells: dict[str, str], roster: Roster) -> list[tuple[list[Person], str]]:
    """Return the people that a line of the list means, each with what is written; several if it lists members."""
    if cells["members"]:
        written = [part.strip() for part in _PARTS.split(cells["members"]) if part.strip()]
        return [(roster.known_as(one, "id", "login") or roster.named(one), one) for one in written]
    name = full_name(cells["name"], cells["first_name"], cells["last_name"])
    known = ((student_number(cells["id"]), "id"), (student_number(cells["canvas_id"]), "canvas_id"))
    for value, field in (*known, (cells["login"], "login"), (cells["email"], "email")):
        if value and (found := roster.known_as(value, field)):
            return [(found, value)]
    return [(roster.named(name) if name else [], name or cells["id"] or cells["login"])]


def _names(group: str) -> list[str]:
    """Return the plain names of the groups in a cell; of somebody in several, Moodle lists them with commas."""
    parts = _PARTS.split(group) if "," in group or ";" in group else [group]
    return list(dict.fromkeys(plain for part in parts if (plain := _plain(part))))


def _with_one_name_each(names: Collection[str]) -> dict[str, str]:
    """Return one name for all spellings of a numbered group, `1`, `1조` and `01조`, unless two words are used."""
    spellings: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        spellings[_number(name) or name].append(name)
    found = {}
    for alike in spellings.values():
        words = {"".join(char for char in name if not char.isdigit()).removeprefix("제") for name in alike}
        found.update({name: alike[-1] if len(words - {""}) <= 1 else name for name in alike})
    return found


def _plain(name: str) -> str:
    return "".join(name_words(name))


def _number(name: str) -> str:
    """Return the number or letter of a group that is only numbered; empty for one with a name."""
    found = _NUMBERED.fullmatch(" ".join(name.casefold().split()))
    if found is None:
        return ""
    number = next(text for text in found.groups() if text)
    return number.lstrip("0") or "0"
