"""A recipe as formulas: coefficients, rests, whatever numbers a student's code makes."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader.course.feedback import Diagnosis, Recipe
from grader.report import formulas
from grader.report.html import feedback_html
from grader.report.text import feedback_text
from tests.report import samples
from tests.report.parsed import Parsed

COEFFICIENTS = st.floats(allow_nan=True, allow_infinity=True)


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
        (0.1875 - 1e-15, "0.188"),
        (0.1875 + 1e-15, "0.188"),
        (-0.1875 + 1e-15, "−0.188"),
    ],
)
def test_coefficients_read_like_numbers(value: float, expected: str) -> None:
    assert formulas.coefficient(value) == expected


def test_recipe_line_is_the_promised_sentence() -> None:
    """The wrong update beside the right one, with the batches' numbers as subscripts."""
    assert (
        formulas.recipe_line(Recipe(2, (1, 2), (1.0, 1.0), (1e-16, 1.0), 0.0))
        == "두 번째 업데이트 = 1.0·g₁ + 1.0·g₂ (정답: 1.0·g₂)"
    )
    assert formulas.formula(("g₉", "g₁₀", "g₁₂"), (-0.5, -1e-9, 2), 2) == "−0.5·g₉ + 2.0·g₁₂"
    assert formulas.formula(("g₁", "g₂"), (1.0, -0.5), 1) == "1.0·g₁ − 0.5·g₂"
    assert formulas.formula(("g₁", "g₂"), (0.0, 0.0), 1) == "0"
    assert formulas.coefficient(1.7e-16, 1.0) == "0"
    twelve = [f"g{formulas.subscript(b)}" for b in range(1, 13)]
    assert formulas.formula(twelve, [1.0] * 12, 1).endswith("1.0·g₈ + … (항이 4개 더 있어요)")
    both = Recipe(1, (1, 1), (1.0, 1.0), (0.0, 1.0), 0.0, moved=(False, True))
    assert formulas.formulas(both) == ("1.0·g₁(w) + 1.0·g₁(w+e)", "1.0·g₁(w+e)")


def test_other_gradients_are_told_of_this_update_only() -> None:
    """An update that is made twice pushes the next back: the gradients of that one are late, not left out."""
    told = formulas.recipe_sentence(Recipe(2, (1, 2), (1.0, 0.0), (0.0, 1.0), 0.0))
    assert told == "이 업데이트에 들어갈 그레이디언트(g₂) 대신 다른 그레이디언트(g₁)가 들어갔어요."


def test_a_negative_coefficient_is_not_called_a_gradient_that_was_mixed_in() -> None:
    """Going back to the weights of an earlier update takes that one back; nothing was added to this one."""
    told = formulas.recipe_sentence(Recipe(2, (1, 2), (-1.25, 1.0), (0.0, 1.0), 0.0))
    assert told == "계수가 음수인 그레이디언트(g₁)는 가중치를 거꾸로 옮겼어요."


def test_small_coefficients_beside_small_ones_are_kept() -> None:
    """A hundredth is noise beside 1 and the whole story when everything is a hundredth."""
    assert formulas.formulas(Recipe(1, (1,), (0.004,), (0.016,), 0.0)) == ("0.004·g₁", "0.016·g₁")


def test_what_no_gradient_explains_is_said_above_one_percent() -> None:
    """Rounding noise is no news; a real rest is, in percent."""
    recipe = Recipe(1, (1,), (1.0,), (1.0,), 0.0)
    assert formulas.residual_line(replace(recipe, residual=0.009)) == ""
    assert formulas.residual_line(replace(recipe, residual=1e-15)) == ""
    assert "약 12%" in formulas.residual_line(replace(recipe, residual=0.12))
    assert "약 100%" in formulas.residual_line(replace(recipe, residual=3.0))
    assert "학습률을 곱하지 않고" in formulas.residual_line(replace(recipe, has_unscaled_part=True))
    told = formulas.residual_line(replace(recipe, residual=0.12))
    assert told.replace("`", "") in Parsed(feedback_html(samples.unknown())).text, "code is set as code"
    assert told in " ".join(feedback_text(samples.unknown()).split())


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
