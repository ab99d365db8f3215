"""The same feedback in a terminal."""

import io
import unicodedata
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from grader.report import formulas
from grader.report.text import feedback_text, print_feedback, print_indented
from tests.report import samples

KINDS = samples.every_kind()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [48, 80])
def test_text_fits_its_width(kind: str, width: int) -> None:
    """Hangul takes two columns: no line may run over the terminal's edge."""
    text = feedback_text(KINDS[kind], width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    assert KINDS[kind].title.replace("`", "") in text


@pytest.mark.parametrize("kind", KINDS)
def test_text_cannot_steer_a_terminal(kind: str) -> None:
    """An exception's message with escape sequences must not clear the instructor's screen."""
    file = io.StringIO()
    print_feedback(Console(file=file, width=80, force_terminal=False), KINDS[kind])
    for text in (feedback_text(KINDS[kind]), file.getvalue()):
        bad = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Cs")]
        assert bad == []
    if kind == "hostile":
        assert "[31m" not in text  # a colour
        assert r"\x1b[2J" in text
        assert r"\u202e" in text


def test_text_does_not_read_markup_of_rich() -> None:
    """`[red]` in a student's line is text."""
    feedback = replace(samples.raised(), source_line="x = a[red]", error="KeyError: '[bold]x[/bold]'")
    assert "x = a[red]" in feedback_text(feedback)
    assert "[bold]x[/bold]" in feedback_text(feedback)


def test_text_and_card_tell_the_same() -> None:
    """The terminal is no second-class reader: every part of the card is in the text."""
    feedback = samples.named_mistake()
    text = " ".join(feedback_text(feedback).split())
    named = feedback.diagnosis.mistakes[0]
    first = feedback.diagnosis.first_difference
    assert first is not None
    for told in (
        *named.titles,
        named.explain,
        named.hint,
        "opt.step() # 한 걸음",
        first.what,
        first.got,
    ):
        assert told in text
    assert formulas.recipe_line(feedback.diagnosis.recipe) in text  # type: ignore[arg-type]
    assert "≠zero_grad forward backward step" in text


def test_a_long_line_goes_on_below_its_own_beginning() -> None:
    out = io.StringIO()
    print_indented(Console(file=out, width=24), "머리\n  다섯 줄의 순서를 확인해 보세요\n    x = 1", by=2)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "  머리",
        "    다섯 줄의 순서를",
        "    확인해 보세요",
        "      x = 1",
    ]
