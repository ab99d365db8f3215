"""Each part of a lesson has its page in the lesson's folder; what leads there and away is relative to that folder."""

import re
from pathlib import Path

import pytest

from grader.report.plain_text import JOINER
from grader.site.part_page import _to_be_read
from tests.site.built import ADDRESSES, Page
from tests.site.made_course import LANDING, made_course

pytestmark = pytest.mark.xdist_group("site")

PAGES = ["01_first/1_begin", "01_first/2_go_on", "02_second/1_other"]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("myst_nb", reason="선택 설치 site가 없어요: pip install -e '.[site]'")
    from grader.site.build_site import build_site

    out = tmp_path_factory.mktemp("made") / "site"
    with pytest.MonkeyPatch.context() as patch:
        course = made_course(tmp_path_factory.mktemp("course"), patch)
        build_site(course, out, addresses=ADDRESSES, shown=(), landing=LANDING, report=lambda line: None)
    return out


def links(page: Page) -> set[str]:
    return set(re.findall(r'<a [^>]*?href="([^"#]+)', page.source))


def test_a_page_stands_in_the_folder_of_its_lesson(made: Path) -> None:
    found = {path.relative_to(made).with_suffix("").as_posix() for path in made.glob("*/*.html")}
    assert found == set(PAGES)


def test_everything_that_a_page_refers_to_is_there(made: Path) -> None:
    """Styles, scripts, pictures, downloads, the glossary and other pages, seen from the page's own folder."""
    for path in made.rglob("*.html"):
        referred = re.findall(r'(?:href|src|action)="([^"#?]+)', Page(path).source)
        lost = [
            address
            for address in referred
            if not re.match(r"https?:|mailto:", address) and not (path.parent / address).is_file()
        ]
        assert lost == [], path.relative_to(made)
    for name in PAGES:
        assert "../_static/site.css" in Page(made / f"{name}.html").source


def test_links_between_notebooks_lead_to_pages(made: Path) -> None:
    first, second, third = (Page(made / f"{name}.html") for name in PAGES)
    assert re.search(r'<p>[^\n]*<a [^>]*href="2_go_on.html">', first.source)
    assert "../02_second/1_other.html" in links(second)
    assert "../01_first/1_begin.html" in links(third)
    notebooks = {one for one in links(first) if one.endswith(".ipynb") and not one.startswith("https:")}
    assert notebooks == {f"../notebooks/{PAGES[0]}.ipynb"}
    assert (made / "notebooks" / "02_second" / "1_other.ipynb").is_file()


def test_the_sidebar_groups_parts_under_their_lesson(made: Path) -> None:
    side = re.search(
        r'<div class="sidebar-tree">.*?</div>', Page(made / f"{PAGES[1]}.html").source, re.DOTALL
    )
    assert side is not None
    found = re.findall(
        r'<span class="caption-text">([^<]+)|href="([^"]+)">([^<]+)', side[0].replace(JOINER, "")
    )
    assert [one[0] or (one[1], one[2]) for one in found][:5] == [
        "01 첫 레슨",
        ("1_begin.html", "시작하기"),
        ("#", "step()으로 이어서"),
        "02 둘째 레슨",
        ("../02_second/1_other.html", "다른 이야기"),
    ]


def test_the_head_tells_the_parts_place_and_time_and_what_comes_first(made: Path) -> None:
    first, second, third = (Page(made / f"{name}.html") for name in PAGES)
    assert "01 첫 레슨 · 1/2" in first.text
    assert "01 첫 레슨 · 2/2" in second.text
    assert "<dt>본문</dt><dd>1시간 10분" in second.source
    assert "★★☆" in second.text
    assert 'href="1_begin.html">시작하기</a>' in second.source
    assert 'href="../01_first/1_begin.html">01 첫 레슨</a>' in third.source
    assert 'class="next-page" href="../02_second/1_other.html"' in second.source
    assert f"{ADDRESSES.repository}/blob/main/lessons/{PAGES[1]}.ipynb" in second.source


def test_a_shared_part_has_its_own_address_and_picture(made: Path) -> None:
    source = Page(made / f"{PAGES[1]}.html").source
    assert f'property="og:url" content="{ADDRESSES.url}/{PAGES[1]}.html"' in source
    assert f'property="og:image" content="{ADDRESSES.url}/_static/pictures/{PAGES[1]}.png"' in source
    assert 'property="og:title" content="step()으로 이어서"' in source


def test_search_leads_into_the_folders(made: Path) -> None:
    index = (made / "_static" / "search-index.js").read_text(encoding="utf-8")
    assert f'"url":"{PAGES[0]}.html#' in index


