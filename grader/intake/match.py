"""Match handovers with the roster: decide who handed in what.

In doubt nobody is matched, so that no student gets another one's mark; the instructor is told instead. The steps for
one handover, from the surest evidence to the least (`_find_person`, `_named`):

1. a group's work belongs to all members whom the roster names, or else to nobody;
2. the system's own number, if the roster has it and the names agree;
3. a student number, login or address that the system tells;
4. the student's name, or a student number written in it.

`_resolve` then keeps only people matched by exactly one handover, alone or in a group, and words the notes for the
instructor. For example, a Canvas file of `kimhaneul` with number 7 matches the roster's 김하늘 with `canvas_id` 7. If
the roster's number 7 is 이서준, number and name contradict each other, and the file is matched with nobody.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from grader.base.names import listed, natural
from grader.course.feedback import Person
from grader.intake.agreement import agree, is_group, is_placeholder_name
from grader.intake.groups import Groups
from grader.intake.handover import Handover
from grader.intake.roster import Roster, words_of

_SHORTEST_NUMBER = 4
"""Minimum length of a student number looked for in names; shorter ones could be an assignment's number or a group's."""
_PERHAPS_SHARED = (
    "모둠에서 한 사람만 낸 제출물: {}. 모둠 과제라면 조가 적힌 명단을 --groups로 주고 다시 채점해 주세요"
    "(--roster로 준 명단에 조 열이 있으면 그 파일을 그대로 주어도 돼요). 그러면 모둠원 모두의 것으로 채점해요."
)
_ACROSS_SECTIONS = (
    "같은 번호의 조가 여러 분반에 있어서 누구와도 짝짓지 않은 제출물: {} ({}). 분반마다 다른 조라면 명단의 조와 "
    "제출물의 이름에 분반까지 적어 주세요(A-1조). 한 모둠이라면 분반 없이 '학번,조'만 적은 표를 --groups로 주세요."
)
_SHORTEST_GLUED = 6
"""Minimum length of a number within letters and digits, such as `hw20201001`."""
_HOW_TO_MARK_A_GROUP = (
    "모둠원 모두에게 점수가 가도록 명단에 '조' 열을 더하거나 --groups로 모둠의 명단을 주세요. "
    "아니면 모둠원의 점수를 --override 파일에 학생마다 적어 주세요."
)
_WHY_UNMATCHED = (
    *("번호와 이름이 명단의 서로 다른 학생이에요", "명단에 없어요"),
    *("명단에 이름이 같은 학생이 여럿이에요", "같은 학생에게 다른 제출물도 짝지어졌어요"),
)
"""Why a handover belongs to nobody: contradicted, unknown, one of several, one of several handovers."""
_HOW_TO_TELL_NAMESAKES = "canvas id나 moodle id 열을 더하거나, LMS의 채점표를 --roster로 하나 더 주세요."
_LATIN_RUN, _DIGITS, _HANGUL = re.compile("[0-9a-z]+"), re.compile(r"\d+"), re.compile("[가-힣]+")
_HYPHENATED = re.compile(r"(?<![\d-])(\d{4})-(\d{4,6})(?![\d-])")
"""Matches a student number such as `2020-12345`; no date."""
_WORK_WORDS = re.compile(
    "(?:과제물?|숙제|제출물?|제출본|실습|최종본?|수정본?|완성본?|레포트|리포트|보고서|노트북|답안지?|풀이|주차|차시|문제|레슨|학번)*"
)
"""Matches words for what is handed in. None has one syllable, which could be a family name."""
_NAME_LENGTHS = (5, 4, 3, 2)
"""Syllables of a Korean name, the longest first."""
_ABSENT_OR_IN_A_GROUP = (
    "제출물이 없거나 모둠으로 낸 학생: {}. "
    '모둠원일 수 있어서, 정책에 missing = "zero"가 있어도 0점을 주지 않고 비워 둬요.'
)


@dataclass(frozen=True)
class Matched:
    """Result of matching: who handed in what."""

    people: Mapping[str, Person]
    """Person by the handover's key; for a plain folder, by the student's name."""
    absent: tuple[Person, ...]
    notes: tuple[str, ...]
    teams: Mapping[str, tuple[Person, ...]] = field(default_factory=dict)
    """Members by key, for the work of a group that the roster knows; they are not in `people`."""
    absent_in_doubt: frozenset[str] = frozenset()
    """Ids of those in `absent` whose group may have handed in."""
    unmatched: Mapping[str, str] = field(default_factory=dict)
    """Why a handover of a single person is matched with nobody in the roster, in Korean, by its key."""


@dataclass(frozen=True)
class _Found:
    """People that one handover may belong to."""

    people: tuple[Person, ...] = ()
    contradicted: tuple[Person, ...] = ()
    """People that its number or its name means while the other one disagrees; then it is matched with nobody."""
    is_group: bool = False
    members: tuple[Person, ...] = ()
    """Members of the group that handed it in; empty if the roster does not tell them."""
    across_sections: tuple[Person, ...] = ()
    """People whom the roster puts into groups of this number in several sections; which group is meant is unknown."""


def match(handovers: Sequence[Handover], roster: Roster | None) -> Matched:
    """Match each handover with a person; someone who is not in the roster is described by the system's data."""
    groups = _groups(roster)
    found = {h.key: _find_person(h, roster, groups) for h in handovers}
    from_system = {h.key: _person_from_system(h, found[h.key]) for h in handovers}
    shown = {h.key: f"{h.name} ({h.number})" if h.number else h.name for h in handovers}
    if roster is None:
        ids = {h.key: next((value for value in h.ids if value.isdigit()), "") for h in handovers}
        people = {key: replace(person, id=ids[key]) for key, person in from_system.items()}
        return Matched(people, (), tuple(_group_notes(found, shown)))
    found, doubtful = _with_teammates(found, groups, roster)
    return _resolve(found, from_system, shown, roster, doubtful)


