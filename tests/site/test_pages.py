"""The pages of the site, built once from the course, whose outputs are in the repository."""

import base64
import json
import re
from pathlib import Path

import pytest

from grader.course.course import Lesson, Part
from grader.course.reading import load_course
from grader.site.descriptions import hours, page_name
from tests.site.built import ADDRESSES, SHOWN, Page, pages, the_course

pytestmark = pytest.mark.xdist_group("site")

LESSONS = the_course().lessons


def pages_of(lesson: Lesson, site: Path) -> list[Page]:
    return [page_of(part, site) for part in lesson.parts]


def page_of(part: Part, site: Path) -> Page:
    return Page((site / part.place).with_suffix(".html"))


def solution_lines(lesson: Lesson) -> set[str]:
    """Lines that stand in its solutions only, in no lesson outside of them, and are too long to be there by chance."""
    own = solved_and_open(lesson)[0]
    read = "\n".join(solved_and_open(one)[1] for one in LESSONS)
    return {line for line in own if len(line) > 30 and line not in read and not line.startswith("#")}


def solved_and_open(lesson: Lesson) -> tuple[set[str], str]:
    """The lines between BEGIN SOLUTION and END SOLUTION, and the text of all others."""
    solved, read, inside = set(), [], False
    sources = "\n".join(part.source.read_text(encoding="utf-8") for part in lesson.parts)
    for line in sources.splitlines():
        if "BEGIN SOLUTION" in line or "END SOLUTION" in line:
            inside = "BEGIN" in line
        elif inside:
            solved.add(line.strip())
        else:
            read.append(line)
    return solved, "\n".join(read)


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_no_page_holds_a_solution(lesson: Lesson, site: Path) -> None:
    """Neither the page, nor the notebook to download, nor the search."""
    secret = solution_lines(lesson)
    assert len(secret) > 10
    told = "\n".join(page.code for page in pages_of(lesson, site))
    for part in lesson.parts:
        notebook = json.loads((site / "notebooks" / part.place).read_text(encoding="utf-8"))
        told += "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    shown = [line for line in secret if line in told]
    assert shown == []
    index = (site / "_static" / "search-index.js").read_text(encoding="utf-8")
    assert [line for line in secret if line in index] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_exercise_stands_as_learners_get_it(lesson: Lesson, site: Path) -> None:
    for part, page in zip(lesson.parts, pages_of(lesson, site), strict=True):
        assert page.count("tag_exercise") == len(part.exercises)
        assert page.code.count("raise NotImplementedError") >= len(part.exercises) - 1
        assert "google.colab" not in page.code, "the cell that installs is for notebooks"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_predictions_can_be_answered_and_not_be_read(lesson: Lesson, site: Path) -> None:
    """The pages hold each answer and reason once, encoded; experiments of open questions are folded away."""
    text = "\n".join(page.source for page in pages_of(lesson, site))
    found = {}
    for name, told in re.findall(r'data-id="([^"]+)" data-told="([^"]+)"', text):
        found[name] = json.loads(base64.b64decode(told))
    assert found == {
        one.id: {"answer": one.answer, "because": one.because, "wrong": one.wrong}
        for one in lesson.predictions
    }
    for one in lesson.predictions:
        assert all(reason not in text for reason in (one.because, *one.wrong.values()))
    assert "reveal(" not in re.sub(r"<[^>]+>", "", text)
    assert len(re.findall(r'<details class="experiment" data-after="', text)) > len(lesson.predictions) / 2
    assert text.count("<details") == text.count("</details>")


def test_experiments_show_what_they_printed_and_drew(site: Path) -> None:
    found = pages_of(LESSONS[0], site)
    assert any("마지막 업데이트만 빠짐" in page.text for page in found)
    drawings = [
        name for page in found for name in re.findall(r'src="\.\./(_static/drawings/[^"]+)"', page.source)
    ]
    assert drawings
    assert all((site / name).is_file() for name in drawings)
    for page in found:
        assert "data:image/svg" not in page.source
        assert "아직 예측을 고르지 않아" not in page.text


