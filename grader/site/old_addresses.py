"""Keep addresses of earlier editions alive: a lesson was one page, `01_five_line_step.html`."""

from pathlib import Path

from markupsafe import escape

from grader.course.course import Course
from grader.site.descriptions import page_name
from grader.site.settings import Addresses

MARK = "hanstep-moved"
"""Class of the body of these pages."""


def write_old_pages(course: Course, built: Path, addresses: Addresses) -> None:
    """Write a small page at each lesson's old address that leads on to its first part."""
    for lesson in course.lessons:
        page = built / f"{lesson.name}.html"
        if not page.exists():
            page.write_text(
                _leading_to(f"{page_name(lesson.parts[0])}.html", lesson.title, addresses), "utf-8"
            )


def _leading_to(target: str, title: str, addresses: Addresses) -> str:
    canonical = addresses.page(target) or target
    return f"""<!doctype html>
<html lang="ko">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={escape(target)}">
<link rel="canonical" href="{escape(canonical)}">
<title>{escape(title)}</title>
</head>
<body class="{MARK}">
<main>
<h1>{escape(title)}</h1>
<p>이 레슨은 여러 쪽으로 나뉘었습니다. <a href="{escape(target)}">첫 쪽으로 가기</a></p>
</main>
</body>
</html>
"""