def match_labels(labels: Sequence[str], roster: Roster | None) -> Matched:
    """Match each entry of a plain class folder by the student number or name that the entry's own name contains."""
    if roster is None:
        return Matched({}, (), ())
    found, groups = {}, _groups(roster)
    for label in labels:
        found[label] = _written_in(label, roster, "login", "github")
        if found[label] == _Found():
            named = tuple(_by_name(label, roster) or _by_name_among_words(label, roster))
            found[label] = _Found(contradicted=named) if _has_unknown_number(label, roster) else _Found(named)
        if not found[label].people and not found[label].contradicted and not _by_number(label, roster):
            found[label] = _group_in_label(label, groups) or found[label]
    by_one = {label: found[label].people[0] for label in labels if len(found[label].people) == 1}
    with_group = [
        label for label, person in by_one.items() if groups.of_person(person) in groups.in_label(label)
    ]
    found, doubtful = _with_teammates(found, groups, roster, with_group)
    return _resolve(found, {}, {label: label for label in labels}, roster, doubtful)


def person_in(label: str, roster: Roster) -> Person | None:
    """Return the person whose student number stands in a name that nobody else's name contradicts; else None."""
    found = _written_in(label, roster, "login", "github")
    return found.people[0] if len(found.people) == 1 else None


def perhaps_in(label: str, roster: Roster) -> list[Person]:
    """Return everybody whose number or name may stand in a name."""
    ways = (_by_name, _by_glued_name, _by_name_among_words)
    found = _by_number(label, roster, "login", "github", "canvas_id", "moodle_id")
    return list(dict.fromkeys([*found, *(person for way in ways for person in way(label, roster))]))


