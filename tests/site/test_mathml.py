"""Formulas are drawn as they are meant, in a font that has their signs, or the site is not built."""

import html
import re

import pytest
from fontTools.ttLib import TTFont

from grader.course.reading import load_course
from grader.paths import asset_path
from grader.site.part_page import SiteError

pytest.importorskip("latex2mathml", reason="선택 설치 site가 없어요: pip install -e '.[site]'")
from grader.site.mathml import mathml, readable

FONT = TTFont(asset_path("fonts", "NotoSansMath.woff")).getBestCmap()


def test_aligned_equations_have_columns() -> None:
    """They were shown as one line with their ampersands."""
    made = mathml(
        r"\begin{aligned} g &= w && \text{여기} \\ e &= \rho && \text{저기} \end{aligned}", display="block"
    )
    assert made.count("<mtr>") == 2
    assert "<mtext>저기</mtext>" in made
    assert "<mi>&</mi>" not in made


def test_an_underscore_in_a_text_has_no_backslash() -> None:
    assert "<mtext>weight_decay</mtext>" in mathml(r"1 - \text{weight\_decay}")


def test_bars_are_brackets_and_functions_stand_apart() -> None:
    """Browsers set `| g|` with a space, dropped the second bar of a squared norm below the line, and wrote ln0.2."""
    squared = mathml(r"\lVert w \rVert^2 / |g|")
    assert squared.count('<mo stretchy="false" lspace="0" rspace="0">') == 4
    assert "<mi>ln</mi><mspace" in mathml(r"\ln 0.2")


def test_an_ellipsis_stands_close_to_what_follows() -> None:
    assert "<mi>&#x02026;</mi>" in mathml(r"g_1, g_2, \dots")


def test_what_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(SiteError, match="수식"):
        mathml(r"\begin{gathered} a & b \end{gathered}")


@pytest.mark.parametrize(
    ("formula", "read"),
    [(r"\ln(\text{글자 수})", "ln(글자 수)"), ("10^{-7}", "10^−7"), (r"p \leftarrow p - \eta\, g", "p←p−ηg")],
)
def test_the_search_reads_a_formula_as_people_do(formula: str, read: str) -> None:
    """Excerpts showed backslashes and braces."""
    assert readable(formula) == read


@pytest.mark.parametrize("part", load_course().parts, ids=lambda one: one.name)
def test_every_formula_of_a_part_can_be_drawn(part) -> None:  # type: ignore[no-untyped-def]
    source = part.source.read_text(encoding="utf-8")
    prose = "\n".join(re.findall(r'r"""\n(.*?)\n"""', source, flags=re.DOTALL))
    found = re.findall(r"\$\$(.+?)\$\$|(?<!\$)\$([^$\n]+?)\$(?!\$)", prose, flags=re.DOTALL)
    for block, inline in found:
        made = mathml((block or inline).strip())
        assert "<math" in made
        signs = {sign for sign in html.unescape(re.sub(r"<[^>]+>", "", made)) if not "ㄱ" <= sign <= "힣"}
        assert [sign for sign in signs if ord(sign) not in FONT and not sign.isspace()] == []
