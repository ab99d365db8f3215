"""Code of the pages wraps like code: no line is cut off, and none falls back to the left edge."""

import html
import re

import pytest

from grader.site.finished_html import with_whole_code


def block(code: str) -> str:
    return f'<div class="highlight"><pre>{code}</pre></div>'


def test_a_line_knows_how_far_in_it_begins() -> None:
    made = with_whole_code(block("if a:\n    b\n\n  &lt;c\n"))
    assert made == block(
        '<span class="line">if a:\n</span><span class="line" style="--in:4">    b\n</span>'
        '<span class="line">\n</span><span class="line" style="--in:2">  &lt;c\n</span>'
    )


def test_a_colour_goes_on_in_the_next_line() -> None:
    """A docstring is one coloured piece of several lines."""
    made = with_whole_code(block('<span class="sd">"""a\n    b"""</span>\n'))
    assert made.count('<span class="sd">') == made.count("<span") / 2 == 2
    assert made.count("<span") == made.count("</span>")
    assert '<span class="line" style="--in:4"><span class="sd">    b"""</span>' in made


@pytest.mark.parametrize(
    "code",
    [
        '<span class="n">a</span><span class="o">.</span><span class="n">b</span><span class="p">(</span>1\n',
        'x\n<span class="s">"""\n  y\n"""</span>  \n\n\nz',
        "",
    ],
)
def test_the_code_itself_stays(code: str) -> None:
    def plain(page: str) -> str:
        return html.unescape(re.sub(r"<[^>]+>", "", page))

    assert plain(with_whole_code(block(code))) == plain(code)


def test_long_names_break_at_dots_and_brackets() -> None:
    made = with_whole_code(
        block('a<span class="o">.</span>b<span class="p">(</span>c<span class="p">)</span>\n')
    )
    assert 'a<wbr><span class="o">.</span>b<span class="p">(</span><wbr>c' in made


def test_a_sign_stays_with_its_value_and_a_short_text_whole() -> None:
    """A phone broke `[-1]` and "utf-8" after the hyphen."""
    sign, text = (
        '<span class="o">-</span><span class="mi">1</span>',
        '<span class="s2">&quot;utf-8&quot;</span>',
    )
    minus = '<span class="o">-</span><span class="w"> </span>'
    made = with_whole_code(block(f"{sign} {text} {minus}"))
    assert f'<span class="whole">{sign}</span> <span class="whole">{text}</span> {minus}' in made


def test_a_long_path_breaks_after_its_slashes() -> None:
    path = '<code class="docutils literal"><span class="pre">assets/data/reader_runs/measure.py</span></code>'
    assert "assets/<wbr>data/<wbr>reader_runs/<wbr>measure.py</span></code>" in with_whole_code(path)


def test_short_inline_code_stays_on_one_line() -> None:
    short, long = (
        f'<code class="docutils literal notranslate">{code}</code>' for code in ("n = 4", 25 * "x")
    )
    assert with_whole_code(short + long) == short.replace("notranslate", "notranslate short") + long
