"""Decide whether two names may belong to one person, and recognise names that belong to nobody, such as groups'.

A number in a file's name may be a group's, or another system's. It is believed only if the name beside it agrees with
the name that the roster has for that number.
"""

import re

from grader.intake.romanised import may_spell
from grader.intake.roster import name_keys, name_words

_TEAM = "팀|모둠|그룹|분단|group|team|gruppe|grupo|groupe"
_GROUP = re.compile(
    rf"(?:제 ?)?(?:\d{{1,3}}|[a-z]) ?(?:조|{_TEAM})"
    rf"|(?:조|{_TEAM}) ?[-#.]? ?\d{{1,3}}|(?:{_TEAM}) ?[-#.]? ?[a-z]"
)
"""Matches `1조`, `Team 4`, `Group A`; not `조민수`."""
_ANYBODY = ("participant", "참가자")
"""Words with which Moodle names everybody in anonymous marking."""
_HANGUL, _LATIN = re.compile("[가-힣]+"), re.compile("[a-z]+")
_SHORTEST = 2
"""Minimum letters of a name, or of a word of it, to be recognised within another name."""


def is_group(name: str) -> bool:
    """Return True if this is a numbered group and not a person's name."""
    return _GROUP.fullmatch(" ".join(name.casefold().split())) is not None


def is_placeholder_name(name: str) -> bool:
    """Return True if there is no name to compare: only digits, or the word for any participant."""
    words = _words(name)
    return not words or (len(words) == 1 and words[0] in _ANYBODY)


def agree(one: str, other: str) -> bool:
    """Return True if both may be one person's name: in another order, with more words, or in Latin letters."""
    if name_keys(one) & name_keys(other):
        return True
    return any(_is_part_of(*pair) or _spells(*pair) for pair in ((one, other), (other, one)))


def _is_part_of(one: str, other: str) -> bool:
    """Return True if a longer name contains all words of this one. A family name alone is not enough."""
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
