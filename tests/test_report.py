"""Reports: what a learner and an instructor read, and what other programs read back."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import pytest
import report_samples as samples
from hypothesis import example, given
from hypothesis import strategies as st
from report_samples import NASTY
from rich.cells import cell_len
from rich.console import Console

from grader.feedback import ClassResult, Departure, Diagnosis, Feedback, Moment, Recipe, Status
from grader.report import formulas, gradebook, results, timeline, words
from grader.report.class_table import class_table, count_mistakes, most_telling
from grader.report.html import TEMPLATES, environment, feedback_html, hint_html
from grader.report.names import file_names, safe_filename
from grader.report.results import ResultsError, from_json, to_json
from grader.report.text import feedback_text, hint_text, print_feedback

KINDS = samples.every_kind()
WHEN = datetime(2026, 3, 2, 9, 30)

# What JupyterLab 4.6 leaves of an untrusted output, as far as the card needs it. That it does so in truth is
# shown by tests/browser/test_report_pages.py.
KEPT_TAGS = {"div", "span", "code", "pre", "br", "ul", "ol", "li", "details", "summary"}
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
        "white-space",
        "width",
        "word-break",
    ),
}

COEFFICIENTS = st.floats(allow_nan=True, allow_infinity=True)


class Parsed(HTMLParser):
    """Tags, attributes, style declarations and visible text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.declarations: list[tuple[str, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("br", "meta"):
            self.open.append(tag)
        for name, value in attrs:
            self.attributes.add(name)
            if name == "style":
                for declaration in (value or "").split(";"):
                    if declaration.strip():
                        key, _, of = declaration.partition(":")
                        self.declarations.append((key.strip(), of.strip()))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> without a beginning"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


# ---- the card -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_card_uses_only_what_a_sanitizer_keeps(kind: str) -> None:
    """A notebook reopened untrusted must show the same card: no tag, attribute or style that gets dropped."""
    card = Parsed(feedback_html(KINDS[kind], hints=["힌트"], total_hints=3))
    assert set(card.tags) <= KEPT_TAGS
    assert card.attributes <= {"style", "lang"}
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
    """The order: name, checks, own line, why, where it departs, order of events, recipe, hint, notes."""
    text = Parsed(feedback_html(samples.named_mistake(), total_hints=4)).text
    expected = [
        *("한 스텝 · train_step", "1 / 4점", "opt.zero_grad()가 없어요"),
        *("SGD 궤적", "코드 셀 3 · 7번째 줄", "opt.step() # 한 걸음", "두 번째 스텝부터", "처음 갈라지는 곳"),
        *("-0.351882", "-0.217431", "실행 순서", "≠ zero_grad", "2번째 업데이트 = 1.0·g₁ + 1.0·g₂"),
        *("(정답: 1.0·g₂)", "어디를 볼까요?", 'hint("train_step")', "알아 두세요", "model2"),
    ]
    found = [text.find(piece) for piece in expected]
    assert -1 not in found, [piece for piece, at in zip(expected, found, strict=True) if at < 0]
    assert found == sorted(found)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_a_student_wrote_is_markup(kind: str) -> None:
    """Lines, messages and errors of a student reach neither the page's markup nor its bytes unescaped."""
    card = feedback_html(KINDS[kind])
    assert "<script" not in card
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", card)
    if kind == "hostile":
        assert card.count("&lt;script&gt;") >= 6
        assert r"\x1b[31m" in card
        assert r"\u202e" in card


def test_templates_escape_by_default() -> None:
    """Forgetting a filter in a template must not open a hole; only finished cards are passed through."""
    assert environment().autoescape is True
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


def test_joined_mistakes_are_all_said() -> None:
    """Mistakes that behave the same are one diagnosis with several names: none may be left out."""
    for told in (
        Parsed(feedback_html(samples.joined())).text,
        feedback_text(samples.joined()).replace("`", ""),
    ):
        assert "다음 셋 가운데 하나예요" in told
        for title in samples.CLIP.titles:
            assert title.replace("`", "") in told


def test_pair_says_both_mistakes_with_their_reasons() -> None:
    for told in (Parsed(feedback_html(samples.pair())).text, " ".join(feedback_text(samples.pair()).split())):
        assert "실수가 둘이에요" in told
        for named in (samples.NO_DIVISION, samples.DROPS_LEFTOVER):
            assert named.titles[0] in told
            assert named.explain in told
            assert named.hint in told


@pytest.mark.parametrize("status", samples.COULD_NOT_RUN)
def test_what_could_not_run_says_what_happened_and_what_to_do(status: str) -> None:
    """Each of these statuses has its own first line and a next step, in the card and in the terminal alike."""
    feedback = samples.stopped(status)
    head, step = words.headline(feedback), words.next_step(feedback)
    assert samples.COULD_NOT_RUN[status].startswith(head.text)
    assert step
    card, text = Parsed(feedback_html(feedback)).text, " ".join(feedback_text(feedback).split())
    for told in (head.text, step):
        assert told.replace("`", "") in card
        assert told in text
    assert "SGD 궤적" not in card  # a list of failed checks would say that they had been looked at


def test_starter_is_not_called_wrong() -> None:
    """A learner who has not begun reads so, and no exception."""
    for told in (feedback_html(samples.not_begun()), feedback_text(samples.not_begun())):
        assert words.EMPTY in told
        assert "NotImplementedError" not in told


def test_exception_is_shown_once() -> None:
    """The message repeats the exception; the card says it in one place."""
    assert feedback_html(samples.raised()).count("unsupported operand") == 1
    assert " ".join(feedback_text(samples.raised()).split()).count("unsupported operand") == 1
    error = str(samples.raised().error)
    departed = Diagnosis(departure=Departure("SGD", "1번째 호출", "예외 없이 끝남", error))
    again = replace(samples.raised(), diagnosis=departed)
    assert feedback_html(again).count("unsupported operand") == 1
    other = replace(departed.departure, got="0.5")  # type: ignore[type-var]
    assert "예외 없이 끝남" in feedback_html(replace(again, diagnosis=Diagnosis(departure=other)))


def test_same_order_of_events_is_said_in_words() -> None:
    """Two equal timelines would make a learner look for a difference that is not there."""
    card = Parsed(feedback_html(samples.joined())).text
    assert words.SAME_ORDER in card
    assert "backward()" in card
    assert "없음" not in card


def test_code_that_did_nothing_is_told_in_a_sentence() -> None:
    """A dozen empty boxes beside the right order would say nothing more."""
    found = samples.named_mistake().diagnosis
    feedback = replace(samples.unknown(), diagnosis=replace(found, mistakes=(), yours=()))
    for told in (Parsed(feedback_html(feedback)).text, " ".join(feedback_text(feedback).split())):
        assert words.NOTHING_HAPPENED in told
        assert "zero_grad → forward → backward → step" in told
        assert "≠ zero_grad" not in told
    assert timeline.order_in_words([Moment("step", None)] * 9, 2) == "step → step → …"


def test_passed_card_points_nowhere() -> None:
    """There is nothing to look at: no file, no line."""
    card = Parsed(feedback_html(replace(samples.passed(), file="kim.py", line=3))).text
    assert "kim.py" not in card
    assert "확인한 것: SGD 궤적, AdamW 궤적, 반환값." in card


def test_titles_with_code_show_no_backticks() -> None:
    """Exercises may have code in their titles: set as code in pages, plain elsewhere."""
    feedback = replace(samples.passed(), title="`zero_grad()`를 손으로")
    submission = results.SubmissionResult("x", (feedback,))
    assert "zero_grad()</code>를 손으로" in feedback_html(feedback)
    assert "zero_grad()를 손으로 (evaluate)" in feedback_text(feedback)
    assert gradebook.gradescope(submission)["tests"][0]["name"] == "zero_grad()를 손으로 (evaluate)"


def test_hint_card_keeps_code_as_code() -> None:
    answer = "이렇게 지워요.\n\n```python\nfor p in ps:\n    p.grad = None  # <b>\n```\n"
    card = hint_html("손으로 지우기", answer, 3, 3)
    assert "<pre" in card
    assert "for p in ps:\n    p.grad = None  # &lt;b&gt;</pre>" in card
    assert "```" not in card
    assert "힌트 3/3 (정답)" in Parsed(card).text
    text = hint_text("손으로 지우기", answer, 3, 3)
    assert "    p.grad = None" in text
    assert "```" not in text
    assert "(정답)" not in hint_text("손으로 지우기", "볼 곳", 1, 3)


# ---- formulas and timelines ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "1.0"),
        (0.25, "0.25"),
        (1 / 3, "0.333"),
        (1 / 16, "0.0625"),
        (-2.0, "−2.0"),
        (16, "16.0"),
        (0, "0"),
        (-0.0, "0"),
        (float("nan"), "NaN"),
        (float("-inf"), "−∞"),
        (0.9999999, "1.0"),
        (123456, "1.23e+05"),
    ],
)
def test_coefficients_read_like_numbers(value: float, expected: str) -> None:
    assert formulas.coefficient(value) == expected


