"""Read texts with sentences under a condition: `{still: 매개변수가 움직이지 않았어요.} 그레이디언트를 지웠어요.`

A sentence on what happened is true of some runs only, because another mistake may change that. It stands in braces
after its condition, which `judging.true_sentences` checks on the learner's runs.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

CONDITIONS = (
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
"""The words with which a condition begins; `judging.true_sentences` says what each means."""

_CONDITIONAL = re.compile(rf"\{{((?:{'|'.join(CONDITIONS)})(?: [^{{}}:]*)?): ([^{{}}]*)\}}")


_LOOKS_CONDITIONAL = re.compile(r"\{[^{}]*:")
"""A brace in which a condition could have been meant."""


@dataclass(frozen=True)
class Part:
    """A part of a text."""

    text: str
    """One or more sentences, without the condition."""
    condition: str = ""
    """The condition under which it is told; empty: always."""


def parts_of(text: str) -> list[Part]:
    """Return the parts of a text, in order; spaces around them are removed."""
    parts, end = [], 0
    for found in _CONDITIONAL.finditer(text):
        parts += [Part(text[end : found.start()].strip()), Part(found[2].strip(), found[1])]
        end = found.end()
    parts.append(Part(text[end:].strip()))
    return [part for part in parts if part.text]


def true_text(text: str, holds: Callable[[str], bool]) -> str:
    """Return the text with those conditional parts of whose condition `holds` returns True."""
    return " ".join(part.text for part in parts_of(text) if not part.condition or holds(part.condition))


def full_text(text: str) -> str:
    """Return the text with all of its parts, as it is true where the mistake is made in its usual way and alone."""
    return true_text(text, lambda _: True)


def unconditional_text(text: str) -> str:
    """Return the text without its conditional parts."""
    return true_text(text, lambda _: False)


def unreadable_condition(text: str) -> str:
    """Return the first condition in a text that is written in none of the known words; empty if there is none."""
    for part in parts_of(text):
        for condition in part.condition.split(" and ") if part.condition else ():
            if condition.split(" ")[0] not in CONDITIONS:
                return condition
        if not part.condition and (found := _LOOKS_CONDITIONAL.search(part.text)):
            return found[0]
    return ""
