"""Read texts with sentences under a condition: `{still: 매개변수가 움직이지 않았어요.} 그레이디언트를 지웠어요.`

A sentence on what happened is true of some runs only, because another mistake may change that. It stands in braces
after its condition, which `judging.true_sentences` checks on the learner's runs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import takewhile

CONDITION_WORDS = (
    "alone",
    "unmixed",
    "still",
    "raises",
    "returns",
    "right",
    "wrong",
    "more",
    "less",
    "later",
    "only",
    "same",
)
"""The words with which a piece of a condition begins (pieces are joined by ` and `).

`judging.true_sentences` says what each means, and lists the functions that check them in the same order.
"""

_CONDITIONAL = re.compile(rf"\{{((?:{'|'.join(CONDITION_WORDS)})(?: [^{{}}:]*)?): ([^{{}}]*)\}}")
"""`{CONDITION: SENTENCES}`; the groups are the condition and the sentences."""
_LOOKS_CONDITIONAL = re.compile(r"\{[^{}]*:")
"""A brace and a colon behind it: a condition was probably meant, but `_CONDITIONAL` does not match it."""


@dataclass(frozen=True)
class Part:
    """Sentences of a text that stand under the same condition."""

    text: str
    """The sentences, without the condition and the braces."""
    condition: str = ""
    """The condition under which they are told; empty: always."""


def parts_of(text: str) -> list[Part]:
    """Return the parts of a text, in order; spaces around them are removed."""
    parts, end = [], 0
    for found in _CONDITIONAL.finditer(text):
        parts += [Part(text[end : found.start()].strip()), Part(found[2].strip(), found[1])]
        end = found.end()
    parts.append(Part(text[end:].strip()))
    return [part for part in parts if part.text]


def true_text(text: str, holds: Callable[[str], bool]) -> str:
    """Return the text without the parts for whose condition `holds` returns False, and without braces."""
    return " ".join(part.text for part in parts_of(text) if not part.condition or holds(part.condition))


def leading_events(text: str, holds: Callable[[str], bool]) -> str:
    """Return the conditional sentences with which the text begins and whose condition holds; empty if there are none.

    They say what happened in a run. Later ones may refer to the sentences before them, so they cannot stand alone.
    """
    leading = takewhile(lambda part: part.condition, parts_of(text))
    return " ".join(part.text for part in leading if holds(part.condition))


def full_text(text: str) -> str:
    """Return the text with all of its parts: it is true of a program with this mistake alone, in its usual variant."""
    return true_text(text, lambda _: True)


def unconditional_text(text: str) -> str:
    """Return the text without the parts that have a condition: it is true whatever else is wrong."""
    return true_text(text, lambda _: False)


def unreadable_condition(text: str) -> str:
    """Return the first piece of a condition in a text that begins with no known word; empty if there is none."""
    for part in parts_of(text):
        for piece in part.condition.split(" and ") if part.condition else ():
            if piece.split(" ")[0] not in CONDITION_WORDS:
                return piece
        if not part.condition and (found := _LOOKS_CONDITIONAL.search(part.text)):
            return found[0]
    return ""