def test_recipe_line_is_the_promised_sentence() -> None:
    """The wrong update beside the right one, with the batches' numbers as subscripts."""
    assert (
        formulas.recipe_line(Recipe(2, (1, 2), (1.0, 1.0), (1e-16, 1.0), 0.0))
        == "2번째 업데이트 = 1.0·g₁ + 1.0·g₂ (정답: 1.0·g₂)"
    )
    assert formulas.formula(("g₉", "g₁₀", "g₁₂"), (-0.5, -1e-9, 2), 2) == "−0.5·g₉ + 2.0·g₁₂"
    assert formulas.formula(("g₁", "g₂"), (1.0, -0.5), 1) == "1.0·g₁ − 0.5·g₂"
    assert formulas.formula(("g₁", "g₂"), (0.0, 0.0), 1) == "0"
    assert formulas.coefficient(1.7e-16, 1.0) == "0"
    twelve = [f"g{formulas.subscript(b)}" for b in range(1, 13)]
    assert formulas.formula(twelve, [1.0] * 12, 1).endswith("1.0·g₈ + … (항이 4개 더 있어요)")
    both = Recipe(1, (1, 1), (1.0, 1.0), (0.0, 1.0), 0.0, moved=(False, True))
    assert formulas.formulas(both) == ("1.0·g₁(w) + 1.0·g₁(w+e)", "1.0·g₁(w+e)")


