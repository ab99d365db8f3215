"""Translate the labels of the theme's frame: furo has no translations, and some of its labels are not translatable."""

import re

_EMPTY_HEADER = re.compile(r"<th\b[^>]*>(?:<p>\s*</p>)?</th>")
"""Matches the empty corner of a table with row and column headers, which is no header."""

_CREDIT = re.compile(
    r"Made with (<a\b[^>]*>Sphinx</a>) and (<a\b[^>]*>@pradyunsg</a>)'s\s*(<a\b[^>]*>Furo</a>)"
)

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


def relabelled(page: str, language: str) -> str:
    """Return the finished page with its labels in its language."""
    for name, label in LANDMARKS[language].items():
        page = page.replace(f'<aside class="{name}', f'<aside aria-label="{label}" class="{name}')
    page = _EMPTY_HEADER.sub("<td></td>", page)
    if language == "ko":
        for english, korean in LABELS.items():
            page = page.replace(english, korean)
        page = _CREDIT.sub(r"\1와 \2의 \3로 만들었습니다", page)
    return page