def _person_from_system(handover: Handover, found: _Found) -> Person:
    """Return the system's data about a handover.

    A doubtful number is left out: an export would bring the mark to a stranger.
    """
    is_sure = not found.is_group and not found.contradicted
    return Person(
        name=handover.name,
        canvas_id=handover.canvas_id if is_sure else "",
        moodle_id=handover.moodle_id if is_sure else "",
        email=next((value for value in handover.ids if "@" in value), ""),
    )


def _find_person(handover: Handover, roster: Roster | None, groups: Groups) -> _Found:
    """Return the people that a handover may belong to, by the surest evidence there is."""
    looks_like_group = is_group(handover.name) and not handover.ids
    if roster is not None and (group := _find_group(handover, roster, groups)) is not None:
        return group
    if roster is None or handover.is_group or (looks_like_group and not roster.named(handover.name)):
        return _Found(is_group=handover.is_group or looks_like_group)
    numbered = roster.known_as(handover.canvas_id, "canvas_id") or roster.known_as(
        handover.moodle_id, "moodle_id"
    )
    if numbered:
        sure = tuple(person for person in numbered if _name_agrees(person, handover.name, roster))
        return _Found(sure) if sure else _Found(contradicted=tuple(numbered))
    for value in handover.ids:
        if known := roster.known_as(value, "id", "login", "email", "github"):
            return _Found(tuple(known))
    return _named(handover, roster)


def _find_group(handover: Handover, roster: Roster, groups: Groups) -> _Found | None:
    """Return the group that a handover's name means, with its members; None if it means none.

    Canvas writes a group's name and the number of one of its members, Moodle the group's own number.
    """
    has_known_id = any(roster.known_as(value, "id", "login", "email", "github") for value in handover.ids)
    if not groups or has_known_id:
        return None
    if handover.is_group and not handover.number:
        return _Found(is_group=True, members=groups.default(roster.people))
    names = groups.named(handover.name)
    if not names:
        return None
    if roster.named(handover.name):
        return _Found(is_group=True)
    known = roster.known_as(handover.canvas_id, "canvas_id")
    if known and not set(known) <= set(groups.members[names[0]]):
        return _Found(contradicted=tuple(known), is_group=True)
    return _only_group(names, groups)


def _only_group(names: Sequence[str], groups: Groups) -> _Found:
    """Return the members of the group that names mean, if they mean one for certain."""
    if len(names) > 1:
        return _Found(is_group=True)
    members = groups.members[names[0]]
    if groups.is_doubtful(names[0]):
        return _Found(is_group=True, across_sections=members)
    return _Found(is_group=True, members=members)


def _with_teammates(
    found: dict[str, _Found], groups: Groups, roster: Roster, named: Sequence[str] = ()
) -> tuple[dict[str, _Found], dict[str, Person]]:
    """Give what one member handed in to the whole group, if it is certain that groups handed in.

    Args:
        found: people by handover.
        groups: groups of the roster.
        roster: tells whether a list of groups was given for this work.
        named: handovers of single members whose names hold their group's.

    Returns:
        The people by handover, and those members by handover with whose work it is uncertain.
    """
    of_group: dict[str, list[str]] = defaultdict(list)
    for key, one in found.items():
        if len(one.people) == 1 and (group := groups.of_person(one.people[0])):
            of_group[group].append(key)
    by_groups = {person for one in found.values() for person in one.members}
    alone = {keys[0]: group for group, keys in of_group.items() if len(keys) == 1}
    alone = {key: group for key, group in alone.items() if not by_groups & set(groups.members[group])}
    if roster.is_group_work:
        shared = {key: _Found(is_group=True, members=groups.members[group]) for key, group in alone.items()}
        several = {keys[0]: found[keys[0]].people[0] for keys in of_group.values() if len(keys) > 1}
        return {**found, **shared}, several
    # Among single students' works, some come from one group; where none do, groups may have handed in.
    looks_shared = len(alone) == len(of_group)
    doubtful = {key for key in alone if looks_shared or key in named}
    doubtful = {key for key in doubtful if len(groups.members[alone[key]]) > 1}
    return found, {key: found[key].people[0] for key in doubtful}