def test_small_coefficients_beside_small_ones_are_kept() -> None:
    """A hundredth is noise beside 1 and the whole story when everything is a hundredth."""
    assert formulas.formulas(Recipe(1, (1,), (0.004,), (0.016,), 0.0)) == ("0.004·g₁", "0.016·g₁")


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


def test_what_no_gradient_explains_is_said_above_one_percent() -> None:
    """Rounding noise is no news; a real rest is, in percent."""
    recipe = Recipe(1, (1,), (1.0,), (1.0,), 0.0)
    assert formulas.residual_line(replace(recipe, residual=0.009)) == ""
    assert formulas.residual_line(replace(recipe, residual=1e-15)) == ""
    assert "약 12%" in formulas.residual_line(replace(recipe, residual=0.12))
    assert "약 100%" in formulas.residual_line(replace(recipe, residual=3.0))
    told = formulas.residual_line(replace(recipe, residual=0.12))
    assert told in Parsed(feedback_html(samples.unknown())).text
    assert told in " ".join(feedback_text(samples.unknown()).split())


def kinds_of(pairs: list[timeline.Pair]) -> list[tuple[str | None, str | None]]:
    return [(p.yours and p.yours.kind, p.right and p.right.kind) for p in pairs]


def test_timelines_stand_in_columns() -> None:
    """Partners stand above each other; what only one side has stands alone; nothing is lost."""
    found = samples.unknown().diagnosis
    assert kinds_of(timeline.align(found.yours, found.right)) == [
        ("zero_grad", "zero_grad"),
        ("backward", None),
        ("forward", "forward"),
        (None, "backward"),
        ("step", "step"),
    ]


def test_the_end_of_a_window_is_no_difference() -> None:
    """Timelines are cut to a dozen moments each: what lies beyond the cut must not be called missing."""
    yours = (Moment("step", 1, None, True), Moment("zero_grad", 2, None, True), Moment("forward", 3, 1))
    right = (Moment("forward", None, 1), Moment("backward", None), Moment("step", None))
    pairs = timeline.align(yours, right)
    assert kinds_of(pairs) == [("step", None), ("zero_grad", None), ("forward", "forward")]
    ended = (*right[:2], Moment("step", None, None, True))
    assert kinds_of(timeline.align(right[:2], ended))[-1] == (None, "step")


def test_timelines_that_contradict_their_flags_lose_nothing() -> None:
    """A wrong flag may look odd but must not drop or pair different events."""
    yours = (Moment("forward", 1), Moment("step", 2))
    right = (Moment("backward", None), Moment("step", None), Moment("zero_grad", None, None, True))
    pairs = timeline.align(yours, right)
    assert [p.yours for p in pairs if p.yours] == list(yours)
    assert [p.right for p in pairs if p.right] == list(right)
    assert all(p.yours is None or p.right is None or p.yours.kind == p.right.kind for p in pairs)
    assert timeline.align((), ()) == []


