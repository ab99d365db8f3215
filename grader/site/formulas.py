"""Formulas of the lessons as MathML, which a browser draws without a script."""

import html
import re

from grader.site.lesson_page import SiteError

_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_BAR = re.compile(r"<mo[^>]*>&#x(0007C|02016);</mo>")
_FUNCTION_OF = re.compile(r"(<mi>[a-z]{2,}</mi>)(?=<m[in]>)")


def mathml(formula: str, display: str = "inline") -> str:
    """A formula in TeX as MathML.

    Args:
        formula: as it stands between the dollar signs.
        display: `inline` or `block`.

    Raises:
        SiteError: the converter does not know a part of it, and would show that part as it is written.
    """
    from latex2mathml.converter import convert

    # The converter knows the one environment and not the other, and shows the backslash of `\\_` in a text.
    known = formula.replace("{aligned}", "{align*}")
    known = _TEXT.sub(lambda found: found[0].replace("\\_", "_"), known)
    made: str = convert(known, display=display)
    if "<mi>&</mi>" in made or "\\" in made:
        raise SiteError(f"수식을 그릴 수 없어요: {formula}. 다르게 적고 grader build를 실행해 주세요.")
    # Bars are operators to a browser, which sets them apart and stretches one that has an exponent; ours are brackets.
    made = _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">&#x\1;</mo>', made)
    made = made.replace("<mo>&#x0221E;</mo>", "<mi>&#x0221E;</mi>")
    # As an operator an ellipsis stands apart from the particle that follows.
    made = made.replace("<mo>&#x02026;</mo>", "<mi>&#x02026;</mi>")
    return _FUNCTION_OF.sub(r'\1<mspace width="0.1667em"/>', made)


def readable(formula: str) -> str:
    """A formula as one line of letters: `ln(글자 수)`, `10^−7`."""
    drawn = re.sub(r"<msup>(<.*?>.*?</.*?>)(?=<)", r"\1^", mathml(formula))
    return html.unescape(re.sub(r"<[^>]+>", "", drawn)).replace("\u00a0", " ")
