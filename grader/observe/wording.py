"""Build Korean words that depend on a value: ordinals, and particles, which follow how the preceding text sounds.

Every room uses these. Here are also the texts by which one room recognizes what another has written. A word whose
particle comes out wrong goes into `_IRREGULAR` or `_SPELLED`, with a case in `tests/observe/test_wording.py`.
"""

import re
from collections.abc import Sequence

LEAVE_ORIGINALS = "라이브러리의 함수와 클래스는 그대로 두고 쓰세요."
"""First sentence of the error message for a submission that replaced library functions; feedback recognizes the error
by it."""

AFTER_THE_CALL = "함수가 돌려준 값이나 남긴 상태로"
"""Beginning of the message of an exception that a driver met after the learner's function had ended."""

ENDLESS_LOOP = "끝나지 않는 반복이 있는지 확인해 보세요."
"""End of the message for code that used up its time running; only where a message of a timeout has it do reports
advise on loops."""

ENDS_THE_PROCESS = "프로세스를 끝내는 코드가 있는지 확인해 보세요."
"""Sentence of the message for code whose process ended; only where a message of a crash has it do reports advise on
what ends a process."""

RETURN_TYPES = "반환 타입"
"""Name of the fact that lists the type names of what was returned; for a list, its own type and then its items'."""

_COUNTED = ("첫", "두", "세", "네", "다섯", "여섯", "일곱", "여덟", "아홉", "열")
"""Korean numbers that stand before a noun, from 1."""
_RIEUL, _SSANG_SIOT = 8, 20
"""Numbers of ㄹ and ㅆ among the final consonants of Unicode's Hangul syllables; 0 is none."""
_CONSONANTS_OF_DIGITS = dict(
    zip("0123456789", ("ㅇ", "ㄹ", "", "ㅁ", "", "", "ㄱ", "ㄹ", "ㄹ", ""), strict=True)
)
_LETTERS = {"l": "ㄹ", "m": "ㅁ", "n": "ㄴ", "r": "ㄹ"}
"""Letters whose Korean names end in a consonant, with that consonant."""
_SPELLED = ("qa", "ema", "api", "cpu", "gpu")
"""Words that are read letter by letter although they have vowels; words without vowels always are."""
_IRREGULAR = {"epoch": "ㄱ", "back": "ㄱ", "dtype": "ㅂ", "kwargs": "", "iter": ""}
"""Words to which `_ENDINGS` does not apply, with their consonant."""
_ENDINGS = (
    (r"(?:l|le)", "ㄹ"),  # model, sample
    (r"(?:m|me|n|ne|ng)", "ㄴ"),  # norm, resume, train, cosine, everything
    (r"(?:^|[^aeiou])[aeiou][ptk]", "ㅂ"),  # step, at, snapshot; but not update, float
)
"""Endings of English words whose Korean reading ends in a consonant, with that consonant. Which one it is matters only
for ㄹ."""


def ordinal(number: int) -> str:
    """Return a Korean ordinal, from 1: `첫 번째`, `두 번째`, …, `열 번째`, `11번째`."""
    return f"{_COUNTED[number - 1]} 번째" if 0 < number <= len(_COUNTED) else f"{number}번째"


def with_ordinals(text: str) -> str:
    """Replace each `1번째` in a text by its `ordinal`, except in line numbers (`1번째 줄`)."""
    return re.sub(r"(?<![\d~.])(\d{1,2})번째(?! 줄)", lambda found: ordinal(int(found[1])), text)


def particle(text: str, forms: str) -> str:
    """Return the particle that must follow a text: the first of `forms` after a consonant, else the second.

    `으로/로` is `로` after ㄹ too. Names in code are read as Korean speakers read them: `train_gpt` ends in 티, and
    `train_step` in 스텝.

    Args:
        text: the text before the particle.
        forms: both forms of the particle, `이/가`.
    """
    after_consonant, after_vowel = forms.split("/")
    consonant = _final_consonant(text)
    return (
        after_vowel if not consonant or (consonant == "ㄹ" and forms.startswith("으로")) else after_consonant
    )