# ---- plain text ---------------------------------------------------------------------------------------


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
        assert r"\x1b[31m" in text


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
    departure = feedback.diagnosis.departure
    assert departure is not None
    for told in (
        *named.titles,
        named.explain,
        named.hint,
        "opt.step() # 한 걸음",
        departure.what,
        departure.got,
    ):
        assert told in text
    assert formulas.recipe_line(feedback.diagnosis.recipe) in text  # type: ignore[arg-type]
    assert "≠zero_grad forward backward step" in text


def rendered(result: ClassResult, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as captured:
        console.print(class_table(result, width=width))
    return captured.get()


def test_class_table_fits_80_columns() -> None:
    """One line a student, whatever the name."""
    text = rendered(samples.small_class())
    lines = text.splitlines()
    assert max(map(cell_len, lines)) <= 80
    for start in ("김하윤", "이서준", "<script>", "=HYPERLINK(1)", "aaaaaaa"):
        assert len([line for line in lines if line.lstrip().startswith(start)]) == 1
    assert "10/28" in text
    assert "✗✗✗✗✓✗!" in text
    assert "9명 · 평균 14.0 · 중앙값 10.0 · 만점 28 · 모두 통과 2명" in text


def test_class_table_of_a_large_class_shows_the_lowest_scores_and_counts_all() -> None:
    """300 lines would scroll the summary away."""
    students = [samples.passed_all(f"s{i:03}") if i % 10 else samples.typical(f"s{i:03}") for i in range(300)]
    text = rendered(ClassResult(1, "cpu", "bwrap", tuple(students)))
    assert len(text.splitlines()) < 70
    assert all(f"s{i:03}" in text for i in range(0, 300, 10))
    assert "300명 · 평균" in text
    assert "모두 통과 270명" in text
    assert "30명" in text.split("가장 많이 나온 실수")[1]


def test_class_table_with_four_lessons_fits() -> None:
    """The whole course in one run: a score a lesson, marks as counts."""
    made = [replace(f, lesson=f"{n:02}") for n in range(1, 5) for f in samples.typical("x").feedbacks]
    text = rendered(ClassResult(1, "cpu", "bwrap", (results.SubmissionResult("김하윤", tuple(made)),)))
    assert max(map(cell_len, text.splitlines())) <= 80
    assert text.count("10/28") == 4
    assert "✓4 ✗20 !4" in text


def test_empty_class_has_a_sentence() -> None:
    assert "채점한 학생이 없어요" in rendered(ClassResult(1, "cpu", "none", ()))


def test_mistakes_are_counted_once_a_student() -> None:
    """Whoever forgets zero_grad in two exercises is still one student."""
    twice = results.SubmissionResult(
        "x", (samples.named_mistake(), replace(samples.named_mistake(), exercise="fit"), samples.unknown())
    )
    counts = count_mistakes([twice, results.SubmissionResult("y", (samples.named_mistake(),))])
    assert [(c.id, c.students, c.exercises) for c in counts] == [
        ("missing-zero-grad", 2, ("train_step", "fit")),
        ("", 1, ("fit",)),
    ]
    assert count_mistakes([samples.passed_all("z")]) == []


def test_most_telling_is_a_named_mistake() -> None:
    """A name helps more than a lost point: it stands before an exception that costs more."""
    feedbacks = (samples.raised(), samples.passed(), samples.joined())
    assert most_telling(results.SubmissionResult("x", feedbacks)) == samples.joined()
    assert most_telling(samples.all_of("x", "missing")) == samples.all_of("x", "missing").feedbacks[0]
    assert most_telling(samples.passed_all("x")) is None
    absent = samples.all_of("x", "missing").feedbacks[0]
    begun = (
        replace(absent, lesson="00"),
        replace(samples.passed(), lesson="01"),
        replace(absent, lesson="01"),
    )
    assert most_telling(results.SubmissionResult("x", begun)) == begun[2]


# ---- results.json -------------------------------------------------------------------------------------

FIXED = ["lesson", "exercise", "status", "score", "max_score", "mistakes", "message", "line", "seconds"]


def test_results_have_the_promised_shape() -> None:
    """Outside tools read these names in this order; what is new comes after them."""
    document = json.loads(to_json(samples.small_class()))
    assert list(document) == ["schema", "seed", "device", "sandbox", "submissions"]
    assert document["schema"] == "hanstep.results/1"
    student = document["submissions"][0]
    assert list(student)[:4] == ["student", "score", "max_score", "exercises"]
    assert (student["student"], student["score"], student["max_score"]) == ("김하윤", 10.0, 28.0)
    by_name = {e["exercise"]: e for e in student["exercises"]}
    assert all(list(e)[: len(FIXED)] == FIXED for e in by_name.values())
    assert {k: by_name["train_step"][k] for k in FIXED} == {
        "lesson": "01",
        "exercise": "train_step",
        "status": "failed",
        "score": 1.0,
        "max_score": 4.0,
        "mistakes": ["missing-zero-grad"],
        "message": "`opt.zero_grad()`가 없어요",
        "line": 7,
        "seconds": 0.051,
    }
    assert by_name["train_step_extras"]["mistakes"] == ["clip-before-backward|no-clip|clip-after-step"]
    assert by_name["accumulate"]["mistakes"] == ["no-division", "drops-leftover"]
    assert by_name["fit"]["mistakes"] == []


def test_results_come_back_whole() -> None:
    """A resumed run redraws every page from results.json: nothing a page shows may be missing there."""
    result = samples.small_class()
    back = from_json(to_json(result))
    assert to_json(back) == to_json(result)
    first, again = result.submissions[0], back.submissions[0]
    assert again.digest == first.digest
    assert again.notes == first.notes
    for one, other in zip(first.feedbacks[1:], again.feedbacks[1:], strict=True):
        assert one == other
    for one, other in zip(first.feedbacks, again.feedbacks, strict=True):
        assert feedback_html(one) == feedback_html(other)


def test_results_differ_only_in_seconds_between_runs() -> None:
    """The same seed must give the same bytes; times cannot."""
    result = samples.small_class()
    slower = replace(
        result,
        submissions=tuple(
            replace(s, feedbacks=tuple(replace(f, seconds=f.seconds + 1) for f in s.feedbacks))
            for s in result.submissions
        ),
    )
    assert to_json(result) == to_json(samples.small_class())
    assert to_json(result) != to_json(slower)
    masked = [re.sub(r'"seconds": [\d.]+', "", to_json(r)) for r in (result, slower)]
    assert masked[0] == masked[1]


def test_results_survive_numbers_that_json_has_not() -> None:
    """A diverged submission has NaN coefficients; the file must stay valid JSON."""
    recipe = Recipe(1, (1, 2), (float("nan"), float("inf")), (1.0, 0.0), float("nan"))
    feedback = replace(samples.unknown(), diagnosis=Diagnosis(recipe=recipe))
    text = to_json(ClassResult(1, "cpu", "none", (results.SubmissionResult("x", (feedback,)),)))
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    (submission,) = from_json(text).submissions
    back = submission.feedbacks[0].diagnosis.recipe
    assert back is not None
    assert str(back.got) == "(nan, inf)"
    assert "NaN·g₁ + ∞·g₂" in feedback_html(submission.feedbacks[0])


def changed(**fields: object) -> str:
    document = json.loads(to_json(samples.small_class()))
    document["submissions"][0]["exercises"][0].update(fields)
    return json.dumps(document)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "null", "[" * 100_000, '{"schema": "other/1"}', '{"schema": "hanstep.results/1"}'),
        '{"schema": "hanstep.results/1", "seed": "7", "device": "cpu", "sandbox": "none", "submissions": []}',
        '{"schema": "hanstep.results/1", "seed": 7, "device": "cpu", "sandbox": "none", "submissions": [3]}',
        *(
            changed(status="great"),
            changed(checks=[["x", 100.0, True]]),
            changed(line="7"),
            changed(checks=3),
        ),
        *(changed(mistakes=["other"]), changed(diagnosis={}), changed(seconds=None)),
    ],
)
def test_broken_results_are_refused_in_korean(text: str) -> None:
    """--resume on a broken or foreign file ends with a sentence, not a traceback, and believes nothing."""
    with pytest.raises(ResultsError, match=r"[가-힣]+.*(지우고|골라)"):
        from_json(text)


