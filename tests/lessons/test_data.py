"""The data the course ships: complete, clean, and with its source beside it."""

import re
import unicodedata

from tests.places import ROOT

CONSTITUTION = ROOT / "assets" / "data" / "constitution"


def test_the_constitution_is_whole() -> None:
    """All 130 articles and the six of the supplementary provisions, in their order."""
    text = (CONSTITUTION / "constitution.txt").read_text(encoding="utf-8")
    body, addenda = text.split("\n부칙 <헌법 제10호, 1987.10.29.>\n")
    headings = re.compile(r"^제(\d+)조 ", re.MULTILINE)
    assert [int(number) for number in headings.findall(body)] == list(range(1, 131))
    assert [int(number) for number in headings.findall(addenda)] == list(range(1, 7))
    assert body.startswith("대한민국헌법\n\n유구한 역사와 전통에 빛나는 우리 대한국민은 ")
    assert "제1조 ① 대한민국은 민주공화국이다.\n" in body


def test_the_constitution_is_clean() -> None:
    """A lesson's vocabulary is the text's characters: a stray one would be a token of its own."""
    data = (CONSTITUTION / "constitution.txt").read_bytes()
    text = data.decode("utf-8")
    assert len(text) == 18501
    assert len(set(text)) == 379
    assert "\r" not in text
    assert "\ufffd" not in text
    assert unicodedata.is_normalized("NFC", text)
    assert text == "\n".join(line.strip() for line in text.splitlines()) + "\n"
    strange = {c for c in text if not re.fullmatch(r'[가-힣①-⑦0-9 \n.,·<>"]', c)}
    assert not strange


def test_the_constitution_says_where_it_is_from() -> None:
    note = (CONSTITUTION / "README.md").read_text(encoding="utf-8")
    assert "저작권법 제7조" in note
    assert "konlpy" in note