def _groups(roster: Roster | None) -> Groups:
    return Groups({}, False) if roster is None else Groups.of(roster.people, roster.groups_are_systems)


def _group_in_label(label: str, groups: Groups) -> _Found | None:
    """Return the group whose name an entry of a plain folder has; None if it has none."""
    names = groups.in_label(label)
    return _only_group(names, groups) if names else None


def _named(handover: Handover, roster: Roster) -> _Found:
    """Match by the handover's name, or by a student number in it.

    A person whom the roster gives another number of the same system is excluded.
    """
    named = roster.named(handover.name)
    known = [person for person in named if not _has_another_number(person, handover)]
    if not named:
        written_in = _written_in(handover.name, roster)
        others = [person for person in written_in.people if _has_another_number(person, handover)]
        return _Found(contradicted=tuple(others)) if others else written_in
    if not known:
        return _Found(contradicted=tuple(named))
    if len(known) == 1:
        return _Found(tuple(known))
    # Several students have this name: the names of their files may contain a student number.
    written = {person for name in handover.file_names() for person in _by_number(name, roster)}
    return _Found(tuple([person for person in known if person in written] or known))


def _name_agrees(person: Person, name: str, roster: Roster) -> bool:
    """Return True if a person found by number may have this name; without a name to compare, the number is enough."""
    names = roster.names_of(person)
    if not names or is_placeholder_name(name):
        return person in (_by_number(name, roster) or [person])
    return any(agree(name, one) for one in names)


def _has_another_number(person: Person, handover: Handover) -> bool:
    return any(
        own and own != number
        for own, number in (
            (person.canvas_id, handover.canvas_id or person.canvas_id),
            (person.moodle_id, handover.moodle_id or person.moodle_id),
        )
    )


def _written_in(name: str, roster: Roster, *fields: str) -> _Found:
    """Match by a student number within a name, unless the rest of the name is another student's or a group's."""
    numbered = _by_number(name, roster, *fields)
    named = _by_name(name, roster) or (_by_glued_name(name, roster) if numbered else [])
    if not numbered or not named:
        group = bool(numbered) and any(is_group(word) for word in words_of(name))
        return _Found(is_group=True) if group else _Found(tuple(numbered))
    both = tuple(person for person in numbered if person in named)
    return _Found(both) if both else _Found(contradicted=(*numbered, *named))


def _by_number(name: str, roster: Roster, *fields: str) -> list[Person]:
    """Return people whose number occurs in a name as a word of its own, or glued to others: `20201001박지우`."""
    words = words_of(_HYPHENATED.sub(r"\1\2", name))
    found = [p for w in words if len(w) >= _SHORTEST_NUMBER for p in roster.known_as(w, "id", *fields)]
    for run in (run for word in words for run in _LATIN_RUN.findall(word)):
        known = roster.known_as(run, "id") if len(run) >= _SHORTEST_NUMBER else []
        inside = [] if known else [n for n in _DIGITS.findall(run) if len(n) >= _SHORTEST_GLUED]
        found += known + [person for number in inside for person in roster.known_as(number, "id")]
    return list(dict.fromkeys(found))


def _by_glued_name(name: str, roster: Roster) -> list[Person]:
    """Return people with whose name a run of Hangul begins or ends: `박지우과제`."""
    found: list[Person] = []
    for run in (run for word in words_of(name) for run in _HANGUL.findall(word)):
        for length in _NAME_LENGTHS:
            if here := roster.named(run[:length]) or roster.named(run[-length:]):
                found += here
                break
    return list(dict.fromkeys(found))