def test_forged_totals_are_refused() -> None:
    """A results.json whose total is not the sum of its checks was edited by hand."""
    document = json.loads(to_json(samples.small_class()))
    document["submissions"][0]["score"] = 28.0
    with pytest.raises(ResultsError):
        from_json(json.dumps(document))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path) -> None:
    """A full disk or a kill in the middle must not cost the results that were there."""
    path = tmp_path / "results.json"
    results.write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        results.write_text(path, "new \ud800")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    results.write_text(path, "new")
    assert path.read_text() == "new"


# ---- names --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["김하윤", "s01", "Kim Hayun", "20231234_김하윤", "a.b-c", "=1+1", "ㄱ나다 뷁"]
)
def test_ordinary_names_stay(name: str) -> None:
    assert safe_filename(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "../../x",
        "a/b",
        "..",
        ".",
        "",
        " ",
        "con",
        "NUL.txt",
        "com1",
        "a\x00b",
        "a\nb",
        "-rf",
        ".ssh",
        "x.",
        "가" * 200,
        NASTY,
        "a\\b",
        "C:x",
        "\u202egpj.exe",
        "\ud800",
        "a%2fb",
        "#a",
        "a?b",
        "<b>",
        "\u200b",
    ],
)
def test_hostile_names_become_one_plain_component(name: str) -> None:
    """A folder name that a student chose writes nothing outside the report and opens everywhere."""
    made = safe_filename(name)
    assert re.fullmatch(r'[^<>:"/\\|?*%#&\x00-\x1f]+', made)
    assert made[0] not in ".- "
    assert made[-1] not in ". "
    assert made.split(".")[0].lower() not in {"con", "nul", "com1"}
    assert 0 < len(made.encode("utf-8")) <= 160
    assert made != name


