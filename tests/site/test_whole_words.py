"""Lines of the pages break between Korean words only."""

import pytest

from grader.report.plain_text import JOINER
from grader.site.finished_html import with_whole_words

CODE = '<code class="docutils"><span class="pre">step()</span></code>'
FORMULA = '<span class="formula"><math><mi>w</mi></math></span>'


@pytest.mark.parametrize(
    ("page", "whole"),
    [
        (f"<p>{CODE}이 읽는 것</p>", f"<p>{CODE}{JOINER}이 읽는 것</p>"),
        (f"<p>{CODE} 다음</p>", f"<p>{CODE} 다음</p>"),
        (f"<p>{CODE}<em>이</em></p>", f"<p>{CODE}<em>이</em></p>"),
        ("<p><strong>노름(norm)</strong>은</p>", f"<p><strong>노름(norm)</strong>{JOINER}은</p>"),
        ("<p>(<a href='x(1)'>가</a>)는</p>", f"<p>(<a href='x(1)'>가</a>){JOINER}는</p>"),
        ("<p>끝(1)</p><p>은</p>", "<p>끝(1)</p><p>은</p>"),
        ("<td>2.3e-16</td>", f"<td>2.3e-{JOINER}16</td>"),
        ("<pre>f(x)는 1e-3</pre><script>a(1)가</script>", "<pre>f(x)는 1e-3</pre><script>a(1)가</script>"),
        (f"<p>SAM({FORMULA})의 해</p>", f'<p>SAM<span class="whole">({FORMULA}){JOINER}의</span> 해</p>'),
        (f"<p>{FORMULA}</p>", f"<p>{FORMULA}</p>"),
    ],
)
def test_a_particle_stays_with_its_word(page: str, whole: str) -> None:
    assert with_whole_words(page) == whole