def _by_name_among_words(label: str, roster: Roster) -> list[Person]:
    """Return people whose name is glued to nothing but words for what is handed in: `과제박지우최종`.

    Any other syllable may be part of a longer name, of somebody who is not in the roster, and so may any number.
    """
    if any(len(digits) >= _SHORTEST_NUMBER and not _is_date(digits) for digits in _DIGITS.findall(label)):
        return []
    found: list[Person] = []
    for run in (run for word in words_of(label) for run in _HANGUL.findall(word)):
        places = ((at, at + length) for length in _NAME_LENGTHS for at in range(len(run) - length + 1))
        for begin, end in places:
            if _WORK_WORDS.fullmatch(run[:begin]) and _WORK_WORDS.fullmatch(run[end:]):
                found += roster.named(run[begin:end])
    return list(dict.fromkeys(found))


def _has_unknown_number(label: str, roster: Roster) -> bool:
    """Return True if a label holds what looks like a student number of somebody who is not in the roster.

    Looks like one: as many digits as the roster's numbers have, and no date.
    """
    lengths = Counter(len(person.id) for person in roster.people if person.id.isdecimal())
    usual, _ = max(lengths.items(), key=lambda item: item[1], default=(0, 0))
    numbers = [number for number in _DIGITS.findall(label) if len(number) == usual >= _SHORTEST_GLUED]
    # Spreadsheets take zeros in front away.
    known = {person.id.lstrip("0") for person in roster.people}
    return any(number.lstrip("0") not in known and not _is_date(number) for number in numbers)


def _is_date(number: str) -> bool:
    try:
        date(int(number[:4]), int(number[4:6]), int(number[6:]))
    except ValueError:
        return False
    return len(number) == len("20260320")


def _by_name(label: str, roster: Roster) -> list[Person]:
    """Return people whose name the label is, with or without its digits, or contains as a word: `s02_김하늘`."""
    words = words_of(label)
    letters = "".join(word for word in words if not word.isdigit())
    one_word = (person for word in words for person in roster.named(word))
    return roster.named(label) or roster.named(letters) or list(dict.fromkeys(one_word))


def _resolve(
    found: Mapping[str, _Found],
    from_system: Mapping[str, Person],
    shown: Mapping[str, str],
    roster: Roster,
    perhaps_shared: Mapping[str, Person],
) -> Matched:
    """Keep the certain matches, and word a note on each kind of doubt.

    A person matched by several handovers is matched with none of them. People who are possible for any handover do not
    count as absent.
    """
    sure = {key: one.people[0] for key, one in found.items() if len(one.people) == 1}
    times = Counter(person.id for person in sure.values())
    times.update(person.id for one in found.values() for person in one.members)
    people = {key: person for key, person in sure.items() if times[person.id] == 1}
    people = {key: _with_numbers(person, from_system.get(key, Person())) for key, person in people.items()}
    teams = {key: tuple(p for p in one.members if times[p.id] == 1) for key, one in found.items()}
    teams = {key: members for key, members in teams.items() if members}
    several = [key for key, one in found.items() if len(one.people) > 1]
    doubled = [key for key in sure if key not in people]
    doubled += [key for key, one in found.items() if len(teams.get(key, ())) < len(one.members)]
    nobody = [key for key, one in found.items() if one == _Found()]
    possible = {p.id for one in found.values() for p in (*one.people, *one.contradicted, *one.members)}
    absent = tuple(p for p in roster.people if p.id not in possible)
    matched = len(people) + sum(map(len, teams.values()))
    notes = [f"명단과 짝지은 학생: {matched:,}명 / 명단 {len(roster.people):,}명"]
    for keys, line in (
        (nobody, "명단에서 찾지 못한 제출물: {}. 명단의 이름이나 학번을 확인해 주세요."),
        (several, "이름이 같은 학생이 여럿이라 누구인지 모르는 제출물: {}. 명단에 {}"),
        (
            doubled,
            "한 학생에게 둘 이상 짝지어져서 누구인지 정하지 못한 제출물: {}. 이름에 학번을 적어 주세요.",
        ),
    ):
        if keys:
            notes.append(
                line.format(
                    _names(keys, shown),
                    _HOW_TO_TELL_NAMESAKES,
                )
            )
    notes += _contradictions(found, shown, from_system)
    notes += [
        f"모둠이 낸 것이라 모둠원 모두의 것으로 채점해요: {shown[key]} ({', '.join(p.name for p in members)})"
        for key, members in teams.items()
    ]
    notes += _group_notes({key: one for key, one in found.items() if key not in teams}, shown)
    if perhaps_shared:
        notes.append(_PERHAPS_SHARED.format(_names(perhaps_shared, shown)))
    groups = _groups(roster)
    unknown_group = any(one.is_group and key not in teams for key, one in found.items())
    mates = {groups.of_person(person) for person in perhaps_shared.values()}
    in_doubt = frozenset(p.id for p in absent if unknown_group or groups.of_person(p) in mates - {""})
    for line, people_meant in (
        (_ABSENT_OR_IN_A_GROUP, [p for p in absent if p.id in in_doubt]),
        ("제출물이 없는 학생: {}", [p for p in absent if p.id not in in_doubt]),
    ):
        if people_meant:
            notes.append(line.format(listed([f"{p.id} {p.name}" for p in people_meant], "명")))
    known = {key: person for key, person in from_system.items() if key not in people}
    contradicted = [key for key, one in found.items() if one.contradicted]
    kinds = zip((contradicted, nobody, several, doubled), _WHY_UNMATCHED, strict=True)
    unmatched = {key: why for keys, why in kinds for key in keys}
    return Matched({**known, **people}, absent, (*roster.notes, *notes), teams, in_doubt, unmatched)


