"""The prose gate: what a learner reads closes its bold, uses the glossary's terms and speaks one register.

Covers every Markdown cell, comment and docstring of the lessons in `solutions/` and every text of the TOML files there.
"""

import io
import re
import tokenize
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import pytest
from markdown_it import MarkdownIt

from grader import paths
from grader.course.reading import load_course
from grader.scripts.rules import all_rules
from tests.places import ROOT

LESSONS = sorted((ROOT / "solutions").glob("*/*.py"))
TABLES = sorted((ROOT / "solutions").rglob("*.toml"))
GLOSSARY = tomllib.loads((ROOT / "assets" / "glossary.toml").read_text(encoding="utf-8"))["term"]

FINAL_SS = 20
"""Number of ㅆ among the final consonants of Hangul syllables; (code - 0xAC00) % 28 gives it."""

MARKDOWN = MarkdownIt("commonmark").enable("table")
QUOTED = re.compile(r"「[^」]*」|“[^”]*”")
MATH = re.compile(r"\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
# Plain, intimate and note style (-다, -어, -음) at the end of a sentence. 합니다체 and 해요체 pass.
BLUNT = re.compile(
    r"(?:(?<!니)다|거야|이야|했어|있어|없어|해라|하자|보자|인가|는가|할까|일까|하네|구나|잖아|했음|있음|없음|것임)"
    r"[.?!](?=\s|$)"
)
# From Python 3.12 on, an f-string's text comes as tokens of its own
TEXT_TOKENS = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}


@dataclass(frozen=True)
class Passage:
    """A piece of Korean text and where it stands."""

    place: str
    text: str


def markdown_passages(path: Path) -> Iterator[Passage]:
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            yield Passage(f"{path.name} cell {number}", cell.source)


def code_passages(path: Path) -> Iterator[Passage]:
    """Comments and string literals (docstrings, printed sentences) of the code cells."""
    notebook = jupytext.read(path)
    for number, cell in enumerate(notebook.cells):
        if cell.cell_type != "code":
            continue
        for token in tokenize.generate_tokens(io.StringIO(cell.source).readline):
            if token.type in TEXT_TOKENS:
                place = f"{path.name} cell {number} line {token.start[0]}"
                yield Passage(place, token.string.strip("#rf\"' "))


def table_passages(path: Path) -> Iterator[Passage]:
    def walk(value: Any, place: str) -> Iterator[Passage]:
        if isinstance(value, dict):
            for key, entry in value.items():
                # program text, or a docstring's, which is read in its lesson: no Markdown
                if key not in ("edits", "variants", "near", "program", "promises"):
                    yield from walk(entry, f"{place}.{key}")
        elif isinstance(value, list):
            for index, entry in enumerate(value):
                yield from walk(entry, f"{place}[{index}]")
        elif isinstance(value, str):
            yield Passage(f"{path.name} {place}", value)

    yield from walk(tomllib.loads(path.read_text(encoding="utf-8")), "")


def texts(markdown: str) -> list[str]:
    """The plain text of a Markdown passage: no code, no markup."""
    found = []
    for block in MARKDOWN.parse(markdown):
        if block.type == "inline":
            found.append("".join(_readable(child) for child in block.children or []))
        elif block.type == "html_block":
            found.append(re.sub(r"<[^>]+>", " ", block.content))
    return found


def _readable(child: Any) -> str:
    if child.type == "text":
        return str(child.content)
    return "\n" if child.type in ("softbreak", "hardbreak") else "␣" if child.type == "code_inline" else ""


def unclosed_bold(markdown: str) -> list[str]:
    return [text for text in texts(MATH.sub(" ", markdown)) if "**" in text]


def blunt_sentences(text: str) -> list[str]:
    plain = QUOTED.sub("␣", text)
    return [plain[max(0, match.start() - 20) : match.end()] for match in BLUNT.finditer(plain)]


def wrong_terms(text: str, *, with_aliases: bool) -> list[str]:
    """Rejected forms, and for lessons aliases too: a lesson calls a thing by one name."""
    found = []
    for term in GLOSSARY:
        for form in term["rejected"]:
            if form in text:
                found.append(f"{form} → {term['korean']}")
        if with_aliases and not term.get("allow_aliases", False):
            for form in term["aliases"]:
                # Not inside another word (하이퍼파라미터), and single syllables are too common to judge
                if len(form) > 1 and re.search(rf"(?<![가-힣]){re.escape(form)}", text):
                    found.append(f"{form} → {term['korean']}")
    return found


@pytest.mark.parametrize("path", [*LESSONS, *TABLES], ids=lambda path: path.name)
def test_bold_is_closed(path: Path) -> None:
    """CommonMark leaves `**` standing when bold ends in punctuation and a particle follows."""
    passages = markdown_passages(path) if path.suffix == ".py" else table_passages(path)
    assert [(p.place, left) for p in passages for left in unclosed_bold(p.text)] == []