def test_a_part_says_how_long_how_hard_and_what_comes_first(site: Path) -> None:
    first, second = LESSONS[:2]
    before, part = first.parts[-1], second.parts[0]
    page = page_of(part, site)
    assert hours(part.minutes) in page.text
    assert "★" in page.text
    assert f'href="../{page_name(first.parts[0])}.html">01 {first.title}</a>' in page.source
    assert f'class="prev-page" href="../{page_name(before)}.html"' in page.source
    assert f'href="../notebooks/{part.place}" download' in page.source
    assert (
        f"https://colab.research.google.com/github/{ADDRESSES.repository}/blob/main/lessons/{part.place}"
        in page.source
    )
    assert f"https://github.com/{ADDRESSES.repository}/issues/new?title=" in page.source


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Links may lead away; scripts, styles, pictures and fonts may not come from anywhere but the folder."""
    for path in pages(site):
        loaded = re.findall(
            r'<(?:script|img|iframe|source|link rel="(?:stylesheet|preload|icon)")[^>]*?(?:src|href)="([^"]+)"',
            path.read_text(encoding="utf-8"),
        )
        for address in loaded:
            assert not re.match(r"(https?:)?//", address), (path.name, address)
            assert (path.parent / address.split("?")[0]).is_file(), (path.name, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    found = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    for path, page in found.items():
        for address in re.findall(r'<a [^>]*?href="([^"]+)"', page.source):
            if re.match(r"https?:|mailto:", address):
                continue
            target, _, anchor = address.partition("#")
            target = target.split("?")[0]
            goal = (path.parent / target).resolve() if target else path
            assert goal.is_file(), (path.name, address)
            if anchor and goal in found:
                assert f'id="{anchor}"' in found[goal].source, (path.name, address)


def test_a_sections_address_is_its_title(site: Path) -> None:
    """A number would lead elsewhere as soon as a section is put before it."""
    for page in pages_of(LESSONS[0], site):
        named = re.findall(r'<section id="([^"]*[가-힣][^"]*)"', page.source)
        assert named
        assert f'href="#{named[0]}"' in page.source
        assert not re.search(r'href="#id\d+"', page.source)


def test_labels_of_the_theme_are_korean(site: Path) -> None:
    """When the theme changes its words, this says which; the English page keeps English ones."""
    for path in pages(site):
        text = path.read_text(encoding="utf-8")
        english = re.findall(r'(?:aria-label|title|placeholder)="[A-Z][a-z]+[^"]*"', text)
        if path.name == "en.html":
            assert '<html class="no-js" lang="en"' in text
            assert 'aria-label="Search"' in text
        else:
            assert '<html class="no-js" lang="ko"' in text
            parts = {f'title="{part.title}"' for part in load_course().parts}  # links to the next page
            assert set(english) <= {'title="In English"', *parts}
            assert "Skip to content" not in text
            assert "Made with" not in text


def test_a_term_carries_its_note_once(site: Path) -> None:
    every = set()
    for page in pages_of(LESSONS[0], site):
        linked = re.findall(r'<a class="term[^"]*" href="\.\./glossary\.html#(term-[a-z0-9-]+)"', page.source)
        assert len(set(linked)) == len(linked)
        every |= set(linked)
    assert len(every) > 15
    assert "term-gradient" in every
    notes = (site / "_static" / "terms.js").read_text(encoding="utf-8")
    assert '"term-gradient": "손실을 매개변수로 미분한' in notes


def test_formulas_are_drawn_without_a_script(site: Path) -> None:
    found = pages_of(LESSONS[0], site)
    block = '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">'
    assert any(block in page.source for page in found)
    for page in found:
        assert "\\leftarrow" not in page.text
        assert "MathJax" not in page.source


def test_the_english_page_names_the_lessons_in_english(site: Path) -> None:
    page = Page(site / "en.html")
    for lesson in LESSONS:
        assert lesson.english
        assert lesson.english in page.text


def test_the_gallery_shows_what_the_grader_says(site: Path) -> None:
    """The card is made by running the mistake; the program, one line away from the answer, stays out."""
    page = Page(site / "gallery.html")
    assert "opt.zero_grad()를 부르지 않았어요" in page.text
    for entry in SHOWN:
        assert entry.famous in page.text
        assert f'id="{entry.exercise.replace("_", "-")}-{entry.mistake}"' in page.source
    assert "실행 순서" in page.text
    assert "def train_step" not in page.code


def test_the_search_knows_no_code_of_folded_cells(site: Path) -> None:
    """Its excerpts began with 「import torch from grader import …」; what these cells drew can be found."""
    index = (site / "_static" / "search-index.js").read_text(encoding="utf-8")
    assert "from grader import check" not in index
    assert "첫 스텝의 그레이디언트 노름" in index


def test_the_gallery_has_twelve_that_the_course_knows() -> None:
    from grader.site.gallery import gallery_entries

    course = load_course()
    shown = gallery_entries()
    assert len(shown) == len({(one.exercise, one.mistake) for one in shown}) == 12
    for entry in shown:
        assert entry.mistake in {one.id for one in course.exercise(entry.exercise).mistakes}, entry


def test_a_shared_link_has_its_picture_and_words(site: Path) -> None:
    from matplotlib.image import imread

    for path in pages(site):
        if path.name == "search.html":
            continue
        text = path.read_text(encoding="utf-8")
        (picture,) = re.findall(r'property="og:image" content="([^"]+)"', text)
        name = path.relative_to(site).with_suffix("").as_posix()
        assert picture == f"{ADDRESSES.url}/_static/pictures/{name}.png"
        assert imread(site / "_static" / "pictures" / f"{name}.png").shape[:2] == (630, 1200)
        for kind in ("og:title", "og:description", "og:url", "og:locale"):
            assert len(re.findall(rf'property="{kind}" content="[^"]+"', text)) == 1, (path.name, kind)
