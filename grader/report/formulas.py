"""Write a recipe as formulas and sentences: which batch gradients went into an update, and how much of each.

A recipe (`grader.course.feedback.Recipe`) holds the fitted coefficients of the learner's update (`got`) and of the
right one (`expected`).
"""

import math
import re
from collections.abc import Sequence

from grader.course.feedback import Recipe
from grader.observe.wording import ordinal

RESIDUAL_WORTH_SAYING = 0.01
"""Fraction of an update that the gradients do not explain, from which on it is mentioned."""
_NEGLIGIBLE = 0.005
"""Fraction of the largest coefficient; below it a bar is a hair wide and the number says nothing."""
_TERMS_SHOWN = 8
"""Maximum terms written in a formula; the rest is counted."""
_ROUNDING = 1e-9
"""Absolute rounding error of the least squares."""
_SHARE_RTOL = 0.005
"""Relative difference up to which two coefficients count as equal: they are fitted, and shown with three digits."""
_RESIDUAL_THAT_HIDES = 0.2
"""Fraction of the update; beyond it the coefficients of the rest mean nothing."""


def subscript(number: int) -> str:
    """Write a number in subscript digits: `12` -> `₁₂`."""
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


_NOISE = 1e-9
"""Fraction of the largest coefficient; what is smaller is 0 but for rounding."""
_NUDGE = 1e-6
"""Relative amount that rounds ties like 0.1875 one way, whatever the last bits of a computed coefficient are."""


def coefficient(value: float, largest: float = 0.0) -> str:
    """Format to three significant digits, with a decimal point unless zero: `1.0`, `0.333`, `−2.0`, `0`.

    A value that is negligible beside `largest` is written `0`.
    """
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    nudged = value * (1 + _NUDGE)
    text = f"{value if math.isinf(nudged) else nudged:.3g}"
    if float(text) == 0 or abs(value) <= _NEGLIGIBLE * largest:
        return "0"
    if "." not in text and "e" not in text:
        text += ".0"
    return text.replace("-", "−")


def gradient_names(recipe: Recipe) -> list[str]:
    """Return `g₁`, `g₂` …; `g₁(w)` and `g₁(w+e)` if the update uses gradients at two points."""
    names = [f"g{subscript(batch)}" for batch in recipe.batches]
    if not recipe.moved:
        return names
    return [f"{name}(w+e)" if away else f"{name}(w)" for name, away in zip(names, recipe.moved, strict=True)]


def formula(names: Sequence[str], coefficients: Sequence[float], largest: float) -> str:
    """Return a sum such as `1.0·g₁ + 0.5·g₃`; terms negligible beside `largest` are left out."""
    terms = [(c, n) for c, n in zip(coefficients, names, strict=True) if coefficient(c, largest) != "0"]
    if not terms:
        is_tiny = any(abs(c) > _NOISE * largest for c in coefficients)
        return "거의 0" if is_tiny else "0"
    text = ""
    for index, (value, name) in enumerate(terms[:_TERMS_SHOWN]):
        negative = value < 0
        sign = ("−" if negative else "") if index == 0 else (" − " if negative else " + ")
        text += f"{sign}{coefficient(abs(value))}·{name}"
    rest = len(terms) - _TERMS_SHOWN
    return text if rest <= 0 else f"{text} + … (항이 {rest}개 더 있어요)"


def largest_coefficient(recipe: Recipe) -> float:
    """Return the largest absolute value among all finite coefficients; 0 if there is none."""
    return max((abs(c) for c in (*recipe.got, *recipe.expected) if math.isfinite(c)), default=0.0)


def formulas(recipe: Recipe) -> tuple[str, str]:
    """Return the learner's formula and the right one."""
    largest, names = largest_coefficient(recipe), gradient_names(recipe)
    return formula(names, recipe.got, largest), formula(names, recipe.expected, largest)


def explains_mistake(recipe: Recipe) -> bool:
    """Return True if the two formulas explain the mistake: they differ, and cover nearly all of the update."""
    got, expected = formulas(recipe)
    return got != expected and not recipe.residual > _RESIDUAL_THAT_HIDES


def recipe_title(recipe: Recipe) -> str:
    """Return the heading of a recipe, with its scenario if that is not the first difference's."""
    return "업데이트의 재료" + (f" · {recipe.scenario}" if recipe.scenario else "")


def recipe_line(recipe: Recipe) -> str:
    """Return both formulas, as in `두 번째 업데이트 = 1.0·g₁ + 1.0·g₂ (정답: 1.0·g₂)`."""
    got, expected = formulas(recipe)
    return f"{ordinal(recipe.update)} 업데이트 = {got} (정답: {expected})"


