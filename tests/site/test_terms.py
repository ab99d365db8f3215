"""Where a word of the glossary carries its note."""

import re

import pytest
from docutils import nodes

from grader.site.terms import first_letter, glossary, glossary_page, note_first_uses


@pytest.mark.parametrize(
    ("text", "linked"),
    [
        ("무엇이 빠졌는지 보고, 그 줄을 제자리에 넣어 보세요.", []),
        ("두 번 곱하면 제자리로 돌아오므로 같습니다.", []),
        ("매개변수를 제자리에 둔 채 제자리(in-place)에서 바꿉니다.", ["매개변수", "제자리"]),
        ("밖에서 제자리로 바꾸면 오류가 납니다.", ["제자리"]),
        ("손실 함수와 손실", ["손실 함수", "손실"]),
        ("학습률, 다시 학습률, 그리고 학습", ["학습률", "학습"]),
        ("학습률을 바꾸고, 학습률을 읽습니다.", ["학습률"]),
        ("기울기 누적은 기울기를 더하는 일입니다.", []),
    ],
)
def test_only_the_technical_sense_is_linked(text: str, linked: list[str]) -> None:
    """The course's first sentence had 제자리 with the note on tensors that are changed in place."""
    paragraph = nodes.paragraph("", "", nodes.Text(text))
    document = nodes.document(None, None)  # type: ignore[arg-type]
    document += paragraph
    note_first_uses(document, glossary(), "glossary.html")
    assert [link.astext() for link in paragraph.findall(nodes.reference)] == linked
    assert paragraph.astext() == text


def test_the_glossary_begins_with_korean_words_and_links_to_each_first_letter() -> None:
    """It opened with DDP, and one had to scroll through it to find a word."""
    page = glossary_page(glossary())
    titles = re.findall(r"(?m)^## (.+)$", page)
    letters = [first_letter(title) for title in titles]
    assert letters == sorted(letters, key=lambda letter: (letter.isascii(), letter))
    assert not letters[0].isascii()
    jumps = re.findall(r"\[(.)\]\(#(term-[a-z0-9-]+)\)", page.split("## ")[0])
    assert [letter for letter, _ in jumps] == list(dict.fromkeys(letters))
    for letter, anchor in jumps:
        assert page.split(f"({anchor})=\n## ")[1].startswith(titles[letters.index(letter)])


def test_a_word_that_is_the_same_in_english_stands_once() -> None:
    same = [term for term in glossary() if term.english.lower() == term.korean.lower()]
    assert same
    page = glossary_page(glossary())
    assert all(f"*{term.english}*" not in page for term in same)
