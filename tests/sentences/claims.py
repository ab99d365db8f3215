"""What sentences claim about a run, read from their words, independently of the conditions written in the course files.

A sentence that matches a pattern claims the condition beside it (in the words of `judging.true_sentences`). So a
sentence without a condition, or with a wrong one, is found as soon as some program makes it false.
"""

import re

CLAIMS: tuple[tuple[str, str], ...] = (
    (r"^매개변수가 (하나도|조금도) 움직이지 않았", "still"),
    (r"^값은 맞", "right returned"),
    (r"^(매개변수|업데이트|가중치)는 맞", "right theta"),
    (r"^하는 일은 맞", "only print를 부름"),
    (r"^반환값이 None이에요|^None이 돌아왔", "returns NoneType"),
    (r"(오류가|Error가) 났어요", "raises"),
    (r"^두 번째 업데이트부터|^둘째 업데이트부터", "later"),
    (r"^반환값이 .*커요", "more returned"),
    (r"^돌려준 손실이 .*작아요", "less returned"),
)
"""Pattern of a sentence -> the condition that it claims."""

OPPOSITES: tuple[tuple[str, str], ...] = (
    (
        r"^매개변수가 (하나도|조금도) 움직이지 않았",
        r"업데이트가 .*(커졌|작아졌|두 번)|방향이 바뀌었|매개변수가 움직였",
    ),
    (r"^값은 맞|^반환값은 맞", r"손실이 아니에요|손실이 .*달라요|반환값이 None|반환값이 .*(커요|작아요)"),
    (
        r"^(매개변수|업데이트|가중치)는 맞",
        r"매개변수가 .*움직이지 않았|업데이트가 .*(커졌|작아졌|두 번)|방향이 바뀌었",
    ),
    (r"^두 번째 업데이트부터|첫 업데이트는 (같|맞)", r"^첫 (번째 )?업데이트부터"),
)
"""Patterns of two sentences that exclude each other."""


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text; each of ours ends with 요."""
    return re.split(r"(?<=요[.?]) ", text)


def claims_of(text: str) -> list[tuple[str, str]]:
    """Return each sentence of a text that claims something, with the condition that it claims."""
    return [
        (sentence, condition)
        for sentence in sentences_of(text)
        for pattern, condition in CLAIMS
        if re.search(pattern, sentence)
    ]


def opposites_in(texts: list[str]) -> list[tuple[str, str]]:
    """Return pairs of sentences of these texts that exclude each other."""
    every = [sentence for text in texts for sentence in sentences_of(text)]
    return [
        (one, other)
        for first, second in OPPOSITES
        for one in every
        if re.search(first, one)
        for other in every
        if re.search(second, other)
    ]
