"""Merge the class lists of several systems into one roster: a portal's with a learning system's, say.

A portal knows student numbers and sections, Moodle's worksheet its own numbers and the times of handing in. The list
that has student numbers leads; of the others each person is looked up by number, address and name. What contradicts the
leading list is told and left out, and nobody is dropped without a word.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.base.names import display_name, listed
from grader.course.feedback import Person
from grader.intake.agreement import agree, is_placeholder_name
from grader.intake.roster import Roster, name_keys, numbers_in_address, read_roster

_SHARED = ("section", "login", "email", "github", "canvas_id", "moodle_id", "group")
"""Fields of a person that any list may tell."""
_TITLES = {
    "section": "분반",
    "login": "아이디",
    "email": "이메일",
    "github": "GitHub 아이디",
    "group": "조",
} | {
    "canvas_id": "Canvas의 번호",
    "moodle_id": "Moodle의 번호",
}

_FEW = 3
"""So many further values of one column that differ are counted, and not listed."""


def read_rosters(paths: Sequence[Path]) -> Roster:
    """Read one roster or several, and merge them.

    Raises:
        TableError: a file cannot be read, or is no roster.
    """
    found = [(display_name(path.name), read_roster(path)) for path in paths]
    lead = next((one for one in found if one[1].has_numbers), found[0])
    name, roster = lead
    for other_name, other in found:
        if other is not lead[1]:
            roster = _merged(name, roster, other_name, other)
    return roster


@dataclass
class _Doubts:
    """What the second list leaves open, for the instructor."""

    other_names: list[str] = field(default_factory=list)
    """People whose number or address is one person's and whose name is another's."""
    unclear: list[str] = field(default_factory=list)
    """People who may be several of the first list, or whom two rows of the second list mean."""
    differing: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """Values of one person that differ, by the title of the column."""

    def notes(self, first: str, second: str) -> Iterator[str]:
        """Yield a Korean line for each kind of doubt."""
        if self.other_names:
            yield (
                f"번호나 이메일은 같은데 이름이 달라서 {second}에서 옮기지 않은 학생: "
                f"{listed(self.other_names, '명')}. "
                f"같은 사람이면 {first}에 '시스템 이름' 열을 더해 {second}의 이름을 적어 주세요."
            )
        if self.unclear:
            yield (
                f"{first}의 누구인지 하나로 정하지 못해서 {second}에서 옮기지 않은 학생: {listed(self.unclear, '명')}. "
                "두 명단에 학번이나 이메일을 적어 주세요."
            )
        if self.differing:
            yield f"명단마다 달라서 {first}를 따른 것: {', '.join(self._differing_in_words())}"

    def _differing_in_words(self) -> Iterator[str]:
        """Yield what differs: one by one where it is little, else an example and the number."""
        for title, values in self.differing.items():
            more = len(values) - 1
            if more < _FEW:
                yield from values
            else:
                yield f"{values[0]} 외 {title} {more:,}개"


def _merged(first_name: str, first: Roster, second_name: str, second: Roster) -> Roster:
    """Return the first roster with what the second one adds."""
    doubts = _Doubts()
    meant = {person.id: _counterparts(person, first, second) for person in second.people}
    times = Counter(found[0].id for found in meant.values() if len(found) == 1)
    partners: dict[str, Person] = {}
    added: list[Person] = []
    for person in second.people:
        found = meant[person.id]
        if not found:
            added.append(person)
        elif len(found) > 1 or times[found[0].id] > 1:
            doubts.unclear.append(f"{person.id} {person.name}".strip())
        elif not _names_agree(found[0], first, person):
            doubts.other_names.append(f"{person.id} {person.name} ({first_name}에는 {found[0].name})")
        else:
            partners[found[0].id] = person
    people = [_filled(person, partners.get(person.id), doubts) for person in first.people]
    handed_in, system_names = {**second.handed_in, **first.handed_in}, dict(first.system_names)
    for person in first.people:
        if (partner := partners.get(person.id)) is None:
            continue
        own, other = (
            roster.handed_in.get(one.id, "") for roster, one in ((first, person), (second, partner))
        )
        if own and other and own != other:
            doubts.differing["제출 시각"].append(f"{person.id} {person.name}의 제출 시각 '{own}', '{other}'")
        if own or other:
            handed_in[person.id] = own or other
        known = second.system_names.get(partner.id, partner.name)
        if known and not name_keys(known) & name_keys(person.name):
            system_names.setdefault(person.id, known)
    seen = {one.id for found in meant.values() for one in found}
    alone = [person for person in first.people if person.id not in seen]
    notes = [
        f"명단을 합쳤어요: {first_name} {len(first.people):,}명, {second_name} {len(second.people):,}명, "
        f"둘 다에 있는 학생 {len(partners):,}명"
    ]
    for name, only in ((first_name, alone), (second_name, added)):
        if only:
            notes.append(f"{name}에만 있는 학생: {listed([f'{p.id} {p.name}' for p in only], '명')}")
    leads = first if any(person.group for person in first.people) else second
    return Roster(
        (*people, *added),
        handed_in,
        {**{p.id: second.system_names[p.id] for p in added if p.id in second.system_names}, **system_names},
        (*first.notes, *second.notes, *notes, *doubts.notes(first_name, second_name)),
        groups_are_systems=leads.groups_are_systems,
        is_group_work=first.is_group_work,
        has_numbers=first.has_numbers,
    )


def _counterparts(person: Person, first: Roster, second: Roster) -> list[Person]:
    """Return the people of the first roster who may be this one of the second, by the surest value there is."""
    sure = [(person.id, "id")] if second.has_numbers else []
    sure += [(getattr(person, name), name) for name in ("email", "canvas_id", "moodle_id", "login", "github")]
    sure += [(number, "id") for number in numbers_in_address(person.email)]
    for value, name in sure:
        if value and (found := first.known_as(value, name)):
            return found
    both = first.has_numbers and second.has_numbers
    named = [one for one in first.named(person.name) if not (both and _are_two_numbers(one.id, person.id))]
    is_only = len(second.named(person.name)) == 1
    return (
        named if is_only or not named else [*named, person]
    )  # several have the name: no single one is meant


def _are_two_numbers(one: str, other: str) -> bool:
    """Return True for two student numbers of one kind: whoever has them are two people, even of one name."""
    return one != other and one.isdecimal() and other.isdecimal() and len(one) == len(other)


def _names_agree(person: Person, roster: Roster, other: Person) -> bool:
    names = roster.names_of(person)
    return not names or is_placeholder_name(other.name) or any(agree(other.name, name) for name in names)


def _is_same(name: str, own: str, theirs: str) -> bool:
    """Return True for equal values; a section may have the course's name before it: `01`, `딥러닝실습-01`."""
    one, other = own.casefold(), theirs.casefold()
    is_section = name == "section"
    return one == other or (is_section and any(a.endswith(f"-{b}") for a, b in ((one, other), (other, one))))


def _filled(person: Person, other: Person | None, doubts: _Doubts) -> Person:
    """Return the person with empty fields filled in from the other list."""
    if other is None:
        return person
    values = {}
    for name in _SHARED:
        own, theirs = getattr(person, name), getattr(other, name)
        values[name] = own or theirs
        if own and theirs and not _is_same(name, own, theirs):
            doubts.differing[_TITLES[name]].append(
                f"{person.id} {person.name}의 {_TITLES[name]} '{own}', '{theirs}'"
            )
    return replace(person, **values)
