"""Decide whether Latin letters may spell a Korean name: `Haneul Kim` and `gimhaneul` both spell 김하늘.

No single standard is followed by everybody, so each sound accepts all spellings that passports show. A Hangul syllable
is split into initial, vowel and final consonant, each of which becomes a regular expression: 김 is
`(?:[kg])(?:i|ee|…)(?:m)`. The result only confirms that two names may belong to a person found by number; it never
finds anybody.
"""

import re
from functools import lru_cache

_INITIALS = (
    *("[kg]", "k{1,2}|gg", "n", "[dt]", "t{1,2}|dd", "[rln]|", "m", "[bpv]", "p{1,2}|bb", "sh?", "s{1,2}"),
    *("", "j|ch|z", "jj|ch", "ch?", "k", "t", "p|ph|f", "h"),
)
_VOWELS = (
    *("ah?", "ae|ai|ay|a|e", "yah?", "yae|ye", "eo|u|o|er|uh|e", "e|ae", "yeo|you|yu|yo|young|ye", "ye|yae"),
    *("oh?|eo", "wa|oa", "wae|we", "oe|oi|we|wae", "yoh?", "u|oo|woo|wu|ou", "wo|weo|wu|won", "we"),
    *("wi|wee|ui|we", "yu|yoo|you|u", "eu|u|e|oo", "ui|eui|yi|i|ee|hee", "i|ee|yi|y|ih"),
)
_FINALS = (
    *(
        "",
        "k|g|c|ck",
        "k|g",
        "k|g",
        "n",
        "n",
        "n",
        "t|d",
        "l|r|ll",
        "l|k|g",
        "m|l",
        "l",
        "l",
        "l",
        "p|l",
        "l",
    ),
    *("m", "p|b", "p|b", "t|s", "t|s", "ng|n", "t|j", "t", "k", "t", "p", "t|h|"),
)
_FAMILIES = {
    **{"이": "lee|yi|i|rhee|ree|ri|rhie|yee", "박": "park|bak|pak|bark", "최": "choi|choe|choy"},
    **{"임": "lim|im|yim|rim", "노": "noh?|roh?", "나": "nah?|rah?", "류": "ryu|ryoo|yu|yoo|lyu"},
    **{"유": "yoo|yu|you|ryu", "허": "heo|hur|huh|her", "정": "jung|jeong|chung|cheong|joung|jeung"},
    **{"조": "cho|jo|joe", "우": "woo|u|wu", "오": "oh?", "양": "yang|ryang", "신": "shin|sin"},
    **{"서": "seo|suh|su|sur|seoh", "권": "kwon|gwon|kweon", "문": "moon|mun", "백": "baek|paik|back|baik"},
    **{"여": "yeo|yo|ryeo", "려": "ryeo|yeo", "염": "yeom|yum|youm", "연": "yeon|youn|yun"},
}
"""Common spellings of family names that follow no rule."""
_HANGUL = re.compile("[가-힣]{2,5}")
_MOST_WORDS = 4
"""Maximum Latin words of a name: `Ha Neul` beside `Kim`, or a syllable each."""


def may_spell(latin: tuple[str, ...], hangul: str) -> bool:
    """Return True if Latin words contain both parts of a Korean name, in either order.

    Args:
        latin: words in lower case, without hyphens.
        hangul: the whole name, family name first.
    """
    if not _HANGUL.fullmatch(hangul):
        return False
    starts = range(len(latin))
    runs = {
        "".join(latin[start : start + length]) for start in starts for length in range(1, _MOST_WORDS + 1)
    }
    glued = any(any(map(_pattern(hangul, at).fullmatch, runs)) for at in (1, 2) if at < len(hangul))
    return glued or _stand_apart(latin, hangul, runs)


def _stand_apart(latin: tuple[str, ...], hangul: str, runs: set[str]) -> bool:
    """Return True if both parts occur with a word between them: `Haneul Grace Kim`."""
    families = {word for word in latin if re.fullmatch(_family(hangul[0]), word)}
    return bool(families) and any(re.fullmatch(_spelt(hangul[1:]), run) for run in runs - families)


@lru_cache(maxsize=1_000)
def _pattern(hangul: str, at: int) -> re.Pattern[str]:
    """Return a pattern for the name in both orders; `at` is the number of syllables in the family name."""
    family, given = _family(hangul[0]) if at == 1 else _spelt(hangul[:at]), _spelt(hangul[at:])
    return re.compile(f"{family}{given}|{given}{family}")


def _family(syllable: str) -> str:
    return f"(?:{_FAMILIES.get(syllable, _syllable(syllable))})"


def _spelt(hangul: str) -> str:
    return "".join(f"(?:{_syllable(one)})" for one in hangul)


def _syllable(one: str) -> str:
    rest, final = divmod(ord(one) - ord("가"), 28)
    initial, vowel = divmod(rest, 21)
    return f"(?:{_INITIALS[initial]})(?:{_VOWELS[vowel]})(?:{_FINALS[final]})"
