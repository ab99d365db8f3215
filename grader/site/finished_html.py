"""Finish the HTML of the pages that Sphinx made: labels in the page's language, words and code kept readable.

The theme, furo, has no translations. A browser breaks lines between code, a bracket or a formula and the particle
attached to it, where `word-break: keep-all` does not hold. And long lines of code must wrap with an indent, so that
none is cut off: a style sheet can indent the wrapped part only if each line is an element of its own.
"""

import html
import re

from grader.report.plain_text import SHORT_CODE, whole_words


def finished(page: str, language: str) -> str:
    """Return a page's HTML with labels in its language, no word broken, and code that wraps."""
    return with_whole_code(with_whole_words(relabelled(page, language)))


# ---- labels ----------------------------------------------------------------------------------------

_EMPTY_HEADER = re.compile(r"<th\b[^>]*>(?:<p>\s*</p>)?</th>")
"""Matches the empty corner of a table with row and column headers, which is no header."""

_CREDIT = re.compile(
    r"Made with (<a\b[^>]*>Sphinx</a>) and (<a\b[^>]*>@pradyunsg</a>)'s\s*(<a\b[^>]*>Furo</a>)"
)
"""Matches the theme's credit at the foot of each page."""

LANDMARKS = {
    "ko": {"sidebar-drawer": "사이트 메뉴", "toc-drawer": "이 페이지의 차례"},
    "en": {"sidebar-drawer": "Site menu", "toc-drawer": "On this page"},
}
"""Labels of the two sidebars: both have the same role, so screen readers need names to tell them apart."""

LABELS = {
    'aria-label="Toggle site navigation sidebar"': 'aria-label="메뉴 펼치기"',
    'aria-label="Toggle table of contents sidebar"': 'aria-label="이 페이지의 차례 펼치기"',
    'aria-label="Toggle Light / Dark / Auto color theme"': 'aria-label="밝은 화면, 어두운 화면, 자동 가운데 바꾸기"',
    ' aria-label="Toggle hidden content"': "",  # the summary's own words say more
    'title="Link to this heading"': 'title="이 절의 주소"',
    "Skip to content": "본문으로 건너뛰기",
    "<span>Back to top</span>": "<span>맨 위로</span>",
    "On this page": "이 페이지의 차례",
    "<span>Next</span>": "<span>다음</span>",
    "<span>Previous</span>": "<span>이전</span>",
    '<div class="title">Home</div>': '<div class="title">처음</div>',
}
"""Korean HTML by the theme's HTML."""


def relabelled(page: str, language: str) -> str:
    """Return the finished page with its labels in its language."""
    for name, label in LANDMARKS[language].items():
        page = page.replace(f'<aside class="{name}', f'<aside aria-label="{label}" class="{name}')
    page = _EMPTY_HEADER.sub("<td></td>", page)
    page = page.replace(
        '<p class="caption" role="heading">', '<p class="caption">'
    )  # a heading without a level
    if language == "ko":
        for english, korean in LABELS.items():
            page = page.replace(english, korean)
        page = _CREDIT.sub(r"\1와 \2의 \3로 만들었습니다", page)
    return page


# ---- words -----------------------------------------------------------------------------------------

_UNSPLIT = re.compile(r"(<(pre|script|style|title|math)\b.*?</\2>|<[^>]+>)", re.DOTALL)
"""Matches tags, and whole elements whose text is no prose."""
_INLINE_END = re.compile(r"</(?:code|span|a|strong|em)>")
_CLOSING = (")", "]", "」", "』", "”", "’")
"""Signs after which a particle is kept on the line."""
_FORMULA = re.compile(r'([(\[「]?)(<span class="formula"><math\b.*?</math></span>)([^\s<>]{0,12})', re.DOTALL)


def with_whole_words(page: str) -> str:
    """Return the page with every word, particles included, kept on one line."""
    made: list[str] = []
    glued = False  # True if a particle that follows belongs to the text before it
    parts = [*_UNSPLIT.split(_FORMULA.sub(_whole_formula, page)), "", ""]
    for text, tag in zip(parts[::3], parts[1::3], strict=True):
        made += [whole_words(text, glued), tag]
        glued = text.endswith(_CLOSING) if text else glued
        glued = (glued or tag == "</code>") if _INLINE_END.fullmatch(tag) else False
    return "".join(made)


def _whole_formula(found: re.Match[str]) -> str:
    before, formula, after = found.groups()
    if not (before or after):
        return formula
    return f'<span class="whole">{before}{formula}{after}</span>'


# ---- code ------------------------------------------------------------------------------------------

_CODE_BLOCK = re.compile(r'(<div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL)
_WRAP_BEFORE = re.compile(r'(<span class="o">\.</span>)')
_WRAP_AFTER = re.compile(r'(<span class="p">[^<]*[(\[{,]</span>|<span class="o">=</span>)(?!\n)')
"""Matches places where a line of code may wrap without a space: after a bracket, a comma or an equals sign.

`_WRAP_BEFORE` matches the other places: before a dot.
"""
_UNBROKEN = re.compile(
    r'<span class="o">-</span><span class="(?!w")[^"]*">[^<]*</span>|<span class="s[12]">(?=[^<]*-)[^<\s]{1,40}</span>'
)
"""Matches code that a browser would break after a hyphen: a sign with its operand, or a string such as "utf-8"."""
_SPAN_TAG = re.compile(r"(</?span\b[^>]*>)")
_ANY_TAG = re.compile(r"<[^>]+>")
_INLINE_CODE = re.compile(r'<code class="([^"]*\bliteral\b[^"]*)">(.*?)</code>', re.DOTALL)
_PATH_SLASH = re.compile(r"(?<=\w)/(?=\w)")
"""Matches places where a path in inline code may wrap."""


def with_whole_code(page: str) -> str:
    """Return the page with every line of its code blocks as an element, and short inline code marked as short."""
    lined = _CODE_BLOCK.sub(lambda block: block[1] + _in_lines(_breakable(block[2])) + block[3], page)
    return _INLINE_CODE.sub(_short_or_breakable, lined)


def _breakable(code: str) -> str:
    kept = _UNBROKEN.sub(r'<span class="whole">\g<0></span>', code)
    return _WRAP_AFTER.sub(r"\1<wbr>", _WRAP_BEFORE.sub(r"<wbr>\1", kept))


def _in_lines(code: str) -> str:
    """Wrap each line in an element that carries its indentation; reopen the tags that span several lines."""
    made: list[str] = []
    line = ""
    open_tags: list[str] = []

    def end_line() -> None:
        nonlocal line
        text = html.unescape(_ANY_TAG.sub("", line))
        inset = len(text) - len(text.lstrip(" "))
        style = f' style="--in:{inset}"' if inset else ""
        made.append(f'<span class="line"{style}>{line}{"</span>" * len(open_tags)}\n</span>')
        line = "".join(open_tags)

    for part in _SPAN_TAG.split(code):
        if part.startswith("</span"):
            open_tags.pop()
            line += part
        elif part.startswith("<span"):
            open_tags.append(part)
            line += part
        else:
            first, *others = part.split("\n")
            line += first
            for other in others:
                end_line()
                line += other
    return "".join(made) + line


def _short_or_breakable(found: re.Match[str]) -> str:
    names, code = found.groups()
    is_short = len(html.unescape(_ANY_TAG.sub("", code))) <= SHORT_CODE
    return f'<code class="{names} short">{code}</code>' if is_short else _PATH_SLASH.sub("/<wbr>", found[0])
