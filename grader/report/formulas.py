"""A recipe as formulas: which gradients went into an update, and how much of each."""

import math
from collections.abc import Sequence

from grader.feedback import Recipe

RESIDUAL_WORTH_SAYING = 0.01
_COEFFICIENT_IS_ZERO = 0.005  # of the largest one: below it a bar is a hair and the number says nothing
_TERMS_SHOWN = 8


def subscript(number: int) -> str:
    """`12` -> `₁₂`."""
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def coefficient(value: float, largest: float = 0.0) -> str:
    """Three significant digits, always with a decimal point unless zero: `1.0`, `0.333`, `−2.0`, `0`.

    Beside `largest`, what is too small to be an ingredient is `0`.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:.3g}"
    if float(text) == 0 or abs(value) <= _COEFFICIENT_IS_ZERO * largest:
        return "0"
    if "." not in text and "e" not in text:
        text += ".0"
    return text.replace("-", "−")


def gradient_names(recipe: Recipe) -> list[str]:
    """`g₁`, `g₂` …; `g₁(w)` and `g₁(w+e)` where an update looks at two places."""
    names = [f"g{subscript(batch)}" for batch in recipe.batches]
    if not recipe.moved:
        return names
    return [f"{name}(w+e)" if away else f"{name}(w)" for name, away in zip(names, recipe.moved, strict=True)]


def formula(names: Sequence[str], coefficients: Sequence[float], largest: float) -> str:
    """`1.0·g₁ + 0.5·g₃`; terms that are zero beside `largest` are left out."""
    terms = [(c, n) for c, n in zip(coefficients, names, strict=True) if coefficient(c, largest) != "0"]
    if not terms:
        return "0"
    text = ""
    for index, (value, name) in enumerate(terms[:_TERMS_SHOWN]):
        negative = value < 0
        sign = ("−" if negative else "") if index == 0 else (" − " if negative else " + ")
        text += f"{sign}{coefficient(abs(value))}·{name}"
    rest = len(terms) - _TERMS_SHOWN
    return text if rest <= 0 else f"{text} + … (항이 {rest}개 더 있어요)"


def largest_coefficient(recipe: Recipe) -> float:
    """The size of the largest finite coefficient on either side; 0 where there is none."""
    return max((abs(c) for c in (*recipe.got, *recipe.expected) if math.isfinite(c)), default=0.0)


def formulas(recipe: Recipe) -> tuple[str, str]:
    """The learner's formula and the right one."""
    largest, names = largest_coefficient(recipe), gradient_names(recipe)
    return formula(names, recipe.got, largest), formula(names, recipe.expected, largest)


def recipe_title(recipe: Recipe) -> str:
    """The heading over a recipe, with the scenario where that is another one than the first difference's."""
    return "업데이트의 재료" + (f" · {recipe.scenario}" if recipe.scenario else "")


def recipe_line(recipe: Recipe) -> str:
    """`2번째 업데이트 = 1.0·g₁ + 1.0·g₂ (정답: 1.0·g₂)`."""
    got, expected = formulas(recipe)
    return f"{recipe.update}번째 업데이트 = {got} (정답: {expected})"


def residual_line(recipe: Recipe) -> str:
    """What the gradients cannot explain, in words; empty when that is nothing."""
    if not recipe.residual > RESIDUAL_WORTH_SAYING:
        return ""
    share = min(100, round(100 * recipe.residual))
    return (
        f"업데이트의 약 {share}%는 배치 그레이디언트를 어떻게 더해도 나오지 않아요. "
        "더하기 말고 다른 일(자르기, 다른 손실, 직접 바꾼 값)이 섞여 있어요."
    )
