"""Keep Korean words unbroken on the finished pages where `word-break: keep-all` does not.

A browser still breaks lines between code, a bracket or a formula and the particle attached to it.
"""

import re

from grader.report.plain_text import whole_words

_TAG = re.compile(r"(<(pre|script|style|title|math)\b.*?</\2>|<[^>]+>)", re.DOTALL)
_INLINE_END = re.compile(r"</(?:code|span|a|strong|em)>")
_CLOSING = (")", "]", "」", "』", "”", "’")
_FORMULA = re.compile(r'([(\[「]?)(<span class="formula"><math\b.*?</math></span>)([^\s<>]{0,12})', re.DOTALL)


def with_whole_words(page: str) -> str:
    """Return the page with every word, particles included, kept on one line."""
    made: list[str] = []
    glued = False  # True if a particle that follows belongs to the text before it
    parts = [*_TAG.split(_FORMULA.sub(_whole_formula, page)), "", ""]
    for text, tag in zip(parts[::3], parts[1::3], strict=True):
        made += [whole_words(text, glued), tag]
        glued = text.endswith(_CLOSING) if text else glued
        glued = (glued or tag == "</code>") if _INLINE_END.fullmatch(tag) else False
    return "".join(made)


def _whole_formula(found: re.Match[str]) -> str:
    before, formula, after = found.groups()
    if not (before or after):
        return formula
    return f'<span class="whole">{before}{formula}{after}</span>'