@given(st.lists(st.text(max_size=40), unique=True, max_size=8))
def test_different_students_never_share_a_file(students: list[str]) -> None:
    """Also where names become equal after cleaning, or differ only in case or in how Hangul is composed."""
    made = file_names(students)
    assert len({unicodedata.normalize("NFC", name).casefold() for name in made}) == len(students)
    assert made == file_names(students)
    assert all("/" not in name and name not in ("", ".", "..") for name in made)


def test_names_equal_after_cleaning_stay_apart() -> None:
    """And each keeps its own, whoever else is in the class."""
    one, other = file_names(["a/b", "a:b"])
    assert one != other
    assert (one, other) == (safe_filename("a/b"), safe_filename("a:b"))
    decomposed = unicodedata.normalize("NFD", "김하윤")
    assert len({n.casefold() for n in file_names(["김하윤", decomposed, "Kim", "kim", "kim"])}) == 5


# ---- the report folder --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    gradebook.write_report(out, samples.small_class(), samples.course(), when=WHEN)
    return out


def pages(report: Path) -> list[Path]:
    return [report / "index.html", *sorted((report / "feedback").iterdir())]


def test_report_has_the_promised_files(report: Path) -> None:
    students = samples.small_class().submissions
    names = {p.name for p in report.iterdir()}
    assert names == {"results.json", "gradebook.csv", "index.html", "feedback", "gradescope"}
    assert len(list((report / "feedback").glob("*.html"))) == len(students)
    assert len(list((report / "gradescope").glob("*/results.json"))) == len(students)
    assert (report / "feedback" / "김하윤.html").is_file()
    assert (report / "results.json").read_text(encoding="utf-8") == to_json(samples.small_class())


def test_pages_load_nothing_and_run_nothing(report: Path) -> None:
    """A report opens offline, tells nobody that it was opened, and runs no student's script."""
    for path in pages(report):
        page = path.read_text(encoding="utf-8")
        parsed = Parsed(page.removeprefix("<!doctype html>"))
        assert not set(parsed.tags) & {
            "script",
            "link",
            "img",
            "iframe",
            "object",
            "embed",
            "base",
            "form",
            "svg",
        }
        assert not [a for a in parsed.attributes if a.startswith("on") or a == "src"]
        assert not re.search(r"https?:|@import|url\(", page)
        assert "default-src 'none'" in page
        assert page.startswith('<!doctype html>\n<html lang="ko">')
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", page)


def test_links_of_the_class_page_lead_to_pages(report: Path) -> None:
    """Also for names that had to be changed or quoted: every link and every anchor is there."""
    index = (report / "index.html").read_text(encoding="utf-8")
    links = set(re.findall(r'href="(feedback/[^"#]+)(?:#([\w]+))?"', index))
    assert len({page for page, _ in links}) == len(samples.small_class().submissions)
    for page, anchor in links:
        text = (report / unquote(page)).read_text(encoding="utf-8")
        assert not anchor or f'<section id="{anchor}">' in text