def test_the_single_pages_of_earlier_editions_lead_to_the_first_part(made: Path) -> None:
    old = Page(made / "01_first.html").source
    assert '<meta http-equiv="refresh" content="0; url=01_first/1_begin.html">' in old
    assert f'<link rel="canonical" href="{ADDRESSES.url}/01_first/1_begin.html">' in old
    assert links(Page(made / "01_first.html")) == {"01_first/1_begin.html"}


def test_a_page_does_not_speak_of_a_notebooks_keys(made: Path) -> None:
    """The item of a list goes, and of a paragraph the sentence; the rest stays."""
    told = Page(made / f"{PAGES[0]}.html").text
    assert "Shift" not in told
    assert "<li><p>먼저 예측합니다.</p></li>" in re.sub(
        r"\s*\n\s*", "", Page(made / f"{PAGES[0]}.html").source
    )
    assert "<ol start=" not in Page(made / f"{PAGES[0]}.html").source
    assert "한 줄을 더합니다." in told


@pytest.mark.parametrize(
    ("in_the_notebook", "on_the_page"),
    [
        (
            "한 줄이 빠졌습니다. 그 줄을 써 넣고 두 셀을 다시 실행해 보세요.",
            "한 줄이 빠졌습니다. 노트북에서 그 줄을 써 넣고 두 셀을 다시 실행해 보세요.",
        ),
        (
            "**먼저 해 보세요.** 아래 두 셀을 실행하고, 몇 번 더 실행합니다.",
            "**먼저 해 보세요.** 노트북에서 아래 두 셀을 실행하고, 몇 번 더 실행합니다.",
        ),
        (
            "- 통과했으면 새 셀에서 `x()`를 실행해 보세요.",
            "- 통과했으면 노트북의 새 셀에서 `x()`를 실행해 보세요.",
        ),
        ("**읽고, 고른 다음, 실행하세요.** 짧습니다.", "**읽고, 골라 보세요.** 짧습니다."),
        ("몇일까요? 적어 본 다음 실행하세요.", "몇일까요? 적어 본 다음 아래를 보세요."),
        ("답을 정하고 아래를 실행하세요.", "답을 정하고 아래를 보세요."),
        ("`grader xray`를 실행해 보세요.", "`grader xray`를 실행해 보세요."),
        ("- c: 안쪽을 한 번만 실행합니다.", "- c: 안쪽을 한 번만 실행합니다."),
        ("```\n셀을 실행해 보세요.\n```", "```\n셀을 실행해 보세요.\n```"),
    ],
)
def test_a_page_asks_to_run_nothing_on_itself(in_the_notebook: str, on_the_page: str) -> None:
    """「두 셀을 다시 실행해 보세요」 stood on a page without cells."""
    assert _to_be_read(in_the_notebook) == on_the_page


def test_the_first_page_asks_its_question_and_leads_to_the_part_that_asks_it(made: Path) -> None:
    page = Page(made / "index.html")
    assert "<del>opt.step()</del>" in page.source
    assert "무엇이 옮길까요?" in page.text
    assert "예측 1." not in page.text
    assert page.source.count('class="predict"') == 1
    assert f'<p class="landing-why"><a href="{PAGES[0]}.html">' in page.source
    assert f'<a class="button primary" href="{PAGES[0]}.html">' in page.source
    assert "landing-microscope" not in page.source


def test_the_first_page_lists_every_part(made: Path) -> None:
    table = re.findall(
        r'<div class="course-table">.*?</div>\s*</div>', Page(made / "index.html").source, re.DOTALL
    )
    assert len(table) == 2
    assert [re.findall(r'href="([^"]+)"', one) for one in table] == [
        [f"{PAGES[0]}.html", f"{PAGES[1]}.html"],
        [f"{PAGES[2]}.html"],
    ]


def test_a_page_says_which_check_to_run_and_not_what_it_imports(made: Path) -> None:
    assert "노트북에서 check(train_step) 셀을 실행합니다" in Page(made / f"{PAGES[0]}.html").text


def test_the_text_that_tells_the_result_is_behind_the_curtain(made: Path) -> None:
    source = Page(made / f"{PAGES[0]}.html").source
    hidden = re.search(r'<details class="experiment" data-after="01-1">.*?</details>', source, re.DOTALL)
    assert hidden is not None
    assert "셋째 줄이 옮겼습니다." in hidden[0]
    assert source.count("셋째 줄이 옮겼습니다.") == 1
    assert "채웁니다." not in hidden[0]
