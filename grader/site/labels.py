"""The words of the theme's frame in Korean: furo has no translations, and some of its labels cannot be translated."""

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


def in_korean(page: str) -> str:
    """The finished page with Korean labels."""
    for english, korean in LABELS.items():
        page = page.replace(english, korean)
    return page