def test_class_page_says_how_it_was_graded(report: Path) -> None:
    text = Parsed((report / "index.html").read_text(encoding="utf-8").removeprefix("<!doctype html>")).text
    for told in (
        "시드 7",
        "장치 cpu",
        "격리 bwrap",
        "2026-03-02 09:30",
        "gradebook.csv",
        "14.0 / 28점",
        "9명",
    ):
        assert told in text
    assert "clip-before-backward | no-clip | clip-after-step" in text
    assert text.index("opt.zero_grad()") < text.index("손실을 마이크로 배치 수로")  # 3 students before 2


def test_class_page_folds_a_long_list_of_mistakes(tmp_path: Path) -> None:
    """Eighty different mistakes must not push the students off the first screen, and none may be lost."""
    made = []
    for number in range(30):
        named = replace(samples.MISSING_ZERO_GRAD, ids=(f"mistake-{number}",))
        made.append(replace(samples.named_mistake(), exercise=f"e{number}", diagnosis=Diagnosis((named,))))
    result = ClassResult(1, "cpu", "none", (results.SubmissionResult("x", tuple(made)),))
    gradebook.write_report(tmp_path, result, samples.course(), when=WHEN)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert len(re.findall(r"· mistake-\d+<", index)) == 30
    assert len(re.findall(r"· mistake-\d+<", index.split("<details>")[0])) == 12
    assert "나머지 18가지" in index
    Parsed(index.removeprefix("<!doctype html>"))


def test_what_is_the_same_for_every_exercise_is_told_once(tmp_path: Path) -> None:
    """A file that cannot be read, and nine exercises in it: one card, and a line for each of the others."""
    submission = samples.all_of("x", "unreadable")
    gradebook.write_student(tmp_path, submission, samples.course())
    page = (tmp_path / "feedback" / "x.html").read_text(encoding="utf-8")
    assert page.count("까닭은 위와 같아요") == len(submission.feedbacks) - 1
    assert all(f'id="{f.exercise}"' in page for f in submission.feedbacks)


def test_named_mistakes_are_said_to_cause_every_failed_check() -> None:
    named = samples.named_mistake()
    several = replace(named, checks=tuple(replace(c, passed=False) for c in named.checks))
    assert len(several.checks) > 1
    for shown in (feedback_text(several), feedback_html(several)):
        assert f"틀린 항목 {len(several.checks)}개가 모두 이 실수에서 나왔어요" in shown
    one = replace(named, checks=tuple(replace(c, passed=bool(i)) for i, c in enumerate(named.checks)))
    for feedback in (one, replace(several, diagnosis=Diagnosis())):
        assert "에서 나왔어요" not in feedback_text(feedback)


@given(
    st.lists(st.tuples(COEFFICIENTS, COEFFICIENTS), min_size=1, max_size=4),
    st.sampled_from([feedback_html, feedback_text]),
)
@example([(-1999.0, 1.0)], feedback_html)
@example([(-1e308, 1e308)], feedback_html)
def test_no_recipe_is_too_lopsided_to_draw(pairs, draw) -> None:  # type: ignore[no-untyped-def]
    """A student chooses these numbers: a bar that rounds to nothing once cost the whole class its report."""
    got, expected = zip(*pairs, strict=True)
    recipe = Recipe(1, tuple(range(1, len(pairs) + 1)), got, expected, 0.0)
    assert draw(replace(samples.named_mistake(), diagnosis=Diagnosis(recipe=recipe)))


