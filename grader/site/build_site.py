"""Build the site: make pages from the course, and let Sphinx turn them into a folder that needs no web server."""

import importlib
import io
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from grader import paths
from grader.base.installing import FROM_CHECKOUT, install_command
from grader.course.course import Course, Lesson, Part
from grader.scripts.findings import Language
from grader.site.descriptions import (
    hours,
    levels,
    page_facts,
    page_name,
    place_in,
    plain_title,
    tasks,
    tasks_in,
)
from grader.site.finished_html import finished
from grader.site.gallery import PAGE as GALLERY
from grader.site.gallery import GalleryEntry, card_of, gallery_entries, gallery_page
from grader.site.landing import Landing, code_with_gap, moving_microscope, question, read_landing
from grader.site.old_addresses import write_old_pages
from grader.site.part_page import SiteError, part_page, raw_block
from grader.site.settings import Addresses, PageFacts
from grader.site.xray_report import REPORTS, Finding, sample_script, write_report

_HERE = Path(__file__).parent
_GENERATED = "generated"
"""Folder below the source for static files that are regenerated in every build."""
_FONT = ("NotoSansMath.woff", "OFL.txt")
"""Font with its licence: phones and many Linux machines have no font with which a browser can set formulas."""
_MARKER_FILE = ".hanstep-site"
"""File placed in every folder that a site was built into; only such a folder, or an empty one, may be emptied."""


def build_site(
    course: Course,
    out: Path,
    *,
    addresses: Addresses | None = None,
    shown: Sequence[GalleryEntry] | None = None,
    landing: Landing | None = None,
    report: Callable[[str], None] = print,
) -> None:
    """Build the whole site without a network.

    Args:
        course: the course; its notebooks must be up to date.
        out: the folder of the site; one from an earlier build is replaced.
        addresses: where the source and the finished site are published.
        shown: entries of the gallery; None for all.
        landing: what the first page shows; None for the content of `landing.toml`.
        report: gets Korean lines on what is done.

    Raises:
        SiteError: the extra is not installed, the folder holds something else, or a page cannot be built.
        CourseError: a file of the course has invalid content.
    """
    _require_sphinx()
    from grader.site.terms import PAGE as GLOSSARY
    from grader.site.terms import glossary, glossary_page, notes_script

    addresses = addresses or Addresses()
    _check_output_folder(out)
    with tempfile.TemporaryDirectory(prefix="hanstep-site-") as folder:
        source, built = Path(folder, "source"), Path(folder, "built")
        source.mkdir()
        facts = page_facts(course)
        drawings = _write_parts(course, source, addresses)
        report("유명한 실수를 실행해요 …")
        chosen = tuple(gallery_entries() if shown is None else shown)
        (source / f"{GALLERY}.md").write_text(gallery_page(course, chosen), encoding="utf-8")
        (source / f"{GLOSSARY}.md").write_text(glossary_page(glossary()), encoding="utf-8")
        generated = source / _GENERATED
        generated.mkdir()
        (generated / "terms.js").write_text(notes_script(glossary()), encoding="utf-8")
        for name in _FONT:
            shutil.copyfile(paths.asset_path("fonts", name), generated / name)
        reports = Path(folder, "reports")
        reports.mkdir()
        languages: dict[str, Language] = {"index": "ko", "en": "en"}
        for name, language in languages.items():
            found = write_report(reports, language)
            text = _text(name, course, chosen, addresses, landing or read_landing(), found)
            (source / f"{name}.md").write_text(text, encoding="utf-8")
        report("페이지를 만들어요 …")
        _run_sphinx(source, built, Path(folder, "doctrees"), facts, addresses, course.title)
        _add_files(course, built, facts, drawings)
        write_old_pages(course, built, addresses)
        shutil.copytree(reports, built, dirs_exist_ok=True)
        if out.exists():
            shutil.rmtree(out)
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(built, out)


def _require_sphinx() -> None:
    try:
        import furo  # noqa: F401
        import latex2mathml  # noqa: F401
        import myst_nb  # noqa: F401
    except ImportError as error:
        raise SiteError(
            f"사이트를 만드는 데 필요한 패키지가 없어요: {error.name}. 설치해 주세요: {install_command('site')}"
        ) from error


def _check_output_folder(out: Path) -> None:
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise SiteError(f"{out}은 폴더가 아니에요. 다른 곳을 주세요: grader site --out 새폴더")
    if out.is_dir() and any(out.iterdir()) and not (out / _MARKER_FILE).is_file():
        raise SiteError(
            f"{out}에 다른 파일이 있어 지우지 않았어요. 비어 있는 폴더를 주세요: grader site --out 새폴더"
        )


def _write_parts(course: Course, source: Path, addresses: Addresses) -> dict[str, bytes]:
    """Write the page of each part into its lesson's folder; return the pages' drawings by file name."""
    drawings: dict[str, bytes] = {}
    for lesson in course.lessons:
        (source / lesson.name).mkdir()
        for part in lesson.parts:
            page = part_page(lesson, part, _head(course, lesson, part, addresses))
            notebook = importlib.import_module("nbformat").writes(page.notebook)
            (source / part.place).write_text(notebook, encoding="utf-8")
            drawings |= page.pictures
        # The lessons link to the templates; Sphinx makes downloads of them.
        for template in paths.lessons_path(lesson.name).glob("*.py"):
            shutil.copyfile(template, source / lesson.name / template.name)
    return drawings


def _head(course: Course, lesson: Lesson, part: Part, addresses: Addresses) -> str:
    """Return the HTML below a part's title: duration, level, what comes first, and links to work on it."""
    template = _templates().get_template("part_head.html.j2")
    made = template.render(
        part=part,
        place=place_in(lesson, part),
        time=hours(part.minutes),
        levels=levels(part),
        needed=_needed(course, lesson, part),
        tasks=tasks_in(lesson, part),
        colab=addresses.colab(part.place),
    )
    return str(made).strip()


