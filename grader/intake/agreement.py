"""Whether two writings of a name may mean one person; and names that mean no person: groups, nobody in particular.

A number that stands in a file's name may be a group's, or another system's. It is believed only where the name beside
it agrees with the name that the roster has for it.
"""

import re

from grader.intake.romanised import may_spell
from grader.intake.roster import name_keys, name_words

_TEAM = "팀|모둠|그룹|분단|group|team|gruppe|grupo|groupe"
_GROUP = re.compile(
    rf"(?:제 ?)?(?:\d{{1,3}}|[a-z]) ?(?:조|{_TEAM})"
    rf"|(?:조|{_TEAM}) ?[-#.]? ?\d{{1,3}}|(?:{_TEAM}) ?[-#.]? ?[a-z]"
)
"""`1조`, `Team 4`, `Group A`; not `조민수`."""
_ANYBODY = ("participant", "참가자")
"""What Moodle calls everybody where marking is blind."""
_HANGUL, _LATIN = re.compile("[가-힣]+"), re.compile("[a-z]+")
_SHORTEST = 2
"""Letters of a name that is part of another writing of it."""


def is_group(name: str) -> bool:
    """Whether this is how groups are numbered, and no name of a person."""
    return _GROUP.fullmatch(" ".join(name.casefold().split())) is not None


def names_nobody(name: str) -> bool:
    """Whether no name is told that could agree or not: only digits, or the word for everybody."""
    words = _words(name)
    return not words or (len(words) == 1 and words[0] in _ANYBODY)


def agree(one: str, other: str) -> bool:
    """Whether these may be one person's name: in another order, with more words, in Latin letters."""
    if name_keys(one) & name_keys(other):
        return True
    return any(_is_part_of(*pair) or _spells(*pair) for pair in ((one, other), (other, one)))


def _is_part_of(one: str, other: str) -> bool:
    """Whether all of a name stands in a longer one; a family name alone is no name."""
    words, others = _words(one), _words(other)
    hangul = _hangul(words)
    if hangul and hangul == "".join(words):
        return len(hangul) >= _SHORTEST and hangul in _hangul(others)
    glued = "".join(others)
    return len(words) > 1 and all(len(word) >= _SHORTEST and word in glued for word in words)


def _spells(one: str, other: str) -> bool:
    latin = tuple(word for word in _words(one) if _LATIN.fullmatch(word))
    return bool(latin) and may_spell(latin, _hangul(_words(other)))


def _words(name: str) -> list[str]:
    return [word for word in name_words(name) if not word.isdigit()]


def _hangul(words: list[str]) -> str:
    return "".join(word for word in words if _HANGUL.fullmatch(word))
