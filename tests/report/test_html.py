"""The card of one feedback: what a sanitizer leaves of it, what it shows and in which order."""

import re
from dataclasses import replace

import pytest

from grader.course.feedback import SubmissionResult
from grader.report import write_report
from grader.report.html import (
    BLUE,
    RED,
    TEMPLATES,
    feedback_html,
    hint_html,
    note_html,
    prose,
    template_environment,
)
from grader.report.plain_text import JOINER
from grader.report.text import feedback_text, hint_text
from tests.report import samples
from tests.report.parsed import Parsed

KINDS = samples.every_kind()

# What JupyterLab 4.6 leaves of an untrusted output, as far as the card needs it. That it does so in truth is
# shown by tests/report/test_pages_in_browser.py.
KEPT_TAGS = {"div", "span", "code", "pre", "br", "wbr", "ul", "ol", "li", "details", "summary"}
KEPT_PROPERTIES = {
    *("align-items", "background-color", "border", "border-left", "border-radius", "box-sizing", "cursor"),
    *("display", "flex", "flex-wrap", "font-family", "font-size", "font-weight", "gap", "height"),
    *("justify-content", "line-height", "margin", "margin-bottom", "margin-left", "max-width", "min-width"),
    *(
        "opacity",
        "overflow-wrap",
        "overflow-x",
        "padding",
        "text-align",
        "text-indent",
        "white-space",
        "width",
        "word-break",
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_card_uses_only_what_a_sanitizer_keeps(kind: str) -> None:
    """A notebook reopened untrusted must show the same card: no tag, attribute or style that gets dropped."""
    card = Parsed(feedback_html(KINDS[kind], hints=["힌트"], total_hints=3))
    assert set(card.tags) <= KEPT_TAGS
    assert card.attributes <= {"style", "lang", "data-hanstep-hints", "data-hanstep-clue"}
    assert card.open == []
    assert {name for name, _ in card.declarations} <= KEPT_PROPERTIES
    for name, value in card.declarations:
        assert not re.search(r"inherit|currentcolor|var\(|url\(|calc\(|anywhere", value, re.I), (name, value)
    assert len(card.declarations) > 20  # the parser did see the styles


def test_card_sets_no_text_colour() -> None:
    """Text keeps the colour of the page, so that the card reads in light and in dark notebooks."""
    for feedback in KINDS.values():
        assert not [d for d in Parsed(feedback_html(feedback)).declarations if d[0] == "color"]


def test_card_tells_symptom_first() -> None:
    """The order: name, own line, why, hint, checks, the first difference, order of events, recipe, notes."""
    text = Parsed(feedback_html(samples.named_mistake(), total_hints=4)).text
    expected = [
        *("한 스텝 · train_step", "1/4점", "opt.zero_grad()를 부르지 않았어요"),
        *("7번째 줄 · 코드 셀 3", "opt.step() # 한 걸음", "두 번째 스텝부터", "실마리 보기"),
        *("SGD 궤적", "처음 갈라지는 곳"),
        *("-0.351882", "-0.217431", "실행 순서", "≠ zero_grad", "두 번째 업데이트 = 1.0·g₁ + 1.0·g₂"),
        *("(정답: 1.0·g₂)", 'hint("train_step")', "알아 두세요", "model2"),
    ]
    found = [text.find(piece) for piece in expected]
    assert -1 not in found, [piece for piece, at in zip(expected, found, strict=True) if at < 0]
    assert found == sorted(found)


def test_a_folded_card_shows_one_mistake_and_no_measurement() -> None:
    """In a notebook the card must not push its headline out of view; what is folded says what it holds."""
    feedback = samples.named_mistake()
    (named,) = feedback.diagnosis.mistakes
    several = replace(named, titles=("`loss`를 나누지 않아요",), explain="둘째 설명이에요.", line=9)
    feedback = replace(feedback, diagnosis=replace(feedback.diagnosis, mistakes=(named, several)))
    page, card = (Parsed(feedback_html(feedback, folded=folded)) for folded in (False, True))
    assert sorted(page.text) != sorted(card.text), "the folded card has one line more: what it folds"
    shown = Parsed(re.sub(r"<details.*</details>", "", feedback_html(feedback, folded=True), flags=re.S)).text
    for first in (
        "실수를 두 가지 찾았어요",
        "1/2 · opt.zero_grad()를 부르지 않았어요",
        "opt.step()  # 한 걸음".replace("  ", " "),
    ):
        assert first in shown
    for later in ("둘째 설명이에요", "SGD 궤적", "처음 갈라지는 곳", "실행 순서", "업데이트 ="):
        assert later not in shown
        assert later in card.text
    assert "무엇이 달랐나요: 항목 1/3 통과, 처음 갈라지는 곳, 실행 순서, 업데이트의 재료" in card.text
    assert "무엇이 달랐나요" not in page.text


def test_without_a_name_the_first_difference_is_not_folded() -> None:
    shown = re.sub(r"<details.*?</details>", "", feedback_html(samples.unknown(), folded=True), flags=re.S)
    assert "처음 갈라지는 곳" in Parsed(shown).text


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_a_student_wrote_is_markup(kind: str) -> None:
    """Lines, messages and errors of a student reach neither the page's markup nor its bytes unescaped."""
    card = feedback_html(KINDS[kind])
    assert "<script" not in card
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", card)
    if kind == "hostile":
        assert card.count("&lt;script&gt;") >= 6
        assert "[31m" not in card  # a colour
        assert r"\x1b[2J" in card
        assert r"\u202e" in card


def test_templates_escape_by_default() -> None:
    """Forgetting a filter in a template must not open a hole; only finished cards are passed through."""
    assert template_environment().autoescape is True
    passed_through = re.findall(
        r"\{\{[^}]*\|\s*safe[^}]*\}\}", "".join(p.read_text() for p in TEMPLATES.glob("*.j2"))
    )
    assert passed_through == ["{{ card|safe }}"]


def test_card_shows_hints_only_as_they_were_asked_for() -> None:
    """Feedback may not give the course's hints away: what has been seen is repeated, the rest is a number."""
    card = Parsed(feedback_html(samples.named_mistake(), hints=["첫 힌트예요"], total_hints=4)).text
    assert "첫 힌트예요" in card
    assert "남은 힌트는 3개" in card
    assert "남은 힌트" not in Parsed(feedback_html(samples.named_mistake())).text
    assert "남은 힌트" not in Parsed(feedback_html(samples.passed(), total_hints=4)).text


def test_passed_card_points_nowhere() -> None:
    """There is nothing to look at: no file, no line."""
    card = Parsed(feedback_html(replace(samples.passed(), file="kim.py", line=3))).text
    assert "kim.py" not in card
    assert "확인한 것: SGD 궤적 / AdamW 궤적 / 반환값." in card


def test_titles_with_code_show_no_backticks() -> None:
    """Exercises may have code in their titles: set as code in pages, plain elsewhere."""
    feedback = replace(samples.passed(), title="`zero_grad()`를 손으로")
    submission = SubmissionResult("x", (feedback,))
    assert f"zero_grad()</code>{JOINER}를 손으로" in feedback_html(feedback)
    assert "zero_grad()를 손으로 (evaluate)" in feedback_text(feedback)
    assert write_report.gradescope(submission)["tests"][0]["name"] == "zero_grad()를 손으로 (evaluate)"


def test_hint_card_keeps_code_as_code() -> None:
    answer = "이렇게 지워요.\n\n```python\nfor p in ps:\n    p.grad = None  # <b>\n```\n"
    hints = (("", "볼 곳"), ("", "더 볼 곳"), ("정답", answer))
    card = hint_html("손으로 지우기", hints, 3, exercise="zero_gradients")
    assert "white-space:pre-wrap" in card
    assert ">for p in ps:</div>" in card
    # What is too long for a phone goes on four letters further in than its line begins; nothing scrolls.
    assert 'padding:0 0 0 4.8em;text-indent:-4.8em">    p<wbr>.grad = None  # &lt;b&gt;</div>' in card
    assert "overflow-x" not in card
    assert {name for name, _ in Parsed(card).declarations} <= KEPT_PROPERTIES
    assert "```" not in card
    assert "힌트 3/3 · 정답" in Parsed(card).text
    text = hint_text("손으로 지우기", hints, 3)
    assert "    p.grad = None" in text
    assert "```" not in text
    assert "정답" not in hint_text("손으로 지우기", hints[:1], 3)


def test_bars_are_as_long_as_their_coefficients() -> None:
    """A quarter is a quarter of the longest bar; with a negative one, zero moves and both sides share a scale."""
    wide = [v for k, v in Parsed(feedback_html(samples.pair())).declarations if k == "width"]
    assert wide.count("100.0%") >= 4
    assert wide.count("25.0%") == 4
    signed = Parsed(feedback_html(samples.unknown())).declarations
    # span -0.5 … 1.0: zero at one third; +0.5 is half of the right part, -0.5 all of the left part
    assert ("width", "33.3%") in signed
    shares = [float(v.rstrip("%")) for k, v in signed if k in ("width", "margin-left") and v.endswith("%")]
    assert any(abs(share - 50) < 0.2 for share in shares)
    assert any(abs(share) < 0.2 for share in shares)


def test_a_wrong_bar_has_its_own_colour_and_equal_bars_are_one() -> None:
    """Both names stand once, above the bars. Red, and a ✗ for whoever sees no red: this gradient's share is wrong."""
    card = feedback_html(samples.named_mistake())  # 1.0·g₁ + 1.0·g₂, where 1.0·g₂ is right
    bars = card[card.index("업데이트의 재료") :]
    fills = re.findall(r"height:10px;[^\"]*background-color:([^;\"]+)", bars)
    assert fills == [RED, BLUE], "the wrong share of g₁, and the right one of g₂ once"
    text = re.sub(r"<[^>]+>", "", bars.split("들어가지")[0])
    assert (text.count("내 코드"), text.count("✗ 1.0")) == (1, 1)
    assert "둘 다 1.0" in text


def test_a_note_is_escaped_and_its_lines_are_numbered() -> None:
    card = note_html(
        ["`a<b`를 보세요", "https://a.example/"],
        title="<제목>",
        choices=["a: <i>"],
        code="if x:\n    y",
        numbered=True,
    )
    assert f"a&lt;b</code>{JOINER}를 보세요" in card
    assert '<a href="https://a.example/">https://a.example/</a>' in card
    assert "&lt;제목&gt;" in card
    assert "a: &lt;i&gt;" in card
    assert (
        card.index(">1</div>")
        < card.index(">if x:</div>")
        < card.index(">2</div>")
        < card.index(">    y</div>")
    )
    assert ">1</div>" not in note_html(["문장"], code="x")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("`step()`이 읽어요", f"</code>{JOINER}이 읽어요"),
        ("손실(loss)은 「값」이라고", f"손실(loss){JOINER}은 「값」{JOINER}이라고"),
        ("1.5e-16이고 0.3 ± 0.1, 3.3 ~ 4.2", f"1.5e-{JOINER}16이고 0.3\u00a0±\u00a00.1, 3.3\u00a0~\u00a04.2"),
        ("ρ = 0.5, 4 × 16, a = 1", "ρ\u00a0=\u00a00.5, 4\u00a0×\u00a016, a = 1"),
        ("`a` 다음 (b) 뒤", "</code> 다음 (b) 뒤"),
    ],
)
def test_lines_do_not_break_before_a_particle(text: str, shown: str) -> None:
    """A browser would begin a line with 「을」 or 「이에요」, though it keeps Korean words whole."""
    assert shown in prose(text)


def test_a_lines_number_stays_beside_its_code() -> None:
    """A call that is longer than a phone is wide is broken itself; its number does not stand alone above it."""
    card = feedback_html(replace(samples.named_mistake(), line=12, source_line="torch.nn.utils." + 60 * "x"))
    assert re.search(r"<div style=\"display:flex[^>]*><div[^>]*>12</div><div[^>]*>torch<wbr>\.nn", card)