def test_a_card_that_cannot_be_drawn_costs_only_its_diagnosis(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = gradebook.feedback_html

    def fails(feedback: Feedback) -> str:
        if feedback.diagnosis.mistakes:
            raise ZeroDivisionError
        return drawn(feedback)

    monkeypatch.setattr(gradebook, "feedback_html", fails)
    gradebook.write_report(tmp_path, samples.small_class(), samples.course())
    assert (tmp_path / "results.json").is_file()
    page = (tmp_path / "feedback" / "이서준.html").read_text(encoding="utf-8")
    assert samples.named_mistake().exercise in page


def test_student_page_has_every_exercise(report: Path) -> None:
    page = (report / "feedback" / "김하윤.html").read_text(encoding="utf-8")
    for feedback in samples.typical("김하윤").feedbacks:
        assert feedback_html(feedback) in page
    assert "lesson01_final.ipynb" in page
    assert "10 / 28점" in page


def test_one_student_can_be_written_alone(report: Path, tmp_path: Path) -> None:
    """A killed run keeps the pages it wrote: the same bytes as the whole report writes."""
    for submission in samples.small_class().submissions:
        gradebook.write_student(tmp_path, submission, samples.course())
    for part in ("feedback", "gradescope"):
        made = {p.relative_to(tmp_path): p.read_bytes() for p in (tmp_path / part).rglob("*") if p.is_file()}
        whole = {p.relative_to(report): p.read_bytes() for p in (report / part).rglob("*") if p.is_file()}
        assert made == whole
        assert made


def test_empty_class_has_a_page(tmp_path: Path) -> None:
    gradebook.write_report(tmp_path, ClassResult(1, "cpu", "none", ()), samples.course(), when=WHEN)
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "채점한 학생이 없어요" in index
    assert "격리 없음" in index
    assert (tmp_path / "gradebook.csv").stat().st_size > 10


def test_exercises_the_course_no_longer_has_are_still_shown(tmp_path: Path) -> None:
    """--resume after a lesson changed: points do not vanish from the table."""
    feedback = replace(samples.passed(), lesson="09", exercise="gone", title="사라진 문제")
    result = ClassResult(1, "cpu", "none", (results.SubmissionResult("x", (feedback, samples.passed())),))
    gradebook.write_report(tmp_path, result, samples.course(), when=WHEN)
    assert "사라진 문제" in (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "09_gone" in (tmp_path / "gradebook.csv").read_text(encoding="utf-8-sig")


def test_csv_opens_in_korean_excel(report: Path) -> None:
    """Excel in Korea reads UTF-8 only with a byte order mark, and it runs whatever begins like a formula."""
    raw = (report / "gradebook.csv").read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(raw.decode("utf-8-sig"), newline="")))
    exercises = list(samples.EXERCISES)
    header = [
        "학생",
        "점수",
        "만점",
        *(f"01_{e}" for e in exercises),
        *(f"01_{e}_상태" for e in exercises),
        "실수",
    ]
    assert rows[0] == header
    assert all(len(row) == len(header) for row in rows)
    by_name = {row[0]: row for row in rows[1:]}
    assert len(by_name) == 9
    assert by_name["김하윤"][:5] == ["김하윤", "10", "28", "1", "3"]
    assert by_name["김하윤"][10:12] == ["실패", "실패"]
    assert "train_step: missing-zero-grad" in by_name["김하윤"][-1]
    assert "'=HYPERLINK(1)" in by_name


@pytest.mark.parametrize("name", ["=1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "＝1"])
def test_no_cell_becomes_a_formula(name: str) -> None:
    result = ClassResult(1, "cpu", "none", (replace(samples.passed_all(name), student=name),))
    rows = list(csv.reader(io.StringIO(gradebook.gradebook_csv(result, samples.course()), newline="")))
    assert rows[1][0].startswith("'")
    assert rows[1][0].endswith("1") or "SUM" in rows[1][0]


def test_a_quoted_formula_is_another_name() -> None:
    """What keeps `=1` from being calculated must not make it the name of the student called `'=1`."""
    students = tuple(replace(samples.passed_all("x"), student=name) for name in ("=1", "'=1"))
    table = gradebook.gradebook_csv(ClassResult(1, "cpu", "none", students), samples.course())
    rows = list(csv.reader(io.StringIO(table, newline="")))
    assert rows[1][0] != rows[2][0]


def test_gradescope_file_adds_up(report: Path) -> None:
    """Gradescope shows what we awarded: the tests' points are the student's points."""
    document = json.loads((report / "gradescope" / "김하윤" / "results.json").read_text(encoding="utf-8"))
    assert document["score"] == sum(t["score"] for t in document["tests"]) == 10
    assert document["max_score"] == sum(t["max_score"] for t in document["tests"]) == 28
    assert {t["visibility"] for t in document["tests"]} == {"visible"}
    assert {t["output_format"] for t in document["tests"]} == {"text"}
    assert document["tests"][0]["name"] == "한 스텝 (train_step)"
    assert "opt.zero_grad()" in document["tests"][0]["output"]
    assert [t["status"] for t in document["tests"]].count("passed") == 1


def test_feedback_samples_cover_every_status() -> None:
    """The tests above speak of every status only as long as the samples have them all."""
    assert {f.status for f in KINDS.values()} == set(get_args(Status))
