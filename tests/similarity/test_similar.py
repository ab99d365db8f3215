"""Copies are found though every name and the order were changed; what the course hands out is not."""

import ast
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from grader.base.installing import install_command
from grader.classroom.similarity.fingerprints import NotInstalled, StudentCode, similar_pairs
from grader.classroom.similarity.page import similar_page
from grader.classroom.similarity.student_code import MOST_CHARS, known_texts, student_code
from grader.course.reading import load_course
from grader.submission.class_folder import read_class
from tests.sample_programs import samples

EXERCISES = ("train_step", "accumulate", "fit", "evaluate", "sgd_update", "autograd_nodes")


class _Renamed(ast.NodeTransformer):
    """Every argument and variable of a program gets another name."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self.names.setdefault(node.arg, f"copied_{len(self.names)}")
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        if isinstance(node.ctx, ast.Store):
            self.names.setdefault(node.id, f"copied_{len(self.names)}")
        node.id = self.names.get(node.id, node.id)
        return node


def disguised(text: str, rng: random.Random) -> str:
    """The same program with other names, other spacing, no comments, and its functions in another order."""
    tree = ast.parse(text)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    rest = [node for node in tree.body if node not in imports]
    rng.shuffle(rest)
    tree.body = imports + rest
    return ast.unparse(_Renamed().visit(tree))


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """Forty students, each with right and wrong solutions that others wrote, and two copies."""
    rng = random.Random(1)
    pools = {
        name: [
            sample.text
            for kind in ("accepted", "rejected", "first_tries")
            for sample in samples(kind, name)
            if sample.base is None and sample.suffix == ".py"
        ]
        for name in EXERCISES
    }
    made = {
        f"s{number:02d}": "\n\n".join(rng.choice(pools[name]) for name in EXERCISES) for number in range(40)
    }
    made["copy_of_s03"] = disguised(made["s03"], rng)
    made["copy_of_s17"] = disguised(made["s17"], rng)
    return made


def pairs_of(texts: dict[str, str], known: Sequence[str] = (), least: float = 0.5) -> list[tuple[str, str]]:
    programs = [StudentCode(student, text) for student, text in texts.items()]
    return [tuple(sorted((p.first, p.second))) for p in similar_pairs(programs, known, least)]  # type: ignore[misc]


def test_renaming_and_reordering_are_no_escape(written: dict[str, str]) -> None:
    found = pairs_of(written, tuple(known_texts(load_course())))
    assert found[:2] in (
        [("copy_of_s03", "s03"), ("copy_of_s17", "s17")],
        [("copy_of_s17", "s17"), ("copy_of_s03", "s03")],
    )


def test_copies_stand_out_from_chance(written: dict[str, str]) -> None:
    """Also from pairs that drew most of their programs from one pool: those are the same programs, here."""
    programs = [StudentCode(student, text) for student, text in written.items()]
    found = similar_pairs(programs, tuple(known_texts(load_course())), 0.1)
    copied = [p.share for p in found if p.first.startswith("copy") or p.second.startswith("copy")]
    others = [p.share for p in found if not p.first.startswith("copy") and not p.second.startswith("copy")]
    assert sorted(copied)[-2] > 0.6
    assert sorted(copied)[-2] > max(others, default=0)


def test_starter_code_is_left_out(tmp_path: Path) -> None:
    """Two who handed in the lesson as they got it, and a few lines of their own, did not copy."""
    lesson = load_course().lesson("01").parts[0].notebook.read_bytes()
    for name in ("kim", "lee"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lesson.ipynb").write_bytes(lesson)
    read = [student_code(s) for s in read_class(tmp_path, tuple(load_course().exercises))]
    assert all(p.text.count("\n") > 100 for p in read)
    known = tuple(known_texts(load_course()))
    assert similar_pairs(read, known, 0.01) == []
    assert similar_pairs(read, (), 0.01), "without the starter code they are one text"


def test_the_last_hint_is_no_copy() -> None:
    answer = [hint for hint in load_course().exercise("accumulate").hints if "```" in hint][-1]
    text = answer.split("```python\n")[1].split("```")[0]
    assert pairs_of({"a": text, "b": text}, tuple(known_texts(load_course())), 0.01) == []


def test_what_many_wrote_is_no_copy(written: dict[str, str]) -> None:
    """A passage that a third of the class shares is what the task asks for."""
    common = """