def _needed(course: Course, lesson: Lesson, part: Part) -> list[tuple[str, str]]:
    """Return links with titles: the part before it, or the lessons that the lesson's first part needs."""
    place = lesson.parts.index(part)
    if place:
        before = lesson.parts[place - 1]
        return [(f"{before.name}.html", plain_title(before))]
    lessons = [one for one in course.lessons if one.id in lesson.needs]
    return [(f"../{page_name(one.parts[0])}.html", f"{one.id} {one.title}") for one in lessons]


def _text(
    name: str,
    course: Course,
    chosen: Sequence[GalleryEntry],
    addresses: Addresses,
    landing: Landing,
    found: Finding,
) -> str:
    """Return the landing page of that name as Markdown; it shows the gallery's first card."""
    asked, asking = question(course, landing)
    card = raw_block(card_of(course.exercise(chosen[0].exercise), chosen[0].mistake)) if chosen else ""
    template = _templates().get_template(f"{name}.md.j2")
    return str(
        template.render(
            course=course,
            card=card,
            shown=chosen,
            landing=landing,
            code=code_with_gap(landing),
            script=sample_script(),
            found=found,
            reports=REPORTS,
            question=asked,
            asking=asking,
            microscope=raw_block(moving_microscope(course, landing)) if landing.exercise else "",
            page_name=page_name,
            plain_title=plain_title,
            hours=hours,
            levels=levels,
            tasks=tasks,
            tasks_in=tasks_in,
            install=FROM_CHECKOUT,
            repository=addresses.repository,
            cloned=addresses.repository.rpartition("/")[2],
        )
    )


def _templates() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(
        loader=FileSystemLoader(_HERE / "texts"),
        autoescape=lambda name: name is not None and ".html" in name,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _run_sphinx(
    source: Path, built: Path, doctrees: Path, facts: dict[str, PageFacts], addresses: Addresses, title: str
) -> None:
    """Run Sphinx on `source`; warnings are errors."""
    from sphinx.application import Sphinx
    from sphinx.errors import SphinxError
    from sphinx.util.docutils import docutils_namespace

    warnings = io.StringIO()
    settings: dict[str, Any] = {
        "project": title,
        "language": "ko",
        "extensions": ["myst_nb", "grader.site.extension"],
        "hanstep_facts": facts,
        "hanstep_addresses": addresses,
        "myst_enable_extensions": ["dollarmath"],
        "nb_execution_mode": "off",
        "nb_render_markdown_format": "myst",
        "nb_merge_streams": True,
        "nb_ipywidgets_js": {},
        # The last: prose may leave out lines of code with "…", which is no Python.
        "suppress_warnings": ["myst.header", "config.cache", "misc.highlighting_failure"],
        # Quotation marks in prose are typed as intended, and those in Python's messages must stay.
        "smartquotes": False,
        "html_theme": "furo",
        "html_title": title,
        "html_math_renderer": "mathml",
        "html_static_path": [str(_HERE / "static"), str(source / _GENERATED)],
        "templates_path": [str(_HERE / "templates")],
        "html_css_files": ["site.css"],
        "html_js_files": ["terms.js", "site.js"],
        "html_additional_pages": {"search": "search.html"},
        "html_copy_source": False,
        "html_show_sourcelink": False,
        "html_show_copyright": False,
        "html_use_index": False,
        "html_domain_indices": False,
        "html_permalinks_icon": "#",
    }
    try:
        # What a build registers with docutils is gone after it: else a second one in the same process warns.
        with docutils_namespace():
            app = Sphinx(
                source,
                None,
                built,
                doctrees,
                "html",
                settings,
                status=None,
                warning=warnings,
                freshenv=True,
            )
            app.build(force_all=True)
    except SphinxError as error:
        raise SiteError(f"Sphinx가 멈췄어요: {error}. 다시 만들어 보세요: grader build") from error
    if warnings.getvalue().strip():
        raise SiteError(
            "페이지에 고칠 곳이 있어요. 그 레슨의 원본을 고치고 grader build를 실행해 주세요.\n"
            + warnings.getvalue().replace(str(source), "").strip()[:2000]
        )


def _add_files(course: Course, built: Path, facts: dict[str, PageFacts], drawings: dict[str, bytes]) -> None:
    """Add files that Sphinx does not make (drawings, notebooks, link pictures), and finish the pages' HTML."""
    from grader.site.extension import PICTURES
    from grader.site.pictures import draw_picture, two_lines

    folder = built / "_static" / "drawings"
    folder.mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings.items():
        (folder / name).write_bytes(drawing)
    notebooks = built / "notebooks"
    notebooks.mkdir()
    for part in course.parts:
        (notebooks / part.lesson).mkdir(exist_ok=True)
        shutil.copyfile(part.notebook, notebooks / part.place)
    for name, about in facts.items():
        lines = about.lines or two_lines(about.description)
        draw_picture(built / PICTURES / f"{name}.png", about.title, lines)
    for page in built.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        name = page.relative_to(built).with_suffix("").as_posix()
        language = facts[name].language if name in facts else "ko"
        page.write_text(finished(text, language), encoding="utf-8")
    shutil.rmtree(built / "_sources", ignore_errors=True)
    for leftover in (".buildinfo", "objects.inv"):
        (built / leftover).unlink(missing_ok=True)
    (built / ".nojekyll").write_text("", encoding="utf-8")  # without it GitHub Pages leaves out _static
    (built / _MARKER_FILE).write_text("", encoding="utf-8")