@pytest.mark.parametrize("path", [*LESSONS, *TABLES], ids=lambda path: path.name)
def test_terms_follow_the_glossary(path: Path) -> None:
    """No text uses a rejected form; lessons do not switch to an alias halfway."""
    lesson = path.suffix == ".py"
    passages = [*markdown_passages(path), *code_passages(path)] if lesson else list(table_passages(path))
    assert [(p.place, wrong) for p in passages for wrong in wrong_terms(p.text, with_aliases=lesson)] == []


@pytest.mark.parametrize("path", [*LESSONS, *TABLES], ids=lambda path: path.name)
def test_register_is_polite(path: Path) -> None:
    """Neither 반말 nor the plain style of a textbook: 합니다체 in lessons, 해요체 in feedback."""
    if path.suffix == ".py":
        pieces = [(p.place, text) for p in markdown_passages(path) for text in texts(p.text)]
        pieces += [(p.place, p.text) for p in code_passages(path)]
    else:
        pieces = [(p.place, text) for p in table_passages(path) for text in texts(p.text)]
    assert [(place, blunt) for place, text in pieces for blunt in blunt_sentences(text)] == []


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.name)
def test_lessons_avoid_filler(path: Path) -> None:
    """「우리는」 as a subject is translated English; a lesson speaks of the code, or to the reader."""
    assert [p.place for p in markdown_passages(path) if "우리는" in p.text] == []


def test_the_gate_reads_everything() -> None:
    """Every lesson of the course and every exercise's table, and those of a lesson that is not in the course yet."""
    course = load_course()
    folders = {paths.solutions_path(), *(paths.solutions_path(lesson.name) for lesson in course.lessons)}
    assert {path for path in LESSONS if path.parent in folders} == {part.source for part in course.parts}
    assert {path.stem for path in TABLES if path.parent in folders} == {
        *course.exercises,
        "shared_mistakes",
        "predictions",
        "real_bugs",
    }


@pytest.mark.parametrize(
    ("markdown", "trapped"),
    [
        ('**"기울기"**를 봅니다', True),
        ("**`forward`**를 부릅니다", True),
        ("**스케줄러(scheduler)**는 다음입니다", True),
        ("**10%**의 차이", True),
        ("**손실**은 줄어듭니다", False),
        ("**더합니다.** 그래서", False),
        ("코드 `a ** b`는 괜찮습니다", False),
        ("식 $a ** b$도 괜찮습니다", False),
    ],
)
def test_the_gate_knows_the_bold_trap(markdown: str, trapped: bool) -> None:
    """The gate itself: it sees each known trap and leaves right Markdown alone."""
    assert bool(unclosed_bold(markdown)) is trapped


@pytest.mark.parametrize(
    ("text", "blunt"),
    [
        ("손실이 줄어든다.", True),
        ("그래서 안 되는 거야.", True),
        ("먼저 지우자.", False),  # 우자 is not in the list: nouns in 자 are too many to forbid them all
        ("먼저 학습하자.", True),
        ("손실이 줄어듭니다.", False),
        ("무엇이 남습니까?", False),
        ("지우지 않았어요.", False),
        ("「손실이 줄지 않는다.」 반만 맞는 말입니다.", False),
        ("바다.json을 엽니다.", False),
    ],
)
def test_the_gate_hears_blunt_endings(text: str, blunt: bool) -> None:
    """The gate itself: plain and intimate endings are heard, quotations and polite endings are not."""
    assert bool(blunt_sentences(text)) is blunt


def test_titles_of_mistakes_are_no_orders() -> None:
    """A title says what the code did. In the present, 「그레이디언트를 지워요」 reads as an order to the learner."""
    titles = [mistake.title for exercise in load_course().exercises.values() for mistake in exercise.mistakes]
    titles += [rule.title.ko for rule in all_rules()]
    assert len(titles) > 1000
    assert [title for title in titles if _may_be_an_order(title)] == []
    assert _may_be_an_order("마이크로 배치마다 업데이트해요")
    assert _may_be_an_order("그레이디언트를 지우지 않아요")


def _may_be_an_order(title: str) -> bool:
    past = re.search(r"(.)어요$", title)
    told_in_past = past is not None and (ord(past[1]) - 0xAC00) % 28 == FINAL_SS
    return not told_in_past and not title.endswith(("에요", "예요", "없어요", "달라요", "몰라요", "같아요"))


def test_glossary_is_whole() -> None:
    """Every entry has what search and hover notes need, and no form is both right and wrong."""
    used = {term["korean"] for term in GLOSSARY}
    assert len(used) == len(GLOSSARY)
    assert len({term["english"] for term in GLOSSARY}) == len(GLOSSARY)
    for term in GLOSSARY:
        assert {"english", "korean", "aliases", "rejected", "note"} <= set(term), term
        assert term["note"].endswith("니다."), term["korean"]
        assert not used & {*term["aliases"], *term["rejected"]}, term["korean"]
        assert not set(term["aliases"]) & set(term["rejected"]), term["korean"]
