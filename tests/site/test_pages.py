"""The pages of the site, built once from two lessons whose outputs are in the repository."""

import base64
import json
import re
from pathlib import Path

import pytest

from grader.course.course import Lesson
from grader.course.reading import load_course
from tests.site.built import ADDRESSES, SHOWN, Page, the_course

pytestmark = pytest.mark.xdist_group("site")

LESSONS = the_course().lessons


def solution_lines(lesson: Lesson) -> set[str]:
    """Lines that stand in its solutions only, in no lesson outside of them, and are too long to be there by chance."""
    own = solved_and_open(lesson)[0]
    read = "\n".join(solved_and_open(one)[1] for one in LESSONS)
    return {line for line in own if len(line) > 30 and line not in read and not line.startswith("#")}


def solved_and_open(lesson: Lesson) -> tuple[set[str], str]:
    """The lines between BEGIN SOLUTION and END SOLUTION, and the text of all others."""
    solved, read, inside = set(), [], False
    for line in lesson.solution.read_text(encoding="utf-8").splitlines():
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
    page = Page(site / f"{lesson.name}.html").code
    notebook = json.loads((site / "notebooks" / f"{lesson.name}.ipynb").read_text(encoding="utf-8"))
    told = page + "\n".join("".join(cell["source"]) for cell in notebook["cells"])
    shown = [line for line in secret if line in told]
    assert shown == []
    index = (site / "_static" / "search-index.js").read_text(encoding="utf-8")
    assert [line for line in secret if line in index] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_every_exercise_stands_as_learners_get_it(lesson: Lesson, site: Path) -> None:
    page = Page(site / f"{lesson.name}.html")
    assert page.count("tag_exercise") == len(lesson.exercises)
    assert page.code.count("raise NotImplementedError") >= len(lesson.exercises) - 1
    assert "google.colab" not in page.code, "the cell that installs is for notebooks"


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda one: one.id)
def test_predictions_can_be_answered_and_not_be_read(lesson: Lesson, site: Path) -> None:
    """The page holds each answer and reason once, encoded; experiments of open questions are folded away."""
    text = (site / f"{lesson.name}.html").read_text(encoding="utf-8")
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
    page = Page(site / f"{LESSONS[0].name}.html")
    assert "마지막 업데이트만 빠짐" in page.text
    drawings = re.findall(r'src="(_static/drawings/[^"]+)"', page.source)
    assert drawings
    assert all((site / name).is_file() for name in drawings)
    assert "data:image/svg" not in page.source
    assert "아직 예측을 고르지 않아" not in page.text


def test_a_lesson_says_how_long_how_hard_and_what_comes_first(site: Path) -> None:
    first, second = LESSONS
    page = Page(site / f"{second.name}.html")
    head = page.text[: page.text.index("연습 문제")]
    assert "3시간 35분" in head
    assert "★☆☆–★★★" in head or "★★★" in head
    assert f'href="{first.name}.html">01 {first.title}</a>' in page.source
    assert f'class="prev-page" href="{first.name}.html"' in page.source
    assert f'href="notebooks/{second.name}.ipynb" download' in page.source
    assert (
        f"https://colab.research.google.com/github/{ADDRESSES.repository}/blob/main/lessons/{second.name}.ipynb"
        in page.source
    )
    assert f"https://github.com/{ADDRESSES.repository}/issues/new?title=" in page.source


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Links may lead away; scripts, styles, pictures and fonts may not come from anywhere but the folder."""
    for path in site.glob("*.html"):
        loaded = re.findall(
            r'<(?:script|img|iframe|source|link rel="(?:stylesheet|preload|icon)")[^>]*?(?:src|href)="([^"]+)"',
            path.read_text(encoding="utf-8"),
        )
        for address in loaded:
            assert not re.match(r"(https?:)?//", address), (path.name, address)
            assert (site / address.split("?")[0]).is_file(), (path.name, address)
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text(encoding="utf-8")), style.name


def test_every_link_within_the_site_leads_somewhere(site: Path) -> None:
    pages = {path.name: Page(path) for path in site.glob("*.html")}
    for name, page in pages.items():
        for address in re.findall(r'<a [^>]*?href="([^"]+)"', page.source):
            if re.match(r"https?:|mailto:", address):
                continue
            target, _, anchor = address.partition("#")
            target = target.split("?")[0] or name
            assert (site / target).is_file(), (name, address)
            if anchor and target in pages:
                assert f'id="{anchor}"' in pages[target].source, (name, address)


def test_a_sections_address_is_its_title(site: Path) -> None:
    """A number would lead elsewhere as soon as a section is put before it."""
    source = Page(site / f"{LESSONS[0].name}.html").source
    assert '<section id="1-다섯-줄">' in source
    assert 'href="#1-다섯-줄"' in source
    assert not re.search(r'href="#id\d+"', source)


def test_labels_of_the_theme_are_korean(site: Path) -> None:
    """When the theme changes its words, this says which; the English page keeps English ones."""
    for path in site.glob("*.html"):
        text = path.read_text(encoding="utf-8")
        english = re.findall(r'(?:aria-label|title|placeholder)="[A-Z][a-z]+[^"]*"', text)
        if path.name == "en.html":
            assert '<html class="no-js" lang="en"' in text
            assert 'aria-label="Search"' in text
        else:
            assert '<html class="no-js" lang="ko"' in text
            assert set(english) <= {'title="In English"'}
            assert "Skip to content" not in text
            assert "Made with" not in text


def test_a_term_carries_its_note_once(site: Path) -> None:
    page = Page(site / f"{LESSONS[0].name}.html")
    linked = re.findall(r'<a class="term[^"]*" href="glossary.html#(term-[a-z0-9-]+)"', page.source)
    assert len(linked) > 15
    assert len(set(linked)) == len(linked)
    assert "term-gradient" in linked
    notes = (site / "_static" / "terms.js").read_text(encoding="utf-8")
    assert '"term-gradient": "손실을 매개변수로 미분한' in notes


def test_formulas_are_drawn_without_a_script(site: Path) -> None:
    page = Page(site / f"{LESSONS[0].name}.html")
    assert '<math xmlns="http://www.w3.org/1998/Math/MathML" display="block">' in page.source
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
    assert "opt.zero_grad()가 없어요" in page.text
    for entry in SHOWN:
        assert entry.famous in page.text
        assert f'id="{entry.exercise.replace("_", "-")}-{entry.mistake}"' in page.source
    assert "실행 순서" in page.text
    assert "def train_step" not in page.code


def test_the_gallery_has_twelve_that_the_course_knows() -> None:
    from grader.site.gallery import gallery_entries

    course = load_course()
    shown = gallery_entries()
    assert len(shown) == len({(one.exercise, one.mistake) for one in shown}) == 12
    for entry in shown:
        assert entry.mistake in {one.id for one in course.exercise(entry.exercise).mistakes}, entry


def test_a_shared_link_has_its_picture_and_words(site: Path) -> None:
    from matplotlib.image import imread

    for path in site.glob("*.html"):
        if path.name == "search.html":
            continue
        text = path.read_text(encoding="utf-8")
        (picture,) = re.findall(r'property="og:image" content="([^"]+)"', text)
        assert picture == f"{ADDRESSES.url}/_static/pictures/{path.stem}.png"
        assert imread(site / "_static" / "pictures" / f"{path.stem}.png").shape[:2] == (630, 1200)
        for kind in ("og:title", "og:description", "og:url", "og:locale"):
            assert len(re.findall(rf'property="{kind}" content="[^"]+"', text)) == 1, (path.name, kind)