def _contradictions(
    found: Mapping[str, _Found], shown: Mapping[str, str], from_system: Mapping[str, Person]
) -> Iterable[str]:
    """Yield one line on all handovers whose number and name mean different people, with both."""
    doubtful = {key: one.contradicted for key, one in found.items() if one.contradicted}
    if doubtful:
        both = sorted(
            (_described_with_roster(shown[key], people) for key, people in doubtful.items()), key=natural
        )
        way_out = (
            f"같은 사람이면 명단에 '시스템 이름' 열을 더해 왼쪽 이름을 적어 주세요. 모둠이면 {_HOW_TO_MARK_A_GROUP}"
            if from_system
            else "맞는 학번과 이름만 남겨 주세요."
        )
        yield f"번호와 이름이 서로 달라서 누구와도 짝짓지 않은 제출물: {listed(both)}. {way_out}"


def _described_with_roster(shown: str, people: Iterable[Person]) -> str:
    roster = ", ".join(f"{p.name} {p.canvas_id or p.moodle_id or p.id}" for p in people)
    return (
        f"{shown.removesuffix(')')}, 명단에는 {roster})"
        if shown.endswith(")")
        else f"{shown} (명단에는 {roster})"
    )


def _group_notes(found: Mapping[str, _Found], shown: Mapping[str, str]) -> Iterable[str]:
    for key, one in found.items():
        if one.across_sections:
            people = listed([f"{p.name} {p.section}" for p in one.across_sections], "명")
            yield _ACROSS_SECTIONS.format(shown[key], people)
    unknown = (key for key, one in found.items() if one.is_group and not one.contradicted)
    if groups := [key for key in unknown if not found[key].across_sections]:
        yield f"모둠이 낸 것이라 누구와도 짝짓지 않은 제출물: {_names(groups, shown)}. {_HOW_TO_MARK_A_GROUP}"


def _with_numbers(person: Person, from_system: Person) -> Person:
    """Return the roster's person, with missing Canvas and Moodle numbers filled in from the system's data."""
    return replace(
        person,
        canvas_id=person.canvas_id or from_system.canvas_id,
        moodle_id=person.moodle_id or from_system.moodle_id,
    )


def _names(keys: Collection[str], shown: Mapping[str, str]) -> str:
    return listed(sorted((shown[key] for key in keys), key=natural))
