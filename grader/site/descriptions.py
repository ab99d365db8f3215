"""Say in a few words what a lesson, one of its parts, or another page holds: for heads, tables and shared links."""

import re
from collections.abc import Iterable

from grader.course.course import Course, Exercise, Kind, Lesson, Part
from grader.site.gallery import PAGE as GALLERY
from grader.site.part_page import predict_calls
from grader.site.settings import PageFacts

_LEVEL = re.compile(r"·\s*(★[★☆]{2})")
_NAMES: dict[Kind, str] = {"exercise": "연습", "warmup": "몸풀기", "bonus": "보너스"}


def page_name(part: Part) -> str:
    """Return the name of a part's page, a path below the site without its suffix."""
    return part.place.removesuffix(".ipynb")


def plain_title(part: Part) -> str:
    """Return a part's title without the marks of code, for places that show no code."""
    return part.title.replace("`", "")


def hours(minutes: int) -> str:
    """Return a duration in Korean: `3시간 35분`."""
    whole, rest = divmod(minutes, 60)
    return " ".join(filter(None, (f"{whole}시간" if whole else "", f"{rest}분" if rest else "")))


def levels(*parts: Part) -> str:
    """Return the range of levels of the parts' sections, the easiest first: `★☆☆–★★★`."""
    texts = (part.notebook.read_text(encoding="utf-8") for part in parts)
    found = sorted({level for text in texts for level in _LEVEL.findall(text)})
    return "" if not found else found[0] if len(found) == 1 else f"{found[-1]}–{found[0]}"


def tasks(exercises: Iterable[Exercise]) -> str:
    """Return the number of graded functions of each kind: `연습 2개 · 몸풀기 1개`."""
    kinds = [exercise.kind for exercise in exercises]
    return " · ".join(f"{name} {kinds.count(kind)}개" for kind, name in _NAMES.items() if kind in kinds)


def tasks_in(lesson: Lesson, part: Part) -> str:
    """Return the number of graded functions of each kind in a part of the lesson."""
    return tasks(exercise for exercise in lesson.exercises if exercise.name in part.exercises)


def place_in(lesson: Lesson, part: Part) -> str:
    """Return a part's place in its lesson: `01 한 train step · 2/6`."""
    place = f" · {lesson.parts.index(part) + 1}/{len(lesson.parts)}" if len(lesson.parts) > 1 else ""
    return f"{lesson.id} {lesson.title}{place}"


def page_facts(course: Course) -> dict[str, PageFacts]:
    """Return title and description of each page, by its name."""
    parts = {page_name(part): _facts_of(lesson, part) for lesson in course.lessons for part in lesson.parts}
    return {
        "index": PageFacts(course.title, course.tagline),
        **parts,
        GALLERY: PageFacts(
            "유명한 실수",
            "오류 없이 돌아가는데 틀린 학습 루프들. 채점기가 실수의 이름과 그 줄, 실행 순서를 보여 줍니다.",
        ),
        "glossary": PageFacts("용어집", "PyTorch 학습 루프의 용어를 한국어와 영어로 짧게 설명합니다."),
        "en": PageFacts(
            "Han Step: the PyTorch training loop, one step at a time",
            "An interactive Korean course on the PyTorch training loop, with a grader that names the mistake.",
            language="en",
        ),
    }


def _facts_of(lesson: Lesson, part: Part) -> PageFacts:
    asked = sum(len(predict_calls("".join(cell["source"]))) for cell in part.cells())
    held = " · ".join(filter(None, (f"예측 {asked}개" if asked else "", tasks_in(lesson, part))))
    time = f"본문 {hours(part.minutes)}" if part.minutes else ""
    lines = (place_in(lesson, part), " · ".join(filter(None, (time, levels(part)))), held)
    return PageFacts(
        plain_title(part),
        ". ".join(filter(None, (place_in(lesson, part), held, time))) + ".",
        lines=tuple(filter(None, lines)),
    )
