"""Convert the lessons' formulas to MathML, which a browser draws without a script."""

import html
import re

from grader.site.part_page import SiteError

_TEXT = re.compile(r"\\text\{([^{}]*)\}")
_BAR = re.compile(r"<mo[^>]*>&#x(0007C|02016);</mo>")
_FUNCTION_OF = re.compile(r"(<mi>[a-z]{2,}</mi>)(?=<m[in]>)")


def mathml(formula: str, display: str = "inline") -> str:
    """Convert a formula from TeX to MathML.

    Args:
        formula: the text between the dollar signs.
        display: `inline` or `block`.

    Raises:
        SiteError: the converter does not know a part of the formula, and would show it as TeX.
    """
    from latex2mathml.converter import convert

    # The converter knows `align*` but not `aligned`, and shows the backslash of `\_` within `\text`.
    known = formula.replace("{aligned}", "{align*}")
    known = _TEXT.sub(lambda found: found[0].replace("\\_", "_"), known)
    made: str = convert(known, display=display)
    if "<mi>&</mi>" in made or "\\" in made:
        raise SiteError(f"수식을 그릴 수 없어요: {formula}. 다르게 적고 grader build를 실행해 주세요.")
    # Browsers treat bars as operators: they space them and stretch one that has an exponent. Ours are brackets.
    made = _BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">&#x\1;</mo>', made)
    made = made.replace("<mo>&#x0221E;</mo>", "<mi>&#x0221E;</mi>")
    # As an operator, an ellipsis would be spaced from the particle that follows it.
    made = made.replace("<mo>&#x02026;</mo>", "<mi>&#x02026;</mi>")
    return _FUNCTION_OF.sub(r'\1<mspace width="0.1667em"/>', made)


def readable(formula: str) -> str:
    """Return a formula as one line of text: `ln(글자 수)`, `10^−7`."""
    drawn = re.sub(r"<msup>(<.*?>.*?</.*?>)(?=<)", r"\1^", mathml(formula))
    return html.unescape(re.sub(r"<[^>]+>", "", drawn)).replace("\u00a0", " ")
