"""Builds the question-answering data of lesson 04 from the Constitution, annotated facts and hand-written questions.

    python build_constitution_qa.py            write train.json, dev.json and test.json beside this file
    python build_constitution_qa.py --check    exit 1 unless the three files are what would be written

Nothing in it is random: the same inputs give the same bytes.
"""

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

HERE = Path(__file__).resolve().parent
STATUTE = HERE.parent / "constitution" / "constitution.txt"

LONGEST = 260
"""Paragraphs of an article share a passage until it is this long (a single longer one is a passage of its own)."""

QUESTIONS_A_FACT = 2

# `{은}`, `{이}` and `{을}` stand for the topic with the particle its last sound asks for.
TEMPLATES = {
    "who": ("{은} 누구인가?", "{은} 누구입니까?", "헌법에 따르면 {은} 누구인가요?", "{이} 누구인지 쓰시오."),
    "body": ("{은} 어디인가?", "{은} 어디입니까?", "헌법에 따르면 {은} 어디인가요?", "{이} 어디인지 쓰시오."),
    "what": (
        "{은} 무엇인가?",
        "{은} 무엇입니까?",
        "헌법에 따르면 {은} 무엇인가요?",
        "{을} 찾아 쓰시오.",
        "{이} 무엇인지 쓰시오.",
    ),
    "much": ("{은} 얼마인가?", "{은} 얼마입니까?", "헌법에 따르면 {은} 얼마인가요?", "{이} 얼마인지 쓰시오."),
    "many": (
        "{은} 몇 명인가?",
        "{은} 몇 명입니까?",
        "헌법에 따르면 {은} 몇 명인가요?",
        "{이} 몇 명인지 쓰시오.",
    ),
    "when": ("{은} 언제인가?", "{은} 언제입니까?", "헌법에 따르면 {은} 언제인가요?", "{이} 언제인지 쓰시오."),
    "degree": (
        "{은} 어느 정도인가?",
        "{은} 어느 정도입니까?",
        "헌법에 따르면 {은} 어느 정도인가요?",
        "{이} 어느 정도인지 쓰시오.",
    ),
    "case": ("{은} 언제인가?", "{은} 언제입니까?", "헌법에 따르면 {은} 언제인가요?", "{을} 찾아 쓰시오."),
    "law": (
        "{은} 무엇으로 정하는가?",
        "{은} 무엇으로 정합니까?",
        "헌법에 따르면 {은} 무엇으로 정하나요?",
        "{을} 무엇으로 정하는지 쓰시오.",
    ),
}

PARTICLES = {"은": ("은", "는"), "이": ("이", "가"), "을": ("을", "를")}


@dataclass(frozen=True)
class Question:
    """One question about one paragraph of an article."""

    article: int
    paragraph: int
    text: str
    answer: str
    occurrence: int
    """Which occurrence of the answer in the paragraph is meant, from 1; 0 where there is only one."""
    kind: str
    """`template` or `natural`."""


# ---- the statute ---------------------------------------------------------------------------------


def articles(statute: str) -> dict[int, list[str]]:
    """Paragraphs of articles 1 to 130, each with the items listed under it; line breaks are spaces."""
    body = statute.split("\n부칙 <", maxsplit=1)[0]
    body = re.sub(r"^제\d+[장절관] .*\n", "", body, flags=re.MULTILINE)
    found = {}
    for match in re.finditer(r"^제(\d+)조 (.*?)(?=^제\d+조 |\Z)", body, flags=re.MULTILINE | re.DOTALL):
        text = " ".join(match[2].split())
        found[int(match[1])] = [part.strip() for part in re.split(r"(?=[①-⑳])", text) if part.strip()]
    return found


def passages(paragraphs: list[str]) -> list[tuple[int, str]]:
    """(number of its first paragraph, text) of each passage of an article."""
    result: list[tuple[int, str]] = []
    for number, text in enumerate(paragraphs, start=1):
        if result and len(result[-1][1]) + 1 + len(text) <= LONGEST:
            first, before = result.pop()
            result.append((first, f"{before} {text}"))
        else:
            result.append((number, text))
    return result


# ---- questions -----------------------------------------------------------------------------------


def with_particle(word: str, particle: str) -> str:
    """`임기`, `은` -> `임기는`: by whether the last syllable ends in a consonant."""
    closed, opened = PARTICLES[particle]
    last = word[-1]
    if not "가" <= last <= "힣":
        raise ValueError(f"{word!r} does not end in a Hangul syllable")
    return word + (closed if (ord(last) - ord("가")) % 28 else opened)


