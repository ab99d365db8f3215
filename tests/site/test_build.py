"""What `grader site` refuses, and what it says then; where it builds, and what it leaves alone."""

import copy
import html
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from grader.base.installing import FROM_CHECKOUT, install_command
from grader.cli.main import run
from grader.course.course import Lesson
from grader.site import build_site, part_page
from grader.site.descriptions import levels
from grader.site.landing import read_landing
from grader.site.part_page import SiteError
from grader.site.settings import Addresses
from grader.site.xray_report import Finding, sample_script
from tests.places import ROOT
from tests.site.built import ADDRESSES, Page, the_course

pytestmark = pytest.mark.xdist_group("site")

FIRST = the_course().lessons[0]
PART = FIRST.parts[0]


def test_without_the_extra_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "furo", None)
    monkeypatch.chdir(tmp_path)
    assert run(["site", "--out", "here"]) == 2
    said = capsys.readouterr().err
    assert "furo" in said
    assert install_command("site") in said
    assert not (tmp_path / "here").exists()


def test_a_folder_with_other_files_is_left_alone(site: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep me")
    with pytest.raises(SiteError, match="다른 파일이 있어"):
        build_site.build_site(the_course(), tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "keep me"
    with pytest.raises(SiteError, match="폴더가 아니에요"):
        build_site.build_site(the_course(), tmp_path / "mine.txt")


def test_an_earlier_site_may_be_replaced(site: Path) -> None:
    """The finished folder says that it is one."""
    build_site._check_output_folder(site)


@pytest.mark.parametrize(
    "repository", ["hanstep", "a/b/c", "a b/c", "https://github.com/a/b", '"><script>/x']
)
def test_a_repository_is_an_owner_and_a_name(repository: str) -> None:
    with pytest.raises(SiteError, match="주인/이름"):
        Addresses(repository=repository)


@pytest.mark.parametrize("url", ["example.org", "javascript:alert(1)", 'https://a.example/"><script>'])
def test_an_address_is_one(url: str) -> None:
    with pytest.raises(SiteError, match="--url"):
        Addresses(url=url)


def test_without_a_place_links_that_need_one_are_left_out() -> None:
    nowhere = Addresses()
    assert (nowhere.colab("a.ipynb"), nowhere.report("a.html"), nowhere.page("a.html")) == ("", "", "")


def notebooks(monkeypatch: pytest.MonkeyPatch, change: Any) -> Lesson:
    """Lesson 01 whose first part's two notebooks, the learner's and the executed, a function of both changed."""
    read = {path: nbformat.read(path, as_version=4) for path in (PART.notebook, PART.executed)}
    change(*read.values())
    monkeypatch.setattr(part_page, "_read", lambda path, lesson: copy.deepcopy(read[path]))
    return FIRST


def test_outputs_of_an_older_source_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def outdate(learner: Any, executed: Any) -> None:
        for cell in executed.cells:
            cell.source += "\nprint(1)"

    with pytest.raises(SiteError, match=r"셀 \S+의 실행 결과가 .*grader build 01"):
        part_page.part_page(notebooks(monkeypatch, outdate), PART, "")


def test_a_part_without_a_title_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def behead(learner: Any, executed: Any) -> None:
        learner.cells[0].source = "제목이 없습니다."

    with pytest.raises(SiteError, match="제목"):
        part_page.part_page(notebooks(monkeypatch, behead), PART, "")


def test_a_broken_notebook_is_named(tmp_path: Path) -> None:
    broken = tmp_path / "broken.ipynb"
    broken.write_text("{", encoding="utf-8")
    with pytest.raises(SiteError, match=r"broken\.ipynb.*grader build 01"):
        part_page._read(broken, FIRST)


def test_levels_run_from_easy_to_hard() -> None:
    assert levels(*FIRST.parts).startswith("★☆☆–")


def test_a_mistake_that_the_course_does_not_know_is_named() -> None:
    from grader.course.course import CourseError
    from grader.site.gallery import GalleryEntry, gallery_page

    with pytest.raises(CourseError, match="no-such-mistake"):
        gallery_page(the_course(), (GalleryEntry("train_step", "no-such-mistake", "x"),))


def test_the_first_page_says_where_the_course_comes_from(site: Path) -> None:
    """Nobody has put it on PyPI: what is to be typed clones the repository, where one was given."""
    told = Page(site / "index.html").code
    assert f"git clone https://github.com/{ADDRESSES.repository}\ncd hanstep\n" in told
    assert FROM_CHECKOUT in told
    assert FROM_CHECKOUT in Page(site / "en.html").code
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n{FROM_CHECKOUT}\n" in readme, "the site left out what spares 3.5 GB and installs bubblewrap"
    found = Finding(title="", line=1, sentence="", evidence="")
    assert "git clone" not in build_site._text("index", the_course(), (), Addresses(), read_landing(), found)


@pytest.mark.parametrize(("page", "report"), [("index", "xray.html"), ("en", "xray_en.html")])
def test_a_report_leads_back_to_the_page_that_it_comes_from(site: Path, page: str, report: str) -> None:
    body = (site / report).read_text(encoding="utf-8").partition("<body>")[2]
    assert body.lstrip().startswith(f'<nav><a href="{page}.html">')


@pytest.mark.parametrize(("page", "report"), [("index", "xray.html"), ("en", "xray_en.html")])
def test_first_page_quotes_what_xray_says_of_the_script(site: Path, page: str, report: str) -> None:
    """The finding on the first page is that of the report which it links, and the script's lines stand there."""
    first, told = Page(site / f"{page}.html"), Page(site / report)
    assert f'href="{report}"' in first.source
    assert sample_script().strip() in first.code
    (sentence,) = re.findall(r"<h2>[^<]+</h2>\n<p>(.+)</p>", told.source)[:1]
    assert html.unescape(re.sub(r"<[^>]+>", "", sentence)) in first.text


def test_a_question_that_no_notebook_asks_is_refused() -> None:
    from msgspec.structs import replace

    from grader.course.course import CourseError
    from grader.site.landing import question

    with pytest.raises(CourseError, match=r"landing\.toml.*01-999"):
        question(the_course(), replace(read_landing(), prediction="01-999"))


def test_the_first_pages_microscope_shows_the_mistake_and_not_the_program() -> None:
    """The program is one line away from the answer."""
    from grader.site.landing import moving_microscope

    made = moving_microscope(the_course(), read_landing())
    assert '"wrong":true' in made
    assert '"code":[]' in made
    assert "def train_step" not in made
