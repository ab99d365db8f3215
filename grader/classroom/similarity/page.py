"""Draw the page that shows similar places side by side, for a person to judge."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grader.classroom.similarity.fingerprints import SimilarPair, StudentCode
from grader.classroom.similarity.student_code import MOST_CHARS
from grader.report.html import template_environment
from grader.report.plain_text import clean

_MOST_LINES = 200
"""Maximum lines shown of each program in a pair."""


@dataclass(frozen=True)
class _Line:
    """A line of code, and where the student finds it."""

    place: str
    text: str


@dataclass(frozen=True)
class _Shown:
    """A pair as the template draws it."""

    first: str
    second: str
    percent: int
    mine: tuple[_Line, ...]
    theirs: tuple[_Line, ...]


def similar_page(
    pairs: Sequence[SimilarPair], programs: Mapping[str, StudentCode], students: int, found: int
) -> str:
    """Return the page.

    Args:
        pairs: the pairs to show, the most alike first.
        programs: programs by student.
        students: number of students compared.
        found: number of pairs found, including those not shown.
    """
    shown = [
        _Shown(
            pair.first,
            pair.second,
            round(100 * pair.share),
            _lines(programs[pair.first], pair.lines),
            _lines(programs[pair.second], pair.other_lines),
        )
        for pair in pairs
    ]
    cut = [program.student for program in programs.values() if program.left_out]
    page: str = (
        template_environment()
        .get_template("similar.html.j2")
        .render(pairs=shown, students=students, found=found, cut=cut, most=MOST_CHARS)
    )
    return page.encode("utf-8", "replace").decode("utf-8")


def where(program: StudentCode, spans: Sequence[tuple[int, int]]) -> str:
    """Return the first place in a few words: `hw1.ipynb [12] 3`; empty if there is none."""
    return program.places[spans[0][0] - 1] if spans and len(program.places) >= spans[0][0] else ""


def _lines(program: StudentCode, spans: Sequence[tuple[int, int]]) -> tuple[_Line, ...]:
    texts = program.text.splitlines()
    found: list[_Line] = []
    for first, last in spans:
        if found:
            found.append(_Line("", "⋯"))
        for number in range(first, min(last, len(texts)) + 1):
            if texts[number - 1].strip():
                found.append(_Line(program.places[number - 1], clean(texts[number - 1], 300)))
        if len(found) > _MOST_LINES:
            return (*found[:_MOST_LINES], _Line("", "⋯"))
    return tuple(found)