def asked(template: str, topic: str) -> str:
    """The template with the topic in it."""
    return re.sub(r"\{(.)\}", lambda slot: with_particle(topic, slot[1]), template)


def rows(name: str, columns: int) -> Iterator[list[str]]:
    """Lines of a tab-separated file; those that begin with # are remarks."""
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            row = line.split("\t")
            if len(row) != columns:
                raise ValueError(f"{name}: {columns} columns expected: {line!r}")
            yield row


def parsed_answer(text: str) -> tuple[str, int]:
    """`국민#2` -> (`국민`, 2)."""
    answer, _, occurrence = text.partition("#")
    return answer, int(occurrence or 0)


def questions() -> Iterator[Question]:
    """All questions: two for each annotated fact, with templates in turn, and the hand-written ones."""
    for number, (article, paragraph, kind, topic, answer) in enumerate(rows("facts.tsv", 5)):
        templates = TEMPLATES[kind]
        for turn in range(QUESTIONS_A_FACT):
            text = asked(templates[(number + turn) % len(templates)], topic)
            yield Question(int(article), int(paragraph), text, *parsed_answer(answer), "template")
    for article, paragraph, text, answer in rows("natural.tsv", 4):
        yield Question(int(article), int(paragraph), text, *parsed_answer(answer), "natural")


def answer_start(question: Question, paragraphs: list[str]) -> tuple[int, int]:
    """(number of the passage, position of the answer in it).

    Raises:
        ValueError: the paragraph does not hold the answer, or holds it more often and it is not said which is meant.
    """
    index = max(question.paragraph - 1, 0)
    text = paragraphs[index]
    starts = [match.start() for match in re.finditer(re.escape(question.answer), text)]
    if not starts or question.occurrence > len(starts):
        raise ValueError(f"no such answer: {question}")
    if len(starts) > 1 and not question.occurrence:
        raise ValueError(f"{len(starts)} such answers: {question}")
    start = starts[max(question.occurrence - 1, 0)]
    for number, (first, passage) in enumerate(passages(paragraphs)):
        at = passage.find(text) if first - 1 <= index else -1
        if at >= 0:
            return number, at + start
    raise ValueError(f"no passage holds the paragraph of {question}")


# ---- files ---------------------------------------------------------------------------------------


def split_of(article: int) -> str:
    """An article belongs to one split as a whole: two of nine are held out, spread over the chapters."""
    return {4: "dev", 8: "test"}.get(article % 9, "train")


def documents() -> dict[str, str]:
    """The three files by name, in the form of KorQuAD 1.0."""
    statute = articles(STATUTE.read_text(encoding="utf-8"))
    if sorted(statute) != list(range(1, 131)):
        raise ValueError(f"{STATUTE.name}: articles 1 to 130 expected, {len(statute)} found")
    asked_of: dict[tuple[int, int], list[dict[str, object]]] = {}
    numbers = {article: count(1) for article in statute}
    for question in questions():
        passage, start = answer_start(question, statute[question.article])
        entry: dict[str, object] = {
            "id": f"{question.article:03d}-{next(numbers[question.article]):02d}",
            "question": question.text,
            "answers": [{"text": question.answer, "answer_start": start}],
            "kind": question.kind,
        }
        asked_of.setdefault((question.article, passage), []).append(entry)
    data: dict[str, list[dict[str, object]]] = {"train": [], "dev": [], "test": []}
    for article, paragraphs in statute.items():
        texts = [text for _, text in passages(paragraphs)]
        content = [
            {"context": text, "qas": asked_of[article, number]}
            for number, text in enumerate(texts)
            if (article, number) in asked_of
        ]
        data[split_of(article)].append({"title": f"대한민국헌법 제{article}조", "paragraphs": content})
    return {
        f"{split}.json": json.dumps({"version": "1.0", "data": entries}, ensure_ascii=False, indent=1) + "\n"
        for split, entries in data.items()
    }


def main() -> int:
    """Write the files, or compare them."""
    stale = []
    for name, text in documents().items():
        path = HERE / name
        if "--check" in sys.argv[1:]:
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                stale.append(name)
        else:
            path.write_text(text, encoding="utf-8", newline="\n")
    if stale:
        print(f"stale: {', '.join(stale)}; run python {Path(__file__).name}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
