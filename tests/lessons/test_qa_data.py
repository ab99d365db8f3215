"""The question-answering data of lesson 04: every answer stands in its passage, and no article is in two splits."""

import json
import re
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from tests.places import ROOT

DATA = ROOT / "assets" / "data" / "constitution_qa"
SPLITS = ("train", "dev", "test")


@cache
def articles(split: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((DATA / f"{split}.json").read_text(encoding="utf-8"))["data"]
    return loaded


def questions(split: str) -> list[tuple[str, str, dict[str, Any]]]:
    """(title, passage, question) of each question."""
    return [
        (article["title"], paragraph["context"], question)
        for article in articles(split)
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]


ALL = [entry for split in SPLITS for entry in questions(split)]


@pytest.mark.parametrize("split", SPLITS)
def test_every_answer_is_a_span_of_its_passage(split: str) -> None:
    for _, passage, question in questions(split):
        (answer,) = question["answers"]
        start, text = answer["answer_start"], answer["text"]
        assert text.strip() == text != ""
        assert passage[start : start + len(text)] == text, question
        assert len(text) <= 30  # the lesson's search for an answer looks no further


def is_natural(question: dict[str, Any]) -> bool:
    return bool(question["kind"] == "natural")


def fact(passage: str, question: dict[str, Any]) -> tuple[str, int, str]:
    """Questions about one fact have one answer in one place, as the lesson's `fact` has it."""
    (answer,) = question["answers"]
    return passage, answer["answer_start"], answer["text"]


def test_there_are_enough_questions_over_all_articles() -> None:
    assert len(ALL) >= 1200
    assert {title for title, _, _ in ALL} == {f"대한민국헌법 제{n}조" for n in range(1, 131)}
    assert sum(is_natural(question) for _, _, question in ALL) >= 400
    for split, natural, facts, answers in (
        ("train", 250, 400, 300),
        ("dev", 80, 100, 90),
        ("test", 80, 100, 90),
    ):
        asked = questions(split)
        assert sum(is_natural(question) for _, _, question in asked) >= natural
        assert len({fact(passage, question) for _, passage, question in asked}) >= facts
        assert len({question["answers"][0]["text"] for _, _, question in asked}) >= answers


def test_natural_questions_are_not_the_templates_again() -> None:
    """Written one by one: none repeats an annotated topic word for word, or another question but for its ending."""
    topics = {line.split("\t")[3] for line in (DATA / "facts.tsv").read_text(encoding="utf-8").splitlines()}
    stems = [re.sub(r"\W", "", question["question"])[:-3] for _, _, question in ALL if is_natural(question)]
    assert len(stems) == len(set(stems))
    for _, _, question in ALL:
        if is_natural(question):
            assert not any(
                question["question"].startswith(f"{topic}{p}") for topic in topics for p in "은는이가"
            )


def test_no_article_is_in_two_splits() -> None:
    titles = [article["title"] for split in SPLITS for article in articles(split)]
    assert len(titles) == len(set(titles)) == 130
    held_out = {passage for split in ("dev", "test") for _, passage, _ in questions(split)}
    assert held_out.isdisjoint(passage for _, passage, _ in questions("train"))


def test_no_fact_or_question_is_in_two_splits() -> None:
    """What dev and test ask about, and the words they ask it in, were never seen in training."""
    for seen in (fact, lambda passage, question: question["question"]):
        parts = [{seen(passage, question) for _, passage, question in questions(split)} for split in SPLITS]
        assert sum(map(len, parts)) == len(set().union(*parts))


def test_passages_are_the_statute() -> None:
    """Whatever is asked about is the law's own text, whole and in order."""
    statute = (DATA.parent / "constitution" / "constitution.txt").read_text(encoding="utf-8")
    flat = " ".join(statute.split())
    assert all(passage in flat for _, passage, _ in ALL)
    assert max(len(passage) for _, passage, _ in ALL) < 500


def test_no_question_has_two_answers() -> None:
    asked = [(passage, question["question"]) for _, passage, question in ALL]
    assert len(asked) == len(set(asked))
    ids = [question["id"] for _, _, question in ALL]
    assert len(ids) == len(set(ids))
    assert all(question["id"][:3].lstrip("0") in title for title, _, question in ALL)


def test_questions_are_whole_sentences() -> None:
    for _, _, question in ALL:
        text = question["question"]
        assert re.fullmatch(r"[가-힣0-9·, ]+(가|까|나요|가요|쓰시오|됩니까)[?.]", text), text
        assert text.endswith("?") != text.endswith("쓰시오."), text
        assert "  " not in text


def test_particles_follow_the_last_sound() -> None:
    sys.path.insert(0, str(DATA))
    try:
        from build_constitution_qa import TEMPLATES, asked, with_particle
    finally:
        sys.path.remove(str(DATA))
    assert [with_particle(word, "은") for word in ("임기", "국민", "국회")] == ["임기는", "국민은", "국회는"]
    assert [with_particle(word, "이") for word in ("임기", "국민")] == ["임기가", "국민이"]
    assert [with_particle(word, "을") for word in ("임기", "국민")] == ["임기를", "국민을"]
    assert asked(TEMPLATES["what"][3], "대한민국의 영토") == "대한민국의 영토를 찾아 쓰시오."


def test_the_files_are_what_the_script_builds() -> None:
    script = DATA / "build_constitution_qa.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_readme_counts_what_is_there() -> None:
    text = (DATA / "README.md").read_text(encoding="utf-8")
    for split in SPLITS:
        passages = sum(len(article["paragraphs"]) for article in articles(split))
        natural = sum(is_natural(question) for _, _, question in questions(split))
        facts = len({fact(passage, question) for _, passage, question in questions(split)})
        row = f"| {len(articles(split))} | {passages} | {len(questions(split)):,} | {natural} | {facts} |"
        assert f"| `{split}.json` {row}" in text
    annotated = [
        line for line in (DATA / "facts.tsv").read_text(encoding="utf-8").splitlines() if line[0] != "#"
    ]
    assert f"사실 {len(annotated)}개에" in text
    assert "저작권법 제7조" in text
