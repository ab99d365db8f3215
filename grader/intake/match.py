"""Handovers and a roster -> who handed in what. In doubt nobody is taken for somebody else: the instructor is told."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.feedback import Person
from grader.intake.handover import Handover
from grader.intake.roster import Roster, words_of
from grader.submission.names import listed, natural

_SHORTEST_NUMBER = 4
"""A student's number that is looked for in file names has at least as many characters."""


@dataclass(frozen=True)
class Matched:
    """Who is who."""

    people: Mapping[str, Person]
    """By the handover's key, or the student's name in a plain folder."""
    absent: tuple[Person, ...]
    notes: tuple[str, ...]


def match(handovers: Sequence[Handover], roster: Roster | None) -> Matched:
    """The person of each handover; somebody who is in no roster is known by what the system says."""
    told = {
        h.key: Person(
            name=h.name,
            canvas_id=h.canvas_id,
            moodle_id=h.moodle_id,
            email=next((value for value in h.ids if "@" in value), ""),
        )
        for h in handovers
    }
    if roster is None:
        ids = {h.key: next((value for value in h.ids if value.isdigit()), "") for h in handovers}
        return Matched({key: replace(told[key], id=ids[key]) for key in told}, (), ())
    found = {h.key: _candidates(h, roster) for h in handovers}
    shown = {h.key: f"{h.name} ({h.number})" if h.number else h.name for h in handovers}
    return _settled(found, told, shown, roster)


def matched_by_label(labels: Sequence[str], roster: Roster | None) -> Matched:
    """The person of each entry of a plain class folder, by the number or the name that its own name holds."""
    if roster is None:
        return Matched({}, (), ())
    found = {
        label: _by_number(label, roster, "login", "github") or _by_name(label, roster) for label in labels
    }
    return _settled(found, {}, {label: label for label in labels}, roster)


def _candidates(handover: Handover, roster: Roster) -> list[Person]:
    """Whom the roster may mean, by the surest thing that tells anybody."""
    known = roster.known_as(handover.canvas_id, "canvas_id") or roster.known_as(
        handover.moodle_id, "moodle_id"
    )
    if known:
        return known
    for value in handover.ids:
        if known := roster.known_as(value, "id", "login", "email", "github"):
            return known
    known = roster.named(handover.name) or _by_number(handover.name, roster)
    if len(known) < 2:
        return known
    # Twins: the files' own names may hold a number.
    written = {person for name, _ in handover.parts for person in _by_number(name, roster)}
    return [person for person in known if person in written] or known


def _by_number(name: str, roster: Roster, *fields: str) -> list[Person]:
    """Whose number stands in a name, as a word of its own."""
    long_enough = [word for word in words_of(name) if len(word) >= _SHORTEST_NUMBER]
    found = (person for word in long_enough for person in roster.known_as(word, "id", *fields))
    return list(dict.fromkeys(found))


def _by_name(label: str, roster: Roster) -> list[Person]:
    """Whose name a label is, or is without its numbers, or is one word of it: `s02_김하늘`."""
    words = words_of(label)
    letters = "".join(word for word in words if not word.isdigit())
    one_word = (person for word in words for person in roster.named(word))
    return roster.named(label) or roster.named(letters) or list(dict.fromkeys(one_word))


def _settled(
    found: Mapping[str, list[Person]], told: Mapping[str, Person], shown: Mapping[str, str], roster: Roster
) -> Matched:
    sure = {key: candidates[0] for key, candidates in found.items() if len(candidates) == 1}
    times = Counter(person.id for person in sure.values())
    people = {key: person for key, person in sure.items() if times[person.id] == 1}
    people = {key: _with_numbers(person, told.get(key, Person())) for key, person in people.items()}
    several = [key for key, candidates in found.items() if len(candidates) > 1]
    doubled = [key for key in sure if key not in people]
    nobody = [key for key, candidates in found.items() if not candidates]
    possible = {p.id for candidates in found.values() for p in candidates}
    absent = tuple(p for p in roster.people if p.id not in possible)
    notes = [f"명단과 짝지은 학생: {len(people):,}명 / 명단 {len(roster.people):,}명"]
    for keys, line in (
        (nobody, "명단에서 찾지 못한 제출물: {}. 명단의 이름이나 학번을 확인해 주세요."),
        (several, "이름이 같은 학생이 여럿이라 누구인지 모르는 제출물: {}. 명단에 {}"),
        (
            doubled,
            "한 학생에게 둘 이상 짝지어져서 누구인지 정하지 못한 제출물: {}. 이름에 학번을 적어 주세요.",
        ),
    ):
        if keys:
            notes.append(line.format(_names(keys, shown), "canvas id나 moodle id 열을 더해 주세요."))
    if absent:
        notes.append(f"제출물이 없는 학생: {listed([f'{p.id} {p.name}' for p in absent])}")
    known = {key: person for key, person in told.items() if key not in people}
    return Matched({**known, **people}, absent, tuple(notes))


def _with_numbers(person: Person, told: Person) -> Person:
    """The roster's person with the numbers that the system has for it."""
    return replace(
        person,
        canvas_id=person.canvas_id or told.canvas_id,
        moodle_id=person.moodle_id or told.moodle_id,
    )


def _names(keys: Collection[str], shown: Mapping[str, str]) -> str:
    return listed(sorted((shown[key] for key in keys), key=natural))