def with_particle(text: str, forms: str) -> str:
    """Return the text with its particle: `train_step은` for `train_step` and `은/는`."""
    return text + particle(text, forms)


def in_past(sentence: str) -> str:
    """Return a Korean sentence in 해요체 in the past tense; one that is in it already stays.

    The present ends in a stem that has taken 아 or 어, and 요. The past adds ㅆ to that stem, then 어요.
    """
    stem = sentence.removesuffix("요")
    for present, past in (("이에", "이었"), ("니에", "니었"), ("예", "였")):  # 이다 and 아니다
        if stem.endswith(present):
            return f"{stem.removesuffix(present)}{past}어요"
    is_past = (
        len(stem) > 1 and _number_of_final_consonant(stem[-2]) == _SSANG_SIOT and not stem.endswith("있어")
    )
    if stem == sentence or is_past or _number_of_final_consonant(stem[-1]) != 0:
        return sentence
    return f"{stem[:-1]}{chr(ord(stem[-1]) + _SSANG_SIOT)}어요"


def one_of(titles: Sequence[str]) -> str:
    """Join alternative titles, which are sentences: one stays as it is, several become `「…」 또는 「…」`."""
    return titles[0] if len(titles) == 1 else " 또는 ".join(f"「{title}」" for title in titles)


def times(count: int) -> str:
    """Return how often something happened: `3번`."""
    return f"{count}번"


def kinds(count: int) -> str:
    """Return how many different things there are: `세 가지`, from seven on `7가지`."""
    few = {2: "두", 3: "세", 4: "네", 5: "다섯", 6: "여섯"}
    return f"{few[count]} 가지" if count in few else f"{count}가지"


def is_korean(text: str) -> bool:
    """Return True if a text has Korean letters, as the exceptions that the course raises: these say what to do."""
    return any("가" <= letter <= "힣" for letter in text)


def yes_or_no(answer: bool) -> str:
    """Return the answer as a fact says it: `예` or `아니요`."""
    return "예" if answer else "아니요"


def true_or_false(answer: bool) -> str:
    """Return the answer as code says it, `True` or `False`, for a fact about a flag such as `requires_grad`.

    (A fact that is a bool reads `예` or `아니요`.)
    """
    return str(bool(answer))


def called_with(argument: str, value: float) -> str:
    """Return the Korean phrase for "when called with": `` `accum_steps=0`으로 불렀을 때``."""
    return f"{with_particle(f'`{argument}={value}`', '으로/로')} 불렀을 때"


def fact_of_modes_left(given: str) -> str:
    """Return the name of the fact that records the modes in which a function leaves its model.

    Args:
        given: modes of the model when it was passed in, as `mode_words` returns them: `모두 학습 모드`.
    """
    return f"{given}인 모델을 주었을 때, 함수가 끝난 뒤의 모드"


def _number_of_final_consonant(syllable: str) -> int | None:
    """Return the number of a syllable's final consonant, 0 if it has none; None for what is no Hangul syllable."""
    # Unicode orders syllables by their final consonant last: none, then 27.
    return (ord(syllable) - ord("가")) % 28 if "가" <= syllable <= "힣" else None


def _final_consonant(text: str) -> str:
    """Return the consonant in which a text ends when read aloud in Korean; empty if it ends in a vowel."""
    words = re.findall(r"[가-힣]+|[A-Z]?[a-z]+|[A-Z]+|\d", text)
    if not words:
        return ""
    last = words[-1]
    number = _number_of_final_consonant(last[-1])
    if number is not None:
        return "" if number == 0 else "ㄹ" if number == _RIEUL else "ㄴ"  # which one matters only for ㄹ
    word = last.lower()
    if word in _CONSONANTS_OF_DIGITS:
        return _CONSONANTS_OF_DIGITS[word]
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word in _SPELLED or not set(word) & set("aeiouy"):
        return _LETTERS.get(word[-1], "")
    return next((end for ending, end in _ENDINGS if re.search(f"{ending}$", word)), "")