def recipe_sentence(recipe: Recipe) -> str:
    """Say in words what is wrong with the learner's mixture; empty if no plain sentence fits."""
    if recipe.residual > RESIDUAL_WORTH_SAYING or not all(
        map(math.isfinite, (*recipe.got, *recipe.expected))
    ):
        return ""
    largest = largest_coefficient(recipe)
    pairs = list(zip(gradient_names(recipe), recipe.got, recipe.expected, strict=True))
    there = [
        (n, g, e) for n, g, e in pairs if not _is_negligible(g, largest) and not _is_negligible(e, largest)
    ]
    sentences = []
    lacking = [n for n, g, e in pairs if _is_negligible(g, largest) and not _is_negligible(e, largest)]
    others = [(n, g) for n, g, e in pairs if not _is_negligible(g, largest) and _is_negligible(e, largest)]
    extra, undone = [n for n, g in others if g > 0], [n for n, g in others if g < 0]
    if not there and lacking and not others:
        if any(abs(got) > _ROUNDING for got in recipe.got):
            return "그레이디언트가 정답보다 훨씬 작게 들어갔어요."
        return "업데이트에 그레이디언트가 하나도 들어가지 않았어요."
    if extra and lacking and not there and not undone:
        # The others may come later: an update that is made twice pushes the next one back.
        return (
            f"이 업데이트에 들어갈 그레이디언트({_first_names(lacking)}) 대신 "
            f"다른 그레이디언트({_first_names(extra)})가 들어갔어요."
        )
    if extra:
        sentences.append(f"들어가지 말아야 할 그레이디언트({_first_names(extra)})가 섞였어요.")
    if undone:
        # As when weights go back to those of an earlier update, or stay where the ascent of SAM led.
        sentences.append(f"계수가 음수인 그레이디언트({_first_names(undone)})는 가중치를 거꾸로 옮겼어요.")
    if lacking:
        sentences.append(f"그레이디언트({_first_names(lacking)})가 빠졌어요.")
    ratios = [g / e for _, g, e in there]
    if ratios and not _nearly_equal([1.0, *ratios]):
        if _nearly_equal(ratios):
            sentences.append(
                _scale_sentence(ratios[0], "남은 재료의" if others or lacking else "재료는 맞는데")
            )
        elif _nearly_equal([g for _, g, _ in there]):
            weight = coefficient(there[0][1], largest)
            sentences.append(f"모든 배치를 {weight}씩 반영했는데, 정답은 배치마다 반영하는 비율이 달라요.")
        else:
            sentences.append("배치마다 반영하는 비율이 정답과 달라요.")
    return " ".join(sentences)


def _is_negligible(value: float, largest: float) -> bool:
    return abs(value) <= _NEGLIGIBLE * largest


def _nearly_equal(values: Sequence[float]) -> bool:
    return max(values) - min(values) <= _SHARE_RTOL * max(abs(v) for v in values)


def _scale_sentence(ratio: float, which: str) -> str:
    """Say by which factor the gradients are off: as a fraction if it is one (`1/4`), else as `0.8배`."""
    if ratio < 0:
        return "그레이디언트의 부호가 거꾸로예요."
    parts = round(1 / ratio)
    if ratio < 1 and math.isclose(parts * ratio, 1, rel_tol=_SHARE_RTOL):
        return f"{which} 크기가 정답의 1/{parts}이에요."
    return f"{which} 크기가 정답의 {ratio:.3g}배예요."


def _first_names(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" 등 {len(names)}개" if len(names) > 4 else "")


def residual_line(recipe: Recipe, *, is_explained: bool = False) -> str:
    """Say which part of the update the coefficients do not hold; empty if that is negligible.

    Args:
        recipe: the recipe.
        is_explained: the named mistakes explain everything. Then the line, which says where else to look, is empty.
    """
    if is_explained:
        return ""
    if recipe.has_unscaled_part:
        return (
            "업데이트에는 그레이디언트에 학습률을 곱하지 않고 옮긴 부분도 있어요. "
            "가중치를 `step()`이 아닌 곳에서 옮기는 줄을 보세요. 옮긴 것을 업데이트 전에 되돌리나요?"
        )
    if not recipe.residual > RESIDUAL_WORTH_SAYING:
        return ""
    share = min(100, round(100 * recipe.residual))
    return (
        f"업데이트의 약 {share}%는 배치의 그레이디언트를 더하고 빼서는 만들 수 없어요. "
        "그레이디언트를 어디에서 구했는지, `step()` 전에 그것을 바꾸는 줄이나 가중치를 직접 옮기는 줄이 있는지 보세요."
    )


def element_name(tensor: str) -> str:
    """Return the name of an element: `0.weight[3]` as code; in words where a list of parameters has numbers only."""
    alone = re.fullmatch(r"(\d+)\[(\d+)\]", tensor)
    if alone is None:
        return f"`{tensor}`"
    return f"{ordinal(int(alone[1]) + 1)} 매개변수의 {ordinal(int(alone[2]) + 1)} 원소"
