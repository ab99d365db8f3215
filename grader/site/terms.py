"""Make the glossary's page, and the notes that terms carry at their first use on other pages."""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from docutils import nodes
from msgspec import Struct

from grader.course.reading import read_typed
from grader.paths import asset_path

PAGE = "glossary"
_CONSONANTS = "ㄱㄱㄴㄷㄷㄹㅁㅂㅂㅅㅅㅇㅈㅈㅊㅋㅌㅍㅎ"
"""The letter for each first consonant, in the order of Unicode."""
_NODES_WITHOUT_NOTES = (
    nodes.literal,
    nodes.reference,
    nodes.title,
    nodes.raw,
    nodes.literal_block,
    nodes.strong,
)
"""Nodes whose text carries no notes: code, links, headings, names of predictions."""


class Term(Struct, frozen=True, forbid_unknown_fields=True):
    """A term of the course; `assets/glossary.toml` describes each field."""

    english: str
    korean: str
    aliases: tuple[str, ...]
    rejected: tuple[str, ...]
    note: str
    allow_aliases: bool = False
    only_before: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Id of the term on the glossary's page."""
        return "term-" + re.sub(r"[^a-z0-9]+", "-", self.english.lower()).strip("-")

    @property
    def words(self) -> tuple[str, ...]:
        """All words for the term; a search for one of them finds all."""
        return tuple(dict.fromkeys((self.korean, self.english, *self.aliases, *self.rejected)))


class _Glossary(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `glossary.toml`."""

    term: tuple[Term, ...]


@cache
def glossary() -> tuple[Term, ...]:
    """Return all terms in the file's order; cached.

    Raises:
        CourseError: the file has invalid content.
    """
    return read_typed(asset_path("glossary.toml"), _Glossary).term


def glossary_page(terms: Iterable[Term]) -> str:
    """Return the page of all terms as Markdown, Korean words first, with links to where each first letter begins."""
    ordered = sorted(terms, key=lambda one: (first_letter(one.korean).isascii(), one.korean.lower()))
    begins = {first_letter(term.korean): term.anchor for term in reversed(ordered)}
    letters = (f"[{letter}](#{begins[letter]})" for letter in reversed(begins))
    lines = [
        "# 용어집",
        "",
        "이 강의에서 쓰는 말입니다. 레슨에서 점선이 그어진 말에 마우스를 올리거나 탭하면 같은 설명이 나옵니다.",
        "",
        f"첫 글자로 찾기: {' '.join(letters)}",
        "",
    ]
    for term in ordered:
        lines += [f"({term.anchor})=", f"## {term.korean}", ""]
        if term.english.lower() != term.korean.lower():
            lines += [f"*{term.english}*", ""]
        lines += [term.note, ""]
        if term.aliases:
            lines += [f"다른 이름: {', '.join(term.aliases)}", ""]
    return "\n".join(lines)


def first_letter(word: str) -> str:
    """Return the letter under which a word stands: its first consonant, a double one as a plain one, or `A`."""
    first = unicodedata.normalize("NFD", word)[0].upper()
    number = ord(first) - ord("ᄀ")
    return _CONSONANTS[number] if 0 <= number < len(_CONSONANTS) else first


def notes_script(terms: Iterable[Term]) -> str:
    """Return the script that gives the pages each term's note, by anchor."""
    notes = {term.anchor: term.note for term in terms}
    return f"window.TERM_NOTES = {json.dumps(notes, ensure_ascii=False, indent=0)};\n"


def note_first_uses(document: nodes.document, terms: Sequence[Term], uri: str) -> None:
    """Turn the first use of each term in running text into a link to the glossary that carries the term's note.

    Args:
        document: a page; changed in place.
        terms: the glossary.
        uri: address of the glossary's page, relative to this one.
    """
    left = {term.korean: term for term in terms}
    pattern = _words_of(terms)
    for text in list(_running_text(document)):
        if not left:
            return
        parts = _split(str(text), pattern, left, uri)
        if len(parts) > 1:
            parent = text.parent
            at = parent.index(text)
            parent[at : at + 1] = parts


def _running_text(document: nodes.document) -> Iterator[nodes.Text]:
    for text in document.findall(nodes.Text):
        around = text.parent
        inside: list[nodes.Node] = []
        while around is not None:
            inside.append(around)
            around = around.parent
        if any(isinstance(node, nodes.paragraph) for node in inside) and not any(
            isinstance(node, _NODES_WITHOUT_NOTES)
            or "cell_output" in getattr(node, "attributes", {}).get("classes", ())
            for node in inside
        ):
            yield text


def _words_of(terms: Sequence[Term]) -> re.Pattern[str]:
    """Return a pattern for the words of all terms, the longest first, so that none is found inside a longer one.

    The longer word counts also where it carries no note: because it has been linked already, or as another name.
    """
    everyday = {term.korean for term in terms if term.only_before}
    words = {word for term in terms for word in (term.korean, *term.aliases)} - everyday
    limited = {
        f"{re.escape(term.korean)}(?={'|'.join(map(re.escape, term.only_before))})"
        for term in terms
        if term.only_before
    }
    longest_first = "|".join(sorted({*map(re.escape, words), *limited}, key=len, reverse=True))
    return re.compile(rf"(?<![가-힣A-Za-z])(?:{longest_first})(?![A-Za-z])")


def _split(text: str, pattern: re.Pattern[str], left: dict[str, Term], uri: str) -> list[nodes.Node]:
    """Split the text at terms that are still in `left` and link them; linked terms are removed from `left`."""
    made: list[nodes.Node] = []
    end = 0
    for found in pattern.finditer(text):
        term = left.pop(found[0], None)
        if term is None:
            continue
        link = nodes.reference("", found[0], refuri=f"{uri}#{term.anchor}", internal=True, classes=["term"])
        made += [nodes.Text(text[end : found.start()]), link]
        end = found.end()
    return [*made, nodes.Text(text[end:])]