def helper(rows):
    total = 0
    for row in rows:
        total += row.value * row.weight
    return total / len(rows)
"""
    own = "def own(): return [first] * 9\n"
    texts = {f"t{n:02d}": f"name_{n} = other\n{common if n < 15 else own}" for n in range(40)}
    assert pairs_of(texts) == []
    few = {student: text if text.endswith(own) or student < "t02" else "" for student, text in texts.items()}
    assert pairs_of(few) == [("t00", "t01")]


def test_hostile_texts_end() -> None:
    texts = {
        "empty": "",
        "broken": "def (:\n" * 50,
        "nul": "\ud800'''",
        "long": "x = 1\n" * 20_000,
        "short": "x",
    }
    assert pairs_of(texts) == []


def test_of_a_long_text_the_beginning_is_compared_and_the_page_says_so(tmp_path: Path) -> None:
    """Each character takes time, and nothing else limits how many a student hands in."""
    head, line = "def fit(total):\n", "    total = total + values[at] * weights[at] - bias\n"
    (tmp_path / "short.py").write_text(head + line * 10, encoding="utf-8")
    (tmp_path / "<long>.py").write_text(head + line * 5_000, encoding="utf-8")
    read = {s.student: student_code(s) for s in read_class(tmp_path, EXERCISES)}
    assert len(read["<long>"].text) == MOST_CHARS
    assert read["<long>"].left_out > 50_000
    assert len(read["<long>"].places) == len(read["<long>"].text.splitlines())
    assert not read["short"].left_out
    page = similar_page([], read, 2, 0)
    assert "앞에서부터 200,000자만 비교한 학생이 1명 있어요" in page
    assert "&lt;long&gt;" in page
    assert "자만 비교한" not in similar_page([], {"short": read["short"]}, 1, 0)


def test_places_lead_to_the_lines(written: dict[str, str], tmp_path: Path) -> None:
    for student in ("s03", "copy_of_s03", "s05", "s06", "s08"):
        (tmp_path / f"{student}.py").write_text(written[student], encoding="utf-8")
    read = {s.student: student_code(s) for s in read_class(tmp_path, EXERCISES)}
    (pair, *_) = similar_pairs(tuple(read.values()), (), 0.5)
    for student, spans in ((pair.first, pair.lines), (pair.second, pair.other_lines)):
        lines = read[student].text.splitlines()
        assert all(1 <= first <= last <= len(lines) for first, last in spans)
        assert read[student].places[spans[0][0] - 1].startswith(f"{student}.py ")
    page = similar_page([pair], read, 5, 1)
    assert "판정이 아니라 살펴볼 곳" in page
    assert "<script" not in page


def test_names_and_code_are_no_markup() -> None:
    text = "def f(a):\n    return '<img src=x onerror=alert(1)>' + a + a + a + a * a - a\n" * 3
    programs = {name: StudentCode(name, text, tuple("x.py 1" for _ in range(6))) for name in ("<b>x", "y")}
    (pair,) = similar_pairs(tuple(programs.values()), (), 0.1)
    page = similar_page([pair], programs, 2, 1)
    assert "<img" not in page
    assert "<b>x" not in page


def test_without_the_library_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "copydetect", None)
    with pytest.raises(NotInstalled, match=re.escape(install_command("similar"))):
        similar_pairs([StudentCode("a", "x"), StudentCode("b", "x")], (), 0.5)
